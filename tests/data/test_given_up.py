"""Problems on which a solver takes too long: given up, counted, and others drawn instead."""

from __future__ import annotations

import json

import pytest

from logicgen.data.opening import load_dataset, make
from logicgen.data.recipe import DataRecipe
from logicgen.data.shards import given_up
from logicgen.errors import LogicgenError

TABLES = {
    "task": "propositional",
    "region": {"symbols": [1, 5], "length": [12, 16]},
    "sizes": {"train": 40, "test": 10},
}


def made(folder, **keys):
    recipe = DataRecipe.model_validate({**TABLES, **keys})
    make(recipe, folder, name="tiny", workers=1)
    return (folder / "dataset.json").read_bytes()


def test_an_effort_is_the_same_everywhere(tmp_path):
    description = json.loads(made(tmp_path / "one", effort=6))
    assert description["recipe"]["effort"] == 6
    counts = {name: split["given_up"] for name, split in description["splits"].items()}
    assert set(counts) == {"train", "test"}
    shard = tmp_path / "one" / "train" / "00000.parquet"
    assert given_up(shard) == counts["train"] > 0
    assert "given up by a solver" in (tmp_path / "one" / "README.md").read_text()
    again = made(tmp_path / "two", effort=6)
    assert again == (tmp_path / "one" / "dataset.json").read_bytes()
    # Interrupted, with one split made already: the counts are in its shards.
    (tmp_path / "two" / "train" / "00000.parquet").unlink()
    unfinished = {**json.loads(again), "complete": False}
    for key in ("examples", "distinct", "splits"):
        del unfinished[key]
    (tmp_path / "two" / "dataset.json").write_text(json.dumps(unfinished))
    assert made(tmp_path / "two", effort=6) == again
    assert load_dataset(tmp_path / "two").splits == {"train": 40, "test": 10}


def test_where_nothing_is_given_up_nothing_is_said(tmp_path):
    description = json.loads(made(tmp_path / "data"))
    assert "effort" not in description["recipe"]
    assert "timeout" not in description["recipe"]
    assert all("given_up" not in split for split in description["splits"].values())
    assert given_up(tmp_path / "data" / "train" / "00000.parquet") == 0
    assert "given up" not in (tmp_path / "data" / "README.md").read_text()


def test_a_solver_without_witnesses_is_refused(tmp_path):
    pytest.importorskip("stormpy")
    with pytest.raises(LogicgenError, match="storm gives no witness"):
        made(tmp_path / "data", task="ltl", solver="storm")


@pytest.mark.parametrize("key", [{"effort": 0}, {"effort": -1}, {"timeout": 0}, {"timeout": 1e9}])
def test_limits_are_positive(tmp_path, key):
    with pytest.raises(ValueError, match=next(iter(key))):
        made(tmp_path / "data", **key)


def test_a_solver_that_always_gives_up_ends(tmp_path):
    folder = tmp_path / "data"
    made(folder, effort=1, region={"symbols": [5, 5], "length": [30, 31]}, sizes={"train": 3})
    assert load_dataset(folder).splits.get("train", 0) <= 3
