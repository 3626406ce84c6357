"""The one place that tells recipes and folders of data sets from those of corpora."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from logicgen import recipes
from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.recipe import CorpusRecipe, DataRecipe
from logicgen.data.store import is_url
from logicgen.errors import LogicgenError
from logicgen.recipes import read_toml
from logicgen.tasks import CORPORA


def read_data_recipe(
    name: str, changes: Mapping[str, Any] | None = None
) -> DataRecipe | CorpusRecipe:
    """Return a recipe of either kind. Arguments and errors are those of `Recipe.read`."""
    tables = read_toml(recipes.find("datasets", ".toml", name))
    corpus = tables.get("task") in list(CORPORA) or "corpus" in tables
    return (CorpusRecipe if corpus else DataRecipe).read(name, changes)


def open_data(folder: str | Path) -> Dataset | Corpus:
    """Return the data set or corpus in a folder. LogicgenError: none, unfinished, or damaged.

    folder: or a URL that fsspec knows, such as `s3://bucket/folder`; see `remote_data.py`.
    """
    if is_url(folder):
        from logicgen.data.remote_data import local_copy

        folder = local_copy(folder)
    folder = Path(folder)
    return Corpus(folder) if os.path.isfile(folder / Corpus.file) else Dataset(folder)


def as_dataset(data: Dataset | Corpus) -> Dataset:
    """Return data as a data set of problems and answers. Raises LogicgenError for a corpus."""
    if isinstance(data, Dataset):
        return data
    raise LogicgenError(
        f"{data.folder}: a corpus, which has no problems and answers: give the recipe of a language"
        " model, such as one with network.kind = 'language-model'"
    )


def as_corpus(data: Dataset | Corpus) -> Corpus:
    """Return data as a corpus of sequences. Raises LogicgenError for a data set."""
    if isinstance(data, Corpus):
        return data
    raise LogicgenError(
        f"{data.folder}: not a corpus, but a data set of {data.task_name}: give a folder of text,"
        " ciphers or strings"
    )
