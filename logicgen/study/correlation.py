"""Correlation of each choice of a study with the score, over all points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, spearmanr

from logicgen.study.study_recipe import short

PERMUTATIONS = 9_999


@dataclass(frozen=True)
class Correlation:
    """Rank correlation of one choice with the score.

    Attributes:
        axis: of the study.
        choice: an alternative, taken or not; or None, for an axis of numbers, all of it.
        points: how many points have it (of an axis of numbers: all).
        rho: Spearman's rank correlation.
        chance: 95% of random assignments of the scores to the points stay between -chance and
            +chance.
        p: share of random assignments at least as far from 0, this one counted among them.
    """

    axis: str
    choice: str | None
    points: int
    rho: float
    chance: float
    p: float

    @property
    def label(self) -> str:
        """Return what stands for it in tables and figures."""
        return self.axis if self.choice is None else f"{self.axis}: {short(self.choice)}"


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Return Spearman's rank correlation, equal values at their mean rank; 0 if one is constant."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return 0.0
    return float(spearmanr(x, y).statistic)


def correlations(
    choices: list[dict[str, str]], scores: Sequence[float], seed: int = 0
) -> list[Correlation]:
    """Return those of every choice that some points have and others have not, by axis.

    choices: the alternatives' names by axis, of each point.
    An axis of numbers (`random_width=16`) has one correlation, with the number.
    """
    rng = np.random.default_rng(seed)
    shuffled = _standard(rankdata(scores))[
        np.argsort(rng.random((PERMUTATIONS, len(scores))), axis=1)
    ]  # (permutations, points)
    found = []
    for axis in choices[0]:
        column = [each[axis] for each in choices]
        names = list(dict.fromkeys(column))
        if len(names) < 2:
            continue
        numbers = _numbers(column)
        if numbers is not None:
            found.append(_one(axis, None, numbers, scores, shuffled))
            continue
        chosen = names if len(names) > 2 else names[:1]  # the other is its opposite
        for name in chosen:
            found.append(
                _one(axis, name, [float(each == name) for each in column], scores, shuffled)
            )
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


def _numbers(column: list[str]) -> list[float] | None:
    """Return the numbers of an axis of plain numbers, else None."""
    try:
        return [float(short(name)) for name in column]
    except ValueError:
        return None


def _standard(values: np.ndarray) -> np.ndarray:
    """Return values shifted and scaled to mean 0 and length 1, or all 0."""
    centred = values - values.mean()
    length = np.linalg.norm(centred)
    scaled: np.ndarray = centred / length if length > 1e-12 else centred * 0
    return scaled
