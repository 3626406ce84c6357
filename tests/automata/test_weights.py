"""Weights of strings and of prefixes, and what comes next, against sums over paths and strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.automata import (
    Automaton,
    Strings,
    encode,
    log_prefix_weights,
    log_weights,
    next_probabilities,
    normalise,
)
from logicgen.automata.weights import _with_logarithms, log_forward, step_weights
from tests.automata.small import (
    all_strings,
    automata,
    forked,
    one_state,
    probabilistic,
    shrinking,
    weight,
    weights,
)


@given(automata(states=3))
def test_strings_against_paths(automaton):
    strings = all_strings(automaton, 4)
    expected = [weight(automaton, string) for string in strings]
    found = log_weights(automaton, strings)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-12)
    assert [np.isneginf(x) for x in found] == [x == 0 for x in expected]


@given(automata(acyclic=True))
def test_prefixes_against_strings(automaton):
    longest = len(automaton.states) - 1
    known = weights(automaton, longest)
    strings = all_strings(automaton, longest)
    found = log_prefix_weights(automaton, strings)
    for string, row in zip(strings, found, strict=True):
        for t in range(longest + 1):
            if t > len(string):
                assert np.isnan(row[t])
            else:
                prefix = sum(w for other, w in known.items() if other.startswith(string[:t]))
                assert np.exp(row[t]) == pytest.approx(prefix, rel=1e-12)


def test_cycles_that_no_accepting_path_passes_do_not_weigh():
    # State 1 cannot be reached, state 2 cannot end, and both repeat themselves with weight 3.
    table = [[0.25, 0, 0.5], [1, 3, 0], [0, 0, 3]]
    automaton = Automaton.dense("a", [1, 0, 0], [0.5, 1, 0], [table])
    found = np.exp(log_prefix_weights(automaton, ["aa", ""]))
    expected = [[2 / 3, 1 / 6, 1 / 24], [2 / 3, np.nan, np.nan]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    nothing = Automaton.dense("a", [0, 0, 0], [0.5, 1, 0], [table])
    assert np.isneginf(log_prefix_weights(nothing, ["aa"])).all()


@given(shrinking())
def test_next_against_strings(automaton):
    known = weights(automaton, 9)
    if not any(known.values()):
        return
    strings = all_strings(automaton, 2)
    found = next_probabilities(automaton, strings)
    for string, row in zip(strings, found, strict=True):
        for t in range(3):
            if t > len(string):
                assert np.isnan(row[t]).all()
                continue
            begun = {other: w for other, w in known.items() if other.startswith(string[:t])}
            total = sum(begun.values())
            if total == 0:
                assert np.isnan(row[t]).all()
                continue
            for i, symbol in enumerate(automaton.symbols):
                ahead = sum(w for o, w in begun.items() if o.startswith(string[:t] + symbol))
                assert row[t, i] == pytest.approx(ahead / total, abs=1e-3)
            assert row[t, -1] == pytest.approx(begun[string[:t]] / total, abs=1e-3)
            assert row[t].sum() == pytest.approx(1)


@given(probabilistic(), st.integers(0, 1000))
def test_chain_rule(automaton, seed):
    """The product of next-symbol probabilities is the probability of the string."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, size=5)
    batch = Strings(rng.integers(len(automaton.symbols), size=(5, 11)), lengths)
    ahead = next_probabilities(automaton, batch)
    for row, ids, length, log in zip(
        ahead, batch.ids, lengths, log_weights(automaton, batch), strict=True
    ):
        product = np.prod([row[t, ids[t]] for t in range(length)]) * row[length, -1]
        if np.isfinite(log):
            assert np.log(product) == pytest.approx(log, rel=1e-9)
        else:
            assert np.isnan(product) or product == 0


@given(probabilistic(), st.integers(0, 1000))
def test_one_scale_or_one_for_each_state(automaton, seed):
    rng = np.random.default_rng(seed)
    batch = Strings(rng.integers(len(automaton.symbols), size=(6, 30)), rng.integers(0, 31, size=6))
    readout = step_weights(automaton)
    with np.errstate(divide="ignore"):
        other = _with_logarithms(automaton, batch, readout)
    one = log_forward(automaton, batch, readout)
    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_20_000_symbols_do_not_underflow():
    automaton = normalise(Automaton.dense("ab", [1], [1], [[[0.2]], [[0.3]]]))
    string = "ab" * 10_000
    expected = 10_000 * np.log(0.06) + np.log(0.5)
    assert log_weights(automaton, [string])[0] == pytest.approx(expected, rel=1e-12)


def test_a_state_that_falls_behind_may_be_the_one_that_counts():
    automaton = forked()
    strings = ["a" * 5000 + "b", "a" * 5000 + "c", "c"]
    expected = 5000 * np.log([0.9, 0.1, 1]) + np.log([0.5 * 0.1, 0.5 * 0.9, 0.45])
    np.testing.assert_allclose(log_weights(automaton, strings), expected, rtol=1e-12)
    prefix = log_prefix_weights(automaton, strings)
    np.testing.assert_allclose(prefix[[0, 1, 2], [5001, 5001, 1]], expected, rtol=1e-12)


@pytest.mark.parametrize("tiny", [1e-100, 1e-150, 1e-300])
def test_tiny_and_huge_weights(tiny):
    automaton = Automaton.dense("ab", [tiny], [tiny], [[[tiny]], [[1 / tiny]]])
    found = log_weights(automaton, ["", "aaaa", "bbbbb", "ab"])
    np.testing.assert_allclose(found, np.array([2, 6, -3, 2]) * np.log(tiny), rtol=1e-12)


def test_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    batch = Strings(rng.integers(3, size=(9, 12)), rng.integers(0, 13, size=9))
    readout = step_weights(forked())
    whole = log_forward(forked(), batch, readout)
    monkeypatch.setattr("logicgen.automata.weights.VECTORS", 6)
    monkeypatch.setattr("logicgen.automata.weights.BLOCK", 12)
    np.testing.assert_array_equal(log_forward(forked(), batch, readout), whole)


def test_the_empty_string_alone():
    automaton = one_state(0.0, final=0.5)
    np.testing.assert_allclose(np.exp(log_weights(automaton, ["", "a"])), [0.5, 0])
    np.testing.assert_array_equal(
        next_probabilities(automaton, ["a"]), [[[0, 1], [np.nan, np.nan]]]
    )


def test_no_strings():
    automaton = one_state(0.5)
    assert log_weights(automaton, []).shape == (0,)
    assert next_probabilities(automaton, []).shape == (0, 1, 2)
    assert encode(automaton.symbols, []).inside.shape == (0, 0)
