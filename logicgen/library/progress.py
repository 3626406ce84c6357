"""How long work reports its progress, and how results are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

Progress = Callable[..., None]
"""A function of (stage, done, total)."""

Bars = Callable[..., AbstractContextManager[Progress]]
"""A function of (unit, prefix of the stages) whose context yields the progress of a long work."""

Say = Callable[[str], None]
"""A function that reports a line."""


@contextmanager
def no_bars(unit: str, prefix: str = "") -> Iterator[Progress]:
    """Yield a progress that shows nothing."""
    yield lambda *_: None


def silent(line: str) -> None:
    """Report nothing."""


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Write texts into a file, which is there when it is complete."""
    from logicgen.files import write_atomically

    def write(part: Path) -> None:
        with open(part, "w", encoding="utf-8") as file:
            file.writelines(texts)

    write_atomically(path, write)
