"""Wilson's confidence interval for a share."""

from __future__ import annotations

from math import sqrt

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
