"""Functions that long work calls to report its progress.

The caller may draw a bar, or do nothing (`no_progress`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Progress = Callable[[int, int], None]
"""A function of the number of items that are done and of all items."""

StageProgress = Callable[[str, int, int], None]
"""A function of the name of a stage, and of the numbers of its items that are done and in all."""

Bars = Callable[..., AbstractContextManager[StageProgress]]
"""A function of (unit, prefix) that returns a context manager, which yields a `StageProgress`.

unit: the name of the items that are counted.
prefix: text before the name of each stage.
"""

Say = Callable[[str], None]
"""A function that shows a line of text to the user."""


def no_progress(*_: object) -> None:
    """Do nothing: a `Progress`, a `StageProgress` or a `Say`."""


@contextmanager
def no_bars(unit: str, prefix: str = "") -> Iterator[StageProgress]:
    """Yield `no_progress`."""
    yield no_progress
