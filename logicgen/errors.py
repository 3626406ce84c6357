"""The base class of all errors that logicgen raises for a person to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# A message that quotes a hostile file stays on a screen; its end says what to do.
LONGEST = 2000


class LogicgenError(Exception):
    """An error with one message for a person: what was wrong, where, and what to do.

    The command line prints the message and exits with status 2. A message spans several lines only
    where it points into a text (`FormatError`). One of more than 2,000 characters is shortened.
    """

    def __init__(self, message: object) -> None:
        super().__init__(shortened(str(message), LONGEST))


class FormatError(LogicgenError):
    """A text that does not parse, with the line and column (both from 1) of the error."""

    def __init__(self, reason: str, text: str, line: int, column: int) -> None:
        self.reason, self.line, self.column = reason, line, column
        lines = text.split("\n")
        shown = lines[line - 1] if line <= len(lines) else ""
        # A window around the place, so that a formula of 10,000 characters still fits a screen.
        start = max(0, column - 1 - 60)
        window = "".join(c if c.isprintable() else " " for c in shown[start : start + 100])
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
    """Raise LogicgenError where `source`, read inside, cannot be opened or is not UTF-8."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise LogicgenError(f"{shortened(source)}: cannot be read: {reason}") from error
    except UnicodeDecodeError as error:
        raise LogicgenError(f"{source}: not UTF-8 at byte {error.start}") from error
    except ValueError as error:
        if "\0" not in str(source):
            raise
        raise LogicgenError(f"{shown(source)}: no file's name has a NUL character") from error


def shown(value: object) -> str:
    """Return a value as Python writes it, shortened; for messages about values of any size."""
    try:
        return shortened(repr(value))
    except (ValueError, RecursionError):  # thousands of digits, or of lists in lists
        if isinstance(value, int):
            return f"a number of {value.bit_length():,} bits"
        return f"a {type(value).__name__}"


def shortened(value: object, longest: int = 120) -> str:
    """Return a text without its middle if it has more than `longest` characters."""
    text = str(value)
    if len(text) <= longest:
        return text
    head = (longest - 3) * 2 // 3
    return f"{text[:head]}...{text[head + 3 - longest :]}"


def nearest(word: str, known: list[str]) -> str:
    """Return `did you mean ...?` for a misspelt name, or the known names if none is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=3, cutoff=0.5) if len(word) < 1000 else []
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(known)}" if known else "none is known"
