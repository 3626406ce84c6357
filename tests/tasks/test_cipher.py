"""Ciphers: what the key says is what was written."""

from __future__ import annotations

import numpy as np
import pytest

from logicgen.data.corpus import Corpus
from logicgen.errors import LogicgenError
from logicgen.tasks.text import TextSource
from tests.data.corpora import cipher_recipe, opened, text_files, text_recipe


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    folder = tmp_path_factory.mktemp("cipher")
    files = text_files(folder / "files")
    opened(text_recipe(files), folder / "text")
    return opened(cipher_recipe(files, train=60), folder / "cipher")


def test_keys_are_permutations_that_leave_the_end_and_others(corpus):
    (keys,) = corpus.arrays("train", "keys")
    count = len(corpus.tokens)
    assert keys.shape == (60, count)
    assert (np.sort(keys, axis=1) == np.arange(count)).all()
    assert (keys[:, :2] == [0, 1]).all()
    assert len(np.unique(keys, axis=0)) == 60
    # Every character becomes every other about as often.
    assert (keys[:, 2:] != np.arange(2, count)).mean() > 0.8


@pytest.mark.parametrize("split", ["train", "test"])
def test_deciphered_rows_stand_in_the_text_of_their_split(corpus, split):
    text = Corpus(corpus.folder.parent / "text")
    assert text.tokens == corpus.tokens
    plain = np.concatenate(text.arrays(split)).astype(np.uint8).tobytes()
    (rows,), (keys,) = corpus.arrays(split), corpus.arrays(split, "keys")
    assert rows.shape[1] == 10
    elsewhere = 0
    other = np.concatenate(text.arrays("validation")).astype(np.uint8).tobytes()
    for row, key in zip(rows, keys, strict=True):
        deciphered = np.argsort(key)[row].astype(np.uint8).tobytes()
        assert deciphered in plain
        elsewhere += deciphered in other
    assert elsewhere < len(rows)


@pytest.mark.parametrize("one_to_one", [True, False])
def test_a_share_of_the_characters_is_exchanged(corpus, tmp_path, one_to_one):
    files = corpus.folder.parent / "files"
    some = opened(cipher_recipe(files, share=0.4, one_to_one=one_to_one), tmp_path / "c")
    assert some.tokens == corpus.tokens
    number = round(0.4 * (len(corpus.tokens) - 2))
    if one_to_one:
        (keys,) = some.arrays("train", "keys")
        assert (np.sort(keys, axis=1) == np.arange(len(corpus.tokens))).all()
        moved = keys != np.arange(len(corpus.tokens))
        assert (moved.sum(axis=1) <= number).all()
        assert moved.sum(axis=1).mean() > number - 2  # one on average stays where it is
        assert moved[:, 2:].any(axis=0).all()  # others in other rows
        return
    (plain,), (tokens,) = some.arrays("train", "plain"), some.arrays("train")
    assert (plain != tokens).any()
    for line, written in zip(plain, tokens, strict=True):
        # What is written instead is one of the same few.
        assert len({*line[line != written], *written[line != written]}) <= number


def test_without_keys_every_occurrence_is_any_character(tmp_path):
    """Uniformly and independently; the end and others stay, and the plain text is of the split."""
    files = text_files(tmp_path / "files")
    recipe = cipher_recipe(files, one_to_one=False, train=300, length=50)
    corpus, text = (
        opened(recipe, tmp_path / "cipher"),
        opened(text_recipe(files), tmp_path / "text"),
    )
    (tokens,), (plain,) = corpus.arrays("train"), corpus.arrays("train", "plain")
    assert tokens.shape == plain.shape == (300, 50)
    whole = np.concatenate(text.arrays("train")).astype(np.uint8).tobytes()
    assert all(row.astype(np.uint8).tobytes() in whole for row in plain)
    staying = plain < 2
    assert (tokens[staying] == plain[staying]).all()
    characters = len(corpus.tokens) - 2
    written = np.bincount(tokens[~staying], minlength=len(corpus.tokens))
    expected = (~staying).sum() / characters
    assert (written[:2] == 0).all()
    assert (np.abs(written[2:] - expected) < 5 * expected**0.5).all()
    # Two occurrences of one character in a row are the same symbol by chance alone.
    pairs = (plain[:, :-10] == plain[:, 10:]) & ~staying[:, 10:]
    alike = (tokens[:, :-10] == tokens[:, 10:])[pairs]
    chance = 1 / characters
    assert abs(alike.mean() - chance) < 5 * (chance / len(alike)) ** 0.5
    with pytest.raises(LogicgenError, match="a corpus of cipher has no keys"):
        corpus.arrays("train", "keys")


def test_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(TextSource, "split_of", lambda *_: "train")
    files = text_files(tmp_path / "files", files=1, lines=3)
    with pytest.raises(LogicgenError, match=r"the train part of the text has 67 char.* row 500"):
        opened(cipher_recipe(files, length=500, test=0), tmp_path / "a")
    with pytest.raises(LogicgenError, match="the text has no test part"):
        opened(cipher_recipe(files), tmp_path / "b")
    pairs = text_recipe(files, tokens="byte-pairs", vocabulary=300).corpus
    with pytest.raises(LogicgenError, match="a cipher exchanges characters"):
        opened(cipher_recipe(files, text=pairs), tmp_path / "c")
    with pytest.raises(LogicgenError, match=r"share: 0\.01 of \d+ char.* is 0, but at least two"):
        opened(cipher_recipe(files, share=0.01, test=0), tmp_path / "e")
    with pytest.raises(LogicgenError, match="asks for no rows"):
        opened(cipher_recipe(files, train=0, test=0), tmp_path / "d")
