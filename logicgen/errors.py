"""Exceptions with messages for users, and functions that write such messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# The largest number of characters in a message. The middle of a longer message is removed, because
# its end contains the remedy.
LONGEST = 2000


class LogicgenError(Exception):
    """An error with a message for the user: the fault, its place and a remedy.

    The command line prints the message and exits with status 2. A message spans several lines only
    if it points into a text (`FormatError`). A message is shortened to 2,000 characters.
    """

    def __init__(self, message: object) -> None:
        super().__init__(shortened(str(message), LONGEST))


class FormatError(LogicgenError):
    """An error in a text that does not parse, with its line and column (both from 1)."""

    def __init__(self, reason: str, text: str, line: int, column: int) -> None:
        self.reason, self.text, self.line, self.column = reason, text, line, column
        lines = text.split("\n")
        shown = lines[line - 1] if line <= len(lines) else ""
        # Show only the characters near the error, because a formula may have 10,000 characters.
        start = max(0, column - 1 - 60)
        window = "".join(c if c.isprintable() else " " for c in shown[start : start + 100])
        caret = " " * (column - 1 - start) + "^"
        super().__init__(f"line {line}, column {column}: {reason}\n  {window}\n  {caret}")

    def __reduce__(self) -> Any:
        """Make pickle keep the line and the column. By default it keeps only the message."""
        return type(self), (self.reason, self.text, self.line, self.column)


@contextmanager
def at(place: object) -> Iterator[None]:
    """If the `with` block raises a LogicgenError, put `place` before its message.

    place: where the error is, such as a file and a line.
    """
    try:
        yield
    except LogicgenError as error:
        raise LogicgenError(f"{place}: {error}") from None


def reason_of(error: Exception) -> str:
    """Return why the operating system refused a file, without the path of the file."""
    return str(getattr(error, "strerror", None) or error)


# Control characters except line breaks and tabs, and characters that change the writing direction.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Return a text that is safe on a terminal: control characters become escapes like `\\x1b`."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


@contextmanager
def reading(source: object) -> Iterator[None]:
    """Turn errors of reading a file in the `with` block into a LogicgenError.

    Such errors are a file that cannot be opened, or a text that is not UTF-8.

    source: the file, for the message.
    """
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
        raise LogicgenError(f"{shown(source)}: a file name cannot contain NUL") from error


def shown(value: object) -> str:
    """Return the `repr` of a value of any size, shortened for a message."""
    try:
        return shortened(repr(value))
    except (ValueError, RecursionError):  # a number of thousands of digits, or deep nesting
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
    """Return `did you mean ...?` for a misspelt name, or all known names if no name is similar."""
    from difflib import get_close_matches

    if word.lower() in known:
        return f"did you mean {word.lower()}?"
    close = get_close_matches(word, known, n=3, cutoff=0.5) if len(word) < 1000 else []
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(known)}" if known else "no name is known"
