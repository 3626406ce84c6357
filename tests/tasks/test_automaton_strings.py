"""Corpora of automata: rows are strings of it, as often as it says."""

from __future__ import annotations

import numpy as np
import pytest

from logicgen.automata import (
    Automaton,
    Strings,
    log_prefix_weights,
    log_weights,
    next_probabilities,
    read_automaton,
    write_automaton,
)
from logicgen.data.corpus import Ciphers
from logicgen.errors import LogicgenError
from tests.data.corpora import automaton_recipe, opened


def rows_of(corpus, split="train"):
    return np.concatenate(corpus.arrays(split)).astype(int)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return opened(automaton_recipe(train=4_000), tmp_path_factory.mktemp("automaton") / "c")


def test_every_row_is_a_string_of_the_automaton(corpus):
    automaton = read_automaton(corpus.folder / "automaton.toml")
    assert corpus.tokens.texts == ("<end>", *automaton.symbols)
    rows = rows_of(corpus)
    ended = (rows == 0).any(axis=1)
    assert 0 < ended.mean() < 1
    for row in rows[:100]:
        symbols = row[row != 0] - 1
        strings = Strings(symbols[None], np.array([len(symbols)]))
        if (row == 0).any():
            assert (row[len(symbols) :] == 0).all()  # nothing comes after the end
            assert np.isfinite(log_weights(automaton, strings)).all()
        else:
            assert np.isfinite(log_prefix_weights(automaton, strings)).all()


def test_first_tokens_are_as_frequent_as_they_are_likely(corpus):
    automaton = read_automaton(corpus.folder / "automaton.toml")
    nothing = Strings(np.zeros((1, 0), int), np.array([0]))
    expected = next_probabilities(automaton, nothing)[0, 0]
    first = rows_of(corpus)[:, 0]
    found = np.bincount(first, minlength=4) / len(first)
    np.testing.assert_allclose(found, np.roll(expected, 1), atol=5 * np.sqrt(0.25 / len(first)))


def test_strings_of_many_automata_are_those_of_each(tmp_path):
    """First tokens are as frequent as the mean of the automata says; one draws what it drew."""
    several = opened(automaton_recipe(train=4_000, automata=3, draw=5), tmp_path / "several")
    assert not (several.folder / "automaton.toml").exists()
    assert not several.has_automaton
    nothing = Strings(np.zeros((1, 0), int), np.array([0]))
    expected = np.zeros(4)
    for number in range(3):
        one = opened(automaton_recipe(draw=5 + number), tmp_path / str(number))
        assert one.has_automaton
        automaton = read_automaton(one.folder / "automaton.toml")
        expected += np.roll(next_probabilities(automaton, nothing)[0, 0], 1) / 3
    found = np.bincount(rows_of(several)[:, 0], minlength=4) / 4_000
    np.testing.assert_allclose(found, expected, atol=5 * np.sqrt(0.25 / 4_000))
    with pytest.raises(LogicgenError, match=r"many automata.*give those of one"):
        Ciphers(several, "test")


def test_splits_and_parts_are_drawn_on_their_own(corpus):
    assert not np.array_equal(rows_of(corpus, "validation"), rows_of(corpus, "test"))
    assert rows_of(corpus, "test").shape == (20, 6)


def test_the_automaton_of_a_file(tmp_path):
    """`a`, `b` and the end take turns, whatever the weights of the file sum to."""
    table = np.zeros((2, 2, 2))
    table[0, 0, 1] = table[1, 1, 0] = 4.0
    automaton = Automaton.dense("ab", np.array([2.0, 0]), np.array([0, 1.0]), table * 0.1)
    write_automaton(automaton, tmp_path / "some.toml")
    recipe = automaton_recipe()
    keys = {"length": 6, "train": 200, "file": str(tmp_path / "some.toml")}
    corpus = opened(recipe.model_copy(update={"corpus": keys}), tmp_path / "c")
    for row in rows_of(corpus):
        text = corpus.tokens.decode(row)
        assert text in {" ".join((["a", "b"] * 3)[:length]) for length in (1, 3, 5, 6)}


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"file": "x.toml", "draw": 1}, "file is an automaton, and draw draws another"),
        ({"file": "x.toml", "states": 2}, "file is an automaton, and states draws another"),
        ({"symbols": 2, "states": 2}, r"symbols, states and expected_length \(expected_length\)"),
        ({}, r"give a file, or .* \(symbols\)"),
        ({"file": "nowhere.toml"}, "nowhere.toml"),
        ({"file": "x.toml", "train": 0}, "asks for no rows"),
        ({"file": "x.toml", "length": 1}, "length"),
    ],
)
def test_refused(corpus, message, tmp_path):
    recipe = automaton_recipe().model_copy(update={"corpus": {"length": 5, "train": 3, **corpus}})
    with pytest.raises(LogicgenError, match=message):
        opened(recipe, tmp_path / "c")
    assert not (tmp_path / "c").exists() or not any((tmp_path / "c").iterdir())
