"""Automata as plain data: what they refuse, and what they say about it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from logicgen.automata import Automaton
from logicgen.errors import LogicgenError
from tests.automata.small import automata

STATES = ["start", "loop"]


def arcs(*given, initial=None, final=None):
    return Automaton.from_arcs("ab", STATES, initial or {"start": 1.0}, final or {"loop": 1}, given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: arcs(("start", "a", "lop", 1.0)), "transition 1 .*'lop' is not a state.*loop"),
        (lambda: arcs(("start", "c", "loop", 1.0)), "transition 1 .*'c' is not a symbol.*a, b"),
        (lambda: arcs(("start", "a", "loop", -1.0)), "transition 1 .*weight -1 is negative"),
        (lambda: arcs(("start", "a", "loop", np.inf)), "weight inf is not finite"),
        (lambda: arcs(*[("start", "a", "loop", 1.0)] * 2), "transition 2 .*occurs twice"),
        (lambda: arcs(initial={"begin": 1.0}), "initial: 'begin' is not a state"),
        (lambda: arcs(final={"loop": -0.5}), "final weight of state 'loop'.* -0.5 is negative"),
        (lambda: Automaton.from_arcs("", STATES, {}, {}, []), "it has no symbols"),
        (lambda: Automaton.from_arcs("aa", STATES, {}, {}, []), "symbols: 'a' occurs twice"),
        (lambda: Automaton.from_arcs("a", [], {}, {}, []), "it has no states"),
        (lambda: Automaton.from_arcs(["a", ""], ["s"], {}, {}, []), "entry 2 .* not a name"),
        (lambda: Automaton.dense("a", [1], [1], [[[1]], [[1]]]), "2 transition matrices for 1"),
        (lambda: Automaton.dense("a", [1], [1, 2], [[[1]]]), r"final has shape \(2,\)"),
        (lambda: Automaton.dense("a", [1, 0], [1, 0], [[[1]]]), r"'a' have shape \(1, 1\)"),
        (lambda: Automaton.dense("a", [1], [1], [[1]]), r"shape \(1, 1\), not"),
        (lambda: Automaton.dense("a", [1, 0], [1, 0], [[[1, 0], [-2, 0]]]), "1 --a--> 0: weight -"),
    ],
)
def test_refused(make, message):
    with pytest.raises(LogicgenError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


@given(automata())
def test_arcs_give_the_same_automaton(automaton):
    again = Automaton.from_arcs(
        automaton.symbols,
        automaton.states,
        dict(zip(automaton.states, automaton.initial, strict=True)),
        dict(zip(automaton.states, automaton.final, strict=True)),
        automaton.arcs(),
    )
    for one, other in zip(automaton.transitions, again.transitions, strict=True):
        assert (one != other).nnz == 0
        assert (other.data > 0).all()
    assert (automaton.initial == again.initial).all()
    assert (automaton.final == again.final).all()


def test_it_does_not_change_with_what_it_was_made_from():
    initial = np.ones(1)
    table = np.full((1, 1, 1), 0.5)
    automaton = Automaton.dense("a", initial, [1.0], table)
    initial[0], table[0, 0, 0] = 7, 7
    assert automaton.initial[0] == 1
    assert automaton.arcs() == [("0", "a", "0", 0.5)]


def test_deterministic():
    assert arcs(("start", "a", "loop", 1.0), ("start", "b", "loop", 1.0)).is_deterministic
    assert not arcs(("start", "a", "loop", 1.0), ("start", "a", "start", 1.0)).is_deterministic
    assert not arcs(initial={"start": 0.5, "loop": 0.5}).is_deterministic
