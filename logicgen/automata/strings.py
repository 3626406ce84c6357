"""Strings of different lengths as one array, and random strings of an automaton.

The functions that draw strings raise LogicgenError if the sum of the weights of all strings is 0
or infinite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from logicgen.automata.automaton import Automaton
from logicgen.automata.sums import normalise
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
        """Return whether each entry of `ids` is before the end of its string, (S, L) bool."""
        return np.arange(self.ids.shape[1]) < self.lengths[:, None]

    def rows(self, chosen: np.ndarray) -> Strings:
        """Return the strings with the numbers `chosen`, in an array as wide as the longest."""
        lengths = self.lengths[chosen]
        return Strings(self.ids[chosen, : lengths.max(initial=0)], lengths)

    def written(self, symbols: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the strings as tuples of symbol names."""
        return [
            tuple(symbols[i] for i in row[:length])
            for row, length in zip(self.ids, self.lengths, strict=True)
        ]


Readable = Strings | Iterable[Sequence[str]]
"""Strings, or sequences of symbol names, such as `["ab", ""]` if names are single characters."""


def encode(symbols: tuple[str, ...], strings: Readable) -> Strings:
    """Replace each symbol of some strings by its number, its index in `symbols`.

    Raises LogicgenError for an unknown symbol. The message contains the number of the string and
    the place in it, both counted from 1, and similar symbols.
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


LONGEST = 1_000_000


def sample(
    automaton: Automaton, count: int, rng: np.random.Generator, longest: int = LONGEST
) -> Strings:
    """Draw `count` independent strings; the probability of a string is proportional to its weight.

    Raises LogicgenError if a string has more than `longest` symbols, since shortening it would
    change the distribution.
    """
    model = normalise(automaton)
    drawn, going_on = _walk(model, count, rng, longest)
    if going_on:
        raise LogicgenError(
            f"sample: a string is longer than {longest} symbols; allow a larger `longest` or"
            " make the automaton's final weights larger"
        )
    return drawn


def sample_beginnings(
    automaton: Automaton, count: int, length: int, rng: np.random.Generator
) -> Strings:
    """Draw `count` independent strings, and return the first `length` symbols of each."""
    return _walk(normalise(automaton), count, rng, length)[0]


def _walk(
    model: Automaton, count: int, rng: np.random.Generator, longest: int
) -> tuple[Strings, bool]:
    """Draw `count` strings of a probabilistic automaton, with at most `longest` symbols each.

    Returns the strings, and whether a longer string was shortened.
    """
    # List the outcomes of a step from each state: a transition, or the end, written as symbol -1.
    tables = [matrix.tocoo() for matrix in model.transitions]
    n = len(model.states)
    source = np.concatenate([*(table.coords[0] for table in tables), np.arange(n)])
    target = np.concatenate([*(table.coords[1] for table in tables), np.zeros(n, dtype=np.int64)])
    weight = np.concatenate([*(table.data for table in tables), model.final])
    symbol = np.concatenate([*(np.full(t.nnz, i) for i, t in enumerate(tables)), np.full(n, -1)])
    order = np.lexsort((symbol, source))
    order = order[weight[order] > 0]
    source, symbol, target, weight = (each[order] for each in (source, symbol, target, weight))
    last = np.cumsum(np.bincount(source, minlength=n)) - 1  # the last outcome of each state
    # The bound of an outcome is the number of its state plus a cumulative probability. This is the
    # sum of the probabilities of the state's outcomes, up to and including this outcome. Bounds
    # increase, so one search serves all strings.
    sums = np.cumsum(weight)
    before = np.concatenate([[0.0], sums[last[:-1]]])
    bound = source + (sums - before[source]) / (sums[last] - before)[source]

    state = rng.choice(n, size=count, p=model.initial)
    going = np.arange(count)
    columns: list[np.ndarray] = []
    lengths = np.zeros(count, dtype=np.int64)
    while len(going):
        outcome = np.searchsorted(bound, state + rng.random(len(state)), side="right")
        outcome = np.minimum(outcome, last[state])
        read = symbol[outcome]
        on = read >= 0
        going, state = going[on], target[outcome[on]]
        if len(columns) == longest:
            break
        if len(going):
            column = np.zeros(count, dtype=np.int64)
            column[going] = read[on]
            columns.append(column)
            lengths[going] += 1
    ids = np.stack(columns, axis=1) if columns else np.zeros((count, 0), dtype=np.int64)
    return Strings(ids, lengths), len(going) > 0
