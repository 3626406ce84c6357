"""Whether the beginning of a trace can still become a right answer to an LTL formula.

The tokens are a trace in prefix notation. Each position is a constant or a conjunction. If the
formula has n symbols, a conjunction has at most n literals: otherwise a beginning of many `&` could
always become right. All other tokens count as wrong. The search leaves out long traces (`MORE`,
`LEAST`). A beginning that only long traces continue counts as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from logicgen.solvers.ltl_graph import Graph
from logicgen.solvers.partial_traces import PartialTrace, completed, possible
from logicgen.solvers.sat_engine import Effort, EffortError
from logicgen.solvers.witness import Literals
from logicgen.syntax.formula import Formula
from logicgen.tasks.right_tokens import NextTokens
from logicgen.tokens import END, symbol_index

# The search tries traces of up to LEAST positions, and of up to MORE positions more than the
# beginning needs.
MORE, LEAST = 2, 5

FIXED = ("{", "&", "!", "1", "0", ";", "}", END)


class RightTraces(NextTokens):
    """Decides which beginnings of traces can become right answers to one LTL formula.

    effort: the number of steps (see `Effort`) of a search. If they do not suffice, the result is
        None.
    """

    def __init__(self, problem: Formula, effort: int | None = None) -> None:
        self.graph = Graph()
        self.root = self.graph.add(problem)
        self.number = {name: i for i, name in enumerate(self.graph.symbols)}
        self.effort = effort
        self.tokens = (*FIXED, *self.graph.symbols)
        self._known: dict[tuple[str, ...], bool | None] = {}
        self._found: list[tuple[Literals, PartialTrace]] = []

    def right(self, beginning: Sequence[str]) -> bool | None:
        """Return whether a right answer begins with these tokens; None if it is not known.

        The token `<end>` ends an answer.
        """
        key = tuple(beginning)
        if key not in self._known:
            try:
                self._known[key] = self._right(key)
            except EffortError:
                self._known[key] = None
        return self._known[key]

    def along(self, answer: Sequence[str]) -> list[list[str]]:
        """Return, for each beginning of an answer, its next token if that is right.

        Other right tokens are not listed. A beginning that the search does not decide counts as
        wrong.
        """
        whole = [*answer, END]
        good, bad = 0, len(whole) + 1  # lengths of a right and a wrong beginning
        if self.right(whole):
            return [[token] for token in whole]
        while bad - good > 1:
            middle = (good + bad) // 2
            if self.right(whole[:middle]):
                good = middle
            else:
                bad = middle
        return [*([token] for token in whole[:good]), []]

    def also(self, beginning: Sequence[str], likely: Sequence[str]) -> Sequence[str]:
        """Return the right tokens of `likely`, or all right tokens if `likely` has no right token.

        A token counts as right if the search does not decide it.
        """
        for tokens in (likely, self.tokens):
            found = [each for each in tokens if self.right((*beginning, each)) is not False]
            if found:
                return found
        return ()

    def _right(self, tokens: tuple[str, ...]) -> bool | None:
        if not tokens:
            return True
        if tokens[0] == "0":
            alone = tokens[1:] in ((), (END,))
            return alone and not possible(self.graph, self.root, {}, Effort.of(self.effort))
        tokens_read = _TraceTokens(self.number)
        if not all(map(tokens_read.read, tokens)):
            return False
        if tokens[-1] == "!":
            return self._right_negation(tokens)
        return self._search(tokens_read.beginning())

    def _right_negation(self, tokens: tuple[str, ...]) -> bool | None:
        verdicts = {self.right((*tokens, each)) for each in ("0", *self.number)}
        if True in verdicts:
            return True
        return None if None in verdicts else False

    def _search(self, begun: PartialTrace) -> bool:
        """Return whether a right trace has a beginning."""
        if any(begun.agrees(*found) for found in self._found):
            return True
        most = begun.most or max(begun.least + MORE, LEAST)
        found = completed(self.graph, self.root, begun, most, Effort.of(self.effort))
        if found is None:
            return False
        self._found.append(found)
        return True


class _TraceTokens:
    """Reads the tokens of a trace. Its positions are conjunctions of few literals."""

    def __init__(self, number: Mapping[str, int]) -> None:
        self._number = number  # the number of each symbol of the formula
        self._literals: Literals = {}
        self._place = 0  # the position that is read
        self._begun = False  # whether a token of its conjunction was read
        self._missing = 1  # operands that the conjunction still needs
        self._operands = 1  # all operands of the conjunction
        self._value = True  # the value of the next symbol
        self._loop: int | None = None
        self._ended = False

    def read(self, token: str) -> bool:
        """Read a token. Return False if it makes the trace wrong."""
        if self._ended or token == END:
            return self._ended and token == END
        if token in (";", "}"):
            return self._close(token)
        if self._missing == 0:
            return False
        if token == "{":
            fits = not self._begun and self._loop is None
            self._loop = self._place
            return fits
        self._begun = True
        return self._read_operand(token)

    def _close(self, token: str) -> bool:
        if self._missing:
            return False
        if token == "}":
            self._ended = True
            return self._loop is not None
        self._place, self._begun = self._place + 1, False
        self._missing = self._operands = 1
        return True

    def _read_operand(self, token: str) -> bool:
        value, self._value = self._value, token != "!"
        if token == "!":
            return value  # no second `!`
        if token == "&":
            self._missing, self._operands = self._missing + 1, self._operands + 1
            return value and self._operands <= len(self._number)
        self._missing -= 1
        if token in ("0", "1"):
            return (token == "1") == value  # otherwise the position is contradictory
        number = self._number.get(token)
        if number is not None:
            return self._literals.setdefault((self._place, number), value) == value
        return symbol_index(token) is not None

    def beginning(self) -> PartialTrace:
        """Return the beginning of a trace that was read."""
        closed = self._place + (self._missing == 0)
        if self._loop is not None:
            least = self._place + 1
            return PartialTrace(
                self._literals, closed, least, self._loop, most=least if self._ended else None
            )
        # The period begins at this position if nothing of it was read, or later.
        first = self._place + self._begun
        return PartialTrace(self._literals, closed, first + 1, earliest=first)
