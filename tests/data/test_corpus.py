"""Corpora on disk: the same bytes whatever happened, and what is wrong said in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from logicgen.data import corpus as corpus_file
from logicgen.data.corpus import Corpus, make_corpus
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import CorpusRecipe
from logicgen.errors import LogicgenError
from logicgen.tasks import corpus_task as rows
from logicgen.tasks import text
from tests.data.corpora import automaton_recipe, cipher_recipe, opened, text_files, text_recipe
from tests.data.data_sets import contents

KINDS = ["text", "letters", "byte-pairs", "cipher", "automaton"]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Several blocks of a file, and several parts of a split."""
    monkeypatch.setattr(text, "BLOCK", 300)
    monkeypatch.setattr(text, "PART", 1_500)
    monkeypatch.setattr(rows, "PART", 100)


@pytest.fixture
def files(tmp_path):
    return text_files(tmp_path / "files")


def recipe_of(kind, files):
    return {
        "text": lambda: text_recipe(files),
        "letters": lambda: text_recipe(files, tokens="letters"),
        "byte-pairs": lambda: text_recipe(files, tokens="byte-pairs", vocabulary=300),
        "cipher": lambda: cipher_recipe(files),
        "automaton": automaton_recipe,
    }[kind]()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bytes_twice_and_others_by_another_seed(kind, files, tmp_path):
    first, second, other = (
        opened(recipe_of(kind, files), tmp_path / name, seed)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert contents(first.folder) == contents(second.folder)
    assert first.fingerprint == second.fingerprint != other.fingerprint
    assert len(first.arrays("train")) > 1
    made = contents(first.folder)
    assert make_corpus(recipe_of(kind, files), first.folder, name="tiny", seed=1) == (
        first.description
    )
    assert contents(first.folder) == made


@pytest.mark.parametrize("parts", [0, 1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_making_goes_on_to_the_same_bytes(kind, parts, files, tmp_path):
    recipe, folder = recipe_of(kind, files), tmp_path / "broken"
    whole = opened(recipe, tmp_path / "whole")
    calls = []

    def break_off(*_):
        calls.append(_)
        if len(calls) > parts:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_corpus(recipe, folder, name="tiny", progress=break_off)
    with pytest.raises(LogicgenError, match="not finished; run the same"):
        Corpus(folder)
    left = contents(folder)
    make_corpus(recipe, folder, name="tiny")
    assert contents(folder) == contents(whole.folder)
    assert parts == 0 or len(left) > 1


def test_a_making_killed_when_all_was_there_leaves_no_lists(files, tmp_path, monkeypatch):
    recipe, whole = text_recipe(files), opened(text_recipe(files), tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(corpus_file, "_remove_listings", lambda *_: None)
        opened(recipe, tmp_path / "c")
    assert list((tmp_path / "c" / "train").glob("*.json"))
    make_corpus(recipe, tmp_path / "c", name="tiny")
    assert contents(tmp_path / "c") == contents(whole.folder)


def test_what_is_made_is_not_made_again(files, tmp_path, monkeypatch):
    recipe, folder = text_recipe(files), tmp_path / "c"

    def break_off(split, done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_corpus(recipe, folder, name="tiny", progress=break_off)
    asked, part = [], text.TextSource.part
    monkeypatch.setattr(text.TextSource, "part", lambda *its: asked.append(its[1:]) or part(*its))
    make_corpus(recipe, folder, name="tiny")
    assert ("train", 2) in asked
    assert not {("train", 0), ("train", 1)} & {*asked}


def test_splits_share_no_block_and_lose_none(files, tmp_path):
    corpus = opened(text_recipe(files), tmp_path / "c")
    lines = {
        split: "".join(corpus.tokens.decode(part[part != 0]) for part in corpus.arrays(split))
        for split in corpus.splits
    }
    found = {split: {*each.splitlines()} for split, each in lines.items()}
    assert all(found.values())
    everything = {line for path in files.iterdir() for line in path.read_text("utf-8").splitlines()}
    assert found["train"] | found["validation"] | found["test"] == everything
    assert sum(map(len, found.values())) == len(everything)
    ends = sum((part == 0).sum() for split in corpus.splits for part in corpus.arrays(split))
    assert ends == 12  # behind every document
    assert len(Corpus.summary(corpus.description, "c")) == 1


def test_an_empty_split_of_a_text_is_reported(files, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 100_000)  # a document is one block
    corpus = opened(text_recipe(files, validation=1e-9, test=1e-9), tmp_path / "c")
    lines = Corpus.summary(corpus.description, "c")
    assert lines[1:] == [
        f"  {split} is EMPTY: give more text, or another seed" for split in ("validation", "test")
    ]


def test_arrays_are_mapped_and_as_small_as_their_numbers(files, tmp_path):
    corpus = opened(cipher_recipe(files), tmp_path / "c")
    for what in ("tokens", "keys"):
        for array in corpus.arrays("train", what):
            assert isinstance(array, np.memmap)
            assert array.dtype == np.uint8
    pairs = opened(recipe_of("byte-pairs", files), tmp_path / "d")
    assert pairs.arrays("train")[0].dtype == np.uint16
    assert isinstance(load_dataset(tmp_path / "c"), Corpus)
    with pytest.raises(LogicgenError, match="a corpus of text has no keys"):
        pairs.arrays("train", "keys")
    with pytest.raises(LogicgenError, match=r"no split is called 'trai'.*train"):
        corpus.arrays("trai")
    with pytest.raises(LogicgenError, match="'validation' is empty"):
        corpus.arrays("validation")


@pytest.mark.parametrize("harm", ["truncated", "empty", "gone", "other", "pickle"])
def test_damaged_arrays(harm, tmp_path):
    corpus = opened(automaton_recipe(), tmp_path / "c")
    path = corpus.folder / "train" / "00001.tokens.npy"
    content = path.read_bytes()
    if harm == "gone":
        path.unlink()
    elif harm == "other":
        np.save(path, np.zeros((3, 3)))
    elif harm == "pickle":
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    else:
        path.write_bytes(content[:-7] if harm == "truncated" else b"")
    with pytest.raises(LogicgenError, match=r"00001.tokens.npy: missing, altered or truncated"):
        corpus.arrays("train")
    corpus.arrays("test")


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3"])
def test_what_is_not_utf8_is_named_with_its_byte(bad, files, tmp_path):
    path = files / "07.txt"
    content = path.read_bytes()
    place = content.index(b"\n", 700) + 5  # in the third block
    path.write_bytes(content[:place] + bad + content[place:])
    with pytest.raises(LogicgenError, match=rf"07.txt: not UTF-8 at byte {place} \(0x"):
        make_corpus(text_recipe(files), tmp_path / "c", name="tiny")


def test_long_lines_are_cut_between_characters(tmp_path):
    for name, each in (("a", "ü🙂"), ("b", "ß")):
        (tmp_path / "files").mkdir(exist_ok=True)
        (tmp_path / "files" / name).write_text(each * 30_000, encoding="utf-8")
    corpus = opened(text_recipe(tmp_path / "files"), tmp_path / "c")
    assert {*corpus.tokens.texts[2:]} == {"ü", "🙂", "ß"}
    assert sum(corpus.splits.values()) == 90_000 + 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: (folder / "none").write_text(""), "the corpus is empty: 1 files of 0"),
        (lambda folder: None, "no file fits"),
    ],
)
def test_nothing_to_make_a_corpus_of(make, message, tmp_path):
    (tmp_path / "files").mkdir()
    make(tmp_path / "files")
    with pytest.raises(LogicgenError, match=message):
        opened(text_recipe(tmp_path / "files"), tmp_path / "c")
    for name in ("elsewhere", "x" * 300, "a\0b"):
        with pytest.raises(LogicgenError, match="no such file or folder"):
            opened(text_recipe(tmp_path / name), tmp_path / "c")


def test_a_folder_in_the_way(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LogicgenError, match="a file is in the way"):
        opened(automaton_recipe(), tmp_path / "file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(LogicgenError, match="not empty and not a corpus"):
        opened(automaton_recipe(), tmp_path / "full")
    opened(automaton_recipe(), tmp_path / "c")
    with pytest.raises(LogicgenError, match="holds a corpus of another seed"):
        opened(automaton_recipe(), tmp_path / "c", seed=1)
    with pytest.raises(LogicgenError, match="holds a corpus of another recipe"):
        opened(automaton_recipe(train=41), tmp_path / "c")
    with pytest.raises(LogicgenError, match="not a corpus"):
        Corpus(tmp_path / "full")


def test_another_version_does_not_go_on(tmp_path):
    opened(automaton_recipe(), tmp_path / "c")
    path = tmp_path / "c" / "corpus.json"
    found = json.loads(path.read_text())
    found |= {"complete": False, "versions": {**found["versions"], "numpy": "0.1"}}
    path.write_text(json.dumps(found))
    with pytest.raises(LogicgenError, match="another versions"):
        make_corpus(automaton_recipe(), tmp_path / "c", name="tiny")


def test_recipes_name_file_and_key(tmp_path):
    path = tmp_path / "some.toml"
    path.write_text('task = "text"\n[corpus]\nfiles = ["x"]\nsource = "python-topics"\n')
    with pytest.raises(LogicgenError, match=r"some.toml.*give either source or files"):
        CorpusRecipe.read(str(path))
    path.write_text('task = "tex"\n[corpus]\nfiles = ["x"]\n')
    with pytest.raises(LogicgenError, match=r"some.toml: task: .*text"):
        CorpusRecipe.read(str(path))
    path.write_text('task = "automaton"\n[corpus]\nlength = 4\ntrain = 1\n')
    with pytest.raises(LogicgenError, match=r"some.toml.*symbols, states and expected_length"):
        CorpusRecipe.read(str(path))
