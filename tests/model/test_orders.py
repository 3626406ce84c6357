"""Answers to several orders of the operands of a formula."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen import load_model
from logicgen.model.model import Answer, Request
from logicgen.model.orders import answers_in_orders, orders_of
from logicgen.nn.decoding import BeamSearch
from logicgen.nn.samples import Sampling
from logicgen.solvers import Status
from logicgen.syntax.formula import Formula
from logicgen.tasks import load_task
from logicgen.tasks.task import rename
from tests.syntax.test_formula import formulas

TASK = load_task("propositional")
VOCABULARY = TASK.vocabulary


def ids(text):
    return VOCABULARY.encode(text)


@given(formulas("abcd", 12), st.integers(1, 6))
def test_orders_are_equivalent_and_different(problem, most):
    found = orders_of(ids(problem.prefix), TASK, VOCABULARY, most)
    assert found[0] == ids(problem.prefix)
    assert 1 <= len(found) <= most
    assert len({*map(tuple, found)}) == len(found)
    for each in found:
        other = TASK.decode_problem(VOCABULARY.decode(each))
        assert sorted(each) == sorted(found[0])  # the same tokens
        assert TASK.solve(Formula("^", (problem, other))).status is Status.UNSAT


@given(formulas("abcd", 12), st.permutations("abcd"))
def test_renaming_a_problem_renames_its_orders(problem, names):
    named = dict(zip("abcd", names, strict=True))
    found = orders_of(ids(problem.prefix), TASK, VOCABULARY, 4)
    other = orders_of(ids(rename(problem.prefix, named)), TASK, VOCABULARY, 4)
    assert [rename(VOCABULARY.decode(each), named) for each in found] == [
        VOCABULARY.decode(each) for each in other
    ]


def test_problems_that_are_no_formulas_have_one_order():
    copying = load_task("copying")
    assert orders_of([5, 4, 3], copying, copying.vocabulary, 4) == [[5, 4, 3]]


def asked(problems, decoding, orders):
    return Request([*map(ids, problems)], 4, 0, 9, decoding=decoding, orders=orders)


def test_an_answer_is_as_likely_as_its_meaning_in_all_orders():
    calls = []

    def answer(request):
        calls.append(request)
        first = [Answer(ids("a 1 b 0"), math.log(0.3)), Answer(ids("a 0"), math.log(0.35))]
        again = [Answer(ids("b 0 a 1"), math.log(0.2)), Answer(ids("b 1"), math.log(0.1))]
        return [first if problem == ids("& a ! b") else again for problem in request.problems]

    sampling = Sampling(answers=4, seed=7)
    (found,) = answers_in_orders(asked(["& a ! b"], sampling, 2), TASK, VOCABULARY, answer)
    (call,) = calls
    assert call.problems == [ids("& a ! b"), ids("& ! b a")]
    assert (call.decoding, call.orders) == (replace(sampling, answers=2), 1)
    assert [VOCABULARY.decode(each.ids) for each in found] == ["a 1 b 0", "a 0", "b 1"]
    assert [round(math.exp(each.score), 9) for each in found] == [0.5, 0.35, 0.1]


def test_a_problem_with_one_order_gets_all_draws_and_missing_answers_come_last():
    def answer(request):
        count = request.decoding.answers
        missing = [Answer([], -math.inf)]
        return [missing * (count - 1) + [Answer(ids("a 1"), -1.0)] for _ in request.problems]

    problems = ["a", "& a b", "! a"]
    found = answers_in_orders(asked(problems, Sampling(answers=5), 4), TASK, VOCABULARY, answer)
    assert [[VOCABULARY.decode(each.ids) for each in row] for row in found] == [["a 1", ""]] * 3
    assert found[0][1].score == -math.inf
    assert answers_in_orders(asked([], Sampling(), 4), TASK, VOCABULARY, answer) == []


def test_scores_of_a_beam_search_are_not_normalized_in_sums():
    def answer(request):
        assert request.decoding == BeamSearch(length_normalization=2.0)
        return [[Answer(ids("a 1"), -0.5)] for _ in request.problems]

    search = BeamSearch(length_normalization=2.0)
    ((found,),) = answers_in_orders(asked(["& a b"], search, 2), TASK, VOCABULARY, answer)
    assert math.isclose(found.score, math.log(2) - 0.5 * (8 / 6) ** 2)


@pytest.mark.parametrize("decoding", [BeamSearch(), Sampling(answers=6, seed=1)])
def test_an_ensemble_of_a_model_without_random_rows_is_of_orders(decoding):
    model = load_model("propositional")
    problems = ["& | a b ! & a c", "a", "^ <-> a b & c d"]
    one, several = (model.predict(asked(problems, decoding, n)) for n in (1, 3))
    ensemble = model.predict(replace(asked(problems, decoding, 1), ensemble=3))
    assert ensemble == several
    assert model.predict(replace(asked(problems, decoding, 3), ensemble=2)) == several
    assert several != one
    for row in several:
        assert len(row) <= decoding.answers
        assert [each.score for each in row] == sorted((each.score for each in row), reverse=True)
