"""Strings of different lengths as one array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from logicgen.errors import LogicgenError, nearest


@dataclass(frozen=True, eq=False)
class Strings:
    """S strings of up to L symbols, as symbol numbers."""

    ids: np.ndarray  # (S, L) int64, the number of each symbol; entries after the end are ignored
    lengths: np.ndarray  # (S,) int64

    def __post_init__(self) -> None:
        count, longest = self.ids.shape
        if self.lengths.shape != (count,) or self.lengths.max(initial=0) > longest:
            raise LogicgenError(
                f"strings: {count} rows of {longest} places do not fit lengths of shape"
                f" {self.lengths.shape} and up to {self.lengths.max(initial=0)}"
            )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def inside(self) -> np.ndarray:
        """Return whether each place is before the end of its string, (S, L) bool."""
        return np.arange(self.ids.shape[1]) < self.lengths[:, None]

    def rows(self, chosen: np.ndarray) -> Strings:
        """Return some of the strings, in an array as wide as the longest of them."""
        lengths = self.lengths[chosen]
        return Strings(self.ids[chosen, : lengths.max(initial=0)], lengths)

    def written(self, symbols: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the strings as tuples of symbol names."""
        return [
            tuple(symbols[i] for i in row[:length])
            for row, length in zip(self.ids, self.lengths, strict=True)
        ]


Readable = Strings | Iterable[Sequence[str]]
"""Strings, or sequences of symbol names, such as `["ab", ""]` if all names are one character."""


def encode(symbols: tuple[str, ...], strings: Readable) -> Strings:
    """Return strings as numbers of `symbols`.

    Raises LogicgenError for what is no symbol, with its string and place (from 1) and similar ones.
    """
    if isinstance(strings, Strings):
        inside = strings.ids[strings.inside]
        if inside.min(initial=0) < 0 or inside.max(initial=0) >= len(symbols):
            raise LogicgenError(
                f"strings: symbol number {inside[(inside < 0) | (inside >= len(symbols))][0]}"
                f" is not one of 0 to {len(symbols) - 1}"
            )
        return strings
    number = {name: i for i, name in enumerate(symbols)}
    rows: list[list[int]] = []
    for i, string in enumerate(strings, 1):
        try:
            rows.append([number[name] for name in string])
        except KeyError:
            place, name = next((p, n) for p, n in enumerate(string, 1) if n not in number)
            raise LogicgenError(
                f"string {i}, place {place}: {name!r} is not a symbol;"
                f" {nearest(str(name), list(symbols))}"
            ) from None
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    ids = np.zeros((len(rows), lengths.max(initial=0)), dtype=np.int64)
    for place, row in zip(ids, rows, strict=True):
        place[: len(row)] = row
    return Strings(ids, lengths)
