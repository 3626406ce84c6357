"""Distances of distributions."""

from __future__ import annotations

import numpy as np
import pytest

from logicgen.automata import divergences, l1_distances, mean_by_position
from logicgen.errors import LogicgenError

P = np.array([[[0.5, 0.5], [1.0, 0.0], [np.nan, np.nan]]])
Q = np.array([[[0.25, 0.75], [0.5, 0.5], [np.nan, np.nan]]])


def test_values():
    np.testing.assert_allclose(l1_distances(P, Q), [[0.5, 1.0, np.nan]])
    first = 0.5 * np.log2(0.5 / 0.25) + 0.5 * np.log2(0.5 / 0.75)
    np.testing.assert_allclose(divergences(P, Q), [[first, 1.0, np.nan]])
    np.testing.assert_allclose(divergences(P, P), [[0, 0, np.nan]])
    assert divergences(Q, P)[0, 1] == np.inf


def test_pinsker():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), size=(2, 100, 1))
    assert (l1_distances(p, q) <= np.sqrt(2 * np.log(2) * divergences(p, q)) + 1e-12).all()


def test_what_is_over_is_left_out():
    mean, count = mean_by_position(np.array([[1.0, 2.0, np.nan], [3.0, np.nan, np.nan]]))
    np.testing.assert_allclose(mean, [2, 2, np.nan])
    np.testing.assert_array_equal(count, [2, 1, 0])


def test_shapes_that_differ():
    with pytest.raises(LogicgenError, match="cannot be compared"):
        divergences(P, Q[:, :2])
