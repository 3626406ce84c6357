"""Formulas with few models: their size, and the number of their models."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import pytest

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.solvers.word import Word
from logicgen.syntax.sampling import LONGEST
from logicgen.tasks import Cell, load_task
from logicgen.tasks.rare_formulas import RareSource
from tests.verdicts import verdict


def models(formula):
    """Count the models of a formula, one assignment after the other."""
    names = formula.symbols
    words = (
        Word((frozenset(n for n, value in zip(names, values, strict=True) if value),), 0)
        for values in product((False, True), repeat=len(names))
    )
    return sum(word.truth(formula)[formula][0] for word in words)


@pytest.mark.parametrize(
    ("symbols", "length"), [(1, 7), (2, 10), (3, 15), (5, 21), (7, 27), (8, 35), (9, 60)]
)
def test_a_draw_has_the_exact_size_and_few_models(symbols, length):
    source, rng = RareSource((1, 10)), Random(symbols)
    for _ in range(3):
        draw = source.sample(rng, Cell(symbols, length))
        assert draw.problem.length == length
        assert draw.symbols == symbols == len(draw.problem.symbols)
        assert draw.problem.alpha_canonical() is draw.problem
        assert 1 <= models(draw.problem) <= max(1, 2**symbols / 128)


def test_a_model_is_not_mostly_true_or_false():
    task, source, rng = load_task("propositional"), RareSource((7, 7)), Random(0)
    values = [
        value
        for _ in range(150)
        for _, value in task.solve(source.sample(rng, Cell(7, 32)).problem).witness.literals
    ]
    assert 0.4 < sum(values) / len(values) < 0.6


def test_equal_seeds_draw_equal_formulas():
    source, cells = RareSource((7, 9)), [Cell(None, n) for n in range(32, 40)]
    first, second = ([source.sample(rng, cell) for cell in cells] for rng in (Random(1), Random(1)))
    assert first == second
    assert {draw.symbols for draw in first} <= {7, 8, 9}


def test_a_cell_that_is_too_short_or_has_too_many_symbols_is_empty():
    source = RareSource((1, 30))
    for cell in (Cell(7, 24), Cell(21, 200), Cell(0, 30)):
        assert not source.count(cell)
        assert source.obstacle(cell)
        with pytest.raises(LogicgenError, match="no formula with few models"):
            source.sample(Random(0), cell)
    assert source.count(Cell(None, 10)) == {1: math.inf, 2: math.inf}
    assert source.obstacle(Cell(7, 25)) is None
    assert source.obstacle(Cell(7, LONGEST)) is None
    assert "at most" in source.obstacle(Cell(7, LONGEST + 1))
    assert not source.count(Cell(7, LONGEST + 1))
    assert not list(source.all(Cell(1, 10)))


def test_the_recipe_generates_verified_assignments(tmp_path):
    recipe = DataRecipe.read("propositional-rare-mini").resized(200)
    generate(recipe, tmp_path / "made", name="mini")
    data = load_dataset(tmp_path / "made")
    rows = [row for split in data.splits for row in data.table(split).to_pylist()]
    assert len(rows) >= 180
    task = load_task("propositional")
    for row in rows:
        assert verdict(task, row["problem"], row["answer"], row["answer"]) == "exact"
