"""Cells of a data set by difficulty."""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import product

import pytest

from logicgen.data.opening import load_dataset
from logicgen.data.plan import stages
from logicgen.data.recipe import DataRecipe
from logicgen.data.unique import Partition
from logicgen.errors import LogicgenError
from logicgen.report.dataset_page import dataset_document
from logicgen.tasks.problems import MOST_ATTEMPTS
from tests.data.data_sets import RECIPE, InThisProcess, StopError, contents, make, stopping_pool
from tests.tasks.test_problems import LTL

TRACES = {
    **LTL,
    "problem": {"operators": {"!": 1, "&": 3, "X": 3, "U": 1}},
    "region": {"symbols": [1, 2], "length": [8, 9], "balance": "positions", "positions": [1, 2]},
    "sizes": {"train": 60, "validation": 8, "test": 8},
    "grid": {
        "symbols": [1, 4],
        "length": [5, 9],
        "axes": ["positions", "length"],
        "positions": [1, 4],
        "per_cell": 6,
    },
}

SHARES = {
    "region": {"symbols": [2, 3], "length": [5, 7]},
    "sizes": {"train": 100},
    "grid": {
        "symbols": [1, 4],
        "length": [1, 9],
        "axes": ["symbols", "satisfying"],
        "satisfying": [0, 0.1, 0.25, 0.5, 1],
        "per_cell": 8,
    },
}


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """A data set of LTL with cells of positions."""
    folder = tmp_path_factory.mktemp("axes") / "d"
    make(folder, TRACES)
    return load_dataset(folder)


def cells(data):
    """The rows of `cells.csv`."""
    return list(csv.DictReader((data.folder / "cells.csv").open()))


@pytest.mark.slow
def test_cells_have_the_numbers_that_the_recipe_asks_for(traces):
    for split in traces.splits:
        rows = traces.table(split).to_pylist()
        held = Counter((str(row["positions"]), str(row["length"])) for row in rows)
        planned = {
            (row["positions"], row["length"]): int(row["held"])
            for row in cells(traces)
            if row["split"] == split
        }
        assert held == Counter(planned)
        assert all(row["symbols"] == "" for row in cells(traces))
    grid = {(r["positions"], r["length"]): r for r in cells(traces) if r["split"] == "grid"}
    assert set(grid) == {(str(n), str(k)) for n, k in product(range(1, 5), range(5, 10))}
    assert {grid["1", "9"]["held"], grid["2", "9"]["held"], grid["3", "9"]["held"]} == {"6"}
    assert {row["symbols"] for row in traces.table("grid").to_pylist()} == {1, 2, 3, 4}
    train = traces.table("train").to_pylist()
    assert set(Counter((row["positions"], row["length"]) for row in train).values()) == {15}
    assert {row["symbols"] for row in train} <= {1, 2}


def test_cells_without_problems_are_empty_and_counted(traces):
    empty = [row for row in cells(traces) if row["split"] == "grid" and row["held"] == "0"]
    assert ("4", "5") in {(row["positions"], row["length"]) for row in empty}
    assert {row["asked"] for row in empty} == {"6"}
    assert traces.description["splits"]["grid"]["cells_empty"] == len(empty)


def test_no_problem_occurs_twice(traces):
    classes = [c for s in traces.splits for c in traces.table(s)["alpha_class"].to_pylist()]
    assert len(set(classes)) == len(classes) > 120


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_workers(traces, tmp_path):
    make(tmp_path / "two", TRACES, workers=2)
    assert contents(tmp_path / "two") == contents(traces.folder)


@pytest.mark.slow
def test_stopped_after_some_steps_the_bytes_stay_the_same(monkeypatch, traces, tmp_path):
    left = []
    monkeypatch.setattr("logicgen.data.generate.open_pool", stopping_pool(left))
    for steps in (3, 7, 11, 400):
        left[:] = [None] * steps
        try:
            make(tmp_path / "d", TRACES)
        except StopError:
            assert steps < 400
    assert contents(tmp_path / "d") == contents(traces.folder)


def test_edges_divide_a_share(tmp_path):
    make(tmp_path / "d", SHARES)
    data = load_dataset(tmp_path / "d")
    edges = SHARES["grid"]["satisfying"]
    found = Counter()
    for row in data.table("grid").to_pylist():
        below = [edge for edge in edges[:-1] if edge <= row["satisfying"]]
        found[row["symbols"], below[-1]] += 1
    planned = {
        (int(row["symbols"]), float(row["satisfying"].split("-")[0])): int(row["held"])
        for row in cells(data)
        if row["split"] == "grid"
    }
    assert found == Counter(planned)
    assert {row["satisfying"] for row in cells(data) if row["split"] == "train"} == {""}
    # A share of one symbol is a half or all, and a half is in the last cell.
    assert [planned[1, edge] for edge in edges[:-1]] == [0, 0, 0, 8]
    assert [planned[4, edge] for edge in edges[:-1]] == [8, 8, 8, 8]
    assert {row["length"] for row in cells(data) if row["split"] == "grid"} == {"1-9"}


def test_cells_of_two_columns(tmp_path):
    grid = {**TRACES["grid"], "axes": ["depth", "positions"], "depth": [0, 2], "positions": [1, 2]}
    make(tmp_path / "d", {**TRACES, "sizes": {}, "grid": grid})
    rows = load_dataset(tmp_path / "d").table("grid").to_pylist()
    pairs = Counter((row["depth"], row["positions"]) for row in rows)
    assert pairs == {(0, 1): 6, (1, 1): 6, (1, 2): 6, (2, 1): 6, (2, 2): 6}


@pytest.mark.slow
def test_a_cell_without_problems_costs_one_search_for_each_shard(monkeypatch, tmp_path):
    monkeypatch.setattr("logicgen.data.generate.open_pool", InThisProcess)
    drawn, draw = Counter(), "logicgen.tasks.formula_task.FormulaSource.sample"
    from logicgen.tasks.formula_task import FormulaSource

    sample = FormulaSource.sample

    def counted(source, rng, cell):
        drawn[cell.bands] += 1
        return sample(source, rng, cell)

    monkeypatch.setattr(draw, counted)
    grid = {**TRACES["grid"], "length": [9, 9], "positions": [1, 9], "per_cell": 50}
    make(tmp_path / "d", {**TRACES, "sizes": {}, "grid": grid})
    for number in (7, 8, 9):
        (bands,) = [each for each in drawn if each and each[0].low == number]
        assert MOST_ATTEMPTS <= drawn[bands] <= MOST_ATTEMPTS + 1000  # a first check draws too


def test_cells_that_can_share_problems_are_in_one_part(monkeypatch):
    monkeypatch.setattr("logicgen.data.unique.EXAMPLES", 1)
    for content in ({**RECIPE, **TRACES}, {**RECIPE, **SHARES}):
        recipe = DataRecipe.model_validate(content)
        plans = [plan for _, some in stages(recipe, recipe.source("r")) for plan in some]
        partition = Partition.of(plans, recipe.load_task())
        source, part_of = recipe.source("r"), {}
        for cell in partition.cells:
            for size in source.sizes(cell):
                part = partition.part(cell)
                assert part_of.setdefault(size.length, part) == part


def test_grid_cells_in_the_region_come_first():
    recipe = DataRecipe.model_validate(
        {**RECIPE, **TRACES, "grid": {**TRACES["grid"], "symbols": [1, 2], "length": [7, 9]}}
    )
    (first, inside), *_, (last, beyond) = stages(recipe, recipe.source("r"))
    assert (first, last) == ("grid", "grid")
    assert {(p.cell.length, p.cell.bands[0].low) for p in inside} == {
        (length, positions) for length in (8, 9) for positions in (1, 2)
    }
    assert all(plan.held_out for plan in inside)
    assert not any(plan.held_out for plan in beyond)


def test_keys_that_are_not_given_are_not_stored(made, traces):
    grid = load_dataset(made).description["recipe"]["grid"]
    assert list(grid) == ["symbols", "length", "step", "per_cell"]
    assert traces.description["recipe"]["grid"]["axes"] == ["positions", "length"]
    assert traces.description["recipe"]["region"]["positions"] == [1, 2]
    assert traces.recipe.model_dump(mode="json") == traces.description["recipe"]


def test_the_page_has_a_table_of_the_axes(traces):
    _, *tables = dataset_document(traces, most=4).summary
    grid = next(table for table in tables if table.title.startswith("grid"))
    assert grid.title == "grid: examples by length and positions"
    assert grid.heads == ["length", *(f"positions {number}" for number in range(1, 5))]
    assert [row[0] for row in grid.rows] == ["5", "6", "7", "8", "9"]
    assert grid.rows[-1][1:3] == ["6 of 6", "6 of 6"]
    assert grid.rows[0][4] == "0 of 6"


WRONG = [
    ("ltl", {"axes": ["satisfying", "length"], "satisfying": [0, 1]}, "grid: 'satisfying' is no c"),
    ("copying", {"axes": ["depth", "length"], "depth": [0, 1]}, "grid: 'depth' is no column .* no"),
    ("ltl", {"axes": ["height", "length"]}, r"grid.axes.*: input should be 'symbols', .*'height'"),
    ("ltl", {"axes": ["positions", "depth", "length"]}, "grid.axes: .*: give two different axes"),
    ("ltl", {"axes": ["depth", "depth"], "depth": [1, 2]}, "grid.axes: .*: give two different a"),
    ("ltl", {"axes": ["positions", "length"]}, "grid: key 'positions' is missing: give its range"),
    ("ltl", {"positions": [1, 2]}, "grid: positions: problems are not grouped by positions, only"),
    ("ltl", {"axes": ["depth", "length"], "depth": [3, 2]}, r"grid.depth: the range \[3, 2\] is e"),
    ("ltl", {"axes": ["positions", "length"], "positions": [0, 0]}, "grid: positions: no problem"),
    (
        "propositional",
        {"axes": ["satisfying", "length"], "satisfying": [0, 0.5, 0.5, 1]},
        r"grid.satisfying: the edges \[.*\] do not increase: give two or more",
    ),
    (
        "propositional",
        {"axes": ["satisfying", "length"], "satisfying": [0, 1.5]},
        "grid.satisfying.1: input should be less than or equal to 1, not 1.5",
    ),
    (
        "ltl",
        {"axes": ["positions", "depth"], "positions": [1, 400], "depth": [0, 400]},
        "grid: 160,400 cells of positions and depth; 100,000 are allowed: narrow a range",
    ),
]


@pytest.mark.parametrize(("task", "grid", "message"), WRONG)
def test_grids_that_are_wrong(task, grid, message, tmp_path):
    lines = [f"{key} = {json.dumps(value)}" for key, value in grid.items()]
    text = f'task = "{task}"\n[region]\nsymbols = [2, 3]\nlength = [5, 9]\n[grid]\n'
    text += "symbols = [2, 3]\nlength = [5, 9]\nper_cell = 2\n" + "\n".join(lines)
    (tmp_path / "recipe.toml").write_text(text)
    with pytest.raises(LogicgenError, match=rf"recipe.toml: {message}") as error:
        DataRecipe.read(str(tmp_path / "recipe.toml"))
    assert "\n" not in str(error.value)


def test_a_balance_without_its_range(tmp_path):
    text = 'task = "ltl"\n[region]\nsymbols = [2, 3]\nlength = [5, 9]\nbalance = "positions"\n'
    (tmp_path / "recipe.toml").write_text(text)
    with pytest.raises(LogicgenError, match="region: key 'positions' is missing: give its range"):
        DataRecipe.read(str(tmp_path / "recipe.toml"))


def test_a_grid_without_any_problem_ends_soon(monkeypatch, tmp_path):
    monkeypatch.setattr("logicgen.data.pilot.DRAWS", 300)
    grid = {**TRACES["grid"], "positions": [9, 20]}
    with pytest.raises(LogicgenError, match=r"^some: grid.positions: no problem of 300 draws from"):
        make(tmp_path / "d", {**TRACES, "grid": grid})
    assert not (tmp_path / "d").exists()
