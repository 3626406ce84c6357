"""Correlation of each choice of a study with the score, over all combinations of settings.

An axis is a setting that a study varies. A choice is one of the values (alternatives) of an axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, spearmanr

from logicgen.study.recipe import short

PERMUTATIONS = 9_999


@dataclass(frozen=True)
class Correlation:
    """Rank correlation of one choice with the score, over the combinations of settings of a study.

    If the scores are assigned to the combinations at random, 95% of the correlations lie between
    -chance and +chance.
    """

    axis: str
    choice: str | None  # name of the choice; None if all choices of the axis are numbers
    # Number of combinations of settings with this choice. If the choices are numbers, it is the
    # number of all combinations.
    points: int
    rho: float  # Spearman's rank correlation
    chance: float
    # p-value: share of the assignments with a correlation at least as far from 0 as rho. The
    # assignments are the random assignments and the actual assignment.
    p: float

    @property
    def label(self) -> str:
        """Return the name of the choice in tables and figures."""
        return self.axis if self.choice is None else f"{self.axis}: {short(self.choice)}"


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Return Spearman's rank correlation with mean ranks for ties; 0 if `x` or `y` is constant."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return 0.0
    return float(spearmanr(x, y).statistic)


def correlations(
    choices: list[dict[str, str]], scores: Sequence[float], seed: int = 0
) -> list[Correlation]:
    """Correlate each choice of a study with the score, axis by axis.

    choices: for each combination of settings, the name of its choice on each axis.
    scores: the score of each combination.
    seed: the seed of the random assignments of scores.

    If the choices of an axis are numbers (`random_width=16`), the axis has one correlation, of the
    number with the score. An axis with a single choice is left out.
    """
    rng = np.random.default_rng(seed)
    orders = np.argsort(rng.random((PERMUTATIONS, len(scores))), axis=1)
    shuffled = _standard(rankdata(scores))[orders]  # (permutations, scores)
    found = []
    for axis in choices[0]:
        column = [each[axis] for each in choices]
        names = list(dict.fromkeys(column))
        if len(names) < 2:
            continue
        columns: dict[str | None, list[float]]
        try:
            columns = {None: [float(short(name)) for name in column]}
        except ValueError:
            # If there are two choices, leave out the second: it has the opposite correlation.
            chosen = names if len(names) > 2 else names[:1]
            columns = {name: [float(each == name) for each in column] for name in chosen}
        found += [_one(axis, name, x, scores, shuffled) for name, x in columns.items()]
    return found


def _one(
    axis: str, choice: str | None, x: list[float], scores: Sequence[float], shuffled: np.ndarray
) -> Correlation:
    rho = spearman(x, scores)
    by_chance = np.abs(shuffled @ _standard(rankdata(x)))
    p = (1 + np.count_nonzero(by_chance >= abs(rho) - 1e-12)) / (1 + len(by_chance))
    chance = float(np.quantile(by_chance, 0.95))
    points = len(x) if choice is None else round(sum(x))
    return Correlation(axis, choice, points, rho, chance, float(p))


def _standard(values: np.ndarray) -> np.ndarray:
    """Return values shifted and scaled to mean 0 and Euclidean norm 1; zeros if all are equal."""
    centred = values - values.mean()
    length = np.linalg.norm(centred)
    scaled: np.ndarray = centred / length if length > 1e-12 else centred * 0
    return scaled
