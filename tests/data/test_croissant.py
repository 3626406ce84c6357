"""A data set is described in Croissant: the description is valid, and its records are the rows."""

from __future__ import annotations

import json

import pytest

from logicgen import load_dataset, recipes
from logicgen.data.croissant import croissant_text
from logicgen.data.opening import read_data_recipe
from logicgen.data.recipe import DataRecipe

mlcroissant = pytest.importorskip("mlcroissant")


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def test_its_records_are_the_rows_of_each_split(made):
    described = mlcroissant.Dataset(made / "croissant.json")
    assert not described.metadata.issues.errors
    # The bytes of a data set do not depend on the day. Whoever publishes it adds the date.
    (warning,) = described.metadata.issues.warnings
    assert "datePublished" in warning
    data = load_dataset(made)
    splits = {split for split, examples in data.splits.items() if examples}
    assert {each.name for each in described.metadata.record_sets} == splits
    for split in splits:
        rows = [
            {name.partition("/")[2]: _text(value) for name, value in record.items()}
            for record in described.records(split)
        ]
        expected = [
            row | {"alpha_class": str(row["alpha_class"])} for row in data.table(split).to_pylist()
        ]
        assert sorted(map(str, rows)) == sorted(map(str, expected))


@pytest.mark.parametrize("name", recipes.names("datasets", ".toml"))
def test_every_shipped_recipe_has_a_valid_description(name):
    recipe = read_data_recipe(name)
    if not isinstance(recipe, DataRecipe):
        return
    splits = {split: {"examples": split != "test"} for split in ("train", "test", "grid")}
    description = {"name": name, "seed": 0, "versions": {"logicgen": "1"}, "splits": splits}
    described = mlcroissant.Dataset(json.loads(croissant_text(recipe, description)))
    assert not described.metadata.issues.errors
    assert [each.name for each in described.metadata.record_sets] == ["train", "grid"]
