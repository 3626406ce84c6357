"""How each choice of a study goes together with the score, over all points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logicgen.study.study_recipe import short

PERMUTATIONS = 9_999


@dataclass(frozen=True)
class Correlation:
    """Of one choice with the score.

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
        """What stands for it in tables and figures."""
        return self.axis if self.choice is None else f"{self.axis}: {short(self.choice)}"


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation, equal values at their mean rank; 0 where one does not vary."""
    a, b = _standard(ranks(x)), _standard(ranks(y))
    return float(a @ b)


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 1, equal values at their mean rank."""
    _, place, counts = np.unique(np.asarray(values, float), return_inverse=True, return_counts=True)
    last: np.ndarray = np.cumsum(counts)
    mean: np.ndarray = (last - (counts - 1) / 2)[place.ravel()]
    return mean


def correlations(
    choices: list[dict[str, str]], scores: Sequence[float], seed: int = 0
) -> list[Correlation]:
    """Of every choice that some points have and others have not, in the order of the axes.

    choices: of each point, the alternative's name by axis.
    An axis of numbers (`random_width=16`) has one correlation, with the number.
    """
    rng = np.random.default_rng(seed)
    shuffled = _standard(ranks(scores))[
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
    by_chance = np.abs(shuffled @ _standard(ranks(x)))
    p = (1 + np.count_nonzero(by_chance >= abs(rho) - 1e-12)) / (1 + len(by_chance))
    chance = float(np.quantile(by_chance, 0.95))
    points = len(x) if choice is None else round(sum(x))
    return Correlation(axis, choice, points, rho, chance, float(p))


def _numbers(column: list[str]) -> list[float] | None:
    """The numbers of an axis of plain numbers, else None."""
    try:
        return [float(short(name)) for name in column]
    except ValueError:
        return None


def _standard(values: np.ndarray) -> np.ndarray:
    """With mean 0 and length 1, or all 0."""
    centred = values - values.mean()
    length = np.linalg.norm(centred)
    return centred / length if length > 1e-12 else centred * 0


def as_row(each: Correlation) -> dict[str, Any]:
    """As the columns of a table."""
    return {
        "choice": each.label,
        "points": each.points,
        "spearman": each.rho,
        "chance_95": each.chance,
        "p": each.p,
    }
