"""Grammars against sums over paths that are written out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logicgen.automata import log_weights
from logicgen.automata.strings import Strings
from logicgen.errors import LogicgenError
from logicgen.productions import Grammar, as_automaton, divergence, random_grammar
from logicgen.tokens import NOTHING


def paths(grammar, words):
    """Return (path, weight) of every way to emit words, NOTHING for any word."""
    for path in product(*(range(len(units)) for units in grammar.units)):
        weight = grammar.start[path[0]]
        for layer, unit in enumerate(path):
            if words[layer] != NOTHING:
                weight = weight * grammar.tokens[layer][words[layer], unit]
            if layer:
                weight = weight * grammar.below[layer - 1][unit, path[layer - 1]]
        yield path, weight


def ragged():
    """Return a grammar of two, one and three units, and words that no unit emits."""
    rng = np.random.default_rng(5)
    columns = [rng.dirichlet(np.ones(rows), count).T for rows, count in ((4, 2), (4, 1), (4, 3))]
    below = [rng.dirichlet(np.ones(rows), count).T for rows, count in ((1, 2), (3, 1))]
    columns[0][2:] = 0
    columns[0] /= columns[0].sum(axis=0)
    return Grammar(
        ("a", "b", "c", "d"),
        (("x", "y"), ("z",), ("x", "y", "z")),
        np.array([0.25, 0.75]),
        tuple(columns),
        tuple(below),
    )


@settings(max_examples=30)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(0, 1000), st.booleans())
def test_probabilities_are_sums_over_paths(width, layers, words, seed, own):
    rng = np.random.default_rng(seed)
    own = own and words >= width
    grammar = random_grammar(width, layers, words, rng, concentration=0.5, own_words=own)
    agrees(grammar, rng)


def test_layers_of_different_width():
    agrees(ragged(), np.random.default_rng(0))


def agrees(grammar, rng):
    prompts = rng.integers(-1, len(grammar.words), (5, grammar.positions))
    prompts[0] = NOTHING
    logs = grammar.log_probabilities(prompts)
    for row, words in enumerate(prompts):
        known = list(paths(grammar, words))
        total = sum(weight for _, weight in known)
        assert np.exp(logs[row]) == pytest.approx(total, abs=1e-12)
        for layer in range(grammar.positions - 1):
            shares = grammar.connection(words[None], layer)[0]
            wanted = np.zeros_like(shares)
            for path, weight in known:
                wanted[path[layer + 1], path[layer]] += weight
            if total > 0:
                assert shares == pytest.approx(wanted / total, abs=1e-9)
            else:
                assert np.isnan(shares).all()
    ids, probabilities = grammar.sentences()
    assert probabilities.sum() == pytest.approx(1)
    assert (probabilities > 0).all()
    assert len({tuple(each) for each in ids.tolist()}) == len(ids)
    assert np.exp(grammar.log_probabilities(ids)) == pytest.approx(probabilities)
    length = int(rng.integers(grammar.positions))
    given_words = ids[:1, :length]
    following = grammar.next_word(given_words)[0]
    same = (ids[:, :length] == given_words).all(axis=1)
    for word, share in enumerate(following):
        wanted = probabilities[same & (ids[:, length] == word)].sum() / probabilities[same].sum()
        assert share == pytest.approx(wanted, abs=1e-12)


def test_an_automaton_has_the_same_probabilities():
    for grammar in (ragged(), random_grammar(2, 3, 3, np.random.default_rng(1))):
        ids, probabilities = grammar.sentences()
        for start in (None, "<start>"):
            automaton = as_automaton(grammar, start)
            strings = ids if start is None else np.insert(ids + 1, 0, 0, axis=1)
            read = Strings(strings, np.full(len(ids), strings.shape[1]))
            assert np.exp(log_weights(automaton, read)) == pytest.approx(probabilities)


def test_samples_are_as_frequent_as_they_are_probable():
    grammar = ragged()
    rng = np.random.default_rng(0)
    ids, probabilities = grammar.sentences()
    for prompt in ("", "_ a", "b _ c"):
        words = grammar.encode(prompt)
        drawn = grammar.sample(rng, 40_000, words)
        agrees_with = ((ids[:, : len(words)] == words) | (words == NOTHING)).all(axis=1)
        expected = probabilities[agrees_with] / probabilities[agrees_with].sum()
        found = [(drawn == each).all(axis=1).mean() for each in ids[agrees_with]]
        assert sum(found) == pytest.approx(1)
        assert np.abs(found - expected).max() < 5 * np.sqrt(0.25 / 40_000)


def test_what_is_never_said_is_never_drawn_and_refused():
    grammar = ragged()
    assert np.isneginf(grammar.log_probabilities(np.array([[2, 0, 0]]))).all()
    with pytest.raises(LogicgenError, match="no sentence agrees with 'c'"):
        grammar.sample(np.random.default_rng(0), 3, grammar.encode("c"))
    assert np.isnan(grammar.next_word(np.array([[2]]))).all()
    assert len(grammar.sample(np.random.default_rng(0), 0)) == 0


def test_reach_is_how_often_a_unit_is_on():
    grammar = ragged()
    for layer, shares in enumerate(grammar.reach):
        wanted = np.zeros(len(shares))
        for path, weight in paths(grammar, [NOTHING] * 3):
            wanted[path[layer]] += weight
        assert shares == pytest.approx(wanted)


def test_divergence_is_the_sum_over_sentences():
    rng = np.random.default_rng(2)
    one, other = (random_grammar(2, 2, 3, rng) for _ in range(2))
    ids, p = one.sentences()
    q = np.exp(other.log_probabilities(ids))
    assert divergence(one, other) == pytest.approx((p * np.log2(p / q)).sum())
    assert divergence(one, one) == pytest.approx(0, abs=1e-12)
    certain = random_grammar(1, 2, 3, rng, concentration=1e-3)
    assert divergence(one, certain) > 1
    with pytest.raises(LogicgenError, match="different words"):
        divergence(one, random_grammar(2, 3, 3, rng))


def test_words_that_are_unknown_or_too_many():
    grammar = ragged()
    assert grammar.encode("a _ b").tolist() == [0, NOTHING, 1]
    assert grammar.decode(grammar.encode("a _ b")) == "a _ b"
    with pytest.raises(LogicgenError, match=r"'bb' is no word of the grammar: did you mean b\?"):
        grammar.encode("a bb")
    with pytest.raises(LogicgenError, match="4 words; the model explains at most 3"):
        grammar.encode("a a a a")
    with pytest.raises(LogicgenError, match="sentences have 3"):
        grammar.next_word(np.zeros((1, 3), dtype=int))
    with pytest.raises(LogicgenError, match="shape"):
        grammar.log_probabilities(np.zeros((1, 4), dtype=int))


@pytest.mark.parametrize(
    ("words", "units", "start", "tokens", "below", "refusal"),
    [
        ("a", "x", [1], [[0.5]], (), r"layer 1: unit x: tokens: sums to 0\.5"),
        ("a", "x", [np.nan], [[1]], (), "not from 0 to 1"),
        ("aa", "x", [1], [[0.5], [0.5]], (), "a word is listed twice"),
        ("a", "xx", [0.5, 0.5], [[1, 1]], (), "two units have one name"),
        ("", "x", [1], np.ones((0, 1)), (), "needs a word"),
        ("a", "x", [1], [[1]], (np.ones((1, 1)),), "1 layers need 1"),
        ("a", "xy", [1, 0], [[1]], (), r"shape \(1, 1\), not \(1, 2\)"),
    ],
)
def test_a_grammar_is_checked(words, units, start, tokens, below, refusal):
    with pytest.raises(LogicgenError, match=refusal):
        Grammar(tuple(words), (tuple(units),), np.array(start), (np.array(tokens),), below)


def test_a_unit_that_is_never_on_needs_no_distribution():
    dead = Grammar(("a",), (("x", "y"),), np.array([1.0, 0.0]), (np.array([[1.0, 0.0]]),), ())
    assert dead.sentences()[1] == pytest.approx(1)


def test_json_and_back():
    grammar = ragged()
    again = Grammar.of_dict(grammar.as_dict())
    assert again.as_dict() == grammar.as_dict()


def test_too_many_sentences_are_not_listed(monkeypatch):
    monkeypatch.setattr("logicgen.productions.grammar.MOST", 8000)
    grammar = random_grammar(1, 3, 20, np.random.default_rng(0))
    assert len(grammar.sentences()[0]) == 8000
    monkeypatch.setattr("logicgen.productions.grammar.MOST", 7999)
    with pytest.raises(LogicgenError, match="more than 7,999 sentences"):
        grammar.sentences()
