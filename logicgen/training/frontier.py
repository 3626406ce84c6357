"""The frontier of new problems: the most symbols and tokens, which grow while it pays.

In learning from verdicts, the first round may have problems as large as the training problems, and
later rounds larger problems. After a round, the range of symbols grows by one if the model has
solved at least half of the recent problems at its edge. The range of lengths grows by five tokens
in the same way. Smaller problems stay in the ranges, so that they are not forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logicgen.training.curriculum import LENGTHS, MEMORY

STEPS = 1, LENGTHS
"""By how much the most symbols and the most tokens grow at a time."""

PAYS = 0.5
"""Least share of solved problems at an edge for which it grows."""

ENOUGH = 10.0
"""Least number of recent problems at an edge for which it grows."""

Sizes = tuple[int, int]
"""A number of symbols, and a number of tokens."""

Counts = tuple[float, float]
"""A number of problems, and a number of solved ones; both are discounted by MEMORY each round."""


@dataclass(frozen=True)
class Frontier:
    """The largest new problems of a round.

    Attributes:
        sizes: the most symbols, and the most tokens.
        goal: the sizes at which growth ends.
        edges: for both, the counts of recent problems near the largest size.
        still: number of rounds since the last growth.
    """

    sizes: Sizes
    goal: Sizes
    edges: tuple[Counts, Counts] = ((0.0, 0.0), (0.0, 0.0))
    still: int = 0

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Frontier:
        """Return the frontier in a file of a round, from `dataclasses.asdict`."""
        symbols, tokens = map(tuple, content["edges"])
        edges = (float(symbols[0]), float(symbols[1])), (float(tokens[0]), float(tokens[1]))
        sizes, goal = content["sizes"], content["goal"]
        return cls((sizes[0], sizes[1]), (goal[0], goal[1]), edges, content["still"])

    def after(self, found: Sequence[tuple[Sizes, bool]]) -> Frontier:
        """Return the frontier after a round.

        found: the sizes of each problem of the round, and whether an answer was right.
        """
        sizes, edges = list(self.sizes), list(self.edges)
        for side, step in enumerate(STEPS):
            edge = [solved for size, solved in found if size[side] > sizes[side] - step]
            asked = MEMORY * edges[side][0] + len(edge)
            solved = MEMORY * edges[side][1] + sum(edge)
            edges[side] = asked, solved
            if sizes[side] < self.goal[side] and asked >= ENOUGH and solved >= PAYS * asked:
                sizes[side] = min(sizes[side] + step, self.goal[side])
                edges[side] = 0.0, 0.0
        grown = (sizes[0], sizes[1])
        still = 0 if grown != self.sizes else self.still + 1
        return Frontier(grown, self.goal, (edges[0], edges[1]), still)

    def report(self) -> str:
        """Return a sentence about how far the frontier has grown, and why not further."""
        text = f"new problems have grown to {_said(self.sizes)}"
        if self.sizes == self.goal:
            return f"{text}, the goal"
        shares = [f"{solved / max(asked, 1):.0%}" for asked, solved in self.edges]
        return (
            f"{text}, of {_said(self.goal)}; no growth in the last {self.still} rounds; solved at"
            f" the edge: {shares[0]} (symbols), {shares[1]} (tokens), needed {PAYS:.0%}"
        )


def _said(sizes: Sizes) -> str:
    return f"{sizes[0]} symbols and {sizes[1]} tokens"
