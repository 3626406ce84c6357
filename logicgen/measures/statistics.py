"""Confidence intervals of shares and of ratios, and the standard deviation over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import sqrt

import numpy as np

# The 97.5% quantile of the standard normal distribution, for 95% between two bounds.
Z = 1.959963984540054


def wilson_interval(share: float, examples: float) -> tuple[float, float]:
    """Return the 95% Wilson interval of a share of `examples` >= 1 independent examples.

    It contains every share p that differs from `share` by at most Z standard errors of p. It stays
    inside [0, 1]: [0.84, 1] for 20 of 20. Source: Wilson, J. American Statistical Association 22
    (1927).
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
    if n < 2:  # a single sequence has no spread
        return ratio, math.inf
    spread = np.sqrt(n / (n - 1) * ((above - ratio * below) ** 2).sum())
    return ratio, float(Z * spread / abs(below.sum()))


def share_by_row(rows: np.ndarray, right: np.ndarray, count: int) -> tuple[float, float, float]:
    """Return the share of right symbols, with a 95% interval over rows.

    rows: the row of each symbol. right: whether each symbol is right. count: number of rows.

    Symbols of a row are found or missed together, so rows are the independent units. The result is
    Wilson's interval for the effective sample size: the number of independent symbols with the
    standard error of the ratio estimate over rows. Source: Kish; Korn, Graubard, Survey Methodology
    24 (1998). If all rows have the same share, it is the number of rows.
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
