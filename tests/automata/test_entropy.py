"""Expected length, entropy, ambiguity and distances against sums over strings and paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.automata import (
    Automaton,
    allsum,
    ambiguous_pair,
    divergences,
    entropy,
    estimated_entropy,
    expected_length,
    l1_distances,
    mean_by_position,
    path_entropy,
    random_automaton,
)
from logicgen.errors import LogicgenError
from tests.automata.small import automata, one_state, paths, shrinking, weights


def bits(weights):
    p = np.array([w for w in weights if w > 0])
    p = p / p.sum()
    return -(p * np.log2(p)).sum()


@given(automata(states=4, acyclic=True))
def test_finitely_many_strings(automaton):
    if not allsum(automaton):
        return
    known = weights(automaton, 3)
    length = sum(len(s) * w for s, w in known.items()) / sum(known.values())
    assert expected_length(automaton) == pytest.approx(length, abs=1e-12)
    all_paths = [w for s in known for w in paths(automaton, s).values()]
    assert path_entropy(automaton) == pytest.approx(bits(all_paths), abs=1e-11)
    if ambiguous_pair(automaton) is None:
        assert entropy(automaton) == pytest.approx(bits(known.values()), abs=1e-11)
    else:
        assert path_entropy(automaton) >= bits(known.values()) - 1e-11
        with pytest.raises(LogicgenError, match=r"ambiguous.*path_entropy is an upper bound"):
            entropy(automaton)


@given(shrinking())
def test_infinitely_many_strings(automaton):
    if not allsum(automaton) > 1e-2:
        return
    known = weights(automaton, 9)
    length = sum(len(s) * w for s, w in known.items()) / sum(known.values())
    assert expected_length(automaton) == pytest.approx(length, abs=0.02)
    if ambiguous_pair(automaton) is None:
        assert entropy(automaton) == pytest.approx(bits(known.values()), abs=0.02)


def test_geometric():
    # The entropy of a geometric distribution: the binary entropy of its chance over that chance.
    for stop in (0.5, 0.1, 1e-6):
        automaton = one_state(1 - stop, final=stop)
        binary = -stop * np.log2(stop) - (1 - stop) * np.log2(1 - stop)
        assert expected_length(automaton) == pytest.approx((1 - stop) / stop, rel=1e-8)
        assert entropy(automaton) == pytest.approx(binary / stop, rel=1e-8)


def test_the_empty_string_only():
    assert expected_length(one_state(0.0)) == 0
    assert entropy(one_state(0.0)) == 0
    assert estimated_entropy(one_state(0.0), 10, np.random.default_rng(0)) == (0, 0)
    with pytest.raises(LogicgenError, match="2 or more"):
        estimated_entropy(one_state(0.5), 1, np.random.default_rng(0))


def test_estimate():
    rng = np.random.default_rng(0)
    automaton = random_automaton("abc", 5, 4.0, rng)
    mean, error = estimated_entropy(automaton, 20_000, rng)
    assert abs(mean - entropy(automaton)) < 4 * error < 0.3
    ambiguous = random_automaton("abc", 5, 4.0, rng, branching=3)
    mean, error = estimated_entropy(ambiguous, 5_000, rng)
    assert mean < path_entropy(ambiguous) - 4 * error


@pytest.mark.parametrize(("states", "symbols"), [(2, 2), (3, 1)])
@given(data=st.data())
def test_against_counting_paths(states, symbols, data):
    automaton = data.draw(automata(states=states, symbols=symbols))
    # With all weights 1 the weight of a string is the number of its accepting paths. A shortest
    # string with two passes every pair of states once up to one of different states, once after it.
    longest = 2 * (states**2 - 1)
    counted = Automaton.dense(
        automaton.symbols,
        automaton.initial > 0,
        automaton.final > 0,
        [matrix.toarray() > 0 for matrix in automaton.transitions],
    )
    several = max(weights(counted, longest).values()) > 1
    assert (ambiguous_pair(automaton) is not None) == several


# Both ways read ab, through 1 or 2.
TWO_WAYS = [[[0, 1, 1, 0]] + [[0] * 4] * 3, [[0] * 4, [0, 0, 0, 1], [0, 0, 0, 1], [0] * 4]]


@pytest.mark.parametrize(
    ("automaton", "pair"),
    [
        (Automaton.dense("ab", [1, 0, 0, 0], [0, 0, 0, 1], TWO_WAYS), "12"),
        (Automaton.dense("a", [1, 1], [1, 1], [[[0, 0], [0, 0]]]), "01"),  # two initial states
        # One of two ways cannot end.
        (Automaton.dense("a", [1, 0, 0], [0, 1, 0], [[[0, 1, 1], [0] * 3, [0] * 3]]), ""),
        (one_state(0.5, final=0), ""),
    ],
)
def test_ambiguous_pairs(automaton, pair):
    assert set(ambiguous_pair(automaton) or ()) == set(pair)


def test_nondeterministic_both_ways_and_unambiguous():
    # After a, either the next symbol is b or it is c; guessed before, and guessed again.
    automaton = Automaton.from_arcs(
        "abc",
        "stuvw",
        {"s": 1},
        {"v": 1},
        [("s", "a", "t", 1), ("s", "a", "u", 1), ("t", "b", "v", 1), ("u", "c", "v", 1),
         ("t", "a", "v", 1), ("s", "b", "w", 1), ("w", "c", "v", 1)],
    )  # fmt: skip
    assert not automaton.is_deterministic
    assert ambiguous_pair(automaton) is None


P = np.array([[[0.5, 0.5], [1.0, 0.0], [np.nan, np.nan]]])
Q = np.array([[[0.25, 0.75], [0.5, 0.5], [np.nan, np.nan]]])


def test_values():
    np.testing.assert_allclose(l1_distances(P, Q), [[0.5, 1.0, np.nan]])
    first = 0.5 * np.log2(0.5 / 0.25) + 0.5 * np.log2(0.5 / 0.75)
    np.testing.assert_allclose(divergences(P, Q), [[first, 1.0, np.nan]])
    np.testing.assert_allclose(divergences(P, P), [[0, 0, np.nan]])
    assert divergences(Q, P)[0, 1] == np.inf
    with pytest.raises(LogicgenError, match="cannot be compared"):
        divergences(P, Q[:, :2])


def test_pinsker():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), size=(2, 100, 1))
    assert (l1_distances(p, q) <= np.sqrt(2 * np.log(2) * divergences(p, q)) + 1e-12).all()


def test_what_is_over_is_left_out():
    mean, count = mean_by_position(np.array([[1.0, 2.0, np.nan], [3.0, np.nan, np.nan]]))
    np.testing.assert_allclose(mean, [2, 2, np.nan])
    np.testing.assert_array_equal(count, [2, 1, 0])
