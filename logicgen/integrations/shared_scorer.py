"""One scorer for each task and setting, however many samples ask for it."""

from __future__ import annotations

from functools import cache

from logicgen.score.places import Mode
from logicgen.score.scorer import Scorer


@cache
def shared_scorer(
    task: str, mode: Mode = "strict", timeout: float = 10.0, reasons: bool = False
) -> Scorer:
    """Return the scorer of these settings, whose helpers end with the program.

    timeout: seconds for a completion. Raises LogicgenError as `Scorer` does.
    """
    return Scorer(task, mode, timeout=timeout, reasons=reasons)
