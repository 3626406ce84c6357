"""What a task is: how its problems are drawn, answered, written and judged.

A task knows no files, tensors or recipes. Inside it, problems and answers are values of its own;
outside they travel as prefix text (`& a ! b`), in which every symbol is a token, so that renaming
symbols needs no knowledge of the task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Literal

from logicgen.declaration import Table
from logicgen.errors import FormatError, LogicgenError
from logicgen.solvers import Solution, Verdict
from logicgen.syntax.answer_automaton import TokenAutomaton, token_automaton
from logicgen.syntax.language import Language
from logicgen.vocabulary import Vocabulary, symbol_index


@dataclass(frozen=True)
class Cell:
    """What is asked of a problem: its length in tokens and, unless None, its number of symbols.

    A cell of `width` takes the lengths from `length` to `length + width - 1`.
    """

    symbols: int | None
    length: int
    width: int = 1

    @property
    def lengths(self) -> range:
        """The lengths it takes."""
        return range(self.length, self.length + self.width)


class Settings(Table):
    """The `[problem]` table of a recipe; each task adds its own keys."""


@dataclass(frozen=True)
class Draw:
    """A problem with its symbols named `a`, `b`, ... in order of first occurrence, and its cell's
    symbols.

    names: what the source called these symbols, in the same order, where it names them.
    """

    problem: Any
    symbols: int
    names: tuple[str, ...] = ()


class Source(ABC):
    """Where the problems of one recipe come from.

    Attributes:
        exact: whether it makes problems of any given length. If not, they come out as long as they
            do, or only some lengths exist, and cells may be wider than one length.
        named: whether it names symbols, some of which it draws more often than others.
    """

    exact: ClassVar[bool] = True
    named: ClassVar[bool] = False

    @abstractmethod
    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        """A random problem of the cell, or None where this attempt missed the cell.

        Raises LogicgenError where the cell is empty.
        """

    @abstractmethod
    def count(self, cell: Cell) -> Mapping[int, float]:
        """How many problems the cell holds up to renaming, by how many distinct symbols occur.

        Infinity stands for more than can be counted or listed.
        """

    @abstractmethod
    def all(self, cell: Cell) -> Iterator[Draw]:
        """Every problem of the cell up to renaming, each once. Asked where they are countable."""

    def obstacle(self, cell: Cell) -> str | None:
        """Why the cell holds no problem, with the keys of a recipe to change; None if it may.

        What is in the way of a number of symbols is in the way of all lower, or of all higher ones.
        """
        return None


class Task(ABC):
    """One kind of problem with verifiable answers."""

    name: ClassVar[str]
    about: ClassVar[str]
    Settings: ClassVar[type[Settings]]
    distinct: ClassVar[Literal["alpha", "exact"]]
    solver: ClassVar[str | None]  # default plugin; None if the task needs no solver
    logic: ClassVar[str | None]  # which plugins fit
    symbols_meaning: ClassVar[str] = "number of distinct symbols in the problem"
    edit_distance: ClassVar[bool] = False  # whether scores report it
    refutation: ClassVar[Any] = None  # the answer that says there is none, if the task has one

    @abstractmethod
    def source(self, settings: Any, symbols: tuple[int, int]) -> Source:
        """Where problems come from, given the recipe's settings.

        `symbols` is the range of the training region, which a cell without symbols stands for.
        """

    # -- deciding ---------------------------------------------------------------------------------

    @abstractmethod
    def solve(self, problem: Any, solver: str | None = None) -> Solution:
        """The canonical answer as the witness of a `sat` solution, or why there is none."""

    @abstractmethod
    def check(self, problem: Any, answer: Any, solver: str | None = None) -> Verdict:
        """`correct`, `incorrect` or `invalid`."""

    @abstractmethod
    def same(self, answer: Any, other: Any) -> bool:
        """Whether two answers are equal, which makes a correct answer an exact one."""

    # -- writing ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def problem_language(self) -> Language:
        """How problems are written."""

    @property
    @abstractmethod
    def answer_language(self) -> Language:
        """How answers are written."""

    @abstractmethod
    def read_problem(self, text: str) -> Any:
        """A problem from people's or from prefix notation. Raises FormatError."""

    @abstractmethod
    def read_answer(self, text: str) -> Any:
        """An answer from people's or from prefix notation. Raises FormatError."""

    @abstractmethod
    def decode_answer(self, text: str) -> Any:
        """An answer from prefix notation only, as a model writes it. Raises FormatError."""

    @abstractmethod
    def decode_problem(self, text: str) -> Any:
        """A problem from prefix notation only, as data sets hold it. Raises FormatError."""

    @abstractmethod
    def encode(self, value: Any) -> str:
        """A problem or an answer in prefix notation."""

    @abstractmethod
    def show(self, answer: Any) -> str:
        """An answer as a person writes it."""

    def picture(self, answer: Any) -> str:
        """An answer drawn for a person, on lines of its own; empty if `show` says it all."""
        return ""

    @property
    def vocabulary(self) -> Vocabulary:
        """The fixed tokens of problems and answers."""
        tokens = dict.fromkeys([*self.problem_language.tokens, *self.answer_language.tokens])
        return Vocabulary(tuple(tokens))

    @property
    def problem_arities(self) -> Mapping[str, int] | None:
        """Operands of each fixed token, where problems are trees in prefix notation; else None."""
        return None

    def within(self, problem: Any, tokens: Collection[str]) -> Any:
        """An equivalent problem written with these fixed tokens only.

        Raises LogicgenError where there is none, or none is known.
        """
        missing = {*self.encode(problem).split()} & {*self.vocabulary.fixed} - {*tokens}
        if missing:
            raise LogicgenError(f"{' '.join(sorted(missing))} cannot be said otherwise")
        return problem

    def answer_automaton(self, longest: int) -> TokenAutomaton:
        """Which tokens may come next in an answer, over the fixed tokens of the vocabulary."""
        return token_automaton(self.answer_language, longest).widened(self.vocabulary.fixed)

    def verdict(
        self, problem: str, answer: str, expected: str, solver: str | None = None
    ) -> Verdict:
        """The verdict on a predicted answer to a stored example, all in prefix notation.

        `exact` if it is right and equal to the expected answer; `invalid` if it does not parse.
        """
        try:
            predicted = self.decode_answer(answer)
        except FormatError:
            return Verdict.INVALID
        verdict = self.check(self.decode_problem(problem), predicted, solver)
        if verdict is Verdict.CORRECT and self.same(predicted, self.decode_answer(expected)):
            return Verdict.EXACT
        return verdict


def symbols_of(text: str) -> list[str]:
    """The distinct symbols of a prefix text, in order of first occurrence."""
    return [token for token in dict.fromkeys(text.split()) if symbol_index(token) is not None]


def rename(text: str, mapping: Mapping[str, str]) -> str:
    """A prefix text with symbol `s` written `mapping[s]`; other tokens stay."""
    return " ".join([mapping.get(token, token) for token in text.split(" ")])


def read_either(language: Language, text: str) -> Any:
    """A value from people's or from prefix notation; no text means different things in the two.

    Raises the FormatError of the notation that got further.
    """
    try:
        return language.read(text, "infix")
    except FormatError as infix:
        try:
            return language.read(text, "prefix")
        except FormatError as prefix:
            further = (prefix.line, prefix.column) > (infix.line, infix.column)
            raise (prefix if further else infix) from None
