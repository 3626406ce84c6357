"""Recipes and folders of either kind, opened in one place and used alike."""

from __future__ import annotations

import pytest

from logicgen import recipes
from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.opening import load_dataset, make, read_data_recipe
from logicgen.errors import LogicgenError
from logicgen.tasks import CORPORA, TASKS
from tests.data.corpora import automaton_recipe, cipher_recipe, text_files, text_recipe


@pytest.mark.parametrize("name", recipes.names("datasets", ".toml"))
def test_every_shipped_recipe(name):
    recipe = read_data_recipe(name, {"description": "other"})
    assert recipe.description == "other"
    assert recipe.task in (CORPORA if hasattr(recipe, "corpus") else TASKS)
    assert recipe.splits


def test_data_of_either_kind(tmp_path):
    small = read_data_recipe("copying-mini").resized(200)
    files = text_files(tmp_path / "files")
    for recipe, kind, holds, splits in (
        (small, Dataset, "problems", ("train", "validation", "test", "grid")),
        (automaton_recipe(), Corpus, "sequences", ("train", "validation", "test")),
        (text_recipe(files), Corpus, "sequences", ("train", "validation", "test")),
        (cipher_recipe(files), Corpus, "ciphers", ("train", "test")),
    ):
        assert (recipe.splits, recipe.holds) == (splits, holds)
        folder = tmp_path / recipe.task
        described = make(recipe, folder, name="tiny", seed=3, workers=2)
        data = load_dataset(str(folder))
        assert isinstance(data, kind)
        assert (data.description, data.recipe, data.folder) == (described, recipe, folder)
        assert (data.name, data.holds, data.task_name) == ("tiny", holds, recipe.task)
        assert tuple(name for name, size in data.splits.items() if size) == splits
        assert data.summary(data.description, folder)[0].startswith(f"{folder}: ")
        with pytest.raises(LogicgenError, match=r"holds a .* of another seed"):
            make(recipe, folder, name="tiny")


def test_neither_kind(tmp_path):
    with pytest.raises(LogicgenError, match=r"not a data set \(no dataset.json\); make one with"):
        load_dataset(tmp_path)


def test_sizes_are_for_data_sets():
    with pytest.raises(LogicgenError, match="mine: size is not for corpora: change the recipe"):
        read_data_recipe("three-sentences").resized(10, "mine")
    only_grid = read_data_recipe("copying-mini", {"sizes": {}})
    with pytest.raises(LogicgenError, match=r"mine: a size cannot be given .* only has a grid"):
        only_grid.resized(10, "mine")


def test_a_corpus_where_its_folder_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LogicgenError, match="cannot be written: Not a directory"):
        make(automaton_recipe(), tmp_path / "file" / "c", name="tiny")
