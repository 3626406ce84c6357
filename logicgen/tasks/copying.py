"""Copying with extendable vocabulary: given a string of symbols, predict the same string.

Copying is the simplest task that shows whether a model handles symbols that it has never seen. The
number of symbols of a cell is the size of the alphabet. A string may contain fewer symbols: a
string of 20 tokens over an alphabet of 160 symbols contains at most 20 of them.

Source: Işık, Cinbiş, Aydın Göl, Interchangeable Token Embeddings (ICML 2025).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from logicgen.errors import LogicgenError
from logicgen.solvers import Solution, Verdict
from logicgen.syntax.language import Language
from logicgen.syntax.sampling import all_partitions, partition_of, stirling
from logicgen.tasks.string_task import StringTask, token_language
from logicgen.tasks.task import Cell, Difficulty, Draw, Settings, Source, Wording
from logicgen.tokens import symbol_name

Letters = tuple[str, ...]

# Strings of more letters than this number are not counted, unless the alphabet has only one letter.
# There are more than 2^127 of these strings.
MANY_LETTERS = 128


class LettersSource(Source):
    """A source of strings. Each letter is drawn uniformly from an alphabet of symbols."""

    def __init__(self, symbols: tuple[int, int]) -> None:
        # A string has at least one letter, even if the range begins at 0.
        super().__init__((max(1, symbols[0]), max(1, symbols[1])))

    def sample(self, rng: Random, cell: Cell) -> Draw:
        symbols = rng.choice(self.symbols(cell)) if cell.symbols is None else cell.symbols
        if symbols < 1 and cell.length > 0:
            raise LogicgenError(f"no string of length {cell.length} has {symbols} symbols")
        random = rng.random
        return self._draw([int(random() * symbols) for _ in range(cell.length)], symbols)

    def count(self, cell: Cell) -> Mapping[int, float]:
        most = self.symbols(cell)[-1]
        if cell.length > MANY_LETTERS and most > 1:
            return {most: math.inf}
        return {k: stirling(cell.length, k) for k in range(min(most, cell.length) + 1)}

    def all(self, cell: Cell) -> Iterator[Draw]:
        allowed = self.symbols(cell)
        for k in range(min(allowed[-1], cell.length) + 1):
            for partition in all_partitions(cell.length, k):
                yield self._draw(partition, max(k, allowed[0]))

    def _draw(self, labels: Sequence[int], symbols: int) -> Draw:
        return Draw(tuple(symbol_name(i) for i in partition_of(labels)), symbols)


class Copying(StringTask):
    """The task of copying: the answer to a string is the same string."""

    name: ClassVar = "copying"
    about: ClassVar = "a string of symbols -> the same string, with symbols never seen in training"
    Settings: ClassVar = Settings
    symbols_meaning: ClassVar = "number of symbols the string was drawn from"
    edit_distance: ClassVar = True
    controls: ClassVar = {
        "constant": "logicgen.tasks.string_controls:Constant",
        "copy": "logicgen.tasks.string_controls:Copy",
        "random": "logicgen.tasks.string_controls:StringGuess",
    }
    difficulty: ClassVar = Difficulty(length=(4, 8, 16, 32, 64), few=(2, 4), short=(2, 5))
    wording: ClassVar = Wording(
        "Copy a sequence of symbols.",
        "Symbols are separated by blanks.",
        "The answer is the same sequence: the same symbols in the same order, separated by blanks.",
        "Sequence",
        (("b a a c", "b a a c"), ("d d", "d d"), ("c a b e a", "c a b e a")),
    )

    @property
    def problem_language(self) -> Language:
        return token_language("letters")

    answer_language = problem_language

    def source(self, settings: Any, symbols: tuple[int, int]) -> LettersSource:
        return LettersSource(symbols)

    def solve(self, problem: Letters, solver: str | None = None) -> Solution:
        return Solution.sat(problem)

    def check(self, problem: Letters, answer: Letters, solver: str | None = None) -> Verdict:
        return Verdict.CORRECT if answer == problem else Verdict.INCORRECT

    def deciding(self, problem: Letters) -> tuple[tuple[int, ...], ...]:
        return tuple((place,) for place in range(len(problem)))
