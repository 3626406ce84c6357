"""The exact lexinvariant model against the mean over all permutations, taken in a loop."""

from __future__ import annotations

from itertools import permutations as all_permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logicgen.automata import (
    Strings,
    divergences,
    l1_distances,
    lexinvariant,
    log_prefix_weights,
    log_weights,
    mean_by_position,
    next_probabilities,
    random_automaton,
    sample,
)
from logicgen.automata.renaming import log_joint, log_joint_by_enumeration
from logicgen.errors import LogicgenError
from tests.automata.small import all_strings, forked, one_state, probabilistic, weight


def renamings(automaton):
    """Return all one-to-one renamings, as tables for str.translate."""
    names = "".join(automaton.symbols)
    return [str.maketrans(names, "".join(order)) for order in all_permutations(names)]


@settings(max_examples=40)
@given(probabilistic(states=2))
def test_the_mean_over_all_renamings(automaton):
    strings = all_strings(automaton, 3)
    expected = [
        np.mean([weight(automaton, string.translate(table)) for table in renamings(automaton)])
        for string in strings
    ]
    found = np.exp(lexinvariant.log_probabilities(automaton, strings))
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@settings(max_examples=40)
@given(probabilistic(states=3, symbols=4), st.integers(0, 999))
def test_by_partial_or_by_whole_permutations(automaton, seed):
    """Strings share buffers while they are read; results must not depend on that."""
    rng = np.random.default_rng(seed)
    k = len(automaton.symbols)
    batch = Strings(rng.integers(k, size=(12, 20)), rng.integers(0, 21, size=12))
    one, other = log_joint(automaton, batch), log_joint_by_enumeration(automaton, batch)
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    found = lexinvariant.log_probabilities(automaton, batch)
    expected = other[np.arange(12), batch.lengths, -1]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("branching", [1, 2])
@pytest.mark.parametrize("states", [6, 120])
def test_deterministic_or_not_with_few_states_or_many(states, branching):
    """Check forward states and forward vectors, with dense and with sparse matrices."""
    rng = np.random.default_rng(states)
    automaton = random_automaton("abcd", states, 10.0, rng, branching, concentration=0.3)
    batch = Strings(rng.integers(4, size=(8, 20)), rng.integers(0, 21, size=8))
    one, other = log_joint(automaton, batch), log_joint_by_enumeration(automaton, batch)
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@given(probabilistic(states=3, symbols=4), st.data())
def test_renaming_changes_nothing(automaton, data):
    """p' itself is invariant, and what comes next is renamed with the string."""
    k = len(automaton.symbols)
    names = "".join(automaton.symbols)
    string = data.draw(st.text(names, max_size=10))
    order = data.draw(st.permutations(range(k)))
    renamed = "".join(names[order[names.index(symbol)]] for symbol in string)
    found = lexinvariant.next_probabilities(automaton, [string, renamed])
    np.testing.assert_allclose(found[0], found[1][:, [*order, k]], rtol=1e-9, atol=1e-12)
    logs = lexinvariant.log_probabilities(automaton, [string, renamed])
    assert logs[0] == pytest.approx(logs[1], rel=1e-9)


@settings(max_examples=40)
@given(probabilistic(states=3, symbols=4), st.data())
def test_prefixes_and_what_comes_next(automaton, data):
    string = data.draw(st.text("".join(automaton.symbols), max_size=8))
    renamed = [string.translate(table) for table in renamings(automaton)]
    expected = np.exp(log_prefix_weights(automaton, renamed)).mean(axis=0)
    found = np.exp(lexinvariant.log_prefix_probabilities(automaton, [string])[0])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    ahead = lexinvariant.next_probabilities(automaton, [string])[0]
    for t, symbol in enumerate(string):
        if found[t] > 0:
            assert ahead[t].sum() == pytest.approx(1)
            place = automaton.symbols.index(symbol)
            assert ahead[t, place] == pytest.approx(found[t + 1] / found[t], rel=1e-9)
        else:
            assert np.isnan(ahead[t]).all()


@settings(max_examples=20)
@given(probabilistic(states=3, symbols=4), st.data())
def test_posterior(automaton, data):
    names = "".join(automaton.symbols)
    k = len(names)
    string = data.draw(st.text(names, max_size=6))
    rows = lexinvariant.permutations(k)
    renamed = [
        string.translate(str.maketrans(names, "".join(names[i] for i in row))) for row in rows
    ]
    weighed = np.exp(log_prefix_weights(automaton, renamed))
    with np.errstate(invalid="ignore"):
        expected = weighed.T / np.sum(weighed, axis=0)[:, None]
    found = lexinvariant.posterior(automaton, string)
    numbers = np.array([names.index(symbol) for symbol in string], dtype=np.int64)
    np.testing.assert_array_equal(found, lexinvariant.posterior(automaton, numbers))
    assert found.shape == (len(string) + 1, factorial(k))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[0], 1 / factorial(k))
    # What comes next is what the automaton says, averaged over the posterior.
    mixed = np.zeros((len(string) + 1, k + 1))
    for row, shares, ahead in zip(
        rows, found.T, next_probabilities(automaton, renamed), strict=True
    ):
        mixed += shares[:, None] * np.nan_to_num(ahead[:, [*row, k]])
    np.testing.assert_allclose(
        lexinvariant.next_probabilities(automaton, [string])[0], mixed, rtol=1e-9, atol=1e-12
    )
    symbols = lexinvariant.symbol_posterior(automaton, string)
    alive = ~np.isnan(found[:, 0])
    np.testing.assert_allclose(symbols[alive].sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(symbols[alive].sum(axis=2), 1, rtol=1e-9)


def test_the_key_is_found():
    """In a long string, each symbol stands for itself."""
    rng = np.random.default_rng(2)
    automaton = random_automaton("abcde", 4, 400.0, rng, concentration=0.5)
    batch = sample(automaton, 1, rng)
    assert batch.lengths[0] > 100
    found = lexinvariant.symbol_posterior(automaton, batch.ids[0, : batch.lengths[0]])
    assert (np.diag(found[-1]) > 0.99).all()


def test_convergence():
    """The mean L1 distance falls and stays below the bound from `information_bound`."""
    rng = np.random.default_rng(1)
    automaton = random_automaton("abcd", 5, 60.0, rng, concentration=0.5)
    batch = sample(automaton, 200, rng)
    p, q = next_probabilities(automaton, batch), lexinvariant.next_probabilities(automaton, batch)
    distance, count = mean_by_position(l1_distances(p, q))
    assert distance[1:11].mean() > 4 * distance[40:60].mean()
    assert count[0] == 200
    lost = np.nansum(divergences(p, q), axis=1)  # bits, of each string
    bound = lexinvariant.information_bound(4)
    assert bound == pytest.approx(np.log2(24))
    # For each string the logarithms themselves obey it; the divergences do on average.
    ratio = log_weights(automaton, batch) - lexinvariant.log_probabilities(automaton, batch)
    assert (ratio / np.log(2) <= bound + 1e-9).all()
    assert lost.mean() <= bound + 4 * lost.std() / np.sqrt(len(lost))


def test_one_symbol_is_itself():
    automaton = one_state(0.5, final=0.5)
    strings = ["", "a", "aaa"]
    np.testing.assert_allclose(
        lexinvariant.log_probabilities(automaton, strings), log_weights(automaton, strings)
    )
    np.testing.assert_allclose(
        lexinvariant.next_probabilities(automaton, ["a"]), [[[0.5, 0.5]] * 2]
    )


def test_no_strings_and_the_empty_string():
    automaton = one_state(0.0)
    assert lexinvariant.log_probabilities(automaton, []).shape == (0,)
    assert lexinvariant.next_probabilities(automaton, []).shape == (0, 1, 2)
    assert lexinvariant.log_probabilities(automaton, [""])[0] == 0
    assert lexinvariant.log_probabilities(automaton, ["a"])[0] == -np.inf
    assert lexinvariant.posterior(automaton, "").shape == (1, 1)


# One whose weight no float holds, and those at which a state or a renaming falls behind.
@pytest.mark.parametrize(
    ("automaton", "string"),
    [
        (random_automaton("abc", 3, 9.0, np.random.default_rng(0)), "abcabba" * 600),
        (forked(), "a" * 1000 + "b"),
        (forked(), "a" * 1000 + "c"),
        (forked(), "c" * 800 + "b"),
    ],
)
def test_long_strings(automaton, string):
    logs = log_weights(automaton, [string.translate(table) for table in renamings(automaton)])
    expected = np.logaddexp.reduce(logs) - np.log(6)
    assert lexinvariant.log_probabilities(automaton, [string])[0] == pytest.approx(expected)


@pytest.mark.parametrize("states", [5, 120])
def test_eight_symbols_and_many_states(states):
    """40,320 permutations, against those that differ on the symbols of the string."""
    rng = np.random.default_rng(0)
    automaton = random_automaton("abcdefgh", states, 5.0, rng, branching=2)
    string = "abcbad"
    ways = [
        string.translate(str.maketrans("abcd", "".join(way)))
        for way in all_permutations("abcdefgh", 4)
    ]
    expected = np.logaddexp.reduce(log_weights(automaton, ways)) - np.log(len(ways))
    found = lexinvariant.log_probabilities(automaton, [string])[0]
    assert found == pytest.approx(expected, rel=1e-11)


def test_too_many_symbols():
    automaton = random_automaton("abcdefghi", 2, 5.0, np.random.default_rng(0))
    for score in (
        lexinvariant.log_probabilities,
        lexinvariant.log_prefix_probabilities,
        lexinvariant.next_probabilities,
    ):
        with pytest.raises(LogicgenError, match=r"9 symbols have 362,880 .*up to 8.*estimated"):
            score(automaton, ["a"])
    with pytest.raises(LogicgenError, match="up to 8"):
        lexinvariant.posterior(automaton, "a")


def test_too_large_for_memory(monkeypatch):
    monkeypatch.setattr("logicgen.automata.renaming.MOST", 100)
    automaton = random_automaton("abcd", 5, 5.0, np.random.default_rng(0), branching=2)
    assert np.isfinite(lexinvariant.log_probabilities(automaton, ["aa"])).all()
    with pytest.raises(LogicgenError, match=r"24 ways to rename.*5 states.*estimated_log"):
        lexinvariant.log_probabilities(automaton, ["aa", "abcd"])


def test_estimate():
    rng = np.random.default_rng(0)
    automaton = random_automaton("abcd", 3, 5.0, rng)
    strings = ["", "abca", "dd", "abcdd"]
    exact = lexinvariant.log_probabilities(automaton, strings)
    found = lexinvariant.estimated_log_probabilities(automaton, strings, 4000, rng)
    assert (np.abs(np.exp(found.log - exact) - 1) <= 4.5 * found.relative_error + 1e-12).all()
    assert found.relative_error[0] == 0
    assert (found.relative_error < 0.1).all()
    assert found.effective[0] == pytest.approx(4000)


def test_estimate_of_a_large_alphabet():
    rng = np.random.default_rng(0)
    symbols = [f"s{i}" for i in range(50)]
    automaton = random_automaton(symbols, 3, 5.0, rng)
    found = lexinvariant.estimated_log_probabilities(automaton, [["s3", "s4", "s3"]], 100, rng)
    assert np.isfinite(found.log).all()
    with pytest.raises(LogicgenError, match="take 2"):
        lexinvariant.estimated_log_probabilities(automaton, [[]], 1, rng)
