"""n-gram models against counting, and their automata against them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.automata import (
    log_weights,
    ngram,
    ngram_automaton,
    ngram_log_probabilities,
    tightness,
)
from logicgen.errors import LogicgenError

TEXTS = st.lists(st.text("abc", max_size=6), max_size=6)


@given(TEXTS, TEXTS, st.integers(1, 4), st.sampled_from([0.0, 0.1, 1.0]))
def test_counts_and_automaton(corpus, strings, order, smoothing):
    model = ngram("abc", corpus, order, smoothing)
    counts = Counter()
    for string in corpus:
        for t in range(len(string) + 1):
            context = string[max(0, t - order + 1) : t]
            counts[context, (string + "$")[t]] += 1

    def probability(context, outcome):
        total = sum(counts[context, o] for o in "abc$") + 4 * smoothing
        return (counts[context, outcome] + smoothing) / total if total else 0.0

    expected = [
        np.prod([
            probability(string[max(0, t - order + 1) : t], (string + "$")[t])
            for t in range(len(string) + 1)
        ])
        for string in strings
    ]  # fmt: skip
    found = ngram_log_probabilities(model, strings)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-10)
    automaton = ngram_automaton(model)
    assert automaton.is_deterministic
    np.testing.assert_allclose(log_weights(automaton, strings), found, rtol=1e-10, atol=1e-12)
    if corpus or smoothing:
        assert tightness(automaton).is_tight


def test_states_are_contexts():
    automaton = ngram_automaton(ngram("ab", ["ab"], 3))
    assert automaton.states == ("^", "^ a", "^ b", "^ a a", "^ a b", "^ b a", "^ b b")
    assert automaton.arcs() == [("^", "a", "^ a", 1.0), ("^ a", "b", "^ a b", 1.0)]
    assert automaton.final[4] == 1


def test_one_symbol():
    model = ngram("a", ["a", "aaa"], 2)
    automaton = ngram_automaton(model)
    np.testing.assert_allclose(
        np.exp(ngram_log_probabilities(model, ["", "a", "aa"])), [0, 0.5, 0.25]
    )
    np.testing.assert_allclose(np.exp(log_weights(automaton, ["", "a", "aa"])), [0, 0.5, 0.25])


@pytest.mark.parametrize(
    ("order", "smoothing", "message"),
    [(0, 0.0, "order 0 is below 1"), (2, -1.0, "smoothing -1"), (30, 0.0, "take a smaller order")],
)
def test_refused(order, smoothing, message):
    with pytest.raises(LogicgenError, match=message):
        ngram("ab", [], order, smoothing)
