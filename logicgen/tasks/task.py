"""The base classes of tasks: how problems are drawn, answered, written and judged.

A task does not know files, tensors or recipes. In the task, problems and answers are Python values.
Outside, they are texts in prefix notation (`& a ! b`). Every symbol is a token of the text, so
symbols can be renamed without knowledge of the task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from logicgen.errors import LogicgenError
from logicgen.recipes import Table
from logicgen.solvers import Solution, Verdict
from logicgen.syntax.language import Language, read_either
from logicgen.syntax.token_automaton import TokenAutomaton, token_automaton
from logicgen.tasks.difficulty import Band, DifficultyColumn, Value
from logicgen.tokens import Vocabulary, symbol_index

if TYPE_CHECKING:
    from logicgen.tasks.right_tokens import NextTokens

ROOM = 8
"""Number of tokens by which an answer may exceed the longest stored answer."""


@dataclass(frozen=True)
class Cell:
    """A cell: the problems of a data set with one number of symbols and one range of lengths.

    Attributes:
        symbols: the number of symbols; None if problems are not grouped by symbols.
        length: the least length, in tokens.
        width: the number of lengths, from `length` upwards.
        among: the fewest and the most symbols, if `symbols` is None. If `among` is None, too, the
            cell has the range of the source.
        bands: ranges of difficulty, at most one for each column.
    """

    symbols: int | None
    length: int
    width: int = 1
    among: tuple[int, int] | None = None
    bands: tuple[Band, ...] = ()

    @property
    def lengths(self) -> range:
        """Return the lengths of the cell."""
        return range(self.length, self.length + self.width)


Positive = Annotated[int, Field(strict=True, ge=1)]


class Settings(Table):
    """Keys of the `[problem]` or `[corpus]` table of a recipe. Each task adds its keys."""


@dataclass(frozen=True)
class Draw:
    """A problem that a source has drawn. Its symbols are `a`, `b`, ... in order of occurrence."""

    problem: Any  # a value of the task
    symbols: int  # the number of symbols; the task defines which symbols count
    # The names that the source chose for these symbols, in the same order; () if it chose no names
    names: tuple[str, ...] = ()


class Source(ABC):
    """A source of problems, which can be drawn at random, counted, or listed.

    symbols: the fewest and the most symbols of a training problem. They are used if a cell has no
        number of symbols.
    """

    # Whether the source can make problems of any given length. If false, a cell may contain several
    # lengths.
    exact: ClassVar[bool] = True
    # Whether the source itself names the symbols. It does if some symbols may be more frequent.
    named: ClassVar[bool] = False

    def __init__(self, symbols: tuple[int, int]) -> None:
        self._region = symbols

    def symbols(self, cell: Cell) -> range:
        """Return the numbers of symbols that a cell allows, from the fewest to the most."""
        low, high = self._region if cell.symbols is None else (cell.symbols, cell.symbols)
        return range(low, high + 1)

    @abstractmethod
    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        """Return a random problem of a cell, or None if the drawn problem is not in the cell.

        Raises LogicgenError for an empty cell.
        """

    @abstractmethod
    def count(self, cell: Cell) -> Mapping[int, float]:
        """Return the number of problems up to renaming, by number of distinct symbols.

        Infinity means that the problems are too many to be counted or listed.
        """

    def all(self, cell: Cell) -> Iterator[Draw]:
        """Yield every problem of a cell once up to renaming, if the problems can be counted."""
        return iter(())

    def sizes(self, cell: Cell) -> list[Cell]:
        """Return the cells of one size into which a cell divides, if they contain problems.

        A cell is returned alone if problems can be drawn from it directly.
        """
        if cell.among is None and not (self.exact and cell.width > 1):
            return [cell]
        counts = [cell.symbols] if cell.among is None else range(cell.among[0], cell.among[1] + 1)
        lengths, width = (cell.lengths, 1) if self.exact else ([cell.length], cell.width)
        sizes = (
            replace(cell, symbols=symbols, length=length, width=width, among=None)
            for length in lengths
            for symbols in counts
        )
        return [
            size for size in sizes if self.obstacle(size) is None and any(self.count(size).values())
        ]

    def obstacle(self, cell: Cell) -> str | None:
        """Return why a cell is empty, and which keys to change; None if no reason is known.

        If a number of symbols is impossible, all lower or all higher numbers are impossible, too.
        """
        return None


@dataclass(frozen=True)
class Explanation:
    """The explanation of an answer, for a person.

    Attributes:
        reason: why the answer is not right; empty if it is right, or if the reason is unknown.
        truth: for each token of a formula in prefix notation, a text with a character per position
            of the word (one in propositional logic): `1` if the subformula that begins with the
            token is true there, `0` if it is false, `?` if the answer does not determine it.
        letters: an example word, as the symbols that are true at each position. It is a word of the
            answer, and falsifies the formula if the answer is wrong. For a wrong `unsat`, it
            satisfies the formula. Empty if `truth` is valid for all words of the answer.
        loop: the position that follows the last position of the word; None without a word.
        deciding: for each token of the right answer, the numbers of the problem's tokens that
            decide it.
    """

    reason: str = ""
    truth: tuple[str, ...] = ()
    letters: tuple[tuple[str, ...], ...] = ()
    loop: int | None = None
    deciding: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Wording:
    """The texts in a prompt for a language model that depend on the task (`scoring/prompts.py`).

    Attributes:
        asks: the request.
        notation: the notation of problems.
        answer: the meaning and the form of an answer.
        problem: the noun for a problem.
        examples: problems and right answers, in infix notation.
        infix: an addition to `notation` for problems in infix notation.
        prefix: an addition to `notation` for problems in prefix notation.
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
        length: the number of tokens at each level of a curriculum. Problems of each length exist.
        few: the fewest and the most symbols of problems that a person can read easily.
        short: the fewest and the most tokens of problems that a person can read easily. An audit
            draws problems of these sizes.
        symbols: the number of symbols at each level of the curriculum.
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
    solver: ClassVar[str | None]  # the default plugin; None if the task needs no solver
    logic: ClassVar[str | None]  # the logic that a solver of the task must decide
    symbols_meaning: ClassVar[str] = "number of distinct symbols in the problem"
    edit_distance: ClassVar[bool] = False  # whether scores report the edit distance
    token_accuracy: ClassVar[bool] = False  # whether scores report the token accuracy
    wording: ClassVar[Wording | None] = None  # None if the task has no prompts
    difficulty: ClassVar[Difficulty]
    # Operators that no single operand decides, so that answers are hard to see
    hard_operators: ClassVar[Collection[str]] = ()
    # Programs that answer problems without training, by name, as `module:class` (`controls.py`)
    controls: ClassVar[Mapping[str, str]] = {}
    # Number of random answers that a model draws for each answer that a solver verifies, because
    # several may have the same `meaning`
    candidates: ClassVar[float] = 1
    # Number of orders of a problem's operands to which a model draws these answers
    orders: ClassVar[int] = 1
    # Columns that measure the difficulty of an example, by name
    difficulties: ClassVar[Mapping[str, DifficultyColumn]] = {}
    # Controls that answer every example, for the column `controls`
    rated: ClassVar[tuple[str, ...]] = ()
    refutation: ClassVar[Any] = None  # the answer to unsatisfiable problems, if the task has them
    symbols_once: ClassVar[bool] = False  # whether a symbol occurs at most once in an answer
    effort: int | None = None  # the number of steps after which a solver gives up
    seconds: float | None = None  # the number of seconds after which a solver gives up

    def limited(self, effort: int | None, seconds: float | None = None) -> Self:
        """Return the task with limits for its solvers; see `load_solver`."""
        task = copy(self)
        task.effort, task.seconds = effort, seconds
        return task

    @abstractmethod
    def source(self, settings: Any, symbols: tuple[int, int]) -> Source:
        """Return the source of problems.

        symbols: the fewest and the most symbols of a training problem.
        """

    @abstractmethod
    def solve(self, problem: Any, solver: str | None = None) -> Solution:
        """Return the solution: the canonical answer, or why the problem has no known answer."""

    @abstractmethod
    def check(self, problem: Any, answer: Any, solver: str | None = None) -> Verdict:
        """Return `correct`, `incorrect`, `invalid`, or `unknown` if the solver gave up."""

    def reason(self, problem: Any, answer: Any, verdict: Verdict) -> str:
        """Return why an answer is `incorrect` or `invalid`; empty if the task has no reason."""
        return ""

    def explain(self, problem: Any, answer: Any, verdict: Verdict) -> Explanation:
        """Return the explanation of a verdict on an answer. It contains at least the reason."""
        return Explanation(self.reason(problem, answer, verdict))

    def right_tokens(self, problem: Any) -> NextTokens:
        """Return an object that computes the right next tokens of answers to a problem.

        Raises LogicgenError for a task without this method, and for a problem that is too large.
        """
        raise LogicgenError(
            f"{self.name}: the tokens that lead to a right answer cannot be computed for this"
            " task, only for propositional and ltl"
        )

    def in_order(self, problem: str, answer: str) -> str:
        """Return an answer with literals in the order in which the problem mentions their symbols.

        Other answers stay as they are. Problem and answer are in prefix notation.
        """
        return answer

    def same(self, answer: Any, other: Any) -> bool:
        """Return whether two answers are equal. An answer equal to the stored answer is `exact`."""
        return bool(answer == other)

    def arranged(self, problem: Any, answer: Any, settings: Any) -> Any:
        """Rewrite the solver's answer to the form that the settings of a data set request."""
        return answer

    def difficulty_of(self, column: str, problem: Any, answer: Any) -> Value:
        """Return the number of a column of `difficulties`; None if a problem has no known number.

        answer: a right answer.

        Raises LogicgenError if the task does not have the column.
        """
        raise LogicgenError(f"{self.name}: no column of difficulty is called {column!r}")

    @property
    @abstractmethod
    def problem_language(self) -> Language:
        """Return the language of problems."""

    @property
    @abstractmethod
    def answer_language(self) -> Language:
        """Return the language of answers."""

    def read_problem(self, text: str) -> Any:
        """Parse a problem in infix or prefix notation. Raises FormatError."""
        return read_either(self.problem_language.read, text)

    def read_answer(self, text: str) -> Any:
        """Parse an answer in infix or prefix notation. Raises FormatError."""
        return read_either(self.answer_language.read, text)

    def decode_problem(self, text: str) -> Any:
        """Parse a problem in prefix notation, as in data sets. Raises FormatError."""
        return self.problem_language.read(text, "prefix")

    def decode_answer(self, text: str) -> Any:
        """Parse an answer in prefix notation, as models write it. Raises FormatError."""
        return self.answer_language.read(text, "prefix")

    def answer_room(self, tokens: int, symbols: int) -> int:
        """Return the most tokens that a model may write in an answer to a problem.

        tokens, symbols: the numbers of tokens and of distinct symbols in the problem.
        """
        return 2 * tokens

    def answer_limit(self, stored: int, symbols: int) -> int:
        """Return the most tokens of an answer to problems with stored answers.

        stored: the most tokens of a stored answer. symbols: the most symbols of a problem.
        """
        return stored + ROOM

    def meaning(self, answer: str) -> Hashable:
        """Return a key: answers with equal keys are right for the same problems.

        Answers with different keys may also be right for the same problems.

        answer: an answer in prefix notation, which need not parse.
        """
        return answer

    @abstractmethod
    def encode(self, value: Any) -> str:
        """Return a problem or an answer in prefix notation."""

    def show_problem(self, problem: Any) -> str:
        """Return a problem for people: in prefix notation unless a task overrides this method."""
        return self.encode(problem)

    def show(self, answer: Any) -> str:
        """Return an answer for people: in prefix notation unless a task overrides this method."""
        return self.encode(answer)

    def drawn(self, witness: Any) -> str:
        """Return a witness as text, followed by its picture if it has a picture."""
        picture = self.picture(witness)
        return f"{self.show(witness)}\n{picture}" if picture else self.show(witness)

    def picture(self, answer: Any) -> str:
        """Return a drawing of an answer on several lines; empty if `show` is enough."""
        return ""

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the fixed tokens of problems and answers."""
        tokens = dict.fromkeys([*self.problem_language.tokens, *self.answer_language.tokens])
        return Vocabulary(tuple(tokens))

    @property
    def problem_arities(self) -> Mapping[str, int] | None:
        """Return the number of operands of each fixed token; None if problems are not trees."""
        return None

    def within(self, problem: Any, tokens: Collection[str]) -> Any:
        """Return an equivalent problem that uses only the given fixed tokens.

        Raises LogicgenError if there is no such problem.
        """
        missing = {*self.encode(problem).split()} & {*self.vocabulary.fixed} - {*tokens}
        if missing:
            raise LogicgenError(f"{' '.join(sorted(missing))} cannot be expressed by other tokens")
        return problem

    def answer_automaton(self, longest: int, start: str = "prefix") -> TokenAutomaton:
        """Return the automaton of answers with at most `longest` tokens.

        Its token classes are the fixed tokens of the vocabulary.

        start: the rule of the grammar; see `token_automaton`.
        """
        automaton = token_automaton(self.answer_language, longest, start)
        return automaton.widened(self.vocabulary.fixed)


def symbols_of(text: str) -> list[str]:
    """Return the distinct symbols of a prefix text, in order of first occurrence."""
    return [token for token in dict.fromkeys(text.split()) if symbol_index(token) is not None]


def rename(text: str, mapping: Mapping[str, str]) -> str:
    """Return a prefix text with each symbol `s` in `mapping` renamed to `mapping[s]`."""
    return " ".join([mapping.get(token, token) for token in text.split(" ")])
