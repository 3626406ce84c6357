"""Tiny corpora for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from logicgen.data.corpus import Corpus, make_corpus
from logicgen.data.recipe import CorpusRecipe

DRAWN = {"symbols": 3, "states": 2, "expected_length": 8.0, "length": 6}


def text_files(folder: Path, files: int = 12, lines: int = 40) -> Path:
    """Files of numbered lines, no two lines alike."""
    folder.mkdir(parents=True)
    for number in range(files):
        line = (f"{number:02d}.{each:03d} the grüne line\n" for each in range(lines))
        (folder / f"{number:02d}.txt").write_text("".join(line), encoding="utf-8")
    return folder


def text_recipe(files: Path, **keys: Any) -> CorpusRecipe:
    content = {"files": [str(files)], "validation": 0.2, "test": 0.2, **keys}
    return CorpusRecipe(task="text", corpus=content)


def cipher_recipe(files: Path, **keys: Any) -> CorpusRecipe:
    content = {"text": text_recipe(files).corpus, "length": 10, "train": 30, "test": 20, **keys}
    return CorpusRecipe(task="cipher", corpus=content)


def automaton_recipe(**keys: Any) -> CorpusRecipe:
    rows = {"train": 40, "validation": 20, "test": 20}
    return CorpusRecipe(task="automaton", corpus={**DRAWN, **rows, **keys})


def opened(recipe: CorpusRecipe, folder: Path, seed: int = 0) -> Corpus:
    make_corpus(recipe, folder, name="tiny", seed=seed)
    return Corpus(folder)
