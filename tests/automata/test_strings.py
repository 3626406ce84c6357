"""Strings as numbers and back, and samples against their probabilities."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from logicgen.automata import (
    Automaton,
    Strings,
    encode,
    expected_length,
    log_weights,
    normalise,
    random_automaton,
    sample,
)
from logicgen.errors import LogicgenError
from tests.automata.small import all_strings, forked, one_state


@given(st.lists(st.text("abc", max_size=5)))
def test_there_and_back(strings):
    batch = encode(("a", "b", "c"), strings)
    assert ["".join(string) for string in batch.written("abc")] == strings
    assert encode(("a", "b", "c"), batch) is batch
    assert batch.inside.sum() == sum(map(len, strings))


def test_names_of_several_characters():
    batch = encode(("the", "cat"), [["the", "cat"], []])
    assert batch.written(["the", "cat"]) == [("the", "cat"), ()]


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        (["ab", "abz"], "string 2, place 3: 'z' is not a symbol; known: a, b"),
        (Strings(np.array([[0, 2]]), np.array([2])), "symbol number 2 is not one of 0 to 1"),
    ],
)
def test_refused(strings, message):
    with pytest.raises(LogicgenError, match=message):
        encode(("a", "b"), strings)


def test_lengths_that_do_not_fit_are_refused_and_what_is_beyond_the_end_does_not_matter():
    encode(("a", "b"), Strings(np.array([[0, -7]]), np.array([1])))
    with pytest.raises(LogicgenError, match="do not fit"):
        Strings(np.zeros((1, 2), dtype=int), np.array([3]))


AUTOMATA = {
    "random": random_automaton("abc", 4, 2.0, np.random.default_rng(1)),
    "ambiguous": random_automaton("ab", 4, 3.0, np.random.default_rng(2), branching=2),
    "forked": forked(),
    "weighted": Automaton.dense(
        "ab", [3, 1], [2, 0], [[[0.1, 5], [0.02, 0]], [[0.2, 0], [0.1, 0]]]
    ),
    "one symbol": one_state(0.5, final=7.0),
}


@pytest.mark.parametrize("name", AUTOMATA)
def test_strings_are_as_frequent_as_they_are_likely(name):
    automaton = AUTOMATA[name]
    drawn = 20_000
    batch = sample(automaton, drawn, np.random.default_rng(0))
    counts = Counter("".join(string) for string in batch.written(automaton.symbols))
    strings = all_strings(automaton, 5)
    expected = drawn * np.exp(log_weights(normalise(automaton), strings))
    often = expected >= 5
    seen = np.array([counts[string] for string in strings])[often]
    assert not any(counts[s] for s, e in zip(strings, expected, strict=True) if e == 0)
    rest = drawn - expected[often].sum()
    observed, wanted = [*seen, drawn - seen.sum()], [*expected[often], rest]
    if rest < 5:  # too few for a cell of their own
        observed = [*seen[:-1], drawn - seen[:-1].sum()]
        wanted = [*expected[often][:-1], drawn - expected[often][:-1].sum()]
    # One test in a thousand of all seeds would fail; this seed is fixed.
    assert chisquare(observed, wanted).pvalue > 1e-3


def test_lengths():
    automaton = random_automaton("ab", 6, 30.0, np.random.default_rng(3))
    lengths = sample(automaton, 20_000, np.random.default_rng(0)).lengths
    assert expected_length(automaton) == pytest.approx(30)
    assert abs(lengths.mean() - 30) < 4 * lengths.std() / np.sqrt(len(lengths))


def test_the_same_seed_gives_the_same_strings():
    automaton = AUTOMATA["ambiguous"]
    one, other = (sample(automaton, 50, np.random.default_rng(7)) for _ in range(2))
    assert (one.ids == other.ids).all()
    assert (one.lengths == other.lengths).all()


def test_only_the_empty_string():
    batch = sample(one_state(0.0), 5, np.random.default_rng(0))
    assert batch.ids.shape == (5, 0)
    assert not batch.lengths.any()
    assert len(sample(one_state(0.5), 0, np.random.default_rng(0))) == 0


def test_too_long():
    with pytest.raises(LogicgenError, match="longer than 3 symbols"):
        sample(one_state(0.9, final=0.1), 100, np.random.default_rng(0), longest=3)
