"""The tokens that may follow the beginning of an answer so that it can still become right.

For any task, `KnownAnswers` returns the next tokens of given right answers. For traces,
`RightTraces` (`right_traces.py`) judges the tokens that a model finds likely. For assignments,
`RightTokens` computes all such tokens. An assignment is right if the formula is true for all values
of the symbols without a value. So the beginning of an assignment can become right if and only if
its literals agree with a model of the formula. Literals may be in any order, and each symbol occurs
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Protocol

from logicgen.solvers.pysat import tseitin_encoding
from logicgen.solvers.sat_engine import SatEngine
from logicgen.solvers.truth_table import SMALL_TABLE, table_columns, truth_table
from logicgen.syntax.formula import Formula
from logicgen.tokens import END


class NextTokens(Protocol):
    """The protocol of objects that compute the right next tokens."""

    def along(self, answer: Sequence[str]) -> list[list[str]]:
        """Return, for each beginning of an answer, the list of right next tokens.

        The first beginning is empty, the last is the whole answer. If a token of the answer is not
        right, the last beginning ends before this token. The right tokens include `<end>` if the
        beginning is a right answer.
        """

    def also(self, beginning: Sequence[str], likely: Sequence[str]) -> Sequence[str]:
        """Return right tokens after a beginning that `along` has not listed.

        likely: tokens to judge. Other tokens are judged only if no likely token is right.
        """
        return ()


class KnownAnswers(NextTokens):
    """Computes the right next tokens from a list of right answers to one problem."""

    def __init__(self, answers: Iterable[str]) -> None:
        self._answers = [[*answer.split(), END] for answer in answers]

    def along(self, answer: Sequence[str]) -> list[list[str]]:
        left, found = self._answers, []
        for place, token in enumerate([*answer, END]):
            left = [each for each in left if len(each) > place]
            found.append(list(dict.fromkeys(each[place] for each in left)))
            left = [each for each in left if each[place] == token]
            if not left:
                break
        return found


class Completions(Protocol):
    """The protocol of objects that decide whether one formula can still become true, or false.

    Symbols without a value may have any value. Each class represents assignments in its own way.

    empty: the assignment without a symbol.
    """

    empty: Any

    def extended(self, assignment: Any, symbol: str, value: str) -> Any:
        """Return an assignment with one more literal. value: `1` or `0`."""

    def possible(self, assignment: Any, truth: bool) -> bool:
        """Return whether the formula has this truth value for some values of the other symbols."""


class TableCompletions(Completions):
    """Completions by a truth table.

    An assignment is represented by the rows of the table that agree with it: the bits of a number.
    """

    def __init__(self, problem: Formula) -> None:
        columns, self.empty = table_columns(len(problem.symbols))
        self._column = dict(zip(problem.symbols, columns, strict=True))
        self._table = truth_table(problem, self._column, self.empty)

    def extended(self, assignment: int, symbol: str, value: str) -> int:
        column = self._column[symbol]
        return assignment & (column if value == "1" else self.empty ^ column)

    def possible(self, assignment: int, truth: bool) -> bool:
        return bool(assignment & (self._table if truth else ~self._table))


class SearchedCompletions(Completions):
    """Completions by a SAT solver.

    An assignment is represented by a set of literals: 3 is the third symbol, -3 its negation.
    """

    empty: frozenset[int] = frozenset()

    def __init__(self, problem: Formula) -> None:
        symbols, self._root, clauses = tseitin_encoding(problem)
        self._variable = {name: i for i, name in enumerate(symbols, start=1)}
        self._engine = SatEngine(clauses)
        self._model: dict[bool, frozenset[int]] = {}  # the last model found for each truth value

    def extended(self, assignment: frozenset[int], symbol: str, value: str) -> frozenset[int]:
        variable = self._variable[symbol]
        return assignment | {variable if value == "1" else -variable}

    def possible(self, assignment: frozenset[int], truth: bool) -> bool:
        if truth in self._model and assignment <= self._model[truth]:
            return True
        found = self._engine.solve([self._root if truth else -self._root, *sorted(assignment)])
        if found:
            self._model[truth] = assignment.union(self._engine.get_model())
        return found


class RightTokens(NextTokens):
    """Computes the right next tokens of assignments to one formula.

    An assignment is a list of tokens: a symbol, its value (`1` or `0`), a symbol, and so on. Up to
    16 symbols it asks a truth table, and a SAT solver for more.

    in_order: whether symbols must have the order in which they first occur in the formula. Then
        only values have alternatives, and the end of an assignment that is already right.
    """

    def __init__(self, problem: Formula, in_order: bool = False) -> None:
        self.in_order = in_order
        self._symbols = problem.symbols
        known = TableCompletions if len(self._symbols) <= SMALL_TABLE else SearchedCompletions
        self._completions: Completions = known(problem)

    @property
    def satisfiable(self) -> bool:
        """Return whether a right assignment exists."""
        return self._completions.possible(self._completions.empty, True)

    def along(self, answer: Sequence[str]) -> list[list[str]]:
        written = AssignmentPrefix(self._completions, self._symbols, self.in_order)
        found = [written.next()]
        for token in answer:
            if token not in found[-1]:
                break
            written.add(token)
            found.append(written.next())
        return found

    def random(self, rng: Random, beginning: Sequence[str] = ()) -> list[str]:
        """Return a random right assignment that continues a beginning.

        Each next token is drawn uniformly from the right tokens. If the beginning cannot become
        right, it is cut before its first wrong token. Raises ValueError for an unsatisfiable
        formula.
        """
        if not self.satisfiable:
            raise ValueError("an unsatisfiable formula has no right assignment")
        answer = list(beginning[: len(self.along(beginning)) - 1])
        written = AssignmentPrefix(self._completions, self._symbols, self.in_order)
        for token in answer:
            written.add(token)
        while (token := rng.choice(written.next())) != END:
            written.add(token)
            answer.append(token)
        return answer


class AssignmentPrefix:
    """The beginning of an assignment, to which tokens are added."""

    def __init__(self, completions: Completions, symbols: Sequence[str], in_order: bool) -> None:
        self._completions, self._in_order = completions, in_order
        self._assignment, self._pending = completions.empty, ""
        self._left = dict.fromkeys(symbols)

    def add(self, token: str) -> None:
        """Add a symbol, or the value of the last symbol."""
        if self._pending:
            self._assignment = self._completions.extended(self._assignment, self._pending, token)
            self._pending = ""
        else:
            self._pending = token
            self._left.pop(token)

    def next(self) -> list[str]:
        """Return the right next tokens."""
        possible, extended = self._completions.possible, self._completions.extended
        if self._pending:
            values = {value: extended(self._assignment, self._pending, value) for value in "10"}
            return [value for value, longer in values.items() if possible(longer, True)]
        if not possible(self._assignment, True):
            return []
        end = [] if possible(self._assignment, False) else [END]
        return [*(list(self._left)[:1] if self._in_order else self._left), *end]
