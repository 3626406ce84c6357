"""Expected length and entropy against sums over strings and over paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from logicgen.automata import (
    allsum,
    ambiguous_pair,
    entropy,
    estimated_entropy,
    expected_length,
    path_entropy,
    random_automaton,
)
from logicgen.errors import LogicgenError
from tests.automata.small import (
    automata,
    one_state,
    paths,
    shrinking,
    weights,
)


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


def test_estimate():
    rng = np.random.default_rng(0)
    automaton = random_automaton("abc", 5, 4.0, rng)
    mean, error = estimated_entropy(automaton, 20_000, rng)
    assert abs(mean - entropy(automaton)) < 4 * error < 0.3
    ambiguous = random_automaton("abc", 5, 4.0, rng, branching=3)
    mean, error = estimated_entropy(ambiguous, 5_000, rng)
    assert mean < path_entropy(ambiguous) - 4 * error


def test_too_few_samples():
    with pytest.raises(LogicgenError, match="2 or more"):
        estimated_entropy(one_state(0.5), 1, np.random.default_rng(0))
