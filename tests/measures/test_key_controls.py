"""What is found of keys without a model, against counting by hand and the exact posterior."""

from __future__ import annotations

import numpy as np
import pytest

from logicgen.automata import read_automaton
from logicgen.automata.lexinvariant import posterior
from logicgen.automata.renaming import permutations
from logicgen.data.corpus import Ciphers
from logicgen.measures import keys
from logicgen.measures.keys import control_guesses, windows_of
from logicgen.tasks.automaton_strings import AUTOMATON
from tests.data.corpora import automaton_recipe, cipher_recipe, opened, text_files


@pytest.fixture(scope="module")
def strings(tmp_path_factory):
    """Open strings of an automaton over three symbols, some of which end early."""
    return opened(automaton_recipe(), tmp_path_factory.mktemp("c") / "strings")


def test_keys_of_strings_follow_from_the_row_and_leave_the_end(strings):
    ciphers = Ciphers(strings, "train")
    tokens, plain = ciphers.rows(np.arange(40), ciphers.length)
    again, _ = ciphers.rows(np.array([7]), 3)
    assert (again[0] == tokens[7, :3]).all()
    assert (plain == np.concatenate(strings.arrays("train"))[:40]).all()
    keys = set()
    for written, behind in zip(tokens.tolist(), plain.tolist(), strict=True):
        key = set(zip(written, behind, strict=True))
        # One-to-one, and the end stays.
        assert len(key) == len({a for a, _ in key}) == len({b for _, b in key})
        assert all((a == 0) == (b == 0) for a, b in key)
        keys.add(frozenset(key))
    assert len(keys) > 1


def test_the_exact_control_is_the_most_probable_key(strings):
    ciphers = Ciphers(strings, "test")
    tokens, _ = ciphers.rows(np.arange(5), ciphers.length)
    found = control_guesses(strings, ciphers, tokens)["exact"]
    automaton = read_automaton(strings.folder / AUTOMATON)
    keys = permutations(len(automaton.symbols))
    for row, said in zip(tokens, found, strict=True):
        ids = row[row > 0] - 1
        likely = posterior(automaton, ids)
        for place, symbol in enumerate(ids):
            weights = np.bincount(
                keys[:, symbol], weights=likely[place + 1], minlength=len(automaton.symbols)
            )
            assert weights[said[place] - 1] == pytest.approx(weights.max())
        assert (said[len(ids) :] == 0).all()


def test_frequencies_so_far_are_matched_in_order(tmp_path):
    corpus = opened(cipher_recipe(text_files(tmp_path / "files")), tmp_path / "c")
    ciphers = Ciphers(corpus, "test")
    tokens, behind = ciphers.rows(np.arange(len(ciphers)), ciphers.length)
    found = control_guesses(corpus, ciphers, tokens)
    assert set(found) == {"most frequent", "frequencies"}
    assert len(np.unique(found["most frequent"])) == 1
    counts = np.zeros(len(corpus.tokens), dtype=int)
    train = Ciphers(corpus, "train")
    _, plain = train.rows(np.arange(min(1_000, len(train))), train.length)
    np.add.at(counts, plain, 1)
    order = sorted(range(2, len(counts)), key=lambda each: (-counts[each], each))
    assert found["most frequent"][0, 0] == order[0]
    for row, said in zip(tokens.tolist(), found["frequencies"].tolist(), strict=True):
        for place, token in enumerate(row):
            if token < 2:
                continue
            so_far = [row[: place + 1].count(each) for each in range(2, len(counts))]
            ranking = sorted(range(2, len(counts)), key=lambda each: (-so_far[each - 2], each))
            assert said[place] == order[ranking.index(token)]
    # Always the same guess is right for one symbol of a window at most.
    for window in windows_of(tokens, found["most frequent"], behind, 5):
        assert window.precision * window.symbols <= len(tokens)


def test_many_symbols_have_no_exact_control(strings, monkeypatch):
    monkeypatch.setattr(keys, "MOST_SYMBOLS", 1)
    ciphers = Ciphers(strings, "test")
    tokens, _ = ciphers.rows(np.arange(2), ciphers.length)
    assert "exact" not in control_guesses(strings, ciphers, tokens)
