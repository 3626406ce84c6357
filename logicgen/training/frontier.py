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

LEAST_SOLVED = 0.5
"""The largest size grows if this share of the recent problems near it was solved."""

LEAST_PROBLEMS = 10.0
"""The largest size grows only after this number of recent problems near it."""

Sizes = tuple[int, int]
"""A number of symbols, and a number of tokens."""

SolvedSizes = Sequence[tuple[Sizes, bool]]
"""The sizes of each problem of a round, and whether an answer was right."""

Counts = tuple[float, float]
"""The numbers of problems and of solved problems. Each round discounts both by MEMORY."""


@dataclass(frozen=True)
class Frontier:
    """The largest new problems of a round.

    Attributes:
        sizes: the most symbols, and the most tokens.
        goal: the sizes at which growth ends.
        edges: for both, the counts of problems near the largest size in earlier rounds.
    """

    sizes: Sizes
    goal: Sizes
    edges: tuple[Counts, Counts] = ((0.0, 0.0), (0.0, 0.0))

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Frontier:
        """Return the frontier in a file of a round, from `dataclasses.asdict`."""
        sizes, goal = ((int(each[0]), int(each[1])) for each in (content["sizes"], content["goal"]))
        of_symbols, of_tokens = ((float(each[0]), float(each[1])) for each in content["edges"])
        return cls(sizes, goal, (of_symbols, of_tokens))

    def after(self, found: SolvedSizes) -> Frontier:
        """Return the frontier after a round."""
        sizes, edges = list(self.sizes), []
        for side, step in enumerate(STEPS):
            asked, solved = self._counts(side, found)
            if (
                sizes[side] < self.goal[side]
                and asked >= LEAST_PROBLEMS
                and solved >= LEAST_SOLVED * asked
            ):
                sizes[side] = min(sizes[side] + step, self.goal[side])
                asked, solved = 0.0, 0.0
            edges.append((asked, solved))
        return Frontier((sizes[0], sizes[1]), self.goal, (edges[0], edges[1]))

    def report(self, found: SolvedSizes) -> str:
        """Return a sentence about how far new problems have grown, and why not further.

        found: the last round. Its problems reach this frontier.
        """
        sides = []
        for side, noun in enumerate(("symbols", "tokens")):
            size, goal = self.sizes[side], self.goal[side]
            if size == goal:
                sides.append(f"{size} {noun} (the goal)")
                continue
            asked, solved = self._counts(side, found)
            why = f"{solved / max(asked, 1):.0%} of the largest solved, {LEAST_SOLVED:.0%} needed"
            if asked < LEAST_PROBLEMS:
                why = "too few of the largest to judge"
            elif solved >= LEAST_SOLVED * asked:
                why = "the training ended first"
            sides.append(f"{size} of {goal} {noun} ({why})")
        return f"new problems have grown to {' and '.join(sides)}"

    def _counts(self, side: int, found: SolvedSizes) -> Counts:
        """Return the discounted counts at an edge after a round. side: 0 symbols, 1 tokens."""
        least = self.sizes[side] - STEPS[side]
        edge = [solved for size, solved in found if size[side] > least]
        asked, solved = self.edges[side]
        return MEMORY * asked + len(edge), MEMORY * solved + sum(edge)
