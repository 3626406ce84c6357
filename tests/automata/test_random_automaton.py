"""Random automata are what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.automata import expected_length, random_automaton, tightness
from logicgen.automata.sums import accessible
from logicgen.errors import LogicgenError


@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.floats(0.05, 500),
    st.integers(1, 3),
    st.sampled_from([0.01, 0.3, 1.0, 10.0]),
    st.integers(0, 99),
)
def test_as_asked(symbols, states, length, branching, concentration, seed):
    branching = min(branching, states)
    rng = np.random.default_rng(seed)
    automaton = random_automaton("abcd"[:symbols], states, length, rng, branching, concentration)
    assert len(automaton.states) == states
    assert accessible(automaton).all()
    assert tightness(automaton).is_tight
    assert expected_length(automaton) == pytest.approx(length, rel=1e-8)
    for matrix in automaton.transitions:
        assert (np.diff(matrix.indptr) == branching).all()
    assert automaton.is_deterministic == (branching == 1)


def test_the_same_seed_gives_the_same_automaton():
    one, other = (random_automaton("ab", 5, 9.0, np.random.default_rng(4)) for _ in range(2))
    assert one.arcs() == other.arcs()


@pytest.mark.parametrize(
    "changes",
    [{"states": 0}, {"length": 0.0}, {"length": np.inf}, {"branching": 4}, {"concentration": 0.0}],
)
def test_refused(changes):
    arguments = {"states": 3, "length": 5.0} | changes
    with pytest.raises(LogicgenError, match=f"{next(iter(changes))} .* is out of range"):
        random_automaton("ab", rng=np.random.default_rng(0), **arguments)
