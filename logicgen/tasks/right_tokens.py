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
from typing import Protocol

from logicgen.solvers.truth_table import table_columns, truth_table
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

        likely: tokens to judge. Other tokens are judged only if none of these is right.
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


class RightTokens(NextTokens):
    """Computes the right next tokens of assignments to one formula of at most 20 symbols.

    An assignment is a list of tokens: a symbol, its value (`1` or `0`), a symbol, and so on. Raises
    LogicgenError for more than 20 symbols.

    in_order: whether symbols must have the order in which they first occur in the formula. Then
        only values have alternatives, and the end of an assignment that is already right.
    """

    def __init__(self, problem: Formula, in_order: bool = False) -> None:
        self.in_order = in_order
        columns, self._full = table_columns(len(problem.symbols))
        self._column = dict(zip(problem.symbols, columns, strict=True))
        self._table = truth_table(problem, self._column, self._full)

    @property
    def satisfiable(self) -> bool:
        """Return whether a right assignment exists."""
        return self._table != 0

    def along(self, answer: Sequence[str]) -> list[list[str]]:
        cover, pending, left = self._full, "", dict.fromkeys(self._column)
        found = [self._next(cover, pending, left)]
        for token in answer:
            if token not in found[-1]:
                break
            if pending:
                cover &= self._rows(pending, token)
                pending = ""
            else:
                pending = token
                left.pop(token)
            found.append(self._next(cover, pending, left))
        return found

    def random(self, rng: Random, beginning: Sequence[str] = ()) -> list[str]:
        """Return a random right assignment that continues a beginning.

        Each next token is drawn uniformly from the right tokens. If the beginning cannot become
        right, it is cut before its first wrong token. Raises ValueError for an unsatisfiable
        formula.
        """
        if not self.satisfiable:
            raise ValueError("an unsatisfiable formula has no right assignment")
        answer = list(beginning)
        while True:
            along = self.along(answer)
            answer = answer[: len(along) - 1]
            token = rng.choice(along[-1])
            if token == END:
                return answer
            answer.append(token)

    def _next(self, cover: int, pending: str, left: dict[str, None]) -> list[str]:
        if pending:
            return [value for value in "10" if self._rows(pending, value) & cover & self._table]
        if not cover & self._table:
            return []
        end = [] if cover & ~self._table else [END]
        return [*(list(left)[:1] if self.in_order else left), *end]

    def _rows(self, symbol: str, value: str) -> int:
        """Return the rows in which a symbol has a value."""
        column = self._column[symbol]
        return column if value == "1" else self._full ^ column
