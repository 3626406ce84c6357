"""A curriculum: prefer problems that the model sometimes answers right.

Let q be the share of right answers to a problem, weighted by their probabilities. The problem's
worth is 4 q (1 - q). It is 0 if all answers are right or all are wrong, and 1 if q is 1/2.

A kind of problems has a number of symbols, a range of lengths and a range of numbers of hard
operators. A drawn problem is kept with a probability proportional to its kind's recent mean worth.
So the curriculum moves to longer problems, and to more hard operators, as the model improves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from logicgen.tasks.task import symbols_of

LENGTHS = 5
"""Number of lengths in the range of a kind."""

OPERATORS = 3
"""Size of a kind's range of numbers of hard operators."""

LEAST = 0.05
"""Least probability of keeping a drawn problem of a kind with little worth."""

MEMORY = 0.9
"""Factor by which each new round reduces the counts of earlier rounds."""

PRIOR = 10.0
"""Number of problems of average worth that are added to the counts of each kind."""


class Kind(NamedTuple):
    """A kind of problems: its number of symbols, and the numbers (from 0) of two ranges.

    The first range is a range of lengths, the second a range of numbers of hard operators.
    """

    symbols: int
    lengths: int
    operators: int


def kind_of(problem: str, hard: Collection[str]) -> Kind:
    """Return the kind of a problem in prefix notation.

    hard: the operators that are counted.
    """
    tokens = problem.split()
    operators = sum(token in hard for token in tokens)
    return Kind(len(symbols_of(problem)), len(tokens) // LENGTHS, operators // OPERATORS)


@dataclass(frozen=True)
class Curriculum:
    """For each kind of problem, the number of answered problems, and the sum of their worth.

    Both numbers are discounted by `MEMORY` after each round.
    """

    known: Mapping[Kind, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def _mean(self) -> float:
        asked, worth = (sum(each) for each in zip((0.0, 0.0), *self.known.values(), strict=True))
        return worth / asked if asked else 1.0

    @cached_property
    def _most(self) -> float:
        return max(map(self.worth, self.known), default=1.0)

    def worth(self, kind: Kind) -> float:
        """Estimate a problem's worth for learning from its kind."""
        asked, worth = self.known.get(kind, (0.0, 0.0))
        return (worth + PRIOR * self._mean) / (asked + PRIOR)

    def probability(self, kind: Kind) -> float:
        """Return the probability of keeping a drawn problem of a kind."""
        return max(self.worth(kind) / self._most, LEAST) if self._most else 1.0

    def after(self, found: Collection[tuple[Kind, float]]) -> Curriculum:
        """Return the curriculum after a round.

        found: each problem's kind and worth in the round.
        """
        known = {kind: (MEMORY * a, MEMORY * w) for kind, (a, w) in self.known.items()}
        for kind, worth in found:
            asked, before = known.get(kind, (0.0, 0.0))
            known[kind] = asked + 1, before + worth
        return Curriculum(known)
