"""Sums over all strings against sums in a loop, and where probability is lost."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.automata import (
    Automaton,
    allsum,
    log_allsum,
    log_prefix_weights,
    log_weights,
    normalise,
    tightness,
    trim,
)
from logicgen.automata.sums import accessible, coaccessible, forward
from logicgen.errors import LogicgenError
from tests.automata.small import automata, one_state, probabilistic, shrinking, weights

# With a quarter of the weight left at each step, strings longer than 9 are a millionth.
CUT, SHORT = 2e-6, 9


def backward(automaton):
    """Return the weights of paths from each state to the end: forward weights when reversed."""
    reverse = [matrix.T.toarray() for matrix in automaton.transitions]
    return forward(Automaton.dense(automaton.symbols, automaton.final, automaton.initial, reverse))


@given(automata(states=4, acyclic=True))
def test_finitely_many_strings(automaton):
    expected = sum(weights(automaton, 3).values())
    assert allsum(automaton) == pytest.approx(expected, rel=1e-12)


@given(shrinking())
def test_infinitely_many_strings(automaton):
    by_string = weights(automaton, SHORT)
    assert allsum(automaton) == pytest.approx(sum(by_string.values()), rel=CUT * 10, abs=CUT * 10)


@given(shrinking())
def test_backward_and_forward_solve_their_systems(automaton):
    ahead, behind, total = backward(automaton), forward(automaton), automaton.total.toarray()
    np.testing.assert_allclose(ahead, total @ ahead + automaton.final, rtol=1e-12)
    np.testing.assert_allclose(behind, behind @ total + automaton.initial, rtol=1e-12)
    assert automaton.initial @ ahead == pytest.approx(behind @ automaton.final, rel=1e-12)


@given(shrinking())
def test_normalised(automaton):
    total = allsum(automaton)
    if total == 0:
        with pytest.raises(LogicgenError, match="every string weighs 0"):
            normalise(automaton)
        return
    model = normalise(automaton)
    assert model.initial.sum() == pytest.approx(1, rel=1e-12)
    sums = model.total.sum(axis=1) + model.final
    np.testing.assert_allclose(sums, 1, rtol=1e-12)
    assert tightness(model).is_tight
    known = weights(automaton, 4)
    found = np.exp(log_weights(model, known)) * total
    np.testing.assert_allclose(found, list(known.values()), rtol=1e-11, atol=1e-12)


@given(automata(), st.data())
def test_trimmed(automaton, data):
    useful = accessible(automaton) & coaccessible(automaton)
    if not useful.any():
        with pytest.raises(LogicgenError, match="every string weighs 0"):
            trim(automaton)
        assert not any(weights(automaton, 4).values())
        return
    part = trim(automaton)
    assert weights(part, 4) == pytest.approx(weights(automaton, 4), rel=1e-12)
    # No state is left that no accepting path passes: without it some string weighs less.
    if len(part.states) > 1:
        state = data.draw(st.integers(0, len(part.states) - 1))
        rest = part.restricted(np.delete(np.arange(len(part.states)), state))
        assert sum(weights(rest, 6).values()) < sum(weights(part, 6).values())


@pytest.mark.parametrize(
    ("automaton", "total"),
    [
        (one_state(0.0, final=0.25, initial=2.0), 0.5),  # the empty string only
        # A weight of 1 that no cycle repeats.
        (Automaton.dense("a", [1, 0, 0], [0, 0, 1], [np.diag([1.0, 1.0], 1)]), 1),
        (one_state(1 - 1e-9), pytest.approx(1e9, rel=1e-6)),
        # State 1 cannot end, state 2 cannot be reached, and both repeat themselves with weight 2.
        (
            Automaton.dense("a", [1, 0, 0], [1, 0, 1], [[[0.5, 1, 0], [0, 2, 0], [1, 0, 2]]]),
            pytest.approx(2),
        ),
    ],
)
def test_finite(automaton, total):
    assert allsum(automaton) == total
    assert allsum(normalise(automaton)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("automaton", "states", "radius"),
    [
        (one_state(1.0), "0", "1"),
        (one_state(3.0), "0", "3"),
        (Automaton.dense("a", [1, 0], [0, 1], [[[0, 2], [0.5, 0]]]), "0, 1", "1"),
        (Automaton.dense("a", [1, 0], [1, 0], [[[0.5, 0.5], [0.5, 0.5]]]), "0, 1", "1"),
        (Automaton.dense("ab", [1], [1], [[[0.3]], [[0.7]]]), "0", "1"),
        (Automaton.dense("abc", [1], [1], [[[0.3]], [[0.6]], [[0.1]]]), "0", "1"),
        (Automaton.dense("a", [1, 0], [0, 1], [[[0.5, 1], [0, 1.2]]]), "1", "1.2"),
    ],
)
def test_infinite(automaton, states, radius):
    place = f"cycles through {states} have spectral radius {re.escape(radius)},"
    with pytest.raises(LogicgenError, match=place):
        allsum(automaton)


@pytest.mark.parametrize(
    ("initial", "final", "reason"),
    [
        ([0, 0], [1, 0], "no initial state"),
        ([1, 0], [0, 0], "no final state"),
        ([0, 1], [1, 0], r"no final state \(0\) can be reached"),
    ],
)
def test_nothing_accepted(initial, final, reason):
    automaton = Automaton.dense("a", initial, final, [[[0.5, 0.5], [0, 0.5]]])
    assert allsum(automaton) == 0
    with pytest.raises(LogicgenError, match=reason):
        trim(automaton)


def test_weights_of_very_different_size_keep_their_precision():
    # A chain of cycles, every one of which is left with weight 1e-30 only.
    n = 8
    table = np.diag([0.5] * n) + np.diag([1e-30] * (n - 1), 1)
    automaton = Automaton.dense("a", np.eye(n)[0], np.eye(n)[-1], [table])
    np.testing.assert_allclose(
        backward(automaton), [2.0 * (2e-30) ** (n - 1 - i) for i in range(n)], rtol=1e-12
    )


def test_more_states_than_a_dense_matrix_is_made_for():
    n = 3100
    table = np.zeros((1, n, n))
    table[0, np.arange(n), (np.arange(n) + 1) % n] = 0.5
    automaton = Automaton.dense("a", np.eye(n)[0], np.ones(n), table)
    assert allsum(automaton) == pytest.approx(2)


def exact_backward(automaton):
    """The backward weights as fractions, by Gauss-Jordan elimination."""
    n = len(automaton.states)
    table = automaton.total.toarray().tolist()
    rows = [
        [Fraction(i == j) - Fraction(table[i][j]) for j in range(n)]
        + [Fraction(float(automaton.final[i]))]
        for i in range(n)
    ]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [each / rows[k][k] for each in rows[k]]
        for i in set(range(n)) - {k}:
            rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def log_of(number):
    return math.log(number.numerator) - math.log(number.denominator)


@pytest.mark.parametrize("powers", [8, 30, 140])
@pytest.mark.parametrize("seed", range(25))
def test_weights_of_any_size_against_fractions(powers, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    table = rng.random((n, n)) * (rng.random((n, n)) < 0.7)
    table *= rng.choice([0.5, 0.99]) / max(1.0, table.sum(axis=1).max())
    size = 10.0 ** rng.integers(-powers, powers + 1, n)  # arcs of one cycle may differ as much
    ends = rng.random((2, n)) * 10.0 ** rng.integers(-2 * powers, 2 * powers + 1, (2, n))
    automaton = Automaton.dense("a", ends[0], ends[1], [table * size[:, None] / size])
    ahead = exact_backward(automaton)
    total = sum(Fraction(float(i)) * x for i, x in zip(automaton.initial, ahead, strict=True))
    assert log_allsum(automaton) == pytest.approx(log_of(total), rel=1e-12, abs=1e-12)
    if abs(log_of(total)) < 700:
        assert allsum(automaton) == pytest.approx(float(total), rel=1e-10)
    model = normalise(automaton)
    states = [int(name) for name in model.states]
    after = model.total.toarray()
    for i, source in enumerate(states):
        wanted = Fraction(float(automaton.initial[source])) * ahead[source] / total
        assert model.initial[i] == pytest.approx(float(wanted), rel=1e-9, abs=1e-300)
        wanted = Fraction(float(automaton.final[source])) / ahead[source]
        assert model.final[i] == pytest.approx(float(wanted), rel=1e-9, abs=1e-300)
        for j, target in enumerate(states):
            weight = Fraction(float(automaton.total.toarray()[source, target]))
            wanted = weight * ahead[target] / ahead[source]
            assert after[i, j] == pytest.approx(float(wanted), rel=1e-9, abs=1e-300)


def test_large_and_small_arcs_on_one_cycle():
    automaton = Automaton.dense("a", [1, 0], [0, 1], [[[0, 1e14], [1e-15, 0]]])
    assert allsum(automaton) == pytest.approx(1e14 / (1 - 1e14 * 1e-15), rel=1e-12)
    with pytest.raises(LogicgenError, match=r"have spectral radius 1\.41421,"):
        allsum(Automaton.dense("a", [1, 0], [0, 1], [[[0, 2e14], [1e-14, 0]]]))
    with pytest.raises(LogicgenError, match="cycles through 0, 1 have spectral radius 1,"):
        allsum(Automaton.dense("a", [1, 0], [0, 1], [[[0, 2.0**50], [2.0**-50, 0]]]))


@pytest.mark.parametrize(("size", "power"), [(1e-300, -600), (1e200, 400)])
def test_an_allsum_that_no_float_holds(size, power):
    automaton = one_state(0.5, final=size, initial=size)
    with pytest.raises(LogicgenError, match=rf"add up to about 10\^{power}.*take log_allsum"):
        allsum(automaton)
    expected = math.log(2) + 2 * math.log(size)
    assert log_allsum(automaton) == pytest.approx(expected)
    assert log_prefix_weights(automaton, ["a"])[0] == pytest.approx(
        [expected, expected - math.log(2)]
    )
    assert normalise(automaton).final == pytest.approx([0.5])
    assert log_allsum(one_state(0.5, final=0.0)) == -math.inf


def test_a_path_weight_that_no_float_holds():
    chain = Automaton.dense("a", [1, 0, 0], [0, 0, 1], [np.diag([1e200, 1e200], 1)])
    with pytest.raises(LogicgenError, match="the paths of states 0 weigh more"):
        backward(chain)
    large = [[0, 1.5e308], [0, 0]]
    with pytest.raises(LogicgenError, match="from one state to another add up to more than"):
        allsum(Automaton.dense("ab", [1, 0], [0, 1], [large, large]))
    small = Automaton.dense("a", [1, 0, 0], [0, 0, 1], [np.diag([1e-200, 1e-200], 1)])
    assert log_allsum(small) == pytest.approx(-400 * math.log(10))
    assert normalise(small).total.sum() == pytest.approx(2)


@given(probabilistic())
def test_tight(automaton):
    found = tightness(automaton)
    assert found.is_tight
    assert found.reason.startswith("tight")
    assert found.mass == pytest.approx(1, rel=1e-12)


TRAP = [[[0.25, 0], [0, 0]], [[0, 0.25], [0, 1]]]


@pytest.mark.parametrize(
    ("automaton", "mass", "trapped", "leaking", "reason"),
    [
        (Automaton.dense("ab", [1, 0], [0.5, 0], TRAP), 2 / 3, "1", "",
         "not tight, all strings together have 0.666667: no path to a final state from 1"),
        # A trap that cannot be reached.
        (Automaton.dense("a", [1, 0], [0.5, 0], [[[0.5, 0], [0, 1]]]), 1, "", "", "tight: every"),
        (one_state(0.25, final=0.5), 2 / 3, "", "0", "weights that sum to less than 1 from 0"),
        (one_state(0.5, final=0.5, initial=0.75), 0.75, "", "", "initial weights sum to 0.75"),
        (one_state(1.0, final=0.0), 0, "0", "", "no path to a final state from 0"),
        (one_state(0.0), 1, "", "", "tight: every"),
    ],
)  # fmt: skip
def test_where_probability_is_lost(automaton, mass, trapped, leaking, reason):
    found = tightness(automaton)
    assert found.mass == pytest.approx(mass)
    assert (found.trapped, found.leaking) == (tuple(trapped), tuple(leaking))
    assert reason in found.reason
    assert found.is_tight == reason.startswith("tight")


@pytest.mark.parametrize(
    ("automaton", "message"),
    [
        (one_state(0.9, final=0.5), "state 0: .* sum to 1.4, not 1.*normalise"),
        (one_state(0.5, final=0.5, initial=2), "initial weights sum to 2, not 1.*normalise"),
    ],
)
def test_no_probabilities(automaton, message):
    with pytest.raises(LogicgenError, match=message):
        tightness(automaton)
