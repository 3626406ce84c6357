"""Sums over all strings against sums in a loop."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logicgen.automata import Automaton, allsum, log_weights, normalise, tightness, trim
from logicgen.automata.allsum import accessible, backward, coaccessible, forward
from logicgen.errors import LogicgenError
from tests.automata.small import automata, one_state, shrinking, weights

# With a quarter of the weight left at each step, strings longer than 9 are a millionth.
CUT, SHORT = 2e-6, 9


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


@settings(max_examples=50)
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
    for string, weight in weights(automaton, 4).items():
        found = np.exp(log_weights(model, [string])[0])
        assert found * total == pytest.approx(weight, rel=1e-11)


@settings(max_examples=50)
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


def test_the_empty_string_only():
    automaton = one_state(0.0, final=0.25, initial=2.0)
    assert allsum(automaton) == 0.5
    assert normalise(automaton).final == [1.0]


def test_a_weight_of_one_that_no_cycle_repeats():
    chain = Automaton.dense("a", [1, 0, 0], [0, 0, 1], [np.diag([1.0, 1.0], 1)])
    assert allsum(chain) == 1


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


def test_a_cycle_that_no_accepting_path_passes_is_no_matter():
    # State 1 cannot end, state 2 cannot be reached, and both repeat themselves with weight 2.
    table = [[0.5, 1, 0], [0, 2, 0], [1, 0, 2]]
    assert allsum(Automaton.dense("a", [1, 0, 0], [1, 0, 1], [table])) == pytest.approx(2)


def test_close_to_infinite_is_finite():
    assert allsum(one_state(1 - 1e-9)) == pytest.approx(1e9, rel=1e-6)


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
