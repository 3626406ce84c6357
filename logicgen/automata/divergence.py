"""How far next-symbol distributions are from each other, position by position.

Of any two models: an automaton, its lexinvariant model, a trained one. Distributions are arrays
(S, L + 1, k + 1), the end last, with nan where a string is over.
"""

from __future__ import annotations

import numpy as np

from logicgen.errors import LogicgenError


def l1_distances(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(S, L + 1): the sum of |p - q|, between 0 and 2; nan where one of them is nan."""
    _alike(p, q)
    return np.abs(p - q).sum(axis=-1)


def divergences(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(S, L + 1): Kullback-Leibler divergence of q from p, the sum of p log2(p/q), in bits.

    What it costs, per token, to expect q where p is true. inf where q excludes what p does not; nan
    where one of them is nan.
    """
    _alike(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = p * (np.log2(p) - np.log2(q))
    # Where q is nan, so is the divergence, even if p is 0 there.
    return np.where((p == 0) & ~np.isnan(q), 0.0, terms).sum(axis=-1)


def mean_by_position(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over strings at each position, (L + 1,), and over how many, (L + 1,).

    nan values are left out; the mean of none is nan.
    """
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(there, values, 0.0).sum(axis=0) / np.where(count, count, np.nan), count


def _alike(p: np.ndarray, q: np.ndarray) -> None:
    if p.shape != q.shape:
        raise LogicgenError(
            f"distributions of shape {p.shape} and {q.shape} cannot be compared; both have to be"
            " (strings, longest + 1, symbols + 1), the end last"
        )
