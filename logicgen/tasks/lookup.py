"""Look-up: given pairs of a key and its value, then keys, predict the values of these keys.

The answer to `a -> b c -> d e -> f c ->` is `d`. A problem determines its answer if no key has two
values and every queried key is shown in a pair. Only in this case does a mapping fit all pairs, and
all such mappings agree on the queries. The number of symbols of a cell is the number of symbols
from which a problem is drawn. The length of a problem is 3 for each pair, plus 1 for each query,
plus 1.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import ClassVar

from pydantic import model_validator

from logicgen.solvers import Solution
from logicgen.syntax.sampling import all_partitions, stirling
from logicgen.tasks.string_task import DeterminedSettings, DeterminedSource, DeterminedTask
from logicgen.tasks.task import Cell, Difficulty, Draw, Positive, Wording
from logicgen.tokens import symbol_name

# `count` returns infinity if there are more than MANY problems, or more than MANY_PAIRS pairs in a
# problem. For 64 pairs, there are already 2^63 sequences of two keys, up to renaming.
MANY = 10**15
MANY_PAIRS = 64


@dataclass(frozen=True)
class LookupProblem:
    """The shown pairs, and the queried keys (at least one key)."""

    pairs: tuple[tuple[str, str], ...]
    queries: tuple[str, ...]

    def __iter__(self) -> Iterator[str]:
        for key, value in self.pairs:
            yield from (key, "->", value)
        yield from (*self.queries, "->")

    @classmethod
    def of_tokens(cls, tokens: list[str]) -> LookupProblem:
        """Parse the tokens of a problem such as `a -> b c -> d c ->`."""
        pairs, place = [], 0
        while place + 2 < len(tokens) and tokens[place + 1] == "->":
            pairs.append((tokens[place], tokens[place + 2]))
            place += 3
        return cls(tuple(pairs), tuple(tokens[place:-1]))


class LookupSettings(DeterminedSettings):
    """Keys of `[problem]`."""

    # Largest number of different keys in a problem; if not given, only the symbols limit it
    keys: Positive | None = None
    # Largest number of different values in a problem; if not given, only the symbols limit it
    values: Positive | None = None
    overlap: bool = False  # whether a symbol may be a key and a value in one problem
    repeat: bool = True  # whether a key may be shown several times, with the same value each time
    queries: Positive = 1  # the number of queries; a key may be queried several times

    @model_validator(mode="after")
    def _fitting(self) -> LookupSettings:
        if self.keys is not None and not self.repeat:
            raise ValueError("keys goes with repeat = true; without, every pair has its own key")
        return self

    def room(self, keys: int, values: int) -> int:
        """Return the number of symbols that these numbers of different keys and values need."""
        keys, values = self.keys or keys, self.values or values
        return max(keys, values) if self.overlap else keys + values

    def most_keys(self, symbols: int) -> int:
        """Return the largest number of different keys in a problem over `symbols` symbols."""
        # If no symbol may be a key and a value, one symbol is left as a value.
        return self.keys or (symbols if self.overlap else symbols - 1)


class LookupSource(DeterminedSource):
    """A source of problems with random pairs of a key and a value, and with random queries.

    Queries are drawn from the shown keys. Keys and values are drawn by the frequencies of symbols.
    After `keys` different keys, all further keys are drawn from these. `values` limits the values
    in the same way.
    """

    step = 3

    def __init__(self, settings: LookupSettings, symbols: tuple[int, int]) -> None:
        super().__init__(settings, symbols)
        self._settings = settings
        self.called = f"look-up of problem.queries = {settings.queries}"
        self.first = 4 + settings.queries

    def drawn(self, rng: Random, cell: Cell) -> Draw:
        settings, frequencies, allowed = self._settings, self._frequencies, self.symbols(cell)
        pairs = rng.choice([n for n in self.examples(cell) if self._room(n) <= allowed[-1]])
        symbols = rng.randint(max(allowed[0], self._room(pairs)), allowed[-1])
        most_keys = settings.most_keys(symbols)
        most_values = settings.values or symbols
        shown: list[int] = []
        mapping: dict[int, int] = {}
        for _ in range(pairs):
            if not settings.repeat:
                key = frequencies.draw(rng, symbols, without=mapping)
            elif len(mapping) < most_keys:
                key = frequencies.draw(rng, symbols)
            else:
                key = frequencies.among(rng, [*mapping])
            mapping[key] = -1  # values are drawn later, because a value may not be a key
            shown.append(key)
        used: dict[int, None] = {}
        for key in mapping:
            if len(used) < most_values:
                value = frequencies.draw(rng, symbols, without=() if settings.overlap else mapping)
            else:
                value = frequencies.among(rng, [*used])
            used[value] = None
            mapping[key] = value
        asked = rng.choices([*mapping], k=settings.queries)
        return self._draw(shown, mapping, asked, symbols)

    def count(self, cell: Cell) -> Mapping[int, float]:
        most = self.symbols(cell)[-1]
        found: Counter[int] = Counter()
        if self._frequencies.obstacle(most) is not None:
            return found
        for pairs, keys in self._sizes(cell):
            countable = pairs <= MANY_PAIRS or self._few(keys, most)
            if countable:
                found.update(self._count(pairs, keys, most))
            if not countable or found.total() > MANY:
                return {most: math.inf}
        return found

    def _sizes(self, cell: Cell) -> Iterator[tuple[int, int]]:
        """Yield each possible (number of pairs, number of different keys) of a cell's problems."""
        most = self.symbols(cell)[-1]
        for pairs in self.examples(cell):
            if self._room(pairs) <= most:
                yield from ((pairs, keys) for keys in self._different_keys(pairs, most))

    def _few(self, keys: int, most: int) -> bool:
        """Return whether there are few problems with `keys` different keys over `most` symbols.

        If keys may be repeated, there are few problems only with a single key. If keys may not be
        repeated, there are few problems if only one value is allowed, or if only one symbol is left
        as a value.
        """
        settings = self._settings
        if settings.repeat:
            return keys == 1
        return settings.values == 1 or (not settings.overlap and most == keys + 1)

    def _count(self, pairs: int, keys: int, most: int) -> dict[int, int]:
        """Return the number of problems with `keys` different keys, by number of distinct symbols.

        Problems that are equal up to renaming count once. A partition of the keys defines which
        keys have the same value. `old` is the number of values that are keys themselves.
        """
        settings = self._settings
        shown = stirling(pairs, keys) * keys**settings.queries
        found: Counter[int] = Counter()
        for values in range(1, min(keys, settings.values or keys) + 1):
            for old in range(values + 1 if settings.overlap else 1):
                if keys + values - old <= most:
                    ways = math.comb(keys, old) * math.perm(values, old)
                    found[keys + values - old] += shown * stirling(keys, values) * ways
        return found

    def all(self, cell: Cell) -> Iterator[Draw]:
        low, most = self.symbols(cell)[0], self.symbols(cell)[-1]
        for pairs, keys in self._sizes(cell):
            for shown in all_partitions(pairs, keys):
                for values in self._values(keys, most):
                    symbols = max(low, keys, max(values) + 1, self._room(pairs))
                    for asked in product(range(keys), repeat=self._settings.queries):
                        yield self._draw(shown, dict(enumerate(values)), list(asked), symbols)

    def _values(self, keys: int, most: int) -> Iterator[list[int]]:
        """Yield each assignment of values to keys, as a list of symbol numbers by key.

        A value is itself a key (if `overlap` allows it), or a further symbol. The keys have the
        numbers from 0. Further symbols are numbered from `keys` in order of first occurrence.
        """
        old = range(keys if self._settings.overlap else 0)
        pending: list[tuple[list[int], int]] = [([], keys)]
        while pending:
            values, used = pending.pop()
            if len({*values}) > (self._settings.values or keys) or used > most:
                continue
            if len(values) == keys:
                yield values
                continue
            for value in (*old, *range(keys, used + 1)):
                pending.append(([*values, value], max(used, value + 1)))

    def _draw(
        self, shown: list[int], mapping: Mapping[int, int], asked: list[int], symbols: int
    ) -> Draw:
        name = self.names(number for key in shown for number in (key, mapping[key]))
        problem = LookupProblem(
            tuple((name[key], name[mapping[key]]) for key in shown),
            tuple(name[key] for key in asked),
        )
        return Draw(problem, symbols, tuple(map(symbol_name, name)))

    def too_few(self, examples: int, symbols: int) -> str | None:
        settings, needed = self._settings, self._room(examples)
        if needed <= symbols:
            return None
        keys = settings.keys or (1 if settings.repeat else examples)
        values = settings.values or 1
        remedies = {
            "raise symbols": True,
            "lower problem.keys": settings.keys,
            "lower problem.values": settings.values,
            "lower length or set problem.repeat = true": not settings.repeat,
            "set problem.overlap = true": max(keys, values) <= symbols,
        }
        helpful = " or ".join(remedy for remedy, helps in remedies.items() if helps)
        return (
            f"{_some(keys, 'different key')} and {_some(values, 'different value')} need "
            f"{_some(needed, 'symbol')}, and there are only {symbols}: {helpful}"
        )

    def _room(self, pairs: int) -> int:
        return self._settings.room(1 if self._settings.repeat else pairs, 1)

    def _different_keys(self, pairs: int, symbols: int) -> range:
        if not self._settings.repeat:
            return range(pairs, pairs + 1)
        return range(1, min(pairs, self._settings.most_keys(symbols)) + 1)


def _some(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


class Lookup(DeterminedTask):
    """The task of look-up: a problem has pairs and queried keys; the answer is the keys' values."""

    name: ClassVar = "lookup"
    about: ClassVar = "pairs of a key and a value, then keys -> the values of these keys"
    Settings: ClassVar = LookupSettings
    Source: ClassVar = LookupSource
    Problem: ClassVar = LookupProblem
    controls: ClassVar = {
        "counter": "logicgen.tasks.string_controls:KeyCounter",
        "frequent": "logicgen.tasks.string_controls:FrequentValue",
        "random": "logicgen.tasks.string_controls:ValueGuess",
    }
    difficulty: ClassVar = Difficulty(length=(8, 14, 20, 32, 44), few=(3, 5), short=(5, 12))
    wording: ClassVar = Wording(
        "Look up the values of keys.",
        "Each pair `k -> v` shows the value v of the key k. After the pairs stand the keys that are"
        " asked for, and a last arrow.",
        "The answer is the values of these keys in the same order, separated by blanks.",
        "Pairs and keys",
        (
            ("a -> b c -> d c ->", "d"),
            ("e -> a b -> f e ->", "a"),
            ("a -> d b -> c a b ->", "d c"),
        ),
    )
    between: ClassVar = " "

    def answer_length(self, problem: LookupProblem) -> int:
        return len(problem.queries)

    def solve(self, problem: LookupProblem, solver: str | None = None) -> Solution:
        """Return the values of the queried keys, or an `unsat` solution with the reason."""
        mapping: dict[str, str] = {}
        for key, value in problem.pairs:
            if mapping.setdefault(key, value) != value:
                return Solution.unsat(f"no answer: {key} is shown with {mapping[key]} and {value}")
        for key in problem.queries:
            if key not in mapping:
                return Solution.unsat(
                    f"more than one answer: {key} is asked for and never shown, so any value fits"
                )
        return Solution.sat(tuple(mapping[key] for key in problem.queries))

    def deciding(self, problem: LookupProblem) -> tuple[tuple[int, ...], ...]:
        """Return, for each queried key, the numbers of the tokens that decide its value.

        These are the tokens of all pairs that show the key, and the queried key itself.
        """
        if self.solve(problem).witness is None:
            return ()
        shown: dict[str, list[int]] = {}
        for number, (key, _) in enumerate(problem.pairs):
            shown.setdefault(key, []).extend((3 * number, 3 * number + 2))
        asked = 3 * len(problem.pairs)
        return tuple((*shown[key], asked + i) for i, key in enumerate(problem.queries))
