"""Cells in parts, of which different ones hold different problems; and tables of keys."""

from __future__ import annotations

from itertools import chain
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.data import plan as planning
from logicgen.data import unique
from logicgen.data.opening import read_data_recipe
from logicgen.data.plan import CellPlan
from logicgen.data.unique import KeyTable, Partition, sum_of_keys
from logicgen.tasks import Cell, load_task


def parts(cells, task="propositional", quotas=None):
    quotas = quotas or [100] * len(cells)
    plans = [CellPlan(cell, 1, 1, quota) for cell, quota in zip(cells, quotas, strict=True)]
    found = Partition.of(plans, load_task(task))
    assert found.cells == tuple(cells)
    return found.parts


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(unique, "EXAMPLES", 1)  # as many parts as there may be


@pytest.mark.parametrize(
    ("cells", "task", "together"),
    [
        # Formulas show their symbols; strings over twenty letters may show one of them.
        ([Cell(1, 5), Cell(2, 5), Cell(1, 6)], "propositional", [0, 1, 2]),
        ([Cell(1, 5), Cell(20, 5), Cell(1, 6)], "copying", [0, 0, 1]),
        # A cell without a number of symbols may hold any.
        ([Cell(None, 5), Cell(2, 5), Cell(1, 6)], "propositional", [0, 0, 1]),
        # Lengths that overlap belong together.
        (
            [Cell(2, 5, 3), Cell(2, 7, 2), Cell(2, 9), Cell(2, 8), Cell(2, 3, 2)],
            "propositional",
            [0, 0, 1, 0, 2],
        ),
    ],
)
@pytest.mark.usefixtures("small")
def test_cells_that_may_hold_the_same_problem_are_in_one_part(cells, task, together):
    found = parts(cells, task)
    order = list(dict.fromkeys(found))
    assert [order.index(part) for part in found] == together


def test_parts_are_about_equal(monkeypatch):
    monkeypatch.setattr(unique, "EXAMPLES", 1000)
    cells = [Cell(1, n) for n in range(1, 41)]
    found = parts(cells, quotas=[100] * 40)
    loads = [found.count(part) for part in set(found)]
    assert sorted(loads) == [10, 10, 10, 10]
    assert len(set(parts(cells[:3]))) == 1


@pytest.mark.usefixtures("small")
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


KEYS = st.sets(st.one_of(st.integers(0, 20), st.integers(0, 2**63 - 1)))


@given(KEYS, KEYS, KEYS, KEYS, st.integers(1, 5))
def test_a_table_is_a_set(held, added, more, asked, waiting):
    table = KeyTable(np.array(sorted(held), np.int64))
    with patch.object(unique, "ADDED", waiting):
        for key in added:
            table.add(key)
    known = held | added
    assert [key in table for key in asked] == [key in known for key in asked]
    array = np.array(sorted(asked), np.int64)
    assert table.hold(array).tolist() == [key in known for key in sorted(asked)]
    table.extend(np.array(sorted(more - known), np.int64))
    assert table.array().tolist() == sorted(known | more)
    assert all(key in table for key in more)


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1), st.randoms())
def test_sums_do_not_depend_on_the_order(keys, rng):
    shuffled = rng.sample(keys, len(keys))
    there = sum_of_keys(np.array(keys, np.int64))
    assert there == sum_of_keys(np.array(shuffled, np.int64))
    halves = np.array(keys[::2], np.int64), np.array(keys[1::2], np.int64)
    assert there == sum(map(sum_of_keys, halves)) % 2**64
    # One key changed, lost or repeated is seen.
    assert there != sum_of_keys(np.array([keys[0] ^ 1, *keys[1:]], np.int64))
    assert there != sum_of_keys(np.array(keys[1:], np.int64)) or keys[0] == 0
    assert there != sum_of_keys(np.array([*keys, keys[0]], np.int64)) or keys[0] == 0
