"""Precision of keys in windows, and keys found without a model, against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from logicgen.automata import read_automaton
from logicgen.automata.lexinvariant import posterior
from logicgen.automata.renaming import permutations
from logicgen.data.corpus import Ciphers
from logicgen.measures import keys
from logicgen.tasks.automaton_strings import AUTOMATON
from tests.data.corpora import automaton_recipe, cipher_recipe, opened, text_files


def test_majority_and_precision_are_those_of_counting():
    rng = np.random.default_rng(0)
    count, width = 7, 6
    tokens, predicted = rng.integers(count, size=(2, 40, 20))
    meant = np.stack([rng.permutation(count) for _ in range(40)])
    meant = np.where(rng.random((40, 1)) < 0.5, np.arange(count), meant)
    predicted = np.where(
        rng.random(predicted.shape) < 0.6, np.take_along_axis(meant, tokens, 1), predicted
    )
    plain = np.take_along_axis(meant, tokens, axis=1)
    found = keys.windows_of(tokens, predicted, plain, width)
    assert [(each.window, each.first, each.last) for each in found] == [
        (1, 0, 5),
        (2, 6, 11),
        (3, 12, 17),  # 18 and 19 are no whole window
    ]
    for number, window in enumerate(found):
        for begin, share in ((number * width, window.precision), (0, window.so_far)):
            end, right, symbols = (number + 1) * width, 0, 0
            for cipher, said, key in zip(tokens.tolist(), predicted.tolist(), meant, strict=True):
                for symbol in set(cipher[number * width : end]) - {0, 1}:
                    places = [place for place in range(begin, end) if cipher[place] == symbol]
                    votes = Counter(said[place] for place in places)
                    winner = max(range(count), key=lambda plain: (votes[plain], -plain))
                    right, symbols = right + (winner == key[symbol]), symbols + 1
            assert (share, window.symbols) == (pytest.approx(right / symbols), symbols)
        assert window.low < window.precision < window.high
        assert window.so_far_low < window.so_far < window.so_far_high
        here = [
            said == key[cipher]
            for ciphers, saids, key in zip(tokens.tolist(), predicted.tolist(), meant, strict=True)
            for cipher, said in zip(ciphers[:end][-width:], saids[:end][-width:], strict=True)
            if cipher > 1
        ]
        assert window.occurrence == pytest.approx(sum(here) / len(here))
        assert window.occurrences == len(here)


def test_of_equally_many_votes_the_smaller_id_wins():
    tokens = np.array([[5, 5, 5, 5, 3, 3]])
    for said in ([4, 2, 2, 4, 6, 3], [2, 4, 4, 2, 3, 6]):
        _, symbols, plain = keys.majority(tokens, np.array([said]), 7)
        assert dict(zip(symbols.tolist(), plain.tolist(), strict=True)) == {5: 2, 3: 3}


def test_windows_without_symbols_are_left_out_and_intervals_count_rows():
    tokens = np.array([[0, 1, 2, 3, 2, 3]] * 20)
    (second, third) = keys.windows_of(tokens, tokens, tokens, 2)
    assert (second.window, third.window) == (2, 3)
    # All of 40 symbols are right, but they are those of 20 rows.
    assert (second.precision, second.high) == (1, 1)
    assert second.low == pytest.approx(0.8389, abs=1e-4)
    # Symbols that are always right or wrong together say as much as rows do.
    spoilt = tokens.copy()
    spoilt[:8] = 0
    (window, _) = keys.windows_of(tokens, spoilt, tokens, 2)
    assert window.precision == pytest.approx(0.6)
    assert window.low == pytest.approx(0.387, abs=0.01)


def test_right_is_the_most_frequent_meaning_where_a_symbol_has_several():
    tokens = np.array([[2, 2, 2, 3, 3, 2]])
    plain = np.array([[4, 4, 5, 5, 2, 5]])
    (window,) = keys.windows_of(tokens, np.array([[4, 4, 4, 2, 2, 4]]), plain, 6)
    # 2 stands for 4 and for 5 twice, and for the smaller id then; 3 likewise for 2.
    assert (window.precision, window.symbols) == (1, 2)
    assert (window.occurrence, window.occurrences) == (3 / 6, 6)
    (window,) = keys.windows_of(tokens, np.full((1, 6), 5), plain, 6)
    assert (window.precision, window.occurrence) == (0, 3 / 6)


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
    different = set()
    for written, behind in zip(tokens.tolist(), plain.tolist(), strict=True):
        key = set(zip(written, behind, strict=True))
        # One-to-one, and the end stays.
        assert len(key) == len({a for a, _ in key}) == len({b for _, b in key})
        assert all((a == 0) == (b == 0) for a, b in key)
        different.add(frozenset(key))
    assert len(different) > 1


def test_the_exact_control_is_the_most_probable_key(strings):
    ciphers = Ciphers(strings, "test")
    tokens, _ = ciphers.rows(np.arange(5), ciphers.length)
    found = keys.control_guesses(strings, ciphers, tokens)["exact"]
    automaton = read_automaton(strings.folder / AUTOMATON)
    every_key = permutations(len(automaton.symbols))
    for row, said in zip(tokens, found, strict=True):
        ids = row[row > 0] - 1
        likely = posterior(automaton, ids)
        for place, symbol in enumerate(ids):
            weights = np.bincount(
                every_key[:, symbol], weights=likely[place + 1], minlength=len(automaton.symbols)
            )
            assert weights[said[place] - 1] == pytest.approx(weights.max())
        assert (said[len(ids) :] == 0).all()


def test_frequencies_so_far_are_matched_in_order(tmp_path):
    corpus = opened(cipher_recipe(text_files(tmp_path / "files")), tmp_path / "c")
    ciphers = Ciphers(corpus, "test")
    tokens, behind = ciphers.rows(np.arange(len(ciphers)), ciphers.length)
    found = keys.control_guesses(corpus, ciphers, tokens)
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
    for window in keys.windows_of(tokens, found["most frequent"], behind, 5):
        assert window.precision * window.symbols <= len(tokens)


def test_many_symbols_have_no_exact_control(strings, monkeypatch):
    monkeypatch.setattr(keys, "MOST_SYMBOLS", 1)
    ciphers = Ciphers(strings, "test")
    tokens, _ = ciphers.rows(np.arange(2), ciphers.length)
    assert "exact" not in keys.control_guesses(strings, ciphers, tokens)
