"""Corpora of sentences of a grammar."""

import numpy as np
import pytest

from logicgen.data.corpus import Corpus, make_corpus
from logicgen.data.recipe import CorpusRecipe
from logicgen.errors import LogicgenError
from logicgen.productions import read_grammar
from logicgen.tasks.corpus_task import TOKENS
from logicgen.tasks.grammar_sentences import GRAMMAR, TASK, GrammarSentencesSettings

SIZES = {"words": 5, "width": 2, "layers": 3, "train": 4000, "test": 10}


def test_rows_are_sentences_as_frequent_as_they_are_probable():
    settings = GrammarSentencesSettings(**SIZES)
    source = TASK.source(settings, 7)
    assert source.tokens.texts[:3] == ("<end>", "<start>", "w0")
    rows = np.concatenate(
        [source.part("train", number)[TOKENS] for number in range(source.parts("train"))]
    )
    assert rows.shape == (4000, 4)
    assert (rows[:, 0] == 1).all()
    ids, probabilities = settings.made().sentences()
    found = [(rows[:, 1:] - 2 == each).all(axis=1).mean() for each in ids]
    assert sum(found) == pytest.approx(1)
    assert np.abs(found - probabilities).max() < 5 * np.sqrt(0.25 / 4000)
    again = TASK.source(settings, 7).part("test", 0)[TOKENS]
    assert np.array_equal(again, source.part("test", 0)[TOKENS])
    assert not np.array_equal(again, rows[:10])


@pytest.mark.parametrize("name", ["big-cat-small-dog", "three-sentences", "production-3"])
def test_shipped_recipes(tmp_path, name):
    make_corpus(CorpusRecipe.read(name), tmp_path / "d", name=name)
    corpus = Corpus(tmp_path / "d")
    grammar = read_grammar(tmp_path / "d" / GRAMMAR)
    assert list(corpus.tokens.texts[2:]) == list(grammar.words)
    sentences, probabilities = grammar.sentences()
    said = {grammar.decode(each) for each in sentences}
    if name == "big-cat-small-dog":
        assert said == {"big cat", "small dog"}
    if name == "three-sentences":
        assert said == {"big cat", "big dog", "small dog"}
        assert probabilities == pytest.approx(np.full(3, 1 / 3))
    rows = np.asarray(corpus.arrays("train")[0])[:, 1:] - 2
    assert {grammar.decode(each) for each in rows} <= said


def test_settings_that_contradict_themselves(tmp_path):
    grammar = {"layer": [{"a": {"tokens": {"x": 1.0}}}]}
    for settings, says in (
        ({**SIZES, "grammar": grammar}, "grammar is a grammar, and layers another"),
        ({"grammar": grammar, "file": "g.toml", "train": 1}, "file another"),
        ({"words": 3, "width": 2, "train": 1}, "layers"),
        ({"grammar": grammar}, "asks for no rows"),
    ):
        with pytest.raises(ValueError, match=says):
            GrammarSentencesSettings(**settings)
    grammar["layer"][0]["a"]["tokens"]["x"] = 0.5
    settings = GrammarSentencesSettings(grammar=grammar, train=1)
    with pytest.raises(LogicgenError, match=r"corpus\.grammar: layer 1.*sums to 0\.5"):
        TASK.source(settings, 0)
    settings = GrammarSentencesSettings(file=str(tmp_path / "none.toml"), train=1)
    with pytest.raises(LogicgenError, match=r"none.toml: cannot be read"):
        TASK.source(settings, 0)


def test_sentences_of_different_lengths_are_filled_up_with_the_end(tmp_path):
    make_corpus(CorpusRecipe.read("production-lengths"), tmp_path / "d", name="lengths")
    corpus = Corpus(tmp_path / "d")
    grammar = read_grammar(tmp_path / "d" / GRAMMAR)
    assert corpus.tokens.texts == ("<end>", "<start>", *grammar.words[:-1])
    rows = np.asarray(corpus.arrays("train")[0]).astype(int)
    said, counts = np.unique([corpus.tokens.decode(row) for row in rows], return_counts=True)
    found = dict(zip(said.tolist(), counts / len(rows), strict=True))
    ids, probabilities = grammar.sentences()
    texts = [f"<start> {grammar.decode(each)}" for each in ids]
    assert {text.count(" ") for text in texts} == {1, 2, 3}
    wanted = dict(zip(texts, probabilities.tolist(), strict=True))
    assert set(found) <= set(wanted)
    assert found == pytest.approx({text: wanted[text] for text in found}, abs=0.02)
