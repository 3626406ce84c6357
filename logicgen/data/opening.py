"""Read recipes, and make and open data, of both kinds: data sets and corpora."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from logicgen import recipes
from logicgen.callbacks import StageProgress, no_progress
from logicgen.data.corpus import Corpus, make_corpus
from logicgen.data.dataset import Dataset
from logicgen.data.folder import head
from logicgen.data.recipe import CorpusRecipe, DataRecipe, Recipe
from logicgen.data.remote import fill, local_copy
from logicgen.data.store import is_url
from logicgen.errors import LogicgenError
from logicgen.recipes import read_toml
from logicgen.tasks import CORPORA


def read_data_recipe(
    name: str, changes: Mapping[str, Any] | None = None
) -> DataRecipe | CorpusRecipe:
    """Return the recipe of a data set or a corpus. Arguments and errors: see `Recipe.read`."""
    tables = read_toml(recipes.find("datasets", ".toml", name))
    corpus = tables.get("task") in list(CORPORA) or "corpus" in tables
    return (CorpusRecipe if corpus else DataRecipe).read(name, changes)


def make(
    recipe: Recipe,
    folder: str | os.PathLike[str],
    *,
    name: str,
    seed: int = 0,
    workers: int = 1,
    progress: StageProgress = no_progress,
) -> dict[str, Any]:
    """Make the data of a recipe in a folder, or finish them there; return their description.

    folder: a path or a URL.
    name: name of the recipe file, for the description and the card.
    workers: number of processes for a data set; it does not change the bytes.
    Raises LogicgenError if the folder has other content or cannot be written, or if the store
        fails.
    """
    from logicgen.data.generate import generate

    make_kind: Callable[..., dict[str, Any]] = generate
    if isinstance(recipe, CorpusRecipe):
        make_kind = make_corpus
    made = partial(make_kind, recipe, name=name, seed=seed, workers=workers)
    if not is_url(folder):
        return made(Path(folder), progress=progress)
    return fill(str(folder), kind_of(recipe), head(recipe, name, seed), made, progress)


def kind_of(recipe: Recipe) -> type[Dataset] | type[Corpus]:
    """Return the class of the data of a recipe: `Dataset` or `Corpus`."""
    return Corpus if isinstance(recipe, CorpusRecipe) else Dataset


def load_dataset(folder: str | os.PathLike[str]) -> Dataset | Corpus:
    """Return the finished data set or corpus in a folder or at a URL.

    Data at a URL are copied once to a local folder. Raises LogicgenError for missing, unfinished or
    damaged data.
    """
    found = local_copy(folder)
    return Corpus(found) if os.path.isfile(found / Corpus.file) else Dataset(found)


def as_dataset(data: Dataset | Corpus) -> Dataset:
    """Return data as a data set of problems and answers. Raises LogicgenError for a corpus."""
    if isinstance(data, Dataset):
        return data
    raise LogicgenError(
        f"{data.folder}: a corpus, which has no problems and answers: train and evaluate a language"
        " model on it, such as one with network.kind = 'language-model', or give a data set"
    )


def as_corpus(data: Dataset | Corpus) -> Corpus:
    """Return data as a corpus of sequences. Raises LogicgenError for a data set."""
    if isinstance(data, Corpus):
        return data
    raise LogicgenError(
        f"{data.folder}: not a corpus, but a data set of {data.task_name}: give a folder of text,"
        " ciphers or strings"
    )
