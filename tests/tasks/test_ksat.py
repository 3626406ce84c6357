"""Random k-SAT: sizes and signs of the clauses, and cells."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.solvers import Status
from logicgen.syntax.clauses import clauses_of
from logicgen.tasks import Cell, load_task
from logicgen.tasks.ksat import KSATSource
from logicgen.tokens import symbol_index
from tests.verdicts import verdict

TASK = load_task("propositional")


def source(symbols=(3, 10), **keys):
    return TASK.source(TASK.Settings(source="ksat", **keys), symbols)


def clauses(problem):
    return clauses_of(problem, lambda name: symbol_index(name) + 1)


@pytest.mark.parametrize(("literals", "ratio"), [(3, 4.26), (2, 2.0), (4, 2.5)])
def test_clauses_have_equal_length_and_different_symbols(literals, ratio):
    made, rng = source(literals=literals, ratio=ratio), Random(0)
    drawn = [d for _ in range(60) if (d := made.sample(rng, Cell(7, 1, 1000))) is not None]
    assert len(drawn) > 30
    for draw in drawn:
        found = clauses(draw.problem)
        assert len(found) == round(ratio * 7)
        assert all(len({abs(n) for n in clause}) == len(clause) == literals for clause in found)
        assert draw.symbols == len(draw.problem.symbols) == 7
        assert draw.problem.alpha_canonical() is draw.problem


def test_signs_are_uniform_and_many_problems_are_satisfiable():
    made, rng = source(), Random(1)
    problems = [made.sample(rng, Cell(8, 1, 1000)).problem for _ in range(150)]
    signs = Counter(n > 0 for problem in problems for clause in clauses(problem) for n in clause)
    assert abs(signs[True] / signs.total() - 0.5) < 0.02
    satisfiable = sum(TASK.solve(problem).status is Status.SAT for problem in problems)
    assert 0.5 < satisfiable / len(problems) < 0.95


def test_cells_out_of_reach_are_empty():
    made = source((0, 10))
    for cell in (Cell(2, 1, 1000), Cell(10, 1, 100)):
        assert not made.count(cell)
    assert made.count(Cell(None, 1, 1000)) == dict.fromkeys(range(3, 11), math.inf)
    with pytest.raises(LogicgenError, match="no set of clauses"):
        made.sample(Random(0), Cell(2, 1, 1000))


def test_keys_of_another_source_are_refused():
    for keys in ({"source": "cnf"}, {}, {"source": "rare"}):
        with pytest.raises(
            ValueError, match=r"ratio cannot be given with source .* only with ksat"
        ):
            TASK.Settings(ratio=3, **keys)
    with pytest.raises(ValueError, match="operators cannot be given with source ksat"):
        TASK.Settings(source="ksat", operators={"&": 1})
    assert isinstance(source(), KSATSource)


@pytest.mark.slow
def test_the_recipe_generates_verified_assignments(tmp_path):
    recipe = DataRecipe.read("propositional-ksat").resized(100)
    generate(recipe, tmp_path / "made", name="ksat")
    data = load_dataset(tmp_path / "made")
    rows = [row for split in data.splits for row in data.table(split).to_pylist()]
    assert len(rows) >= 90
    for row in rows:
        assert verdict(TASK, row["problem"], row["answer"], row["answer"]) == "exact"
