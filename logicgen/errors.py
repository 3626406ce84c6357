"""The base class of all errors that logicgen raises for a person to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class LogicgenError(Exception):
    """An error with one message for a person: what was wrong, where, and what to do.

    The command line prints the message and exits with status 2. A message spans several lines only
    where it points into a text (`FormatError`).
    """


class FormatError(LogicgenError):
    """A text that does not parse, with the line and column (both from 1) of the error."""

    def __init__(self, reason: str, text: str, line: int, column: int) -> None:
        self.reason, self.line, self.column = reason, line, column
        lines = text.split("\n")
        shown = lines[line - 1] if line <= len(lines) else ""
        # A window around the place, so that a formula of 10,000 characters still fits a screen.
        start = max(0, column - 1 - 60)
        window = shown[start : start + 100]
        caret = " " * (column - 1 - start) + "^"
        super().__init__(f"line {line}, column {column}: {reason}\n  {window}\n  {caret}")


@contextmanager
def at(place: object) -> Iterator[None]:
    """Name the place in each LogicgenError raised inside."""
    try:
        yield
    except LogicgenError as error:
        raise LogicgenError(f"{place}: {error}") from None


@contextmanager
def reading(source: object) -> Iterator[None]:
    """Raise LogicgenError for each OSError inside, which reads `source`."""
    try:
        yield
    except OSError as error:
        raise LogicgenError(f"{source}: cannot be read: {error.strerror}") from error


def nearest(word: str, known: list[str]) -> str:
    """Return `did you mean ...?` for a misspelt name, or the known names if none is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(known)}" if known else "none is known"
