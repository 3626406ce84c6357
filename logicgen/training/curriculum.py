"""Which problems are worth asking: those that the model sometimes gets right.

Of one problem, let q be the share of its answers that are right, weighed by their probabilities.
The problem is worth 4 q (1 - q): nothing where all answers are right, or none (too hard, or without
an answer), and 1 where half of them are. Problems are told apart by kinds: their number of symbols,
their length, and how many operators they have that make answers hard to see. A problem that was
drawn is asked with a probability that is proportional to what its kind has been worth lately. So
longer problems, and those with more hard operators, come once shorter and easier ones are answered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from logicgen.tasks.task import symbols_of

LENGTHS = 5
"""Lengths that are one kind."""

OPERATORS = 3
"""Numbers of hard operators that are one kind."""

LEAST = 0.05
"""Probability with which problems of a worthless kind are asked, beside 1 of the best kind."""

MEMORY = 0.9
"""What a round counts once the next one is over."""

PRIOR = 10.0
"""Problems of average worth that are added to what is known of a kind."""


class Kind(NamedTuple):
    """Problems that are alike; ranges of lengths and of operators are numbered from 0."""

    symbols: int
    lengths: int
    operators: int


def kind_of(problem: str, hard: Collection[str]) -> Kind:
    """Return the kind of a problem in prefix notation. hard: operators that are counted."""
    tokens = problem.split()
    operators = sum(token in hard for token in tokens)
    return Kind(len(symbols_of(problem)), len(tokens) // LENGTHS, operators // OPERATORS)


@dataclass(frozen=True)
class Curriculum:
    """What is known of each kind: how many problems were asked, and the sum of their worths."""

    known: Mapping[Kind, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def _mean(self) -> float:
        asked, worth = (sum(each) for each in zip((0.0, 0.0), *self.known.values(), strict=True))
        return worth / asked if asked else 1.0

    @cached_property
    def _most(self) -> float:
        return max(map(self.worth, self.known), default=1.0)

    def worth(self, kind: Kind) -> float:
        """Return what a problem of a kind is worth, as far as is known."""
        asked, worth = self.known.get(kind, (0.0, 0.0))
        return (worth + PRIOR * self._mean) / (asked + PRIOR)

    def probability(self, kind: Kind) -> float:
        """Return the probability with which a problem of a kind is asked."""
        return max(self.worth(kind) / self._most, LEAST) if self._most else 1.0

    def after(self, found: Collection[tuple[Kind, float]]) -> Curriculum:
        """Return what is known after a round: the kind of each problem, and what it was worth."""
        known = {kind: (MEMORY * a, MEMORY * w) for kind, (a, w) in self.known.items()}
        for kind, worth in found:
            asked, before = known.get(kind, (0.0, 0.0))
            known[kind] = asked + 1, before + worth
        return Curriculum(known)
