"""Create scorers for the adapters. Adapters with the same task and settings share a scorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logicgen.errors import LogicgenError, at, shown
from logicgen.scoring.completions import Mode
from logicgen.scoring.scorer import Scorer

_SCORERS: dict[tuple[Any, ...], Scorer] = {}


def shared_scorer(
    task: str,
    mode: Mode = "strict",
    timeout: float = 10.0,
    workers: int = 1,
    reasons: bool = False,
) -> Scorer:
    """Return the scorer with these settings. Its worker processes end with the program.

    Any thread and any forked process may call this function. Raises LogicgenError as `Scorer` does.
    """
    key = (task, mode, timeout, workers, reasons)
    if key not in _SCORERS:
        # No lock is used, because a fork could copy a held lock. If two threads make a scorer
        # at once, both use the first scorer.
        new = Scorer(task, mode, timeout=timeout, workers=workers, reasons=reasons)
        _SCORERS.setdefault(key, new)
    return _SCORERS[key]


def rewards(
    asked: Sequence[tuple[str, str, object]],
    mode: Mode = "strict",
    timeout: float = 1.0,
    workers: int = 1,
) -> list[float | None]:
    """Return a reward for each completion: 1.0 (right), 0.0 (wrong) or None (unknown verdict).

    asked: a tuple (task, problem, completion) for each completion. Tasks may differ.
    mode, timeout, workers: settings of `Scorer`.

    Raises LogicgenError for an unknown task, a problem that does not parse, or an impossible
    setting.
    """
    places: dict[str, list[int]] = {}
    for place, (task, _, _) in enumerate(asked):
        if not isinstance(task, str):
            raise LogicgenError(f"a task is {shown(task)}, which is not the name of a task")
        places.setdefault(task, []).append(place)
    found: list[float | None] = [None] * len(asked)
    for task, mine in places.items():
        _, problems, completions = zip(*(asked[place] for place in mine), strict=True)
        scorer = shared_scorer(task, mode, timeout, workers)
        with at(f"task {task}"):
            judged = scorer.score_batch(problems, completions)
        for place, judgement in zip(mine, judged, strict=True):
            found[place] = judgement.reward
    return found


def said(completion: Any) -> object:
    """Return the text of a completion, which is a text or a list of chat messages.

    For messages, return the text of the last message, or None if it is not from the model. A
    completion of another form is returned unchanged, and no scorer accepts it as an answer.
    """
    if not isinstance(completion, list | tuple):
        return completion
    message = completion[-1] if completion else None
    if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
        return None
    content = message.get("content")
    if not isinstance(content, list | tuple):
        return content
    texts = [
        part.get("text")
        for part in content
        if isinstance(part, dict) and part.get("type", "text") == "text"
    ]
    return "".join(text for text in texts if isinstance(text, str))
