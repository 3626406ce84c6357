"""Types of functions that report progress, and a function that writes results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

Progress = Callable[..., None]
"""A function of (stage, done, total)."""

Bars = Callable[..., AbstractContextManager[Progress]]
"""A function of (unit, prefix of the stages) that returns a context of a `Progress`."""

Say = Callable[[str], None]
"""A function that reports a line."""


@contextmanager
def no_bars(unit: str, prefix: str = "") -> Iterator[Progress]:
    """Yield a `Progress` that shows nothing."""
    yield lambda *_: None


def silent(line: str) -> None:
    """Report nothing."""


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Write texts into a file, which appears under its name when it is complete."""
    from logicgen.files import write_atomically

    def write(part: Path) -> None:
        with open(part, "w", encoding="utf-8") as file:
            file.writelines(texts)

    write_atomically(path, write)
