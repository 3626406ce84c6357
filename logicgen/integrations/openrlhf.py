"""A reward function for OpenRLHF: pays completions that solve their problem.

--reward.remote_url with the path of this file, --data.input_key prompt, --data.label_key label and
--data.apply_chat_template, with data that `logicgen export DATA DIR --for openrlhf` writes.
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
    """Return `rewards` and `scores`, which are the same, and `extra_logs`.

    queries: texts of a prompt and its completion, with special tokens. labels: JSON with `task` and
    `problem`. Settings are those of `logicgen.Scorer`; `functools.partial` sets others.

    All that is returned are tensors of float32 with an item for each query: 1.0 for a right answer,
    else 0.0. OpenRLHF needs a number for each: it takes None for a missing reward model and ends.
    So a verdict that is not known is paid like a wrong answer, and counted in `extra_logs` as
    `unknown`; so is a query in which the completion is not found. Raises LogicgenError for a label
    of another form and a problem that does not parse; OpenRLHF logs what is raised, and ends where
    it needs the reward. No completion makes it raise.
    """
    import torch

    completions = [completion_in(*pair) for pair in zip(queries, prompts, strict=True)]
    asked = [(*_asked(label), said) for label, said in zip(labels, completions, strict=True)]
    paid = rewards(asked, mode, timeout, workers)
    known = [
        None if completion is None else each
        for completion, each in zip(completions, paid, strict=True)
    ]
    scores = torch.tensor([each or 0.0 for each in known])
    unknown = torch.tensor([float(each is None) for each in known])
    return {"rewards": scores, "scores": scores, "extra_logs": {"unknown": unknown}}


def _asked(label: str) -> tuple[str, str]:
    """Return the task and the problem of a label. Raises LogicgenError for another form."""
    try:
        read = json.loads(label)
        return read["task"], read["problem"]
    except (TypeError, KeyError, ValueError, RecursionError):
        raise LogicgenError(
            f"label: {shown(label)}; it has to be JSON with task and problem, as `logicgen export"
            " DATA DIR --for openrlhf` writes it: set --data.label_key label"
        ) from None


def completion_in(query: str, prompt: str) -> str | None:
    """Return what follows the prompt in a query; None where that is not certain.

    A prompt has answers in it (of its worked examples, and where it says how to answer), none of
    which may be taken for the model's. A prompt that was cut at its beginning to fit, or to which a
    token was added there, is known by what it says behind its last answer, if it says that once.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    end = prompt.rpartition("</answer>")[2]
    if not end or prompt.find(end) + len(end) < len(prompt):
        return None
    _, found, completion = query.partition(end)
    return completion if found else None
