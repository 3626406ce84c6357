"""Reward completions that solve their problem, for OpenRLHF.

Write data with `logicgen export DATA DIR --for openrlhf`. Give OpenRLHF the path of this file as
--reward.remote_url, and --data.input_key prompt, --data.label_key label and
--data.apply_chat_template.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from logicgen.errors import LogicgenError, shown
from logicgen.integrations.scorers import rewards
from logicgen.integrations.versions import at_least
from logicgen.scoring.completions import Mode

at_least("openrlhf", "0.11")


def reward_func(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[str],
    *,
    mode: Mode = "strict",
    timeout: float = 1.0,
    workers: int = 1,
    **_: Any,
) -> dict[str, Any]:
    """Return a dict with the keys `rewards`, `scores` and `extra_logs`.

    `rewards` and `scores` are equal: float32 tensors with an item for each query, 1.0 for a right
    answer, else 0.0. OpenRLHF needs a number for each query, so an unknown verdict gets 0.0. In
    `extra_logs`, the tensor `unknown` is 1.0 for these queries. A query in which the completion
    cannot be found gets an unknown verdict.

    queries: texts; each is a prompt followed by its completion, with special tokens.
    prompts: the prompt of each query.
    labels: JSON with `task` and `problem`, for each query.
    mode, timeout, workers: settings of `logicgen.Scorer`; change them with `functools.partial`.

    Raises LogicgenError if a label has another form or a problem does not parse. OpenRLHF logs the
    error, and ends when it needs the reward. No completion raises an error.
    """
    import torch

    completions = [completion_in(*pair) for pair in zip(queries, prompts, strict=True)]
    asked = [(*_asked(label), reply) for label, reply in zip(labels, completions, strict=True)]
    paid = rewards(asked, mode, timeout, workers)
    known = [
        None if completion is None else each
        for completion, each in zip(completions, paid, strict=True)
    ]
    scores = torch.tensor([each or 0.0 for each in known])
    unknown = torch.tensor([float(each is None) for each in known])
    return {"rewards": scores, "scores": scores, "extra_logs": {"unknown": unknown}}


def _asked(label: str) -> tuple[str, str]:
    """Return the task and the problem in a label. Raises LogicgenError if they are missing."""
    try:
        read = json.loads(label)
        return read["task"], read["problem"]
    except (TypeError, KeyError, ValueError, RecursionError):
        raise LogicgenError(
            f"label: {shown(label)}; it must be JSON with task and problem, as `logicgen export"
            " DATA DIR --for openrlhf` writes it: set --data.label_key label"
        ) from None


def completion_in(query: str, prompt: str) -> str | None:
    """Return the completion in a query, the text after its prompt; None if its place is uncertain.

    A prompt may contain answers, such as the answers of worked examples. They must not be read as
    the model's answer. OpenRLHF removes the beginning of a prompt that is too long. Then the
    completion follows the end of the prompt: the text after its last `</answer>`. If this text
    occurs several times in the prompt, the place is uncertain.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    end = prompt.rpartition("</answer>")[2]
    if not end or prompt.find(end) + len(end) < len(prompt):
        return None
    _, found, completion = query.partition(end)
    return completion if found else None
