"""Cells: flat as far as problems exist, and shared by all splits."""

from __future__ import annotations

import csv
from collections import Counter

import logicgen
from logicgen.data.opening import load_dataset
from logicgen.data.plan import fill
from tests.data.data_sets import COPYING, RECIPE, make


def test_cells_are_flat_as_far_as_they_hold(made):
    rows = list(csv.DictReader((made / "cells.csv").open()))
    data = load_dataset(made)
    for split in data.splits:
        table = data.table(split)
        found = Counter(zip(table["symbols"].to_pylist(), table["length"].to_pylist(), strict=True))
        for row in (row for row in rows if row["split"] == split):
            held, exist = int(row["held"]), int(row["exist"])
            assert found[int(row["symbols"]), int(row["length"])] == held <= exist
    full = [
        int(row["held"]) for row in rows if row["split"] == "train" and int(row["exist"]) > 5000
    ]
    assert max(full) - min(full) <= 1
    grid = [row for row in rows if row["split"] == "grid" and int(row["exist"]) > 1000]
    assert {row["held"] for row in grid} == {"4"}
    description = data.description["splits"]["grid"]
    short = [r for r in rows if r["split"] == "grid" and int(r["held"]) < int(r["asked"])]
    assert description["cells_short"] == len(short)


def test_small_cells_hold_all_that_exist(tmp_path):
    """Without other splits a grid cell takes every satisfiable formula there is, and no more."""
    grid = {"symbols": [0, 3], "length": [1, 5], "per_cell": 10_000}
    make(tmp_path / "d", {"sizes": {}, "grid": grid})
    task = logicgen.load_dataset(tmp_path / "d").task
    source = task.source(task.Settings(operators=RECIPE["problem"]["operators"]), (1, 3))
    from logicgen.tasks import Cell

    for row in csv.DictReader((tmp_path / "d" / "cells.csv").open()):
        cell = Cell(int(row["symbols"]), int(row["length"]))
        answers = [task.solve(draw.problem) for draw in source.all(cell)]
        assert int(row["held"]) == sum(answer.status == "sat" for answer in answers)


def test_exact_distinctness_counts_names(tmp_path):
    changes = {
        **COPYING,
        "region": {"symbols": [1, 3], "length": [1, 3], "balance": "symbols-and-length"},
        "sizes": {"train": 500},
        "grid": {"symbols": [5, 5], "length": [1, 2], "per_cell": 500},
    }
    make(tmp_path / "d", changes)
    data = load_dataset(tmp_path / "d")
    problems = [p for s in data.splits for p in data.table(s)["problem"].to_pylist()]
    assert len(set(problems)) == len(problems)
    # All strings of up to three letters over three symbols, and all of up to two over five.
    assert len(problems) == (3 + 9 + 27) + (5 + 25) - (3 + 9)
    assert set(data.table("grid")["symbols"].to_pylist()) == {5}


def test_filling():
    assert fill(10, [5, 5, 5]) == [4, 3, 3]
    assert fill(10, [1, 5, 5]) == [1, 5, 4]
    assert fill(10, [1, 2, 3]) == [1, 2, 3]
    assert fill(0, [1]) == [0]
    assert fill(3, []) == []


def test_scarce_problems_are_shared_by_all_splits(tmp_path):
    changes = {
        **COPYING,
        "region": {"symbols": [1, 4], "length": [1, 5], "balance": "symbols-and-length"},
        "sizes": {"train": 800, "validation": 40, "test": 40},
        "grid": {"symbols": [1, 4], "length": [1, 5], "per_cell": 10},
    }
    make(tmp_path / "d", changes)
    sizes = load_dataset(tmp_path / "d").splits
    assert min(sizes.values()) >= 20
    assert sizes["train"] > sum(sizes.values()) / 2
