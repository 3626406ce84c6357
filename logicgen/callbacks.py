"""Functions that long work calls to report its progress.

The caller may draw a bar, or do nothing (`no_progress`).
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""A function of the number of items that are done and of all items."""

StageProgress = Callable[[str, int, int], None]
"""A function of the name of a stage, and of the numbers of its items that are done and in all."""


def no_progress(*_: object) -> None:
    """Do nothing."""
