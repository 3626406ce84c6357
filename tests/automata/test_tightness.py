"""Tightness: where probability is lost, and the reasons given."""

from __future__ import annotations

import pytest
from hypothesis import given

from logicgen.automata import Automaton, allsum, tightness
from logicgen.errors import LogicgenError
from tests.automata.small import one_state, probabilistic, weights


@given(probabilistic())
def test_tight(automaton):
    found = tightness(automaton)
    assert found.is_tight
    assert found.reason.startswith("tight")
    assert found.mass == pytest.approx(1, rel=1e-12)


def test_a_trap():
    automaton = Automaton.from_arcs(
        "ab",
        ["start", "trap"],
        {"start": 1.0},
        {"start": 0.5},
        [("start", "a", "start", 0.25), ("start", "b", "trap", 0.25), ("trap", "b", "trap", 1.0)],
    )
    found = tightness(automaton)
    assert not found.is_tight
    assert found.trapped == ("trap",)
    assert found.mass == pytest.approx(2 / 3)
    assert found.mass == pytest.approx(sum(weights(automaton, 12).values()), rel=1e-6)
    assert found.reason == (
        "not tight, all strings together have 0.666667: no path to a final state from trap"
    )


def test_a_trap_that_cannot_be_reached_is_no_matter():
    automaton = Automaton.dense("a", [1, 0], [0.5, 0], [[[0.5, 0], [0, 1]]])
    assert tightness(automaton).is_tight


def test_a_leak():
    found = tightness(one_state(0.25, final=0.5))
    assert not found.is_tight
    assert found.leaking == ("0",)
    assert found.mass == pytest.approx(2 / 3)
    assert "weights that sum to less than 1 from 0" in found.reason


def test_a_beginning_that_leaks():
    found = tightness(one_state(0.5, final=0.5, initial=0.75))
    assert not found.is_tight
    assert "initial weights sum to 0.75" in found.reason


def test_no_string_ever_ends():
    automaton = one_state(1.0, final=0.0)
    assert tightness(automaton).trapped == ("0",)
    assert tightness(automaton).mass == allsum(automaton) == 0


def test_only_the_empty_string():
    assert tightness(one_state(0.0)).is_tight


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
