"""Wilson's interval against published values and against its definition."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.measures.statistics import Z, wilson_interval


@pytest.mark.parametrize(
    ("right", "examples", "low", "high"),
    # Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17
    # (1998), table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_values(right, examples, low, high):
    found = wilson_interval(right / examples, examples)
    assert found == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def farthest(share, examples, towards):
    """By bisection: the rate on that side at which `share` is just Z standard errors away."""
    near, far = share, towards
    for _ in range(100):
        middle = (near + far) / 2
        if abs(share - middle) <= Z * sqrt(middle * (1 - middle) / examples):
            near = middle
        else:
            far = middle
    return near


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_definition(counts):
    right, examples = counts
    share = right / examples
    low, high = wilson_interval(share, examples)
    assert 0 <= low <= share <= high <= 1 or right in (0, examples)
    assert low == pytest.approx(farthest(share, examples, 0.0), abs=1e-9)
    assert high == pytest.approx(farthest(share, examples, 1.0), abs=1e-9)
