"""Data sets: verified, different, and the same bytes however they are made and interrupted."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

import logicgen
from logicgen.data import plan as planning
from logicgen.data import unique
from logicgen.data.dataset import Dataset
from logicgen.data.generate import generate
from logicgen.data.maker import FOLDER, WorkFiles
from logicgen.data.opening import load_dataset
from logicgen.data.plan import first_round, next_round, shard_size
from logicgen.data.recipe import DataRecipe
from logicgen.data.shards import given_up
from logicgen.errors import LogicgenError
from logicgen.tasks.problems import REMAINDERS, Drawer, fingerprint
from logicgen.tasks.task import symbols_of
from tests.data.data_sets import (
    COPYING,
    RECIPE,
    InThisProcess,
    StopError,
    contents,
    make,
    stopping_pool,
)

# Cells of which much is wanted: every second slot draws what another one has.
SCARCE = {
    "problem": {"operators": {"!": 1, "&": 1, "^": 1}},
    "region": {"symbols": [2, 3], "length": [6, 7], "balance": "symbols-and-length"},
    "sizes": {"train": 480, "validation": 20, "test": 20},
    "grid": {"symbols": [2, 4], "length": [5, 8], "per_cell": 12},
}


@pytest.fixture
def here(monkeypatch):
    """All steps in this process, with small units, and cells that are drawn rather than listed."""
    monkeypatch.setattr("logicgen.data.generate.open_pool", InThisProcess)
    monkeypatch.setattr(planning, "LISTED", 1)
    monkeypatch.setattr("logicgen.data.generate.shard_size", lambda size: 40)
    return monkeypatch


def by_definition(recipe, seed):
    """Return the rows of a data set by split, as the definition of format 2 says, one by one."""
    drawer, seen, splits, numbers = Drawer(recipe.rules(), seed), set(), {}, Counter()
    stages = planning.stages(recipe, drawer.source)
    for split, plans in stages:
        total = sum(plan.quota for plan in plans)
        one = first_round(plans, split, seed, numbers[split], 40)
        while one.end > one.number:
            rows, held, asked, again = {}, Counter(), Counter(), []
            for listing in one.listings:
                remainder = None
                if listing.cell in one.reserved:
                    remainder = REMAINDERS[split]
                asked[listing.cell] += listing.quota
                found = drawer.listed(listing.cell, split, remainder, seen)
                for place in range(listing.quota):
                    if (example := next(found, None)) is None:
                        break
                    rows[listing.unit, listing.place + place] = example
                    held[listing.cell] += 1
            drawn = [(unit, drawer.unit(unit.slots())) for unit in one.units()]
            for unit, found in drawn:
                for place, example in enumerate(found.examples):
                    asked[unit.cells[place]] += 1
                    if example is not None and example.key in seen:
                        again.append((unit, place, found.attempts[place] + 1))
                    elif example is not None:
                        seen.add(example.key)
                        rows[unit.number, place] = example
                        held[unit.cells[place]] += 1
            exhausted = set()
            for unit, place, attempt in again:
                cell = unit.cells[place]
                if cell not in exhausted:
                    example, _ = drawer.slot(list(unit.slots())[place], attempt, seen)
                    if example is None:
                        exhausted.add(cell)
                    else:
                        rows[unit.number, place] = example
                        held[cell] += 1
            splits.setdefault(split, []).extend(rows[key] for key in sorted(rows))
            for plan in plans:
                plan.held += held[plan.cell]
                plan.exhausted |= held[plan.cell] < asked[plan.cell]
            numbers[split] = one.end
            missing = total - sum(plan.held for plan in plans)
            if split == "grid" or not missing:
                break
            shares = planning.next_shares(plans, missing)
            one = next_round(shares, plans, split, seed, one.end, 40)
    return splits, len(again)


@pytest.mark.parametrize("changes", [{}, SCARCE], ids=["usual", "scarce"])
def test_what_is_made_is_what_the_definition_says(changes, here, tmp_path):
    recipe = DataRecipe.model_validate({**RECIPE, **changes})
    wanted, _ = by_definition(recipe, 3)
    make(tmp_path / "d", changes, seed=3)
    data = load_dataset(tmp_path / "d")
    for split, examples in wanted.items():
        rows = [tuple(row.values()) for row in data.table(split).to_pylist()]
        assert rows == [example.row for example in examples]


@pytest.mark.slow
def test_it_does_not_depend_on_parts_buckets_and_records(here, tmp_path):
    make(tmp_path / "one", SCARCE)
    here.setattr(unique, "EXAMPLES", 50)
    here.setattr(unique, "RECORDS", 7)
    here.setattr(planning, "BUCKET", 2)
    make(tmp_path / "other", SCARCE)
    assert contents(tmp_path / "other") == contents(tmp_path / "one")
    assert not (tmp_path / "one" / FOLDER).exists()
    assert len(list((tmp_path / "one" / "train").glob("*.parquet"))) >= 12
    here.undo()
    assert shard_size(10**8) == 10_000


def test_ctrl_c_leaves_no_file_of_a_killed_worker(here, tmp_path):
    class Killed(InThisProcess):
        """The worker dies in the middle of a file when the second item is asked for."""

        def map(self, items):
            yield next(iter(super().map(items)))
            part = WorkFiles(tmp_path / "d").part("train/00001.arrow")
            part.parent.mkdir(parents=True, exist_ok=True)
            part.touch()
            raise KeyboardInterrupt

    here.setattr("logicgen.data.generate.open_pool", Killed)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "d", SCARCE)
    assert not list((tmp_path / "d").rglob("*.part"))
    assert list((tmp_path / "d").rglob("*.arrow"))  # what is whole is kept


HARMS = ["lost", "cut", "changed", "shard"]


@pytest.mark.parametrize(
    "harm", ["none", *(pytest.param(each, marks=pytest.mark.slow) for each in HARMS)]
)
def test_stopped_after_each_step_it_goes_on_to_the_same_bytes(here, tmp_path, harm):
    """Also where a power cut has left work files in pieces, or somebody has deleted some."""
    here.setattr(unique, "EXAMPLES", 200)
    here.setattr(planning, "BUCKET", 2)
    make(tmp_path / "whole", SCARCE)
    wanted, rng, folder = contents(tmp_path / "whole"), random.Random(0), tmp_path / "d"

    left = []
    here.setattr("logicgen.data.generate.open_pool", stopping_pool(left))
    stops = 0
    while True:
        # What is there already is looked at again, so a later run needs more steps.
        left[:] = [None] * (3 * (stops + 1))
        try:
            make(folder, SCARCE)
            break
        except StopError:
            stops += 1
        except LogicgenError as error:  # of a shard that was certified already
            assert harm == "shard"
            (shard,) = re.findall(r"\S+\.parquet", str(error))
            Path(shard).unlink()  # as the message says
        files = [path for path in (folder / FOLDER).rglob("*") if path.is_file()]
        shards = list(folder.rglob("*.parquet"))
        if harm != "none" and files and stops < 9 and (shards or harm != "shard"):
            path = rng.choice(shards if harm == "shard" and shards else files)
            content = path.read_bytes()
            place = rng.randrange(len(content))
            changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            if harm == "lost":
                path.unlink()
            elif harm == "cut":
                path.write_bytes(content[:place])
            else:
                path.write_bytes(changed)
    assert stops > 6
    assert contents(folder) == wanted


def test_work_files_that_are_damaged_are_not_there(tmp_path):
    files = WorkFiles(tmp_path)
    files.write_json("a/b.json", {"x": [1, 2]})
    assert files.read_json("a/b.json") == {"x": [1, 2]}
    assert files.read_json("a/c.json") is None
    path = tmp_path / FOLDER / "a" / "b.json"
    content = path.read_bytes()
    for damaged in (b"", content[:5], content[:-1], b"x" + content[1:]):
        path.write_bytes(damaged)
        assert files.read_json("a/b.json") is None


def test_every_row_is_right_and_in_its_cell(made):
    data = load_dataset(made)
    for split in data.splits:
        for row in data.table(split).to_pylist():
            assert logicgen.verify("propositional", row["problem"], row["answer"]) == "correct"
            assert len(row["problem"].split()) == row["length"]
            assert len(symbols_of(row["problem"])) == row["symbols"]


def test_no_two_problems_are_equal_up_to_renaming_across_splits(made):
    data = load_dataset(made)
    problems = [p for s in data.splits for p in data.table(s)["problem"].to_pylist()]
    canonical = [data.task.decode_problem(p).alpha_canonical().prefix for p in problems]
    assert len(set(canonical)) == len(problems) == data.description["examples"]
    stored = [c for s in data.splits for c in data.table(s)["alpha_class"].to_pylist()]
    assert stored == [fingerprint(text) for text in canonical]


def test_the_number_of_workers_changes_nothing(made, tmp_path):
    make(tmp_path / "two", workers=2)
    assert contents(tmp_path / "two") == contents(made)


def test_another_seed_changes_the_problems(made, tmp_path):
    make(tmp_path / "other", seed=1)
    first, other = (
        set(load_dataset(f).table("train")["problem"].to_pylist())
        for f in (made, tmp_path / "other")
    )
    assert len(first & other) < len(first) / 2


@pytest.mark.parametrize(
    "region", [{"symbols": [9, 9], "length": [3, 5]}, {"symbols": [2, 2], "length": [2, 2]}]
)
def test_an_impossible_region_is_refused(tmp_path, region):
    with pytest.raises(LogicgenError, match="no problem has the symbols and lengths"):
        make(tmp_path / "d", {"region": {**region, "balance": "symbols-and-length"}})
    assert not (tmp_path / "d").exists()


def test_a_region_without_answers_ends_and_says_so(tmp_path):
    """Only contradictions: every cell is tried, none holds anything, and it stops."""
    make(
        tmp_path / "d",
        {
            "problem": {"operators": {"&": 1, "0": 1, "symbol": 1e-9}},
            "region": {"symbols": [1, 2], "length": [15, 17]},
            "sizes": {"train": 50},
            "grid": None,
        },
    )
    description = load_dataset(tmp_path / "d").description
    assert description["splits"]["train"]["cells_short"] >= 2
    assert "hold fewer examples" in (tmp_path / "d" / "README.md").read_text()


def test_fewer_examples_than_cells_are_pointed_out(tmp_path):
    """The cells with the most symbols get none."""
    description = make(tmp_path / "d", {"sizes": {"train": 3}, "grid": None})
    (line,) = [line for line in Dataset.summary(description, "d") if "fewer examples than" in line]
    left_out = description["splits"]["train"]["cells_left_out"]
    assert line.startswith(f"  train: fewer examples than cells, so {left_out} cells with")
    assert f"so {left_out} cells" in (tmp_path / "d" / "README.md").read_text()
    rows = [line.split(",") for line in (tmp_path / "d" / "cells.csv").read_text().splitlines()]
    asked, exist = rows[0].index("asked"), rows[0].index("exist")
    empty = [row for row in rows if row[0] == "train" and row[asked] == "0" < row[exist]]
    assert len(empty) == left_out > 0


def test_a_recipe_that_asks_for_nothing_is_refused(tmp_path):
    with pytest.raises(LogicgenError, match="asks for no examples"):
        make(tmp_path / "d", {"sizes": {}, "grid": None})
    assert not (tmp_path / "d").exists()


def test_strings_may_be_long(tmp_path):
    changes = {
        **COPYING,
        "region": {"symbols": [0, 30], "length": [1500, 1500]},
        "sizes": {"train": 20},
        "grid": None,
    }
    assert make(tmp_path / "d", changes)["examples"] == 20


WITH_LIMITS = {
    "task": "propositional",
    "region": {"symbols": [1, 5], "length": [12, 16]},
    "sizes": {"train": 40, "test": 10},
}


def limited(folder, **keys):
    recipe = DataRecipe.model_validate({**WITH_LIMITS, **keys})
    generate(recipe, folder, name="tiny")
    return (folder / "dataset.json").read_bytes()


def test_an_effort_is_the_same_everywhere(tmp_path):
    description = json.loads(limited(tmp_path / "one", effort=6))
    assert description["recipe"]["effort"] == 6
    counts = {name: split["given_up"] for name, split in description["splits"].items()}
    assert set(counts) == {"train", "test"}
    shard = tmp_path / "one" / "train" / "00000.parquet"
    assert given_up(shard) == counts["train"] > 0
    assert "a solver gave up" in (tmp_path / "one" / "README.md").read_text()
    again = limited(tmp_path / "two", effort=6)
    assert again == (tmp_path / "one" / "dataset.json").read_bytes()
    # Interrupted, with one split made already: the counts are in its shards.
    (tmp_path / "two" / "train" / "00000.parquet").unlink()
    unfinished = {**json.loads(again), "complete": False}
    for key in ("examples", "distinct", "splits"):
        del unfinished[key]
    (tmp_path / "two" / "dataset.json").write_text(json.dumps(unfinished))
    assert limited(tmp_path / "two", effort=6) == again
    assert load_dataset(tmp_path / "two").splits == {"train": 40, "test": 10}


def test_where_nothing_is_given_up_nothing_is_said(tmp_path):
    description = json.loads(limited(tmp_path / "data"))
    assert "effort" not in description["recipe"]
    assert "timeout" not in description["recipe"]
    assert all("given_up" not in split for split in description["splits"].values())
    assert given_up(tmp_path / "data" / "train" / "00000.parquet") == 0
    assert "gave up" not in (tmp_path / "data" / "README.md").read_text()


def test_a_solver_without_witnesses_is_refused(tmp_path):
    pytest.importorskip("stormpy")
    with pytest.raises(LogicgenError, match="storm gives no witness"):
        limited(tmp_path / "data", task="ltl", solver="storm")


@pytest.mark.parametrize("key", [{"effort": 0}, {"effort": -1}, {"timeout": 0}, {"timeout": 1e9}])
def test_limits_are_positive(tmp_path, key):
    with pytest.raises(ValueError, match=next(iter(key))):
        limited(tmp_path / "data", **key)


def test_a_solver_that_always_gives_up_ends(tmp_path):
    folder = tmp_path / "data"
    limited(folder, effort=1, region={"symbols": [5, 5], "length": [30, 31]}, sizes={"train": 3})
    assert load_dataset(folder).splits.get("train", 0) == 0
