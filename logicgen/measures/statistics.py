"""Confidence intervals of shares and of ratios, and the standard deviation over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import sqrt

import numpy as np

# A standard normal variable lies between -Z and Z with probability 95%.
Z = 1.959963984540054


def wilson_interval(share: float, examples: float) -> tuple[float, float]:
    """Return the 95% Wilson interval of a share.

    share: share of successes among the examples.
    examples: number of independent examples, at least 1.

    The interval contains each probability p of a success that differs from `share` by at most Z
    standard errors. The standard error is computed from p. The interval stays inside
    [0, 1]: 20 successes in 20 examples give [0.84, 1].
    Source: Wilson, J. American Statistical Association 22 (1927).
    """
    z2 = Z * Z / examples
    centre = (share + z2 / 2) / (1 + z2)
    half = sqrt(z2 * share * (1 - share) + z2 * z2 / 4) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)


def mcnemar(first_only: int, second_only: int) -> float:
    """Return the two-sided p-value of McNemar's exact test for two programs on the same problems.

    first_only: number of problems on which only the first program is right.
    second_only: number of problems on which only the second program is right.

    The p-value is the probability of a split at least as uneven if both programs were equally
    likely to win each of these problems.
    Source: McNemar, Psychometrika 12 (1947).
    """
    count, fewer = first_only + second_only, min(first_only, second_only)
    logs = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        for k in range(fewer + 1)
    ]
    tail = math.fsum(math.exp(each - count * math.log(2)) for each in logs)
    return min(1.0, 2 * tail)


def deviation(values: Sequence[float] | np.ndarray) -> float:
    """Return the sample standard deviation (divisor n - 1), or 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def ratio_interval(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Return the ratio sum(above) / sum(below), and half the width of its 95% interval.

    above, below: arrays with a number for each of at least two sequences, which are independent.
    """
    ratio, n = float(above.sum() / below.sum()), len(above)
    spread = np.sqrt(n / (n - 1) * ((above - ratio * below) ** 2).sum())
    return ratio, float(Z * spread / abs(below.sum()))


def share_by_row(rows: np.ndarray, right: np.ndarray, count: int) -> tuple[float, float, float]:
    """Return the share of right symbols and the bounds of its 95% interval.

    rows: for each symbol, the index of its row (a sequence of symbols).
    right: for each symbol, whether the model found it.
    count: number of rows.

    Symbols of the same row are not independent, but rows are. So the result is Wilson's interval
    for an effective sample size: the number of independent symbols that would give the same
    standard error. If all rows have the same share, the sample size is the number of rows with
    symbols.
    Source: Kish; Korn, Graubard, Survey Methodology 24 (1998).
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
