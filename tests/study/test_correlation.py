"""Rank correlations against slow obvious ones, and against studies whose answer is known."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from logicgen.study.correlation import correlations, spearman


def slow_rank(values, value):
    """One more than how many are less, and half of how many others are equal."""
    return 1 + sum(v < value for v in values) + (sum(v == value for v in values) - 1) / 2


def test_correlation_against_the_definition():
    rng = random.Random(0)
    for _ in range(50):
        x = [rng.randrange(4) for _ in range(9)]
        y = [rng.randrange(5) for _ in range(9)]
        slow_x, slow_y = ([slow_rank(v, each) for each in v] for v in (x, y))
        if len(set(x)) > 1 and len(set(y)) > 1:
            assert spearman(x, y) == pytest.approx(np.corrcoef(slow_x, slow_y)[0, 1])


def test_known_values():
    assert spearman([1, 2, 3], [10, 100, 1000]) == pytest.approx(1)
    assert spearman([1, 2, 3], [5, 4, -3]) == pytest.approx(-1)
    assert spearman([1, 1, 1], [5, 4, -3]) == 0
    # Without equal values: 1 - 6 sum d^2 / (n (n^2 - 1)) = 1 - 6 * 4 / 60.
    assert spearman([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx(0.6)


def points():
    """24 points; the score falls with the width, rises for b by less, and knows nothing of flag."""
    choices, scores = [], []
    rng = random.Random(1)
    for width, method, flag in itertools.product((4, 8, 16, 32), "abc", ("true", "false")):
        choices.append({"width": f"width={width}", "method": method, "flag": f"flag={flag}"})
        scores.append(100 / width + 4 * (method == "b") + rng.uniform(0, 0.5))
    return choices, scores


def test_each_choice_of_a_study_whose_answer_is_known():
    found = {each.label: each for each in correlations(*points())}
    assert list(found) == ["width", "method: a", "method: b", "method: c", "flag: true"]
    width = found["width"]
    assert width.rho < -0.8
    assert width.p == pytest.approx(1e-4)  # no permutation is as far, of 9,999
    assert width.points == 24
    assert abs(width.rho) > width.chance
    assert found["method: b"].rho > 0
    assert found["method: b"].points == 8
    assert found["method: a"].rho < 0
    flag = found["flag: true"]
    assert abs(flag.rho) < flag.chance
    assert flag.p > 0.3


def test_p_is_the_share_of_all_permutations():
    choices = [{"m": name} for name in "aabbb"]
    scores = [5.0, 3.0, 4.0, 1.0, 2.0]
    (found,) = correlations(choices, scores)
    taken = [1, 1, 0, 0, 0]
    every = [abs(spearman(taken, each)) for each in itertools.permutations(scores)]
    exact = np.mean([each >= abs(found.rho) - 1e-12 for each in every])
    assert found.p == pytest.approx(exact, abs=0.02)
    assert found.rho == pytest.approx(spearman(taken, scores))


def test_an_axis_of_one_choice_has_no_correlation():
    assert correlations([{"m": "a"}, {"m": "a"}], [1, 2]) == []
