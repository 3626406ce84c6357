"""Right tokens of assignments, against brute force over all continuations."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict
from logicgen.solvers.pysat import PySATSolver
from logicgen.syntax.answers import Assignment
from logicgen.tasks import load_task
from logicgen.tasks.right_tokens import (
    KnownAnswers,
    RightTokens,
    SearchedCompletions,
    TableCompletions,
)
from tests.syntax.test_formula import formulas

TASK = load_task("propositional")


def right_answers(problem) -> set[tuple[str, ...]]:
    """Return all right assignments, in all orders, judged by a SAT solver."""
    solver = PySATSolver()
    found = set()

    def extend(answer, left):
        pairs = [(answer[i], answer[i + 1] == "1") for i in range(0, len(answer), 2)]
        if solver.check(problem, Assignment(tuple(pairs))) is Verdict.CORRECT:
            found.add(tuple(answer))
        for symbol in left:
            for value in "10":
                extend([*answer, symbol, value], left - {symbol})

    extend([], frozenset(problem.symbols))
    return found


@given(formulas("abc", 8), st.integers(0, 2**32))
def test_right_tokens_are_those_of_the_right_answers(problem, seed):
    answers = right_answers(problem)

    @cache
    def after(beginning):
        """Return the tokens that follow a beginning in right answers."""
        size = len(beginning)
        fitting = [each for each in answers if each[:size] == beginning]
        return {each[size] if len(each) > size else "<end>" for each in fitting}

    right = RightTokens(problem)
    assert right.satisfiable == bool(answers)
    if not answers:
        assert right.along(["a", "1"]) == [[]]
        with pytest.raises(ValueError, match="unsatisfiable"):
            right.random(Random(seed))
        return
    answer = right.random(Random(seed))
    assert tuple(answer) in answers
    for place, tokens in enumerate(right.along(answer)):
        assert set(tokens) == after(tuple(answer[:place]))
        assert len(set(tokens)) == len(tokens)


@given(formulas("abc", 8), st.integers(0, 2**32))
def test_in_order_of_first_occurrence_only_values_have_alternatives(problem, seed):
    answers = right_answers(problem)
    right = RightTokens(problem, in_order=True)
    assert right.satisfiable == bool(answers)
    if not answers:
        return
    answer = right.random(Random(seed))
    assert tuple(answer) in answers
    assert answer[::2] == list(problem.symbols)[: len(answer) // 2]
    along = right.along(answer)
    assert len(along) == len(answer) + 1  # the whole answer is right
    for place, tokens in enumerate(along):
        beginning = tuple(answer[:place])
        if place % 2:
            after = {each[place] for each in answers if each[:place] == beginning}
            assert {value for value in tokens if value in "10"} == after & {"0", "1"}
        else:  # a right answer may end here, or continue
            following = list(problem.symbols)[place // 2 :][:1]
            assert tokens == [*following, *(["<end>"] if beginning in answers else [])]


@given(formulas("abc", 8), st.lists(st.sampled_from("abc10"), max_size=6))
def test_where_all_right_answers_are_known_their_tokens_are_the_right_ones(problem, answer):
    known = KnownAnswers(" ".join(each) for each in right_answers(problem))
    sets, expected = known.along(answer), RightTokens(problem).along(answer)
    assert [set(each) for each in sets] == [set(each) for each in expected]


def test_one_known_answer_is_its_tokens():
    assert KnownAnswers([""]).along([]) == [["<end>"]]
    assert KnownAnswers(["a 1"]).along(["a", "1"]) == [["a"], ["1"], ["<end>"]]
    assert KnownAnswers(["a 1", "a 0 b 1"]).along(["a", "0", "c"]) == [["a"], ["1", "0"], ["b"]]
    assert KnownAnswers([]).along(["a"]) == [[]]


def test_a_wrong_answer_is_followed_to_its_first_wrong_token():
    right = RightTokens(TASK.decode_problem("& a ^ b c"))
    assert right.along(["b", "1", "a", "0", "c", "0"]) == [
        ["a", "b", "c"],
        ["1", "0"],
        ["a", "c"],
        ["1"],
    ]
    assert right.random(Random(0), ["b", "1", "a", "0"])[:3] == ["b", "1", "a"]


def test_a_tautology_may_end_at_once_and_go_on():
    right = RightTokens(TASK.decode_problem("| a ! a"))
    assert right.along(["a", "1"]) == [["a", "<end>"], ["1", "0"], ["<end>"]]
    assert RightTokens(TASK.decode_problem("1")).along([]) == [["<end>"]]


@given(formulas("abcd", 12), st.permutations("abcd"), st.text("01", min_size=4, max_size=4))
def test_a_table_and_a_search_agree_on_every_beginning(problem, order, values):
    table, search = TableCompletions(problem), SearchedCompletions(problem)
    rows, literals = table.empty, search.empty
    for symbol, value in [("", ""), *zip(order, values, strict=True)]:
        if symbol in problem.symbols:
            rows, literals = (
                each.extended(assignment, symbol, value)
                for each, assignment in ((table, rows), (search, literals))
            )
        for truth in (True, False):
            assert table.possible(rows, truth) == search.possible(literals, truth)


@pytest.mark.parametrize("in_order", [True, False])
def test_random_answers_to_formulas_of_many_symbols_are_right(in_order):
    symbols = [f"p{n}" for n in range(60)]
    clauses = [f"| {a} | ! {b} ^ {a} {c}" for a, b, c in zip(*[iter(symbols)] * 3, strict=True)]
    problem = TASK.decode_problem(" ".join(["&"] * (len(clauses) - 1) + clauses))
    right, solver = RightTokens(problem, in_order), PySATSolver()
    found = {tuple(right.random(Random(seed))) for seed in range(20)}
    assert len(found) == 20
    for answer in found:
        pairs = zip(answer[::2], (value == "1" for value in answer[1::2]), strict=True)
        assignment = Assignment(tuple(pairs))
        assert solver.check(problem, assignment) is Verdict.CORRECT
        assert right.along(answer)[-1][-1] == "<end>"


def test_other_tasks_say_that_they_cannot_tell():
    task = load_task("copying")
    with pytest.raises(LogicgenError, match="only for propositional and ltl"):
        task.right_tokens(task.decode_problem("a b"))
