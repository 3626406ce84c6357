"""SR(n): what the paper says of it, against truth tables."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.syntax.clauses import clauses_of
from logicgen.tasks import Cell, load_task
from logicgen.tasks.cnf import clause_length, random_clauses
from logicgen.tasks.task import symbols_of
from logicgen.tokens import symbol_index
from tests.data.data_sets import contents
from tests.syntax.test_clauses import brute_force
from tests.verdicts import verdict

RECIPE = {
    "task": "propositional",
    "problem": {"source": "cnf"},
    "region": {
        "symbols": [2, 4],
        "length": [1, 400],
        "step": 400,
        "balance": "symbols-and-length",
    },
    "sizes": {"train": 90, "validation": 9, "test": 9},
    "grid": {"symbols": [2, 6], "length": [1, 450], "step": 50, "per_cell": 2},
}


def make(folder, changes=None, **arguments):
    recipe = DataRecipe.model_validate({**RECIPE, **(changes or {})})
    return generate(recipe, folder, name="some", **arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "some"
    make(folder)
    return folder


@pytest.mark.parametrize("variables", [1, 2, 3, 5, 8])
def test_satisfiable_and_one_flip_from_unsatisfiable(variables):
    rng = Random(variables)
    for _ in range(30):
        clauses = random_clauses(rng, variables)
        *others, last = clauses
        before = [*others, [-last[0], *last[1:]]]
        assert any(brute_force(clauses, variables))
        assert any(brute_force(others, variables))
        assert not any(brute_force(before, variables))
        assert all(len({abs(literal) for literal in c}) == len(c) for c in clauses)
        assert all(1 <= abs(literal) <= variables for c in clauses for literal in c)


def test_clause_lengths_follow_the_distribution():
    rng, draws = Random(0), 40_000
    counts = Counter(clause_length(rng) for _ in range(draws))
    assert min(counts) == 2
    for length in range(2, 10):
        # 1 + 0 + g or 1 + 1 + g, where g has probability 0.4 * 0.6 ** (g - 1) from 1 on.
        expected = 0.3 * 0.4 * 0.6 ** (length - 2)
        expected += 0.7 * 0.4 * 0.6 ** (length - 3) if length > 2 else 0
        spread = math.sqrt(expected * (1 - expected) / draws)
        assert abs(counts[length] / draws - expected) < 4.5 * spread


def test_signs_variables_and_the_flipped_literal_are_uniform():
    rng = Random(1)
    problems = [random_clauses(rng, 6) for _ in range(400)]
    literals = Counter(literal for clauses in problems for clause in clauses for literal in clause)
    total = sum(literals.values())
    assert set(literals) == {*range(1, 7), *range(-6, 0)}
    assert all(abs(count / total - 1 / 12) < 0.006 for count in literals.values())
    flipped = Counter(abs(clauses[-1][0]) for clauses in problems)
    assert all(abs(flipped[v] / 400 - 1 / 6) < 0.09 for v in range(1, 7))


def test_no_clause_has_more_literals_than_there_are_variables():
    clauses = [c for _ in range(50) for c in random_clauses(Random(2), 2)]
    assert {len(clause) for clause in clauses} == {2}


def test_what_is_too_long_is_given_up():
    whole = random_clauses(Random(3), 5)
    tokens = sum(2 * len(c) + sum(n < 0 for n in c) for c in whole) - 1
    assert random_clauses(Random(3), 5, tokens) == whole
    assert random_clauses(Random(3), 5, tokens - 1) is None


def test_draws_fit_their_cell_and_are_canonical():
    task = load_task("propositional")
    source = task.source(task.Settings(source="cnf"), (3, 5))
    rng = Random(0)
    for cell in (Cell(3, 100, 100), Cell(5, 250, 150), Cell(None, 150, 100)):
        assert set(source.count(cell).values()) == {math.inf}
        draws = [draw for _ in range(300) if (draw := source.sample(rng, cell)) is not None]
        assert len(draws) > 20
        for draw in draws:
            assert draw.problem.length in cell.lengths
            assert draw.symbols == len(draw.problem.symbols)
            assert draw.symbols in ([cell.symbols] if cell.symbols else range(3, 6))
            assert draw.problem.alpha_canonical() is draw.problem


def test_cells_out_of_reach_hold_nothing():
    task = load_task("propositional")
    source = task.source(task.Settings(source="cnf"), (0, 10))
    for cell in (Cell(1, 1, 1000), Cell(0, 1, 1000), Cell(10, 1, 100), Cell(3, 900, 100)):
        assert not source.count(cell)
        assert not list(source.all(cell))
    with pytest.raises(LogicgenError, match="no set of clauses"):
        source.sample(Random(0), Cell(1, 1, 100))


@pytest.mark.slow
def test_every_row_is_one_flip_from_unsatisfiable_and_in_its_cell(made):
    data = load_dataset(made)
    numbers = lambda name: symbol_index(name) + 1  # noqa: E731
    for split in data.splits:
        table = data.recipe.grid if split == "grid" else data.recipe.region
        for row in data.table(split).to_pylist():
            assert len(row["problem"].split()) == row["length"]
            assert len(symbols_of(row["problem"])) == row["symbols"]
            assert table.length[0] <= row["length"] <= table.length[1]
            assert verdict(data.task, row["problem"], row["answer"], row["answer"]) == "exact"
            formula = data.task.decode_problem(row["problem"])
            *others, last = clauses_of(formula, numbers)
            before = [*others, [-last[0], *last[1:]]]
            assert not any(brute_force(before, 6))


def test_cells_are_flat_and_say_what_they_lack(made):
    lines = [line.split(",") for line in (made / "cells.csv").read_text().splitlines()[1:]]
    train = [line for line in lines if line[0] == "train"]
    assert [line[1:5] for line in train] == [[str(k), "1-400", "30", "30"] for k in (2, 3, 4)]
    grid = [line for line in lines if line[0] == "grid"]
    assert len(grid) == 5 * 9
    assert {(line[4], line[5]) for line in grid} == {("2", "inf"), ("0", "0")}
    found = Counter(
        (row["symbols"], (row["length"] - 1) // 50)
        for row in load_dataset(made).table("grid").to_pylist()
    )
    assert set(found.values()) == {2}
    assert {symbols for symbols, _ in found} == {2, 3, 4, 5, 6}


@pytest.mark.slow
def test_workers_and_a_lost_shard_change_nothing(made, tmp_path):
    make(tmp_path / "d", workers=2)
    assert contents(tmp_path / "d") == contents(made)
    next((tmp_path / "d" / "grid").glob("*.parquet")).unlink()
    make(tmp_path / "d")
    assert contents(tmp_path / "d") == contents(made)


def test_flat_over_length(tmp_path):
    region = {"symbols": [2, 3], "length": [1, 200], "step": 50}
    make(tmp_path / "d", {"region": region, "sizes": {"train": 40}, "grid": None})
    lengths = load_dataset(tmp_path / "d").table("train")["length"].to_pylist()
    assert sorted(Counter((n - 1) // 50 for n in lengths).values()) == [10, 10, 10, 10]


def test_settings_that_do_not_fit(tmp_path):
    settings = load_task("propositional").Settings
    with pytest.raises(ValueError, match="operators cannot be given with source cnf"):
        settings(source="cnf", operators={"&": 1})
    with pytest.raises(ValueError, match="the length of cnf cannot be chosen"):
        settings(source="mixed", sources={"random": 1, "cnf": 1})
    with pytest.raises(ValueError, match="extra"):
        load_task("ltl").Settings(nonsense="cnf")
    for table in ("region", "grid"):
        changes = {"problem": {}, table: {**RECIPE[table], "step": 2}}
        other = "grid" if table == "region" else "region"
        changes[other] = {**RECIPE[other], "step": 1}
        with pytest.raises(LogicgenError, match=rf"{table}.step: .* leave step out"):
            make(tmp_path / "d", changes)
    assert not (tmp_path / "d").exists()
