"""Distances between next-symbol distributions, at each position of strings.

They compare any two models: an automaton, its lexinvariant model, a trained one. Distributions are
arrays (S, L + 1, k + 1), the end last, with nan beyond the end of a string.
"""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from logicgen.errors import LogicgenError


def l1_distances(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the sums of |p - q|, (S, L + 1), between 0 and 2; nan if one of them is nan."""
    _check_shapes(p, q)
    return np.asarray(np.abs(p - q).sum(axis=-1))


def divergences(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return KL(p || q) = sum of p log2(p/q), in bits, (S, L + 1): the cost of predicting q for p.

    inf if q is 0 where p is not; nan if one of them is nan.
    """
    _check_shapes(p, q)
    return np.asarray(rel_entr(p, q).sum(axis=-1) / np.log(2))


def mean_by_position(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean over strings (nan if none) and count of numbers by position, (L + 1,) each."""
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(there, values, 0.0).sum(axis=0) / np.where(count, count, np.nan), count


def _check_shapes(p: np.ndarray, q: np.ndarray) -> None:
    if p.shape != q.shape:
        raise LogicgenError(
            f"distributions of shape {p.shape} and {q.shape} cannot be compared; both have to be"
            " (strings, longest + 1, symbols + 1), the end last"
        )
