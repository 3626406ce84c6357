"""The contract of a task: how its problems are drawn, answered, written and judged.

A task knows no files, tensors or recipes. Inside it, problems and answers are values of its own;
outside they travel as prefix text (`& a ! b`), in which every symbol is a token, so that renaming
symbols needs no knowledge of the task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from logicgen.errors import LogicgenError
from logicgen.recipes import Table
from logicgen.solvers import Solution, Verdict
from logicgen.syntax.language import Language, read_either
from logicgen.syntax.token_automaton import TokenAutomaton, token_automaton
from logicgen.tokens import Vocabulary, symbol_index

if TYPE_CHECKING:
    from logicgen.tasks.right_tokens import RightTokens


@dataclass(frozen=True)
class Cell:
    """A cell of a data set: a length in tokens and, unless None, a number of symbols.

    A cell of `width` takes the lengths from `length` to `length + width - 1`.
    """

    symbols: int | None
    length: int
    width: int = 1

    @property
    def lengths(self) -> range:
        """Return the lengths of the cell."""
        return range(self.length, self.length + self.width)


Positive = Annotated[int, Field(strict=True, ge=1)]


class Settings(Table):
    """Keys of the `[problem]` or `[corpus]` table of a recipe; each task adds its own."""


@dataclass(frozen=True)
class Draw:
    """A problem that a source has drawn, with symbols named `a`, `b`, ... as they first occur."""

    problem: Any  # a value of the task
    symbols: int  # number of symbols of its cell
    # Names that the source gave these symbols, in the same order, where it names them
    names: tuple[str, ...] = ()


class Source(ABC):
    """The problems of one recipe: drawn at random, counted, or listed.

    symbols: fewest and most of the training region, for which a cell without a number stands.
    """

    # Whether it makes problems of any given length. If not, they come out as long as they do, or
    # only some lengths exist, and cells may be wider than one length.
    exact: ClassVar[bool] = True
    named: ClassVar[bool] = False  # whether it names symbols, drawn with different frequencies

    def __init__(self, symbols: tuple[int, int]) -> None:
        self._region = symbols

    def symbols(self, cell: Cell) -> range:
        """Return the numbers of symbols that a cell allows, from the fewest to the most."""
        low, high = self._region if cell.symbols is None else (cell.symbols, cell.symbols)
        return range(low, high + 1)

    @abstractmethod
    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        """Return a random problem, or None after a miss; LogicgenError if the cell is empty."""

    @abstractmethod
    def count(self, cell: Cell) -> Mapping[int, float]:
        """Return how many problems there are up to renaming, by number of distinct symbols.

        Infinity stands for more than can be counted or listed.
        """

    @abstractmethod
    def all(self, cell: Cell) -> Iterator[Draw]:
        """Yield every problem of the cell up to renaming, each once, if they can be counted."""

    def obstacle(self, cell: Cell) -> str | None:
        """Return why the cell holds no problem, and which keys to change; None if it may hold one.

        An obstacle to a number of symbols is one to all lower numbers, or to all higher ones.
        """
        return None


@dataclass(frozen=True)
class Explanation:
    """What there is to see of a problem and an answer to it.

    Attributes:
        reason: why the answer is not right; empty if it is right, or nobody can tell.
        truth: by token of a formula in prefix notation, the truth of the subformula that begins
            there, at each position of the word: `1`, `0`, or `?` where it depends on symbols that
            the answer leaves open. Of propositional logic there is one position.
        letters: the symbols that are true at each position of the word: one that the answer allows,
            which falsifies the formula if the answer is wrong; of a wrong `unsat` one that
            satisfies it. Empty if `truth` holds for all.
        loop: the position that comes again after the last one; None without a word.
        deciding: by token of the right answer, the tokens of the problem that decide it, by number.
    """

    reason: str = ""
    truth: tuple[str, ...] = ()
    letters: tuple[tuple[str, ...], ...] = ()
    loop: int | None = None
    deciding: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Wording:
    """What a prompt for a language model says of a task (`scoring/prompts.py`).

    Attributes:
        asks: what is to be found.
        notation: the notation of problems.
        answer: what an answer is, and how it is written.
        problem: what a problem is called.
        examples: problems and right answers, in people's notation.
        infix, prefix: what is added to `notation` of problems in people's or in prefix notation.
    """

    asks: str
    notation: str
    answer: str
    problem: str
    examples: tuple[tuple[str, str], ...]
    infix: str = ""
    prefix: str = ""


@dataclass(frozen=True)
class Difficulty:
    """The sizes of problems, for programs that draw problems without a recipe.

    Attributes:
        length: the number of tokens at each level of a curriculum; there are such problems.
        few, short: the numbers of symbols and of tokens, from the least to the most, of problems
            that a person reads at a glance. An audit draws these.
        symbols: the number of symbols at each level of a curriculum.
    """

    length: tuple[int, ...]
    few: tuple[int, int]
    short: tuple[int, int]
    symbols: tuple[int, ...] = (2, 4, 6, 8, 10)


class Task(ABC):
    """A kind of problem with verifiable answers."""

    name: ClassVar[str]
    about: ClassVar[str]
    Settings: ClassVar[type[Settings]]
    distinct: ClassVar[Literal["alpha", "exact"]]
    solver: ClassVar[str | None]  # default plugin; None if the task needs no solver
    logic: ClassVar[str | None]  # which plugins fit
    symbols_meaning: ClassVar[str] = "number of distinct symbols in the problem"
    edit_distance: ClassVar[bool] = False  # whether scores report it
    token_accuracy: ClassVar[bool] = False  # likewise
    wording: ClassVar[Wording | None] = None  # of prompts; None if the task has no prompts
    difficulty: ClassVar[Difficulty]
    hard_operators: ClassVar[Collection[str]] = ()  # that make answers hard to see
    refutation: ClassVar[Any] = None  # the answer that says there is none, if the task has one
    effort: int | None = None  # steps and
    seconds: float | None = None  # seconds after which a solver gives a problem up

    def limited(self, effort: int | None, seconds: float | None) -> Self:
        """Return the task with solvers that give up, as `load_solver` says."""
        task = copy(self)
        task.effort, task.seconds = effort, seconds
        return task

    @abstractmethod
    def source(self, settings: Any, symbols: tuple[int, int]) -> Source:
        """Return the source of problems; symbols: range of the training region, as in `Source`."""

    @abstractmethod
    def solve(self, problem: Any, solver: str | None = None) -> Solution:
        """Return the canonical answer as the witness of a `sat` solution, or why there is none."""

    @abstractmethod
    def check(self, problem: Any, answer: Any, solver: str | None = None) -> Verdict:
        """Return `correct`, `incorrect`, `invalid`, or `unknown` where the solver cannot tell."""

    def reason(self, problem: Any, answer: Any, verdict: Verdict) -> str:
        """Say why an answer is `incorrect` or `invalid`; nothing where the task cannot tell."""
        return ""

    def explain(self, problem: Any, answer: Any, verdict: Verdict) -> Explanation:
        """Return what there is to see of an answer with its verdict: at least the reason."""
        return Explanation(self.reason(problem, answer, verdict))

    def right_tokens(self, problem: Any) -> RightTokens:
        """Return which tokens may follow the beginning of an answer so that it can become right.

        Raises LogicgenError where the task cannot tell, and for a problem that is too large.
        """
        raise LogicgenError(
            f"{self.name}: no method tells which tokens lead to a right answer; the task"
            " propositional has one"
        )

    def same(self, answer: Any, other: Any) -> bool:
        """Return whether two answers are equal, which makes a correct answer an exact one."""
        return bool(answer == other)

    def arranged(self, problem: Any, answer: Any, settings: Any) -> Any:
        """Return the answer that the settings of a data set ask for, given the solver's."""
        return answer

    @property
    @abstractmethod
    def problem_language(self) -> Language:
        """Return the language of problems."""

    @property
    @abstractmethod
    def answer_language(self) -> Language:
        """Return the language of answers."""

    def read_problem(self, text: str) -> Any:
        """Return the problem of a text in people's or in prefix notation. Raises FormatError."""
        return read_either(self.problem_language.read, text)

    def read_answer(self, text: str) -> Any:
        """Return the answer of a text in people's or in prefix notation. Raises FormatError."""
        return read_either(self.answer_language.read, text)

    def decode_problem(self, text: str) -> Any:
        """Return the problem of a prefix text, as data sets hold it. Raises FormatError."""
        return self.problem_language.read(text, "prefix")

    def decode_answer(self, text: str) -> Any:
        """Return the answer of a prefix text, as a model writes it. Raises FormatError."""
        return self.answer_language.read(text, "prefix")

    @abstractmethod
    def encode(self, value: Any) -> str:
        """Return a problem or an answer in prefix notation."""

    def show_problem(self, problem: Any) -> str:
        """Return a problem as a person writes it: prefix notation unless a task overrides it."""
        return self.encode(problem)

    def show(self, answer: Any) -> str:
        """Return an answer as a person writes it: in prefix notation unless a task overrides it."""
        return self.encode(answer)

    def drawn(self, witness: Any) -> str:
        """Return a witness as text, with its picture below it if there is one."""
        picture = self.picture(witness)
        return f"{self.show(witness)}\n{picture}" if picture else self.show(witness)

    def picture(self, answer: Any) -> str:
        """Return an answer drawn for a person, on several lines; empty if `show` says it all."""
        return ""

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the fixed tokens of problems and answers."""
        tokens = dict.fromkeys([*self.problem_language.tokens, *self.answer_language.tokens])
        return Vocabulary(tuple(tokens))

    @property
    def problem_arities(self) -> Mapping[str, int] | None:
        """Return the operands of each fixed token, where problems are trees in prefix notation."""
        return None

    def within(self, problem: Any, tokens: Collection[str]) -> Any:
        """Return an equivalent problem over these fixed tokens; raise LogicgenError if unknown."""
        missing = {*self.encode(problem).split()} & {*self.vocabulary.fixed} - {*tokens}
        if missing:
            raise LogicgenError(f"{' '.join(sorted(missing))} cannot be said otherwise")
        return problem

    def answer_automaton(self, longest: int) -> TokenAutomaton:
        """Return the automaton of answers, over the fixed tokens of the vocabulary."""
        return token_automaton(self.answer_language, longest).widened(self.vocabulary.fixed)


def symbols_of(text: str) -> list[str]:
    """Return the distinct symbols of a prefix text, in order of first occurrence."""
    return [token for token in dict.fromkeys(text.split()) if symbol_index(token) is not None]


def rename(text: str, mapping: Mapping[str, str]) -> str:
    """Return a prefix text with symbol `s` written `mapping[s]`; other tokens stay."""
    return " ".join([mapping.get(token, token) for token in text.split(" ")])
