"""Tasks whose answer is a string of symbols that the examples in the problem determine.

The examples leave some rules possible (mappings of keys to values, permutations). A problem has an
answer if there are such rules and all of them give the same one; that is then the only right one.

Source of these tasks: Huang et al., Lexinvariant Language Models (NeurIPS 2023).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from random import Random
from typing import Any, ClassVar

from logicgen.errors import LogicgenError
from logicgen.solvers import Solution, Verdict
from logicgen.syntax.language import Language
from logicgen.tasks.frequencies import FrequencyKind, frequencies
from logicgen.tasks.string_task import StringTask, Symbols, token_language
from logicgen.tasks.task import Cell, Draw, Settings, Source
from logicgen.tokens import symbol_name


class DeterminedSettings(Settings):
    """Keys of `[problem]` that these tasks share; frequencies: see `tasks/frequencies.py`."""

    frequencies: FrequencyKind = "uniform"


class DeterminedSource(Source):
    """Problems that show one or more examples, with symbols drawn by frequency."""

    exact = False
    named = True
    called: str  # the problems in a message, with the keys that decide their length
    first: int  # length of a problem with one example
    step: int  # tokens that each further example adds

    def __init__(self, settings: DeterminedSettings, symbols: tuple[int, int]) -> None:
        super().__init__(symbols)
        self._frequencies = frequencies(settings.frequencies)

    def sample(self, rng: Random, cell: Cell) -> Draw:
        """Return a random problem; raise LogicgenError where the cell is empty."""
        if obstacle := self.obstacle(cell):
            raise LogicgenError(obstacle)
        return self.drawn(rng, cell)

    @abstractmethod
    def drawn(self, rng: Random, cell: Cell) -> Draw:
        """Return a random problem of a cell that is not empty."""

    @abstractmethod
    def too_few(self, examples: int, symbols: int) -> str | None:
        """Return why so many symbols are too few for so many examples; None if they are not."""

    def obstacle(self, cell: Cell) -> str | None:
        """Return why no problem has the length, or the symbols are too few or too many."""
        examples, most = self.examples(cell), self.symbols(cell)[-1]
        if not examples:
            first, step, lengths = self.first, self.step, cell.lengths
            asked = str(cell.length) if cell.width == 1 else f"{lengths[0]} to {lengths[-1]}"
            return (
                f"no {self.called} has {asked} tokens, but {first}, {first + step}, "
                f"{first + 2 * step} and so on: change length, or give step = {step}, so that "
                "every cell takes one of these"
            )
        return self.too_few(examples[0], most) or self._frequencies.obstacle(most)

    def examples(self, cell: Cell) -> list[int]:
        """Return the numbers of examples that give a length of the cell, in rising order."""
        further = (divmod(length - self.first, self.step) for length in cell.lengths)
        return [number + 1 for number, rest in further if number >= 0 and rest == 0]

    @staticmethod
    def names(numbers: Iterable[int]) -> dict[int, str]:
        """Return the names `a`, `b`, ... of symbols in order of first occurrence."""
        return {number: symbol_name(place) for place, number in enumerate(dict.fromkeys(numbers))}


class Determined(StringTask):
    """A task that shows examples of a rule and asks to apply it; `between` goes between symbols."""

    symbols_meaning: ClassVar = "number of symbols the problem was drawn from"
    between: ClassVar[str] = ""
    token_accuracy: ClassVar = True
    Source: ClassVar[type[DeterminedSource]]
    Problem: ClassVar[Any]

    def source(self, settings: Any, symbols: tuple[int, int]) -> DeterminedSource:
        return self.Source(settings, symbols)

    @property
    def problem_language(self) -> Language:
        """Return the language of problems, whose grammar is called like the task."""
        return token_language(self.name, self.Problem.of_tokens)

    @abstractmethod
    def answer_length(self, problem: Any) -> int:
        """Return the number of tokens of the answer."""

    @abstractmethod
    def solve(self, problem: Any, solver: str | None = None) -> Solution:
        """Return the only answer; or `unsat` with the reason: there is none, or more than one."""

    @property
    def answer_language(self) -> Language:
        """Return the language of strings of symbols, `symbols.lark`."""
        return token_language("symbols")

    def check(self, problem: Any, answer: Symbols, solver: str | None = None) -> Verdict:
        """Return `correct` if the answer is the only one, else `incorrect`."""
        return Verdict.CORRECT if answer == self.solve(problem).witness else Verdict.INCORRECT
