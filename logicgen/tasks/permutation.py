"""Permutation: demonstrations of one permutation of positions, then a sub-sequence; it permuted.

`a b c > c a b ; d e f > f d e ; g h i >` is answered by `i g h`. A cell's `symbols` is the number
of symbols the sub-sequences are drawn from. A problem with D demonstrations of a permutation of m
positions has (m + 1)(2 D + 1) tokens.

When a problem determines its answer. Let x_j be the column of position j in the inputs, that is its
symbols in all demonstrations, and y_i that of position i in the outputs. A permutation p, which
puts position p(i) in place i, fits all demonstrations if and only if x_p(i) = y_i for all i. So
place i may take exactly the positions whose columns equal y_i; these sets are equal for two places
or have nothing in common. Hence

- some permutation fits if and only if the columns of inputs and outputs are the same, each equally
  often; and then every way to give the places with a column the positions with that column, one to
  one, is part of one that fits;
- all that fit answer alike if and only if positions with equal columns hold equal symbols in what
  is asked: of two that do not, either may go to a place, which then shows one or the other.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Annotated, ClassVar

from pydantic import Field

from logicgen.errors import LogicgenError
from logicgen.solvers import Solution
from logicgen.syntax.language import Language
from logicgen.syntax.partitions import partition_of
from logicgen.tasks.determined import Determined, Symbols, no_such_length, token_language
from logicgen.tasks.frequencies import Kind, frequencies
from logicgen.tasks.task import Cell, Draw, Settings, Source
from logicgen.vocabulary import symbol_name

# Inputs of more symbols than these, two different ones or more, are not counted: they are at least
# 2^32, whatever the settings.
MANY_PLACES = 64


@dataclass(frozen=True)
class PermutationProblem:
    """Pairs of an input and its output, and the input that is asked for."""

    demonstrations: tuple[tuple[Symbols, Symbols], ...]
    query: Symbols

    @property
    def tokens(self) -> list[str]:
        """As it is written."""
        shown = [
            token for before, after in self.demonstrations for token in (*before, ">", *after, ";")
        ]
        return [*shown, *self.query, ">"]


class PermutationSettings(Settings):
    """Keys of `[problem]`.

    Attributes:
        size: how many positions are permuted.
        repeat: whether a sub-sequence may hold a symbol more than once. If not, one demonstration
            determines the permutation.
        frequencies: how often symbols are drawn (`tasks/frequencies.py`).
    """

    size: Annotated[int, Field(ge=1)] = 3
    repeat: bool = True
    frequencies: Kind = "uniform"


class PermutationSource(Source):
    """Sub-sequences whose symbols are drawn by frequency, and a permutation, all equally likely.

    Problems that do not determine their answer are drawn, counted and listed as well; they have no
    answer, so no data set holds them.
    """

    exact = False
    named = True

    def __init__(self, settings: PermutationSettings, symbols: tuple[int, int]) -> None:
        self._settings = settings
        self._range = symbols
        self._frequencies = frequencies(settings.frequencies)

    def sample(self, rng: Random, cell: Cell) -> Draw:
        """A problem; without symbols asked for, how many it is drawn from is drawn first."""
        if obstacle := self.obstacle(cell):
            raise LogicgenError(obstacle)
        size = self._settings.size
        low, high = self._symbols(cell)
        symbols = rng.randint(max(low, self._room), high)
        rows = [
            self._row(rng, symbols) for _ in range(rng.choice(list(self._demonstrations(cell))) + 1)
        ]
        order = rng.sample(range(size), size)
        return self._draw(rows, [[row[place] for place in order] for row in rows[:-1]], symbols)

    def _row(self, rng: Random, symbols: int) -> list[int]:
        row: list[int] = []
        for _ in range(self._settings.size):
            row.append(
                self._frequencies.draw(rng, symbols, without=() if self._settings.repeat else row)
            )
        return row

    def count(self, cell: Cell) -> Mapping[int, float]:
        """Problems by number of distinct symbols, determined or not; infinity where many."""
        most = self._symbols(cell)[1]
        found: Counter[int] = Counter()
        if most < self._room or self._frequencies.obstacle(most) is not None:
            return found
        for demonstrations in self._demonstrations(cell):
            places = self._settings.size * (demonstrations + 1)
            if most > 1 and places > MANY_PLACES:
                return {most: math.inf}
            for k in range(1, min(most, places) + 1):
                if kinds := _patterns(self._settings, demonstrations, k):
                    found[k] += kinds
        return found

    def all(self, cell: Cell) -> Iterator[Draw]:
        """Every problem of the cell up to renaming, determined or not."""
        low, most = self._symbols(cell)
        for demonstrations in self._demonstrations(cell):
            for rows in self._inputs(demonstrations + 1, most):
                columns = list(zip(*rows[:-1], strict=True))
                for arranged in _arrangements(columns):
                    outputs = [list(row) for row in zip(*arranged, strict=True)]
                    symbols = max(low, self._room, 1 + max(max(row) for row in rows))
                    yield self._draw(rows, outputs, symbols)

    def _inputs(self, rows: int, most: int) -> Iterator[list[list[int]]]:
        """Sub-sequences over up to `most` symbols, numbered in order of first occurrence."""
        size = self._settings.size
        pending: list[tuple[list[int], int]] = [([], 0)]
        while pending:
            labels, used = pending.pop()
            if len(labels) == rows * size:
                yield [labels[first : first + size] for first in range(0, len(labels), size)]
                continue
            row = labels[len(labels) - len(labels) % size :]
            for label in range(min(used + 1, most)):
                if self._settings.repeat or label not in row:
                    pending.append(([*labels, label], max(used, label + 1)))

    def _draw(
        self, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], symbols: int
    ) -> Draw:
        # An output holds the symbols of its input, so the inputs alone say which come first.
        numbers = [number for row in inputs for number in row]
        order = list(dict.fromkeys(numbers))
        name = dict(zip(numbers, map(symbol_name, partition_of(numbers)), strict=True))
        *before, query = [tuple(name[number] for number in row) for row in inputs]
        after = [tuple(name[number] for number in row) for row in outputs]
        problem = PermutationProblem(tuple(zip(before, after, strict=True)), query)
        return Draw(problem, symbols, tuple(map(symbol_name, order)))

    def obstacle(self, cell: Cell) -> str | None:
        """A length that is none, too few symbols, or more than have a frequency."""
        size, most = self._settings.size, self._symbols(cell)[1]
        if not [*self._demonstrations(cell)]:
            called = f"permutation of problem.size = {size}"
            return no_such_length(cell, called, 3 * (size + 1), 2 * (size + 1))
        if most < 1:
            return "there are no symbols to permute: raise symbols"
        if most < self._room:
            return (
                f"sub-sequences of {size} different symbols take {size}, and there are only "
                f"{most}: lower problem.size, raise symbols, or set problem.repeat = true"
            )
        return self._frequencies.obstacle(most)

    def _demonstrations(self, cell: Cell) -> Iterator[int]:
        """The numbers of demonstrations that give a length of the cell."""
        for length in cell.lengths:
            parts, left = divmod(length, self._settings.size + 1)
            if left == 0 and parts % 2 and parts > 1:
                yield parts // 2

    @property
    def _room(self) -> int:
        """How many symbols it takes."""
        return 1 if self._settings.repeat else self._settings.size

    def _symbols(self, cell: Cell) -> tuple[int, int]:
        return self._range if cell.symbols is None else (cell.symbols, cell.symbols)


@cache
def _patterns(settings: PermutationSettings, demonstrations: int, symbols: int) -> int:
    """Problems with so many demonstrations and exactly so many symbols, up to renaming.

    Over n given symbols there are L(n) problems. By inclusion and exclusion, the sum over j of
    (-1)^(k - j) C(k, j) L(j) of them hold k given symbols and no others. Every renaming of these
    changes such a problem, so that there are k! times fewer up to renaming.
    """
    signed = (
        (-1) ** (symbols - j) * math.comb(symbols, j) * _named(settings, demonstrations, j)
        for j in range(symbols + 1)
    )
    return sum(signed) // math.factorial(symbols)


@cache
def _named(settings: PermutationSettings, demonstrations: int, symbols: int) -> int:
    """Problems over so many given symbols, whether or not all of them occur."""
    size = settings.size
    if not settings.repeat:
        return math.perm(symbols, size) ** (demonstrations + 1) * math.factorial(size)
    return _two_orders(size, symbols**demonstrations) * symbols**size


def _two_orders(size: int, kinds: int) -> int:
    """Pairs of sequences of `size` things of so many kinds that hold the same things.

    A(m, s + t) = sum over c of C(m, c)^2 A(c, s) A(m - c, t): of the m things in either order, c
    are of the first s kinds. A(m, 1) = 1. So A is found by doubling, however many kinds.
    """
    found = [int(m == 0) for m in range(size + 1)]
    power = [1] * (size + 1)

    def both(s: list[int], t: list[int]) -> list[int]:
        return [
            sum(math.comb(m, c) ** 2 * s[c] * t[m - c] for c in range(m + 1))
            for m in range(size + 1)
        ]

    while kinds:
        if kinds % 2:
            found = both(found, power)
        power = both(power, power)
        kinds //= 2
    return found[size]


def _arrangements(things: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """The different orders of some things, of which some may be equal; each once."""
    pending: list[tuple[list[tuple[int, ...]], Counter[tuple[int, ...]]]] = [([], Counter(things))]
    while pending:
        arranged, left = pending.pop()
        if len(arranged) == len(things):
            yield arranged
            continue
        for thing in left:
            pending.append(([*arranged, thing], left - Counter([thing])))


class Permutation(Determined):
    """Demonstrations and a sub-sequence in, the sub-sequence permuted out."""

    name: ClassVar = "permutation"
    about: ClassVar = "demonstrations of a permutation, then a sub-sequence -> it permuted"
    Settings: ClassVar = PermutationSettings
    edit_distance: ClassVar = True

    def answer_length(self, problem: PermutationProblem) -> int:
        """One token for each that is asked for."""
        return len(problem.query)

    def source(self, settings: PermutationSettings, symbols: tuple[int, int]) -> PermutationSource:
        """Random sub-sequences and a random permutation."""
        return PermutationSource(settings, symbols)

    def solve(self, problem: PermutationProblem, solver: str | None = None) -> Solution:
        """The sub-sequence in the order of the demonstrations; the module says why it is right."""
        query = problem.query
        for before, after in problem.demonstrations:
            if not len(before) == len(after) == len(query):
                return Solution.unsat(
                    f"no answer: {len(before)} symbols become {len(after)}, and of {len(query)} is "
                    "asked; a permutation takes as many as it gives"
                )
        places = range(len(query))
        inputs = [tuple(before[i] for before, _ in problem.demonstrations) for i in places]
        outputs = [tuple(after[i] for _, after in problem.demonstrations) for i in places]
        if Counter(inputs) != Counter(outputs):
            return Solution.unsat("no answer: no permutation of positions fits every demonstration")
        first: dict[Symbols, int] = {}
        for place, column in enumerate(inputs):
            other = first.setdefault(column, place)
            if query[place] != query[other]:
                return Solution.unsat(
                    f"more than one answer: no demonstration tells position {other + 1} from "
                    f"position {place + 1}, where {query[other]} and {query[place]} stand in what "
                    "is asked"
                )
        return Solution.sat(tuple(query[first[column]] for column in outputs))

    @property
    def problem_language(self) -> Language:
        """`permutation.lark`."""
        return token_language("permutation")

    def problem_of(self, tokens: list[str]) -> PermutationProblem:
        """From `a b > b a ; c d >`."""
        *shown, query = " ".join(tokens).split(";")
        pairs = (demonstration.split(">") for demonstration in shown)
        return PermutationProblem(
            tuple((tuple(before.split()), tuple(after.split())) for before, after in pairs),
            tuple(query.split()[:-1]),
        )
