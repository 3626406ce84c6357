"""Solved problems of the training split that are shown before a problem ("shots")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

import numpy as np

from logicgen.data.dataset import Dataset
from logicgen.errors import LogicgenError


class SolvedProblems:
    """Draws solved problems for each problem of a data set.

    shots: the number of solved problems before each problem.

    The draw depends only on the problem and a seed, so models and controls see the same problems.
    Raises LogicgenError if the training split is too small.
    """

    def __init__(self, data: Dataset, shots: int) -> None:
        self.shots = shots
        self._solved = data.encoded("train") if shots else None
        if self._solved is not None and len(self._solved) <= shots:
            raise LogicgenError(
                f"--shots: {shots}, but {data.folder} has only {len(self._solved)} training"
                " examples: lower it"
            )

    def before(self, problem: Sequence[int], seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the ids of each shown problem and its answer. `problem` itself is not shown."""
        if self._solved is None:
            return
        rng = np.random.default_rng(digest(list(problem), seed, "shots"))
        rows = rng.choice(len(self._solved), size=self.shots + 1, replace=False)
        others = [row for row in rows if list(self._solved.problems[row]) != list(problem)]
        for row in others[: self.shots]:
            yield self._solved.problems[row], self._solved.answers[row]


def digest(*parts: object) -> int:
    """Return a 63-bit hash of the parts."""
    found = sha256(":".join(map(str, parts)).encode()).digest()
    return int.from_bytes(found[:8]) >> 1
