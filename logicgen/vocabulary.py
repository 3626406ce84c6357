"""Fixed tokens and interchangeable symbols, as text and as ids.

A vocabulary has finitely many *fixed tokens* (operators, constants, separators, markers) with ids
`0..F-1`, and *symbols* (propositions, variables, letters to copy) without an upper bound: symbol
`k` has id `F + k`. Symbols are written `a`, `b`, ..., `z`, `a1`, ..., `z1`, `a2`, ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

PAD, START, END = "<pad>", "<start>", "<end>"

MOST_SYMBOLS = 1_000_000  # of a data set, and so of a model

# Longer numbers count nothing, and very long ones Python does not convert.
_SYMBOL = re.compile(r"([a-z])(0|[1-9][0-9]{0,16})?\Z")


def symbol_name(index: int) -> str:
    """Return the name of symbol number `index` (from 0): `a`..`z`, then `a1`..`z1`, and so on."""
    turn, letter = divmod(index, 26)
    return chr(97 + letter) + (str(turn) if turn else "")


def symbol_index(name: str) -> int | None:
    """Return the number of the symbol called `name`, or None where no symbol has that name."""
    match = _SYMBOL.match(name)
    if match is None or match[2] == "0":
        return None
    return ord(match[1]) - 97 + 26 * int(match[2] or 0)


class Vocabulary:
    """The tokens of a task as ids: `<pad>`, `<start>` and `<end>`, the fixed ones, the symbols."""

    pad, start, end = 0, 1, 2

    def __init__(self, fixed: Sequence[str]) -> None:
        self.fixed: tuple[str, ...] = (PAD, START, END, *fixed)
        self._ids = {token: number for number, token in enumerate(self.fixed)}
        if len(self._ids) != len(self.fixed):
            raise ValueError(f"a fixed token is listed twice: {self.fixed}")

    def __len__(self) -> int:
        """Return F, the number of fixed tokens; the ids of symbols come after them."""
        return len(self.fixed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fixed == other.fixed

    def __hash__(self) -> int:
        return hash(self.fixed)

    def __repr__(self) -> str:
        return f"Vocabulary({' '.join(self.fixed[3:])})"

    def id(self, token: str) -> int:
        """Return the id of a token. Raises KeyError if it is neither a fixed token nor a symbol."""
        number = self._ids.get(token)
        if number is None:
            symbol = symbol_index(token)
            if symbol is None:
                raise KeyError(token)
            number = self._ids[token] = len(self.fixed) + symbol
        return number

    def token(self, number: int) -> str:
        """Return the text of an id."""
        own = number - len(self.fixed)
        return self.fixed[number] if own < 0 else symbol_name(own)

    def encode(self, text: str) -> list[int]:
        """Return the ids of the blank-separated tokens of `text`; no markers are added."""
        return [self.id(token) for token in text.split()]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids` up to the first `<end>`, without markers."""
        before = takewhile(lambda number: number != self.end, ids)
        markers = self.pad, self.start
        return " ".join(self.token(number) for number in before if number not in markers)
