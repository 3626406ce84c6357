"""Permutation: from examples of a permutation, predict how it changes another sequence.

The answer to `a b c > c a b ; d e f > f d e ; g h i >` is `i g h`. A demonstration is an input with
its output, such as `a b c > c a b`. The query is the last input, `g h i`. The number of symbols of
a cell is the number of symbols from which inputs are drawn. Each input and each output has m
symbols and a sign (`>` or `;`). So a problem with D demonstrations has (m + 1)(2 D + 1) tokens.

If d symbols are dropped, every output has d symbols fewer: the answer to `a b c > c a ; d e f >` is
`f d`. The rule is then a permutation without its last d places. It is a one-to-one map p from the
m - d places of an output to the m positions of its input: place i of the output contains the
input's symbol at position p(i). The lengths of the demonstrations determine d. Without
demonstrations, d is 0.

When does a problem determine its answer? Let x_j be the column of position j in the inputs: its
symbols in all demonstrations. Let y_i be the column of place i in the outputs. A rule p fits all
demonstrations if and only if x_p(i) = y_i for all i. So the candidates for p(i) are exactly the
positions j with x_j = y_i. Two places have the same candidates, or no candidate in common.
It follows:

- A rule fits if and only if no column occurs more often in the outputs than in the inputs. Any
  assignment of different candidates to places with the same column can then be extended to a rule.
- Let C be the set of columns that occur in the outputs. All rules that fit give the same answer if
  and only if positions with the same column in C hold the same symbol in the query. If two such
  positions hold different symbols, one rule shows the first symbol and another rule the second.
  Positions with other columns are dropped, so their symbols do not matter.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from logicgen.solvers import Solution
from logicgen.tasks.string_task import DeterminedSettings, DeterminedSource, DeterminedTask, Symbols
from logicgen.tasks.task import Cell, Difficulty, Draw, Positive, Wording
from logicgen.tokens import symbol_name

# If the inputs of a problem together have more symbols than this number, `count` returns infinity
# (unless there is only one symbol). There are at least 2^32 such problems, for any settings.
MANY_PLACES = 64


@dataclass(frozen=True)
class PermutationProblem:
    """Demonstrations (pairs of an input and its output), and a query: an input without output."""

    demonstrations: tuple[tuple[Symbols, Symbols], ...]
    query: Symbols

    def __iter__(self) -> Iterator[str]:
        for before, after in self.demonstrations:
            yield from (*before, ">", *after, ";")
        yield from (*self.query, ">")

    @classmethod
    def of_tokens(cls, tokens: list[str]) -> PermutationProblem:
        """Parse the tokens of a problem such as `a b > b a ; c d >`."""
        *shown, query = " ".join(tokens).split(";")
        pairs = (demonstration.split(">") for demonstration in shown)
        return cls(
            tuple((tuple(before.split()), tuple(after.split())) for before, after in pairs),
            tuple(query.split()[:-1]),
        )


class PermutationSettings(DeterminedSettings):
    """Keys of `[problem]`."""

    size: Positive = 3  # the number of symbols of an input
    # Whether a symbol may occur twice in an input. If false, one demonstration determines the rule
    repeat: bool = True
    # How many symbols each output leaves out
    dropped: Annotated[int, Field(strict=True, ge=0)] = 0

    @model_validator(mode="after")
    def _something_left(self) -> PermutationSettings:
        if self.dropped >= self.size:
            raise ValueError(
                f"dropped: of size = {self.size} symbols at most {self.size - 1} can be left out"
            )
        return self

    @property
    def kept(self) -> int:
        """Return the number of symbols of an output."""
        return self.size - self.dropped


class PermutationSource(DeterminedSource):
    """A source of problems with random inputs and a random rule.

    Symbols are drawn by their frequencies; all rules are equally likely. Some of these problems do
    not determine their answer; data sets leave them out.
    """

    def __init__(self, settings: PermutationSettings, symbols: tuple[int, int]) -> None:
        super().__init__(settings, symbols)
        self._settings = settings
        self.called = f"permutation of problem.size = {settings.size}"
        if settings.dropped:
            self.called += f" and problem.dropped = {settings.dropped}"
        # The tokens of a demonstration are an input, `>`, an output and `;`.
        self.step = settings.size + settings.kept + 2
        self.first = self.step + settings.size + 1

    def drawn(self, rng: Random, cell: Cell) -> Draw:
        size, allowed = self._settings.size, self.symbols(cell)
        symbols = rng.randint(max(allowed[0], self._room), allowed[-1])
        rows = [self._row(rng, symbols) for _ in range(rng.choice(self.examples(cell)) + 1)]
        order = rng.sample(range(size), self._settings.kept)
        return self._draw(rows, [[row[place] for place in order] for row in rows[:-1]], symbols)

    def _row(self, rng: Random, symbols: int) -> list[int]:
        row: list[int] = []
        for _ in range(self._settings.size):
            without = () if self._settings.repeat else row
            row.append(self._frequencies.draw(rng, symbols, without))
        return row

    def count(self, cell: Cell) -> Mapping[int, float]:
        most = self.symbols(cell)[-1]
        found: Counter[int] = Counter()
        if most < self._room or self._frequencies.obstacle(most) is not None:
            return found
        for demonstrations in self.examples(cell):
            places = self._settings.size * (demonstrations + 1)
            if most > 1 and places > MANY_PLACES:
                return {most: math.inf}
            for k in range(1, min(most, places) + 1):
                if kinds := _patterns(self._settings, demonstrations, k):
                    found[k] += kinds
        return found

    def all(self, cell: Cell) -> Iterator[Draw]:
        """Yield every problem of the cell up to renaming, also problems with several answers."""
        low, most = self.symbols(cell)[0], self.symbols(cell)[-1]
        for demonstrations in self.examples(cell):
            for rows in self._inputs(demonstrations + 1, most):
                columns = list(zip(*rows[:-1], strict=True))
                for arranged in _arrangements(columns, self._settings.kept):
                    outputs = [list(row) for row in zip(*arranged, strict=True)]
                    symbols = max(low, self._room, 1 + max(max(row) for row in rows))
                    yield self._draw(rows, outputs, symbols)

    def _inputs(self, rows: int, most: int) -> Iterator[list[list[int]]]:
        """Yield every list of `rows` inputs over at most `most` symbols.

        Symbols are numbers in order of first occurrence.
        """
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
        # An output has only symbols of its input. So the inputs alone determine in which order the
        # symbols occur first.
        name = self.names(number for row in inputs for number in row)
        *before, query = [tuple(name[number] for number in row) for row in inputs]
        after = [tuple(name[number] for number in row) for row in outputs]
        problem = PermutationProblem(tuple(zip(before, after, strict=True)), query)
        return Draw(problem, symbols, tuple(map(symbol_name, name)))

    def too_few(self, examples: int, symbols: int) -> str | None:
        size = self._settings.size
        if symbols < 1:
            return "there are no symbols to permute: raise symbols"
        if symbols < self._room:
            return (
                f"sub-sequences of {size} different symbols take {size}, and there are only "
                f"{symbols}: lower problem.size, raise symbols, or set problem.repeat = true"
            )
        return None

    @property
    def _room(self) -> int:
        return 1 if self._settings.repeat else self._settings.size


@cache
def _patterns(settings: PermutationSettings, demonstrations: int, symbols: int) -> int:
    """Return the number of problems with exactly k = `symbols` symbols, up to renaming.

    Let L(n) be the number of problems over n given symbols (`_named`). By inclusion and exclusion,
    the number of problems that contain all of k given symbols is the sum over j of
    (-1)^(k - j) C(k, j) L(j), where C is the binomial coefficient. The k! renamings of each problem
    count as one problem.
    """
    signed = (
        (-1 if (symbols - j) % 2 else 1)
        * math.comb(symbols, j)
        * _named(settings, demonstrations, j)
        for j in range(symbols + 1)
    )
    return sum(signed) // math.factorial(symbols)


@cache
def _named(settings: PermutationSettings, demonstrations: int, symbols: int) -> int:
    """Return the number of problems over `symbols` given symbols.

    A problem need not contain all of them.
    """
    size = settings.size
    if not settings.repeat:
        inputs = int(math.perm(symbols, size) ** (demonstrations + 1))
        return inputs * math.perm(size, settings.kept)
    return _two_orders(size, settings.dropped, symbols**demonstrations) * int(symbols**size)


def _two_orders(size: int, dropped: int, kinds: int) -> int:
    """Return the number of pairs of a sequence and a shortened rearrangement of it.

    The first sequence has m = `size` items. Each item is one of `kinds` symbols. The second
    sequence contains the same items without d = `dropped` of them, in any order.

    Let A(m, d, s) be the number of pairs for s symbols. Then A(m, d, 1) = 1, and A(m, d, s + t) is
    the sum over c and e of C(m, c) C(m - d, c - e) A(c, e, s) A(m - c, d - e, t). Here c is the
    number of items among the first s symbols, and e of them are dropped. C is the binomial
    coefficient.
    """
    if kinds == 1:
        return 1
    places = [(m, d) for m in range(size + 1) for d in range(min(m, dropped) + 1)]
    found = {(m, d): int(m == 0) for m, d in places}
    power = dict.fromkeys(places, 1)

    def both(s: dict[tuple[int, int], int], t: dict[tuple[int, int], int]) -> dict[Any, int]:
        return {
            (m, d): sum(
                math.comb(m, c) * math.comb(m - d, c - e) * s[c, e] * t[m - c, d - e]
                for c in range(m + 1)
                for e in range(max(0, c - m + d), min(c, d) + 1)
                if d - e <= m - c
            )
            for m, d in places
        }

    while kinds:
        if kinds % 2:
            found = both(found, power)
        power = both(power, power)
        kinds //= 2
    return found[size, dropped]


def _arrangements(
    things: Sequence[tuple[int, ...]], length: int
) -> Iterator[list[tuple[int, ...]]]:
    """Yield each different sequence of `length` of the given things, which may contain equals."""
    pending: list[tuple[list[tuple[int, ...]], Counter[tuple[int, ...]]]] = [([], Counter(things))]
    while pending:
        arranged, left = pending.pop()
        if len(arranged) == length:
            yield arranged
            continue
        for thing in left:
            pending.append(([*arranged, thing], left - Counter([thing])))


class Permutation(DeterminedTask):
    """The task of permutation. A problem has demonstrations, and a query to be permuted."""

    name: ClassVar = "permutation"
    about: ClassVar = "demonstrations of a permutation, then a sub-sequence -> it permuted"
    Settings: ClassVar = PermutationSettings
    Source: ClassVar = PermutationSource
    Problem: ClassVar = PermutationProblem
    edit_distance: ClassVar = True
    controls: ClassVar = {
        "counter": "logicgen.tasks.string_controls:SymbolCounter",
        "guess": "logicgen.tasks.string_controls:OrderGuess",
    }
    difficulty: ClassVar = Difficulty(length=(12, 20, 28, 36, 44), few=(3, 6), short=(12, 20))
    wording: ClassVar = Wording(
        "Apply a permutation of positions that examples show.",
        "Each example `x y z > z x y` shows a sequence and how it comes out; all examples move the"
        " positions alike, and may leave out the same positions. Examples are separated by"
        " semicolons. The last sequence is the one that is asked for.",
        "The answer is how the last sequence comes out: its symbols, separated by blanks.",
        "Examples and sequence",
        (
            ("a b c > c a b ; d e f >", "f d e"),
            ("a b > b a ; c d >", "d c"),
            ("a b c > a c b ; d e f > d f e ; g h i >", "g i h"),
        ),
    )

    def answer_length(self, problem: PermutationProblem) -> int:
        return len(problem.demonstrations[0][1] if problem.demonstrations else problem.query)

    def solve(self, problem: PermutationProblem, solver: str | None = None) -> Solution:
        """Return the permuted query, or why the problem has no answer or several answers.

        The docstring of the module proves when the answer is determined.
        """
        query, kept = problem.query, self.answer_length(problem)
        for before, after in problem.demonstrations:
            if not len(before) == len(query) >= len(after) == kept:
                return Solution.unsat(
                    f"no answer: an example turns {len(before)} symbols into {len(after)}, but the "
                    f"query has {len(query)}; a rule has fixed lengths, and adds no symbols"
                )
        inputs, outputs = self._columns(problem)
        if not Counter(outputs) <= Counter(inputs):
            return Solution.unsat("no answer: no permutation of positions fits every demonstration")
        shown = set(outputs)
        first: dict[Symbols, int] = {}
        for place, column in enumerate(inputs):
            other = first.setdefault(column, place)
            if column in shown and query[place] != query[other]:
                return Solution.unsat(
                    f"more than one answer: no demonstration distinguishes position {other + 1} "
                    f"from {place + 1}, where the query has {query[other]} and {query[place]}"
                )
        return Solution.sat(tuple(query[first[column]] for column in outputs))

    def deciding(self, problem: PermutationProblem) -> tuple[tuple[int, ...], ...]:
        """Return, for each place of the answer, the indices of the problem's tokens that decide it.

        Let place i of the answer come from position j of the query. Then the tokens are position j
        of each input, place i of each output, and position j of the query. If there are several
        such positions, their symbols are the same, and the first is used. Returns () if the answer
        is not determined.
        """
        if self.solve(problem).witness is None:
            return ()
        inputs, outputs = self._columns(problem)
        size, step = len(problem.query), len(problem.query) + len(outputs) + 2
        shown = len(problem.demonstrations)
        return tuple(
            (
                *(d * step + at for d in range(shown) for at in (source, size + 1 + place)),
                shown * step + source,
            )
            for place, source in enumerate(map(inputs.index, outputs))
        )

    def _columns(self, problem: PermutationProblem) -> list[list[Symbols]]:
        """Return the columns of the positions of inputs, and of the places of outputs.

        A column contains the symbols of a position (or place) in all demonstrations.
        """
        return [
            [tuple(pair[side][i] for pair in problem.demonstrations) for i in range(length)]
            for side, length in enumerate((len(problem.query), self.answer_length(problem)))
        ]
