"""Random LTL formulas of exact length with given truth values on a random word, the plan.

A formula is drawn top down, as in `syntax/sampling.py`. Each node has two sets of positions of the
plan: at the positions `yes` the node has to be true, at the positions `no` it has to be false. At
other positions its value does not matter. A set of positions is an integer with one bit each.

A choice is tight if only the chosen option is true on the plan: for `a U b`, `b` is false while it
waits, and `a` is false where it stops. Tight choices make formulas that few other words satisfy.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from random import Random

from logicgen.syntax.formula import Formula
from logicgen.tokens import symbol_name

ONE = Formula("1")

# The weights of the root of a formula: `!`, `X`, `&` and `U`.
ROOTS = {"!": 1.0, "X": 1.0, "&": 2.0, "U": 1.5}

# Probabilities: a choice is tight; an until waits for one position more; a false until ends with a
# false left operand; the left operand of an until is `1`.
TIGHT, WAIT, END, EVENTUALLY = 0.5, 0.6, 0.5, 0.3

# A formula prefers symbols that do not occur yet. It always does so if at most this number of
# tokens is left for each of these symbols, and more rarely if more tokens are left.
TOKENS_PER_SYMBOL = 4

# The most draws of a formula. A draw fails if its choices do not fit.
DRAWS = 3

Demand = tuple[int, int]
"""The positions `yes` and `no` of a formula."""


def bits(positions: Iterable[int]) -> int:
    """Return a set of positions as an integer."""
    found = 0
    for position in positions:
        found |= 1 << position
    return found


def weighted_choice(rng: Random, options: Sequence[str], sums: Sequence[float]) -> str:
    """Return an option, as `rng.choices` does, in half the time.

    sums: for each option, the sum of its weight and of all weights before it.
    """
    return options[bisect(sums, rng.random() * sums[-1], 0, len(options) - 1)]


@cache
def literals(symbols: int) -> list[tuple[Formula, Formula]]:
    """Return the negation of each symbol, and the symbol."""
    named = (Formula(symbol_name(i)) for i in range(symbols))
    return [(~symbol, symbol) for symbol in named]


@cache
def _roots(negate: bool, binary: bool) -> tuple[list[str], list[float]]:
    """Return possible roots, and for each the sum of its weight and of all weights before it.

    negate: whether `!` is possible. binary: whether there are enough tokens for two operands.
    """
    roots = [root for root in ROOTS if root != "!" or negate][: None if binary else -2]
    return roots, [*accumulate(ROOTS[root] for root in roots)]


class PlannedWord:
    """A random word of `positions` different letters, and random formulas that are true on it.

    Attributes:
        after: for each position, the next position.
        everywhere: all positions.
        values: for each symbol, the positions at which it is true.
        missing: the numbers of the symbols that do not occur yet.
    """

    def __init__(self, rng: Random, symbols: int, positions: int) -> None:
        self.rng, self.positions = rng, positions
        self.after = [*range(1, positions), rng.randrange(positions)]
        self.everywhere = (1 << positions) - 1
        letters = rng.sample(range(1 << symbols), positions)  # by position: the true symbols
        self.values = [
            bits([p for p, letter in enumerate(letters) if letter >> i & 1]) for i in range(symbols)
        ]
        self.missing = set(range(symbols))
        self._literals = literals(symbols)

    def literal(self, symbol: int, position: int) -> Formula:
        """Return the literal of a symbol that is true at a position."""
        return self._literals[symbol][self.values[symbol] >> position & 1]

    def path(self, start: int) -> list[int]:
        """Return the positions from `start` on, each once."""
        found = [start]
        while self.after[found[-1]] not in found:
            found.append(self.after[found[-1]])
        return found

    def formula(self, tokens: int, yes: int, no: int, later: int) -> Formula | None:
        """Return a random formula of `tokens` tokens; None if DRAWS draws fail.

        later: the number of tokens that are drawn after this formula.
        """
        missing = set(self.missing)
        for _ in range(DRAWS):
            found = self._drawn(tokens, yes, no, later)
            if found is not None:
                return found
            self.missing = set(missing)
        return None

    def _drawn(
        self, tokens: int, yes: int, no: int, later: int, negate: bool = True
    ) -> Formula | None:
        """Return a random formula, or None if the drawn choices do not fit.

        negate: whether the root may be `!`.
        """
        if yes & no:
            return None
        if tokens == 1:
            return self._symbol(yes, no, later + 1)
        roots, weights = _roots(negate, tokens > 2)
        root = weighted_choice(self.rng, roots, weights)
        if root == "!":
            operand = self._drawn(tokens - 1, no, yes, later, negate=False)
            return operand and ~operand
        if root == "X":
            operand = self._drawn(tokens - 1, self._next(yes), self._next(no), later)
            return operand and Formula("X", (operand,))
        left, right = self._both(yes, no) if root == "&" else self._until(yes, no)
        if root == "U" and tokens > 3 and not no and self.rng.random() < EVENTUALLY:
            operand = self._drawn(tokens - 2, *right, later)
            return operand and Formula("U", (ONE, operand))
        size = self.rng.randint(1, tokens - 2)
        first = self._drawn(size, *left, later + tokens - 1 - size)
        second = first and self._drawn(tokens - 1 - size, *right, later)
        return first and second and Formula(root, (first, second))

    def exclusion(self, tokens: int, where: int, later: int) -> Formula | None:
        """Return `!(a & b)`, true at the positions `where`; None if the choices do not fit.

        tokens: at least 4.
        """
        size = self.rng.randint(1, tokens - 3)
        left, right = self._both(0, where)
        first = self.formula(size, *left, later + tokens - 2 - size)
        second = first and self.formula(tokens - 2 - size, *right, later)
        return first and second and ~(first & second)

    def _symbol(self, yes: int, no: int, later: int) -> Formula | None:
        fits = [i for i, true in enumerate(self.values) if not yes & ~true and not no & true]
        if not fits:
            return None
        new = [i for i in fits if i in self.missing]
        if new and self.rng.random() * later < TOKENS_PER_SYMBOL * len(self.missing):
            fits = new
        chosen = self.rng.choice(fits)
        self.missing.discard(chosen)
        return self._literals[chosen][True]

    def _next(self, positions: int) -> int:
        return bits(after for p, after in enumerate(self.after) if positions >> p & 1)

    def _both(self, yes: int, no: int) -> tuple[Demand, Demand]:
        """Return the demands of a conjunction on its two operands."""
        first = no & self.rng.getrandbits(self.positions)
        second = no & ~first
        if self.rng.random() < TIGHT:
            return (yes | second, first), (yes | first, second)
        return (yes, first), (yes, second)

    def _until(self, yes: int, no: int) -> tuple[Demand, Demand]:
        """Return the demands of an until on its two operands."""
        random = self.rng.random
        left_yes = left_no = right_yes = right_no = 0
        for start in range(self.positions):
            place, passed = start, 0
            if yes >> start & 1:
                while random() < WAIT and not passed >> place & 1:
                    passed |= 1 << place
                    place = self.after[place]
                passed &= ~(1 << place)
                right_yes |= 1 << place
                left_yes |= passed
                if random() < TIGHT:
                    right_no |= passed
                if random() < TIGHT:
                    left_no |= 1 << place & ~left_yes
            elif no >> start & 1:
                while not passed >> place & 1:
                    passed |= 1 << place
                    if random() < END:
                        left_no |= 1 << place
                        break
                    if random() < TIGHT:
                        left_yes |= 1 << place
                    place = self.after[place]
                right_no |= passed
        return (left_yes, left_no), (right_yes, right_no)
