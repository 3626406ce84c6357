"""Grammars whose sentences have different lengths, against a list of all sentences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from logicgen.automata import log_weights, tightness
from logicgen.errors import LogicgenError
from logicgen.productions import (
    Grammar,
    as_automaton,
    cut,
    divergence,
    grammar_text,
    random_grammar,
)
from logicgen.tokens import NOTHING
from tests.productions.small import listed, read

TEXT = """
start = { big = 0.75, small = 0.25 }
[[layer]]
big = { tokens = { big = 1.0 }, below = { cat = 0.5, dog = 0.3, "<end>" = 0.2 } }
small = { tokens = { small = 1.0 }, below = { dog = 1.0 } }
[[layer]]
cat = { tokens = { cat = 1.0 }, below = { sleeps = 1.0 } }
dog = { tokens = { dog = 0.9, hound = 0.1 }, below = { sleeps = 0.4, "<end>" = 0.6 } }
[[layer]]
sleeps = { tokens = { sleeps = 1.0 } }
"""
SENTENCES = {
    "big": 0.15,
    "big cat sleeps": 0.375,
    "big dog": 0.75 * 0.3 * 0.9 * 0.6,
    "big dog sleeps": 0.75 * 0.3 * 0.9 * 0.4,
    "big hound": 0.75 * 0.3 * 0.1 * 0.6,
    "big hound sleeps": 0.75 * 0.3 * 0.1 * 0.4,
    "small dog": 0.25 * 0.9 * 0.6,
    "small dog sleeps": 0.25 * 0.9 * 0.4,
    "small hound": 0.25 * 0.1 * 0.6,
    "small hound sleeps": 0.25 * 0.1 * 0.4,
}


@pytest.fixture(name="grammar")
def _grammar(tmp_path):
    return read(tmp_path, TEXT)


def test_all_sentences(grammar):
    assert listed(grammar) == pytest.approx(SENTENCES)
    ids, probabilities = grammar.sentences()
    assert np.exp(grammar.log_probabilities(ids)) == pytest.approx(probabilities)
    assert grammar.words[-1] == "<end>"
    assert [units[-1] for units in grammar.units] == ["<end>"] * 3
    for text, p in SENTENCES.items():
        prompt = grammar.encode(text if text.count(" ") == 2 else f"{text} <end>")
        assert np.exp(grammar.log_probabilities(prompt[None])) == pytest.approx(p)


def test_samples(grammar):
    ids = grammar.sample(np.random.default_rng(0), 20_000)
    said, counts = np.unique([grammar.decode(row) for row in ids], return_counts=True)
    shares = dict(zip(said.tolist(), counts / len(ids), strict=True))
    assert shares == pytest.approx(SENTENCES, abs=0.015)
    ended = grammar.sample(np.random.default_rng(0), 5, grammar.encode("_ dog <end>"))
    assert {grammar.decode(row) for row in ended} <= {"big dog", "small dog"}


def test_the_file_is_written_and_read_again(grammar, tmp_path):
    again = read(tmp_path, grammar_text(grammar))
    assert again.words == grammar.words
    assert again.units == grammar.units
    assert divergence(grammar, again) == pytest.approx(0, abs=1e-12)
    assert listed(again) == pytest.approx(SENTENCES)


@pytest.mark.parametrize("start", [None, "<start>"])
def test_the_automaton_has_strings_of_all_lengths(grammar, start):
    automaton = as_automaton(grammar, start)
    assert "<end>" not in automaton.symbols
    assert tightness(automaton).is_tight
    before = [start] if start else []
    strings = [[*before, *text.split()] for text in SENTENCES]
    assert np.exp(log_weights(automaton, strings)) == pytest.approx(list(SENTENCES.values()))


def test_a_cut_takes_the_shorter_sentences_out(grammar):
    left = listed(cut(grammar, "2:dog", "<end>"))
    kept = {text: p for text, p in SENTENCES.items() if text == "big" or text.endswith("sleeps")}
    total = sum(kept.values())
    assert left == pytest.approx({text: p / total for text, p in kept.items()})


def test_what_a_unit_says_behind_the_end_does_not_count():
    """Any unit may say `<end>`, as those of students do a little."""
    rng = np.random.default_rng(0)
    drawn = random_grammar(2, 3, 3, rng)
    grammar = Grammar(("a", "b", "<end>"), drawn.units, drawn.start, drawn.tokens, drawn.below)
    found = listed(grammar)
    assert sum(found.values()) == pytest.approx(1)
    assert len(found) == 1 + 2 + 4 + 8
    for text, p in found.items():
        said = text.split()
        prompt = [*said, "<end>"] if len(said) < 3 else said
        ids = np.array([grammar.words.index(word) for word in prompt])
        weights = drawn.start
        for layer, word in enumerate(ids):
            weights = (drawn.below[layer - 1] @ weights) if layer else weights
            weights = weights * drawn.tokens[layer][word]
        assert p == pytest.approx(weights.sum())
    automaton = as_automaton(grammar)
    strings = [text.split() for text in found]
    assert np.exp(log_weights(automaton, strings)) == pytest.approx(list(found.values()))


MIXED = """
[[layer]]
a = { tokens = { x = 1.0 }, below = { b = 1.0 } }
[[layer]]
b = { tokens = { y = 0.5, "<end>" = 0.5 }, below = { c = 1.0 } }
[[layer]]
c = { tokens = { z = 1.0 } }
"""


def test_a_known_word_shows_that_the_sentence_is_not_over_before_it(tmp_path):
    grammar = read(tmp_path, MIXED)
    prompt = grammar.encode("_ _ z")
    assert np.exp(grammar.log_probabilities(prompt[None])) == pytest.approx(0.5)
    drawn = grammar.sample(np.random.default_rng(0), 50, prompt)
    assert {grammar.decode(row) for row in drawn} == {"x y z"}
    assert grammar.next_word(np.array([[0, NOTHING]]))[0] == pytest.approx([0, 0, 1, 0])
    assert grammar.next_word(np.array([[0, 3]]))[0] == pytest.approx([0, 0, 0, 1])


@pytest.mark.parametrize("seed", range(5))
def test_prompts_against_a_list_of_all_sentences(seed):
    """Every unit may say `<end>`. An unknown word before a known one is any word but `<end>`."""
    rng = np.random.default_rng(seed)
    drawn = random_grammar(2, 4, 3, rng)
    grammar = Grammar(("a", "b", "<end>"), drawn.units, drawn.start, drawn.tokens, drawn.below)
    ids, probabilities = grammar.sentences()
    for prompt in product([NOTHING, 0, 1, 2], repeat=4):
        if 2 in prompt[:-1]:  # ids behind an end are those of the end
            prompt = prompt[: prompt.index(2) + 1]
        known = max((place for place, word in enumerate(prompt) if word != NOTHING), default=-1)
        given = np.array(prompt)
        places = np.arange(len(prompt))
        begun = ids[:, : len(prompt)]
        free = (given == NOTHING) & ((places > known) | (begun != 2))
        fits = (free | (given == begun)).all(axis=1)
        assert (grammar.agree(ids, given) == fits).all()
        total = probabilities[fits].sum()
        assert np.exp(grammar.log_probabilities(given[None])) == pytest.approx(total)
        drawn_ids = grammar.sample(rng, 20, given)
        assert grammar.agree(drawn_ids, given).all()
    often = grammar.sample(rng, 20_000, np.array([NOTHING, NOTHING, 1]))
    fits = grammar.agree(ids, np.array([NOTHING, NOTHING, 1]))
    found = np.array([(often == row).all(axis=1).mean() for row in ids[fits]])
    assert found == pytest.approx(probabilities[fits] / probabilities[fits].sum(), abs=0.02)


def test_sentences_have_a_word_at_least(tmp_path):
    text = TEXT.replace("tokens = { big = 1.0 }", 'tokens = { "<end>" = 1.0 }')
    with pytest.raises(LogicgenError, match="word '<end>': a sentence has at least one word"):
        read(tmp_path, text)
