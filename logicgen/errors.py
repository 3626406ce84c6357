"""The base class of all errors that logicgen raises for a person to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
        self.reason, self.text, self.line, self.column = reason, text, line, column
        lines = text.split("\n")
        shown = lines[line - 1] if line <= len(lines) else ""
        # A window around the place, so that a formula of 10,000 characters still fits a screen.
        start = max(0, column - 1 - 60)
        window = "".join(c if c.isprintable() else " " for c in shown[start : start + 100])
        caret = " " * (column - 1 - start) + "^"
        super().__init__(f"line {line}, column {column}: {reason}\n  {window}\n  {caret}")

    def __reduce__(self) -> Any:
        """Return what pickle stores, which would make it from the message alone."""
        return type(self), (self.reason, self.text, self.line, self.column)


@contextmanager
def at(place: object) -> Iterator[None]:
    """Name the place in each LogicgenError raised inside."""
    try:
        yield
    except LogicgenError as error:
        raise LogicgenError(f"{place}: {error}") from None


def reason_of(error: Exception) -> str:
    """Return why the system refused something, without the path, which messages name already."""
    return str(getattr(error, "strerror", None) or error)


# Control characters but line breaks and tabs, and marks that turn the direction of writing.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Return a text for a terminal: characters that would command it are shown as `\\x1b`."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


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

    if word.lower() in known:
        return f"did you mean {word.lower()}?"
    close = get_close_matches(word, known, n=3, cutoff=0.5) if len(word) < 1000 else []
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(known)}" if known else "none is known"
