"""Confidence intervals of shares and of ratios, and the standard deviation over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import sqrt

import numpy as np

# The 97.5% quantile of the standard normal distribution, for 95% between two bounds.
Z = 1.959963984540054


def wilson_interval(share: float, examples: float) -> tuple[float, float]:
    """Return the 95% interval for a share of `examples` independent examples, at least one.

    It holds the shares that are at most Z of their own standard errors away, so it never leaves
    [0, 1]: [0.84, 1] for 20 of 20. Source: Wilson, J. American Statistical Association 22 (1927).
    """
    z2 = Z * Z / examples
    centre = (share + z2 / 2) / (1 + z2)
    half = sqrt(z2 * share * (1 - share) + z2 * z2 / 4) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)


def deviation(values: Sequence[float] | np.ndarray) -> float:
    """Return the sample standard deviation, which divides by n - 1; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def ratio_interval(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Return the ratio of two sums over sequences, and half of its 95% interval."""
    ratio, n = float(above.sum() / below.sum()), len(above)
    if n < 2:  # one sequence says nothing of others
        return ratio, math.inf
    spread = np.sqrt(n / (n - 1) * ((above - ratio * below) ** 2).sum())
    return ratio, float(Z * spread / abs(below.sum()))


def share_by_row(rows: np.ndarray, right: np.ndarray, count: int) -> tuple[float, float, float]:
    """Return the share that is right, with a 95% interval. rows: the row of each, of `count`.

    Symbols of a row are found or missed together, so rows are the independent units: Wilson's
    interval for as many symbols as would, independent of each other, give the standard error that
    the ratio estimate over rows has (Kish's effective sample size; in this use Korn, Graubard,
    Survey Methodology 24, 1998), where all are equal for as many as there are rows.
    """
    counts = np.bincount(rows, minlength=count)
    sums = np.bincount(rows, weights=right, minlength=count)
    share, some = float(right.mean()), int((counts > 0).sum())
    effective = float(some)
    if some > 1 and 0 < share < 1:
        squares = float(((sums - share * counts) ** 2).sum())
        variance = some / (some - 1) * squares / len(right) ** 2
        if variance > 0:
            effective = min(share * (1 - share) / variance, float(len(right)))
    return share, *wilson_interval(share, effective)
