"""The right next tokens of traces, from a list of right traces to one formula.

A trace stays the same if the literals of a position are in another order. So a model that learns
from right traces need not learn their order: every order of a known trace is right. The tokens of a
position with three literals are `& a & b ! c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from logicgen.tasks.right_tokens import KnownAnswers, NextTokens, Prefix, followed
from logicgen.tokens import END

_LITERAL = re.compile(r"(?:! )?\w+")
_POSITION = re.compile(r"(?:& (?:! )?\w+ )*(?:! )?\w+")


class Position(NamedTuple):
    """A position of a trace: whether the period begins here, and the literals."""

    begins: bool
    literals: frozenset[str]


def positions_of(answer: str) -> list[Position] | None:
    """Return the positions of a trace in prefix notation.

    Return None for `0`, and for a trace in which a position is written in another way, or with a
    literal twice.
    """
    if not answer.endswith(" }"):
        return None
    found = []
    for text in answer.removesuffix(" }").split(" ; "):
        conjunction = text.removeprefix("{ ")
        literals = _LITERAL.findall(conjunction)
        if not _POSITION.fullmatch(conjunction) or len({*literals}) < len(literals):
            return None
        found.append(Position(conjunction != text, frozenset(literals)))
    return found


class KnownTraces(NextTokens):
    """Computes the right next tokens from right traces whose literals may be in any order.

    Traces for which `positions_of` returns None keep their order.
    """

    def __init__(self, answers: Iterable[str]) -> None:
        answers = list(answers)
        self._known = KnownAnswers(answers)
        self._traces = [found for each in answers if (found := positions_of(each)) is not None]

    def along(self, answer: Sequence[str]) -> list[list[str]]:
        found = self._known.along(answer), followed(_TracePrefix(self._traces), answer)
        return [sorted({*one, *other}) for one, other in zip_longest(*found, fillvalue=())]


class _TracePrefix(Prefix):
    """The beginning of a trace, to which right tokens are added.

    Attributes:
        left: the known traces that have this beginning, in some order of their literals.
        place: the position that is written.
        written: the literals of this position so far.
        last: whether the next literal ends the position.
        state: `position` before the position, `operand` before `&` or a literal, `literal` before
            a literal, `symbol` after `!`, `closed` after the position, `end` after the trace.
    """

    def __init__(self, traces: Sequence[list[Position]]) -> None:
        self.left, self.place = list(traces), 0
        self.written: frozenset[str] = frozenset()
        self.last, self.state = True, "position"

    def next(self) -> list[str]:
        return sorted({token for trace in self.left for token in self._next(trace)})

    def add(self, token: str) -> None:
        self.left = [trace for trace in self.left if token in self._next(trace)]
        if token in ("{", "&", "!"):
            self.last = token == "{" or (self.last and token == "!")
            self.state = {"{": "operand", "&": "literal", "!": "symbol"}[token]
        elif token in (";", "}"):
            self.place, self.written = self.place + 1, frozenset()
            self.state = "position" if token == ";" else "end"
        else:
            literal = f"! {token}" if self.state == "symbol" else token
            self.left = [trace for trace in self.left if literal in self._rest(trace)]
            self.written |= {literal}
            self.state, self.last = "closed" if self.last else "operand", True

    def _rest(self, trace: list[Position]) -> frozenset[str]:
        return trace[self.place].literals - self.written

    def _next(self, trace: list[Position]) -> Iterable[str]:
        """Return the next tokens of a trace."""
        if self.state == "end":
            return [END]
        if self.state == "closed":
            return [";" if len(trace) > self.place + 1 else "}"]
        if self.state == "position" and trace[self.place].begins:
            return ["{"]
        rest = self._rest(trace)
        if self.state in ("position", "operand") and len(rest) > 1:
            return ["&"]
        if self.state == "symbol":
            return [each.removeprefix("! ") for each in rest if each.startswith("! ")]
        return [each.partition(" ")[0] for each in rest]
