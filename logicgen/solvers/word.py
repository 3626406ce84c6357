"""Infinite words that repeat, and the positions at which each subformula holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from logicgen.errors import LogicgenError
from logicgen.solvers.pysat import PySATSolver
from logicgen.syntax.answers import Trace, literals_of
from logicgen.syntax.formula import Formula

Truth = tuple[bool, ...]
"""Whether a formula holds at each position."""


@dataclass(frozen=True)
class Word:
    """A lasso of letters: after the last letter comes letter number `loop` again.

    A letter is the set of true symbols; all other symbols are false.
    """

    letters: tuple[frozenset[str], ...]  # not empty
    loop: int

    @staticmethod
    def of(trace: Trace) -> Word:
        """Return a word that a trace allows, in which few symbols are true.

        Raises ValueError if a position is contradictory.
        """
        return Word(tuple(map(_letter, trace.positions)), len(trace.stem))

    def truth(self, formula: Formula) -> dict[Formula, Truth]:
        """Return, for each subformula, its truth value at each position, by the semantics of LTL.

        Raises LogicgenError for an unknown operator.
        """
        found: dict[Formula, Truth] = {}

        def at_every_position(node: Formula, operands: list[Truth]) -> Truth:
            found[node] = self._combined(node, operands)
            return found[node]

        formula.fold(at_every_position)
        return found

    def _combined(self, node: Formula, operands: list[Truth]) -> Truth:
        token, count = node.token, len(self.letters)
        if node.is_symbol:
            return tuple(token in letter for letter in self.letters)
        if token in ("0", "1"):
            return (token == "1",) * count
        if token in BOOLEAN:
            return tuple(BOOLEAN[token](*values) for values in zip(*operands, strict=True))
        first, last = operands[0], operands[-1]
        neither, everywhere = (False,) * count, (True,) * count
        match token:
            case "X":
                return (*first[1:], first[self.loop])
            case "F":
                return self._until(everywhere, last, False)
            case "G":
                return self._until(last, neither, True)
            case "U":
                return self._until(first, last, False)
            case "W":
                return self._until(first, last, True)
            case "R":
                return self._until(last, _both(first, last), True)
            case "M":
                return self._until(last, _both(first, last), False)
        raise LogicgenError(f"no operator of LTL is called {token!r}")

    def _until(self, first: Truth, last: Truth, for_ever: bool) -> Truth:
        """Return, for each position, whether `first` holds from there until `last` holds.

        for_ever: whether the result is also true if `first` always holds and `last` never holds.
        """
        held = for_ever
        found = [False] * len(first)
        # One backward pass over the period gives the value at its first position. More passes would
        # not change this value.
        for position in reversed(range(self.loop, len(first))):
            held = last[position] or (first[position] and held)
        for position in reversed(range(len(first))):
            held = found[position] = last[position] or (first[position] and held)
        return tuple(found)


def _letter(position: Formula) -> frozenset[str]:
    values = literals_of(position)
    if values is not None:
        return frozenset(name for name, value in values.items() if value == "1")
    found = PySATSolver().solve(position).witness
    if found is None:
        raise ValueError("a contradictory position has no letter")
    return frozenset(name for name, value in found.literals if value)


def _both(first: Truth, last: Truth) -> Truth:
    return tuple(a and b for a, b in zip(first, last, strict=True))


BOOLEAN: dict[str, Callable[..., bool]] = {
    "!": lambda a: not a,
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "^": lambda a, b: a != b,
    "->": lambda a, b: not a or b,
    "<->": lambda a, b: a == b,
}
"""The operators of propositional logic, on the values of their operands."""
