"""Types of the functions that report progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Progress = Callable[..., None]
"""A function of (stage, done, total). It shows that `done` of `total` items of a stage are done."""

Bars = Callable[..., AbstractContextManager[Progress]]
"""A function of (unit, prefix) that returns a context manager. The manager yields a `Progress`.

unit: the name of the items that are counted.
prefix: text before the name of each stage.
"""

Say = Callable[[str], None]
"""A function that shows a line of text to the user."""


@contextmanager
def no_bars(unit: str, prefix: str = "") -> Iterator[Progress]:
    """Yield a `Progress` function that shows nothing."""
    yield lambda *_: None


def silent(line: str) -> None:
    """Ignore a line: a `Say` function that shows nothing."""
