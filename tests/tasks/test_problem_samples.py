"""Endless random problems."""

from __future__ import annotations

import math
import pickle
from itertools import islice

import pytest

from logicgen.errors import LogicgenError
from logicgen.tasks import TASKS, load_task, problem_samples
from logicgen.tasks.controls import load_control
from logicgen.tasks.problem_samples import ProblemSamples
from logicgen.tasks.task import Cell, symbols_of

RANGES = {
    "copying": {"symbols": (1, 5), "length": (1, 12)},
    "lookup": {"symbols": (2, 6), "length": (5, 20)},
    "ltl": {"symbols": (1, 4), "length": (1, 14)},
    "permutation": {"symbols": (2, 6), "length": (6, 40)},
    "propositional": {"symbols": (1, 4), "length": (1, 14)},
}


def samples(name, **how):
    return ProblemSamples(load_task(name), **{**RANGES[name], **how})


@pytest.mark.parametrize("name", TASKS)
def test_a_problem_depends_on_settings_seed_and_number_alone(name):
    task = load_task(name)
    whole = [task.encode(problem) for problem in islice(samples(name), 20)]
    backwards = samples(name)
    assert [task.encode(backwards[i]) for i in reversed(range(20))] == whole[::-1]
    assert [task.encode(samples(name)[i]) for i in range(20)] == whole
    assert [task.encode(problem) for problem in islice(samples(name, seed=1), 20)] != whole


@pytest.mark.parametrize("name", TASKS)
def test_problems_have_answers_and_lie_in_the_ranges(name):
    task, drawn = load_task(name), samples(name)
    (few, many), (short, long) = drawn.symbols, drawn.length
    cells = set()
    for index, problem in enumerate(islice(drawn, 60)):
        cell, text = drawn.cell(index), task.encode(problem)
        assert task.solve(problem).status == "sat"
        assert few <= cell.symbols <= many
        assert short <= cell.length == len(text.split()) <= long
        assert len(symbols_of(text)) <= cell.symbols
        cells.add(cell)
    assert len(cells) > 10


def test_symbols_are_named_in_one_of_two_ways():
    task = load_task("ltl")
    named = [symbols_of(task.encode(p)) for p in islice(samples("ltl", symbols=3, length=9), 40)]
    assert {tuple(sorted(names)) for names in named} == {("a", "b", "c")}
    assert len({tuple(names) for names in named}) == 6
    first = samples("ltl", names="first-occurrence")
    for problem in islice(first, 20):
        names = symbols_of(task.encode(problem))
        assert names == sorted(names)


def test_problems_without_an_answer():
    task = load_task("propositional")
    for problem in islice(samples("propositional", satisfiable=False), 20):
        assert task.solve(problem).status == "unsat"
    any_kind = samples("propositional", satisfiable=None, symbols=1, length=6)
    assert {task.solve(problem).status for problem in islice(any_kind, 60)} == {"sat", "unsat"}


def test_a_share_of_problems_has_an_answer():
    task = load_task("propositional")
    drawn = samples("propositional", satisfiable=0.25, symbols=2, length=8)
    found = [task.solve(problem).status for problem in islice(drawn, 80)]
    assert 10 <= found.count("sat") <= 32  # 20 are expected
    assert found.count("unsat") == 80 - found.count("sat")
    with pytest.raises(LogicgenError, match=r"^satisfiable: 1\.5; a share is between 0 and 1$"):
        samples("propositional", satisfiable=1.5)


def test_what_could_not_be_solved_is_not_given(monkeypatch):
    monkeypatch.setattr(problem_samples, "EFFORT", 1)
    task = load_task("ltl")
    for problem in islice(samples("ltl", satisfiable=None, symbols=5, length=30), 10):
        assert task.limited(1, None).solve(problem).status in ("sat", "unsat")


def test_only_formulas_can_have_no_answer():
    with pytest.raises(LogicgenError, match="only formulas can have no answer"):
        samples("permutation", satisfiable=False)


@pytest.mark.parametrize("name", TASKS)
def test_problems_as_they_are_drawn_ask_no_solver(name, monkeypatch):
    drawn = samples(name, satisfiable=None)
    monkeypatch.setattr(type(drawn.task), "solve", None)
    assert drawn[0] is not None


@pytest.mark.parametrize(
    ("name", "control"),
    [("ltl", "vote"), ("propositional", "greedy"), ("propositional", "random")],
)
def test_problems_beyond_a_control_have_an_answer_that_it_does_not_find(name, control):
    task = load_task(name)
    drawn = samples(name, beyond=[control], length=(8, 20))
    again, found = pickle.loads(pickle.dumps(drawn)), load_control(task, control)
    for index, problem in enumerate(islice(drawn, 15)):
        text = task.encode(problem)
        (answer,) = found.answers(text, 1)
        assert not task.check(problem, task.decode_answer(answer)).is_right
        assert task.solve(problem).status == "sat"
        assert task.encode(again[index]) == text


@pytest.mark.parametrize("satisfiable", [True, None])
@pytest.mark.parametrize(
    ("name", "column", "bounds"),
    [
        ("ltl", "positions", [2, 3]),
        ("ltl", "depth", [3, 4]),
        ("propositional", "satisfying", [0.1, 0.2]),
    ],
)
def test_problems_have_the_difficulty_that_is_asked_for(name, column, bounds, satisfiable):
    task = load_task(name)
    how = {"difficulty": {column: bounds}, "satisfiable": satisfiable, "length": (8, 14)}
    drawn = samples(name, **how)
    again = pickle.loads(pickle.dumps(drawn))
    for index, problem in enumerate(islice(drawn, 15)):
        found = task.solve(problem)
        assert bounds[0] <= task.difficulty_of(column, problem, found.witness) <= bounds[1]
        assert again[index] is problem
    others = list(islice(samples(name, satisfiable=satisfiable, length=(8, 14)), 15))
    assert [again[index] for index in range(15)] != others


def test_controls_may_be_in_the_difficulty_and_apart():
    drawn = samples("ltl", difficulty={"beyond": ["vote"]}, beyond=["constant"], length=(8, 14))
    assert drawn._meter.conditions.beyond == ("vote", "constant")
    assert drawn[0] is samples("ltl", beyond=["vote", "constant"], length=(8, 14))[0]


def test_more_draws_are_made_for_a_difficulty(monkeypatch):
    monkeypatch.setattr(problem_samples, "MOST_ATTEMPTS", 10)
    with pytest.raises(LogicgenError, match=r"200 draws found no problem .* of this difficulty of"):
        samples("ltl", symbols=1, length=3, difficulty={"positions": [3, 4]})[0]


@pytest.mark.parametrize("name", TASKS)
def test_a_curriculum_begins_with_the_shortest_problems(name):
    drawn = samples(name, curriculum=100)
    lengths = [drawn.cell(index).length for index in range(0, 300, 3)]
    assert lengths[0] == min(lengths)
    assert max(lengths[:5]) < max(lengths[33:])
    assert drawn.cell(0) == drawn.cell(0)


def test_settings_are_those_of_recipes():
    task = load_task("ltl")
    for problem in islice(samples("ltl", length=7, operators={"&": 1, "F": 1}), 20):
        assert set(task.encode(problem).split()) - set(symbols_of(task.encode(problem))) <= {
            "&",
            "F",
        }
    assert samples("copying", symbols=1, length=3).cell(0) == Cell(1, 3)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"symbols": (3, 2)}, "the fewest and the most"),
        ({"length": 0}, "the fewest and the most, from 1"),
        ({"symbols": "ab"}, "the fewest and the most"),
        ({"names": "random"}, "'shuffled' or 'first-occurrence'"),
        ({"curriculum": 0}, "curriculum: 0"),
        ({"beyond": ["place", "voting"]}, "beyond: 'voting' is no control of ltl"),
        ({"difficulty": {"beyond": ["voting"]}}, "beyond: 'voting' is no control of ltl"),
        ({"difficulty": {"positions": [2, math.inf]}}, "give the least and the greatest number"),
        ({"difficulty": {"depth": [math.nan, 2]}}, "give the least and the greatest number"),
        ({"difficulty": {"position": [2, 3]}}, "'position' is no column of difficulty of ltl"),
        ({"difficulty": {"positions": [2, 3]}, "satisfiable": 0.5}, "unsatisfiable problems have"),
        ({"operator": {}}, "unknown key 'settings.operator'"),
        ({"symbols": 5, "length": 3}, "no problem with an answer of 5 symbols and 3 tokens"),
        ({"symbols": 5, "length": 3, "curriculum": 9}, "no problem with an answer of 5 symbols"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(how, said):
    with pytest.raises(LogicgenError, match=said) as error:
        samples("ltl", **how)[0]
    assert "\n" not in str(error.value)


def test_why_no_problem_has_such_a_length():
    with pytest.raises(LogicgenError, match="5, 8, 11 and so on"):
        samples("lookup", length=6)[0]


def test_numbers_begin_at_0():
    with pytest.raises(IndexError):
        samples("copying")[-1]


@pytest.mark.parametrize("name", TASKS)
def test_they_can_be_sent_to_another_process(name):
    task, drawn = load_task(name), samples(name, curriculum=9)
    _ = drawn[3]
    again = pickle.loads(pickle.dumps(drawn))
    assert [task.encode(again[i]) for i in range(5)] == [task.encode(drawn[i]) for i in range(5)]


@pytest.mark.parametrize("most", [128, 400])
def test_formulas_with_as_many_symbols_as_leaves(most):
    """Their share of all formulas is too small for a float, or a number in it too large."""
    operators = {"!": 1, "&": 1, "X": 1, "U": 1, "0": 1, "1": 1}
    for length in (255, 256):
        drawn = samples("ltl", symbols=(128, most), length=length, operators=operators)
        assert drawn.cell(3) == Cell(128, length)
