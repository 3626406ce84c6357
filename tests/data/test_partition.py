"""Cells in parts: problems of different parts are different."""

from __future__ import annotations

from itertools import chain

import pytest

from logicgen.data import plan as planning
from logicgen.data import unique
from logicgen.data.opening import read_data_recipe
from logicgen.data.plan import CellPlan
from logicgen.data.unique import Partition
from logicgen.tasks import Cell, load_task


def parts(cells, task="propositional", quotas=None):
    quotas = quotas or [100] * len(cells)
    plans = [CellPlan(cell, 1, 1, quota) for cell, quota in zip(cells, quotas, strict=True)]
    found = Partition.of(plans, load_task(task))
    assert found.cells == tuple(cells)
    return found.parts


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(unique, "EXAMPLES", 1)  # as many parts as there may be


def test_formulas_show_their_symbols():
    assert len(set(parts([Cell(1, 5), Cell(2, 5), Cell(1, 6)]))) == 3


def test_a_cell_without_a_number_of_symbols_may_hold_any():
    first, second, other = parts([Cell(None, 5), Cell(2, 5), Cell(1, 6)])
    assert first == second != other


def test_strings_over_twenty_letters_may_show_one():
    first, second, other = parts([Cell(1, 5), Cell(20, 5), Cell(1, 6)], "copying")
    assert first == second != other


def test_lengths_that_overlap_belong_together():
    cells = [Cell(2, 5, 3), Cell(2, 7, 2), Cell(2, 9), Cell(2, 8), Cell(2, 3, 2)]
    first, second, alone, third, before = parts(cells)
    assert first == second == third
    assert len({first, alone, before}) == 3


def test_parts_are_about_equal(monkeypatch):
    monkeypatch.setattr(unique, "EXAMPLES", 1000)
    cells = [Cell(1, n) for n in range(1, 41)]
    found = parts(cells, quotas=[100] * 40)
    loads = [found.count(part) for part in set(found)]
    assert sorted(loads) == [10, 10, 10, 10]
    assert len(set(parts(cells[:3]))) == 1


@pytest.mark.parametrize("name", ["propositional-mini", "copying-mini", "ltl-mini"])
def test_what_two_cells_both_list_is_in_one_part(name):
    """By listing: no problem, up to renaming, is one of two parts."""
    recipe = read_data_recipe(name, {})
    source = recipe.source(name)
    stages = planning.stages(recipe, source)
    plans = list(chain.from_iterable(plans for _, plans in stages))
    found = Partition.of(plans, recipe.load_task())
    assert len(set(found.parts)) > 1
    where = {}
    cells = [plan.cell for plan in plans if 0 < plan.holds <= 2000]
    for cell in dict.fromkeys(cells):
        for draw in source.all(cell):
            text = recipe.load_task().encode(draw.problem)
            part = found.parts[found.numbers[cell]]
            assert where.setdefault(text, part) == part
    assert len(where) > 100
