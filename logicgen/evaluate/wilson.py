"""Wilson's confidence interval for a share."""

from __future__ import annotations

from math import sqrt

# The 97.5% quantile of the standard normal distribution, for 95% between two bounds.
Z = 1.959963984540054


def wilson_interval(share: float, examples: float) -> tuple[float, float]:
    """Return the 95% interval for a share of `examples` independent examples, at least one.

    It holds the rates whose distance from `share` is at most Z standard errors, the standard error
    being that of the rate itself: so it never leaves [0, 1], and after 20 right answers of 20 it
    still says [0.84, 1]. Source: Wilson, Journal of the American Statistical Association 22 (1927).
    """
    z2 = Z * Z / examples
    centre = (share + z2 / 2) / (1 + z2)
    half = sqrt(z2 * share * (1 - share) + z2 * z2 / 4) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)
