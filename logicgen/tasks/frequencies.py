"""Frequencies of symbols: equal, like characters of English text, or by Zipf's law.

Symbol 0 has the largest weight. With n symbols, the first n symbols are drawn by weight.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import cache
from random import Random
from typing import Literal

FrequencyKind = Literal["uniform", "characters", "zipf"]

# The characters and their counts in `pydoc_data.topics` of Python 3.11.7, an English text that is
# part of every Python, the most frequent first. They are copied here because the text differs
# between versions of Python, and data sets must not differ.
_OCCURRING = (
    " etasniorl-c\nhdu\"mpfb_.gy*,=w()xv:T|k'j>I+A1E][qNPS0C3F2;zRM<4WOB~U{}DL5/6\\#7G8H%V!9^XY@KZ"
    "&?QJ"
)
# fmt: off
_COUNTS = (
    85843, 41274, 31207, 23560, 22601, 22516, 22505, 20212, 18425, 12874, 12147, 11965, 11374,
    11109, 10381, 8735, 8077, 7648, 7433, 6841, 5449, 4957, 4858, 4716, 4321, 3974, 3387, 3127,
    2752, 2582, 2582, 2446, 2441, 1453, 1329, 1297, 1169, 1078, 1013, 892, 765, 599, 568, 559, 558,
    525, 523, 521, 496, 491, 474, 473, 466, 391, 375, 332, 275, 240, 204, 197, 193, 183, 180, 162,
    154, 151, 144, 141, 141, 139, 127, 117, 109, 81, 78, 77, 76, 74, 67, 65, 48, 43, 39, 38, 30, 29,
    29, 26, 26, 13, 12, 11, 6, 4,
)
# fmt: on

CHARACTERS = _OCCURRING + "".join(c for c in map(chr, range(128)) if c not in _OCCURRING)
"""The 128 ASCII characters. Symbol number k of `characters` is character number k of this text."""

# If an excluded symbol is drawn, the draw is repeated up to this number of times. This is faster
# than summing the weights of the other symbols, unless nearly all symbols are excluded.
TRIES = 16


class Frequencies:
    """A distribution over symbols, which are numbers from 0.

    There are at most `most` symbols. If `most` is None, there is no limit.
    """

    def __init__(self, kind: FrequencyKind) -> None:
        self.kind = kind
        self.most = len(CHARACTERS) if kind == "characters" else None
        self._sums: list[float] = []  # entry i is the sum of the weights of symbols 0 to i

    def weight(self, symbol: int) -> float:
        """Return a symbol's weight: 1, a character's count plus 1 (Laplace), or 1 / rank (Zipf)."""
        match self.kind:
            case "uniform":
                return 1
            case "characters":
                return 1 + (_COUNTS[symbol] if symbol < len(_COUNTS) else 0)
            case "zipf":
                return 1 / (symbol + 1)

    def draw(self, rng: Random, symbols: int, without: Collection[int] = ()) -> int:
        """Return a random symbol among the first `symbols`, by weight, but not in `without`.

        Raises IndexError if no symbol is left.
        """
        # The list of sums grows when needed. The weight of a symbol does not depend on `symbols`.
        sums = self._sums
        for symbol in range(len(sums), symbols):
            sums.append((sums[-1] if sums else 0) + self.weight(symbol))
        for _ in range(TRIES):
            drawn = bisect_right(sums, rng.random() * sums[symbols - 1], 0, symbols - 1)
            if drawn not in without:
                return drawn
        return self.among(rng, [symbol for symbol in range(symbols) if symbol not in without])

    def among(self, rng: Random, symbols: Sequence[int]) -> int:
        """Return one of these symbols at random, in proportion to their weights."""
        return rng.choices(symbols, [self.weight(symbol) for symbol in symbols])[0]

    def obstacle(self, symbols: int) -> str | None:
        """Return why `symbols` symbols are too many, or None if they are possible."""
        if self.most is None or symbols <= self.most:
            return None
        return (
            f"problem.frequencies = {self.kind!r} has {self.most} symbols, fewer than "
            f"{symbols}: lower symbols, or draw by 'zipf'"
        )


@cache
def frequencies(kind: FrequencyKind) -> Frequencies:
    """Return the frequencies of a kind (cached)."""
    return Frequencies(kind)
