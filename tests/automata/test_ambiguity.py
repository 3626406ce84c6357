"""Ambiguity against counting paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.automata import Automaton, ambiguous_pair
from tests.automata.small import automata, one_state, weights


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


def test_the_pair_is_one():
    # Both ways read ab, through 1 or 2.
    table = [[[0, 1, 1, 0]] + [[0] * 4] * 3, [[0] * 4, [0, 0, 0, 1], [0, 0, 0, 1], [0] * 4]]
    automaton = Automaton.dense("ab", [1, 0, 0, 0], [0, 0, 0, 1], table)
    assert set(ambiguous_pair(automaton)) == {"1", "2"}


def test_two_ways_of_which_one_cannot_end():
    automaton = Automaton.dense("a", [1, 0, 0], [0, 1, 0], [[[0, 1, 1], [0] * 3, [0] * 3]])
    assert ambiguous_pair(automaton) is None


def test_nondeterministic_both_ways_and_unambiguous():
    # After a, either the next symbol is b or it is c; guessed before, and guessed again.
    automaton = Automaton.from_arcs(
        "abc",
        "stuv",
        {"s": 1},
        {"v": 1},
        [("s", "a", "t", 1), ("s", "a", "u", 1), ("t", "b", "v", 1), ("u", "c", "v", 1),
         ("t", "a", "v", 1)],
    )  # fmt: skip
    assert not automaton.is_deterministic
    assert ambiguous_pair(automaton) is None


def test_two_initial_states():
    assert ambiguous_pair(Automaton.dense("a", [1, 1], [1, 1], [[[0, 0], [0, 0]]])) is not None


def test_nothing_accepted():
    assert ambiguous_pair(one_state(0.5, final=0)) is None
