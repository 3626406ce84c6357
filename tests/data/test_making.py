"""The steps of making a data set, against their definition, and stopped after each of them."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from logicgen.data import generate, unique
from logicgen.data import plan as planning
from logicgen.data.opening import load_dataset
from logicgen.data.plan import first_round, next_round, shard_size
from logicgen.data.recipe import DataRecipe
from logicgen.data.work_files import FOLDER, WorkFiles
from logicgen.errors import LogicgenError
from logicgen.tasks.problems import REMAINDERS, Drawer
from tests.data.data_sets import RECIPE, StopError, contents, make
from tests.data.in_this_process import InThisProcess

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
    monkeypatch.setattr(generate, "open_pool", InThisProcess)
    monkeypatch.setattr(planning, "LISTED", 1)
    monkeypatch.setattr(generate, "shard_size", lambda size: 40)
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
        assert rows == [example[:5] for example in examples]


def test_it_does_not_depend_on_parts_buckets_and_records(here, tmp_path):
    make(tmp_path / "one", SCARCE)
    here.setattr(unique, "EXAMPLES", 50)
    here.setattr(unique, "RECORDS", 7)
    here.setattr(planning, "BUCKET", 2)
    make(tmp_path / "other", SCARCE)
    assert contents(tmp_path / "other") == contents(tmp_path / "one")
    assert not (tmp_path / "one" / FOLDER).exists()


@pytest.mark.parametrize("harm", ["none", "lost", "cut", "changed", "shard"])
def test_stopped_after_each_step_it_goes_on_to_the_same_bytes(here, tmp_path, harm):
    """Also where a power cut has left work files in pieces, or somebody has deleted some."""
    here.setattr(unique, "EXAMPLES", 200)
    here.setattr(planning, "BUCKET", 2)
    make(tmp_path / "whole", SCARCE)
    wanted, rng, folder = contents(tmp_path / "whole"), random.Random(0), tmp_path / "d"

    class Stopping(InThisProcess):
        def map(self, items):
            for result in super().map(items):
                if not left:
                    raise StopError
                left.pop()
                yield result

    here.setattr(generate, "open_pool", Stopping)
    stops = 0
    while True:
        # What is there already is looked at again, so a later run needs more steps.
        left = [None] * (3 * (stops + 1))
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


def test_shards_are_made_from_many_units(here, tmp_path):
    make(tmp_path / "d", SCARCE)
    assert len(list((tmp_path / "d" / "train").glob("*.parquet"))) >= 12
    here.undo()
    assert shard_size(10**8) == 10_000


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
