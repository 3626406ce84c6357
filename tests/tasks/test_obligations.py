"""Formulas with obligations: their size, their shortest words, and what guesses make of them."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.solvers.embedded import EmbeddedSolver
from logicgen.solvers.word import Word
from logicgen.tasks import Cell, load_task
from logicgen.tasks.obligations import Obligations, ObligationSource, placed
from logicgen.tasks.planned_word import PlannedWord
from tests.verdicts import verdict


def draws(cells, seed=0):
    source, rng = ObligationSource((1, 10)), Random(seed)
    return [draw for cell in cells if (draw := source.sample(rng, cell)) is not None]


def positions(formula):
    witness = EmbeddedSolver().solve(formula).witness
    return len(witness.stem) + len(witness.period)


@pytest.fixture(scope="module")
def formulas():
    rng = Random(5)
    cells = [Cell(rng.randint(2, 5), rng.randint(20, 35)) for _ in range(60)]
    found = draws(cells)
    assert len(found) > 50
    return [draw.problem for draw in found]


def word_of(plan):
    """Return the plan as a word, to evaluate formulas independently."""
    names = "abcdefghij"
    letters = tuple(
        frozenset(names[i] for i, true in enumerate(plan.values) if true >> p & 1)
        for p in range(plan.positions)
    )
    return Word(letters, plan.after[-1])


def test_a_planned_formula_has_the_demanded_truth_values():
    found = 0
    for seed in range(600):
        rng = Random(seed)
        plan = PlannedWord(rng, rng.randint(2, 4), rng.randint(2, 4))
        yes, no = rng.getrandbits(plan.positions), rng.getrandbits(plan.positions)
        formula = plan.formula(tokens := rng.randint(1, 12), yes & ~no, no, 0)
        if formula is None:
            continue
        found += 1
        truth = word_of(plan).truth(formula)[formula]
        assert formula.length == tokens
        assert all(truth[p] for p in range(plan.positions) if (yes & ~no) >> p & 1)
        assert not any(truth[p] for p in range(plan.positions) if no >> p & 1)
    assert found > 200


def test_the_plan_satisfies_the_formula_and_is_a_shortest_word():
    found = Counter()
    for seed in range(250):
        rng = Random(seed)
        wanted = rng.randint(2, 4)
        obligations = Obligations(rng, 3, wanted)
        formula = obligations.formula(rng.randint(25, 40))
        if formula is None:
            continue
        found[wanted] += 1
        assert word_of(obligations.plan).truth(formula)[formula][0]
        assert positions(formula) == wanted
    assert min(found.values()) > 5
    assert len(found) == 3


@pytest.mark.parametrize(
    ("symbols", "length"), [(1, 8), (1, 20), (2, 11), (3, 60), (4, 17), (6, 30), (10, 45)]
)
def test_a_draw_has_the_exact_size_and_canonical_names(symbols, length):
    cell = Cell(symbols, length)
    found = draws([cell] * 4)
    assert found
    for draw in found:
        assert draw.problem.length == length
        assert draw.symbols == symbols == len(draw.problem.symbols)
        assert draw.problem.alpha_canonical() is draw.problem
        assert {f.token for f in draw.problem.preorder() if f.operands} <= set("!&XU")
        assert positions(draw.problem) >= 2


def test_the_shortest_words_have_several_lengths(formulas):
    counts = Counter(map(positions, formulas))
    assert min(counts) == 2
    assert all(counts[n] >= 0.1 * len(formulas) for n in (2, 3, 4))


def test_one_placement_solves_few_formulas(formulas):
    assert sum(map(placed, formulas)) < 0.35 * len(formulas)


def test_a_cell_without_a_number_of_symbols_draws_from_the_region():
    source, rng = ObligationSource((2, 4)), Random(0)
    found = {source.sample(rng, Cell(None, 25)).symbols for _ in range(20)}
    assert found == {2, 3, 4}


def test_equal_seeds_draw_equal_formulas(formulas):
    again = Random(5)
    cells = [Cell(again.randint(2, 5), again.randint(20, 35)) for _ in range(5)]
    assert [draw.problem for draw in draws(cells)] == formulas[:5]


def test_a_cell_that_is_too_short_is_empty():
    source = ObligationSource((1, 10))
    for cell in (Cell(1, 7), Cell(10, 34), Cell(0, 30)):
        assert not source.count(cell)
        assert source.obstacle(cell)
        with pytest.raises(LogicgenError, match="no formula with obligations"):
            source.sample(Random(0), cell)
    assert source.count(Cell(None, 15)) == {1: math.inf, 2: math.inf, 3: math.inf}
    assert source.obstacle(Cell(10, 35)) is None
    assert not list(source.all(Cell(1, 10)))


def test_the_recipe_generates_verified_traces(tmp_path):
    recipe = DataRecipe.read("ltl-temporal-mini").resized(30)
    generate(recipe, tmp_path / "made", name="mini")
    data = load_dataset(tmp_path / "made")
    rows = [row for split in data.splits for row in data.table(split).to_pylist()]
    assert len(rows) >= 25
    task = load_task("ltl")
    for row in rows:
        assert verdict(task, row["problem"], row["answer"], row["answer"]) == "exact"
        assert row["length"] == len(row["problem"].split())
        assert ";" in row["answer"]
