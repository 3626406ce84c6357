"""Conjunctions of specification patterns: counted, listed and drawn alike."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from logicgen.errors import LogicgenError
from logicgen.solvers import Status, load_solver
from logicgen.syntax.formula_language import ltl
from logicgen.syntax.rewriting import CORE
from logicgen.tasks import Cell
from logicgen.tasks.specification_patterns import PATTERNS, PatternSource, core_patterns

REFERENCE = Path(__file__).parents[1] / "data" / "ltl_patterns.jsonl"


def test_the_patterns_are_those_of_the_reference_set() -> None:
    rows = [json.loads(line)["formula"] for line in REFERENCE.read_text().splitlines()]
    ours = [text for row in PATTERNS.values() for text in row]
    read = ltl().read
    assert [read(text) for text in ours] == [read(text) for text in rows[: len(ours)]]
    assert len(set(core_patterns())) == len(ours) == 55


def test_patterns_are_satisfiable_core_formulas_that_no_conjunction_hides() -> None:
    solve = load_solver("embedded", "ltl").solve
    for pattern in core_patterns():
        assert {node.token for node in pattern.preorder() if not node.is_symbol} <= CORE
        assert pattern.token != "&"  # so a conjunction of patterns can be taken apart
        assert solve(pattern).status is Status.SAT


@pytest.mark.parametrize("length", range(1, 22))
def test_every_conjunction_is_listed_once_and_counted(length: int) -> None:
    source = PatternSource((1, 4))
    cell = Cell(None, length)
    listed = [(draw.problem, draw.symbols) for draw in source.all(cell)]
    assert Counter(symbols for _, symbols in listed) == Counter(source.count(cell))
    assert len({problem for problem, _ in listed}) == len(listed)
    for problem, symbols in listed:
        assert problem.length == length
        assert problem is problem.alpha_canonical()
        assert len(problem.symbols) == symbols


def test_drawing_reaches_every_conjunction_of_a_cell() -> None:
    source, rng = PatternSource((1, 3)), Random(0)
    for cell in (Cell(2, 13), Cell(None, 14)):
        listed = {draw.problem for draw in source.all(cell)}
        drawn = {source.sample(rng, cell).problem for _ in range(6000)}
        assert drawn == listed
    assert 20 < len(listed) < 200


@pytest.mark.parametrize("cell", [Cell(6, 126), Cell(None, 126), Cell(2, 40), Cell(10, 80)])
def test_draws_are_of_the_cell(cell: Cell) -> None:
    source = PatternSource((1, 6))
    for seed in range(20):
        draw = source.sample(Random(seed), cell)
        assert draw.problem.length == cell.length
        assert draw.symbols == len(draw.problem.symbols) == (cell.symbols or draw.symbols)
        assert source.sample(Random(seed), cell) == draw


@pytest.mark.parametrize("cell", [Cell(None, 6), Cell(5, 4), Cell(0, 12)])
def test_an_empty_cell_says_so(cell: Cell) -> None:
    source = PatternSource((1, 6))
    assert not any(source.count(cell).values())
    with pytest.raises(LogicgenError, match="no conjunction"):
        source.sample(Random(0), cell)


def test_a_number_of_symbols_that_hardly_occurs_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logicgen.tasks.specification_patterns.TRIES", 3)
    assert PatternSource((1, 60)).sample(Random(0), Cell(60, 240)) is None
