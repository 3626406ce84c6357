"""Promises that every task keeps."""

from __future__ import annotations

from random import Random

import pytest

import logicgen
from logicgen.errors import FormatError, LogicgenError
from logicgen.tasks import TASKS, Cell, load_task
from logicgen.tasks.task import ROOM, rename, symbols_of
from logicgen.tokens import symbol_name
from tests.syntax.following import allowed
from tests.verdicts import verdict

tasks = pytest.mark.parametrize("name", TASKS)


def draws(task, count=30):
    """Random problems of a few cells, of those that hold any, with the source."""
    source = task.source(task.Settings(), (1, 4))
    rng = Random(0)
    while count:
        cell = Cell(rng.choice([None, 2, 3]), rng.randint(5, 12))
        if source.obstacle(cell) is None:
            yield source, cell, source.sample(rng, cell)
            count -= 1


@tasks
def test_sampled_problems_fit_their_cell(name):
    task = load_task(name)
    for _, cell, draw in draws(task):
        text = task.encode(draw.problem)
        assert len(text.split()) == cell.length
        assert symbols_of(text) == [symbol_name(i) for i in range(len(symbols_of(text)))]
        if cell.symbols is not None:
            assert draw.symbols == cell.symbols >= len(symbols_of(text))


@tasks
def test_answers_are_right_and_everything_written_is_read_back(name):
    task = load_task(name)
    for _, _, draw in draws(task):
        text = task.encode(draw.problem)
        assert task.encode(task.decode_problem(text)) == text
        assert task.encode(task.read_problem(text)) == text
        solution = task.solve(draw.problem)
        if solution.status != "sat":
            continue
        answer = task.encode(solution.witness)
        assert task.same(task.decode_answer(answer), solution.witness)
        assert task.same(task.read_answer(task.show(solution.witness)), solution.witness)
        assert task.check(draw.problem, solution.witness).is_right
        assert verdict(task, text, answer, answer) == "exact"
        assert task.vocabulary.decode(task.vocabulary.encode(answer)) == answer


@tasks
def test_arities_say_where_a_problem_ends(name):
    task = load_task(name)
    arities = task.problem_arities
    if arities is None:  # no tokens that take operands: strings, pairs, demonstrations
        assert task.problem_language.name in ("letters", "lookup", "permutation")
        return
    assert set(arities) == set(task.problem_language.tokens)
    for _, _, draw in draws(task):
        wanted = 1
        for token in task.encode(draw.problem).split():
            assert wanted > 0
            wanted += arities.get(token, 0) - 1
        assert wanted == 0


@tasks
def test_the_mask_accepts_every_answer(name):
    task = load_task(name)
    automaton = task.answer_automaton(40)
    for _, _, draw in draws(task):
        solution = task.solve(draw.problem)
        if solution.status == "sat":
            _, may_end = allowed(automaton, task.encode(solution.witness).split())
            assert may_end


@tasks
def test_renaming_a_problem_renames_its_answer(name):
    task = load_task(name)
    rng = Random(1)
    for _, _, draw in draws(task):
        text = task.encode(draw.problem)
        symbols = symbols_of(text)
        mapping = dict(
            zip(symbols, map(symbol_name, rng.sample(range(60), len(symbols))), strict=True)
        )
        first = task.solve(draw.problem)
        second = task.solve(task.decode_problem(rename(text, mapping)))
        assert first.status == second.status
        if first.witness is not None:
            assert rename(task.encode(first.witness), mapping) == task.encode(second.witness)


@tasks
def test_cells_are_counted_as_they_are_listed(name):
    task = load_task(name)
    source = task.source(task.Settings(), (1, 3))
    for cell in (Cell(None, 4), Cell(1, 3), Cell(2, 5), Cell(3, 2)):
        listed = [task.encode(draw.problem) for draw in source.all(cell)]
        assert len(listed) == len(set(listed)) == sum(source.count(cell).values())


@pytest.mark.parametrize(
    ("task", "problem", "answer", "verdict"),
    [
        ("copying", "a b a", "a b a", "correct"),
        ("copying", "a b a", "a b", "incorrect"),
        ("copying", "a b", "1", "invalid"),
        ("copying", "", "", "correct"),
        ("lookup", "A->2 C->4 G->5 C->", "4", "correct"),
        ("lookup", "a -> b c -> d c ->", "b", "incorrect"),
        ("lookup", "a -> b c -> d c ->", "d d", "incorrect"),
        ("lookup", "a -> b c -> d c ->", "", "invalid"),
        ("lookup", "a -> b c -> d c ->", "d ->", "invalid"),
        ("lookup", "a -> b a -> c a ->", "b", "incorrect"),
        ("lookup", "a -> b c ->", "b", "incorrect"),
        ("permutation", "a b > b a ; c d >", "d c", "correct"),
        ("permutation", "a b > b a ; c d >", "c d", "incorrect"),
        ("permutation", "a b > b a ; c d >", "d c >", "invalid"),
        ("permutation", "a a > a a ; c d >", "c d", "incorrect"),
        ("propositional", "a & b", "a=1, b=1", "correct"),
        ("propositional", "& a b", "a 1", "incorrect"),
        ("propositional", "a", "a &", "invalid"),
        ("propositional", "a", "a=1,a=0", "invalid"),
    ],
)
def test_verify(task, problem, answer, verdict):
    assert logicgen.verify(task, problem, answer) == verdict


def test_a_trace_may_have_more_literals_than_those_of_the_solver():
    task = load_task("ltl")
    stored, right = "a ; b ; { c }", "& a & b c ; & ! a & b ! c ; { & c ! b }"
    assert verdict(task, "& a & X b X X ! U 1 ! c", right) == "correct"
    assert len(stored.split()) + ROOM < len(right.split())
    assert len(right.split()) <= task.answer_limit(len(stored.split()), symbols=3)


def test_solve():
    assert logicgen.solve("propositional", "a & !b").witness.infix == "a=1, b=0"
    assert logicgen.solve("propositional", "a & !a").status == "unsat"
    assert logicgen.solve("copying", "b a").witness == ("b", "a")
    with pytest.raises(FormatError, match="line 1, column 4"):
        logicgen.solve("propositional", "a &")
    with pytest.raises(FormatError, match="column 4"):  # of the notation that got further
        logicgen.solve("propositional", "& a")
    with pytest.raises(LogicgenError, match="did you mean propositional"):
        logicgen.solve("propositonal", "a")
