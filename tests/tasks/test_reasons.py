"""Reasons of verdicts, and the counterexamples in them, against independent definitions."""

from __future__ import annotations

from itertools import product
from math import lcm
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.solvers import Status, Verdict, load_solver
from logicgen.solvers.embedded import EmbeddedSolver
from logicgen.solvers.pysat import PySATSolver
from logicgen.solvers.truth_table import TruthTableSolver
from logicgen.syntax import Assignment, ltl, propositional
from logicgen.syntax.answers import NO_ANSWER
from logicgen.tasks import load_task
from tests.solvers.random_traces import random_formulas, trace_for
from tests.solvers.test_propositional import holds
from tests.syntax.test_formula import formulas

literals = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=5)


@given(formulas(), literals)
def test_a_counterexample_is_a_completion_that_falsifies(formula, given_literals):
    answer = Assignment(tuple(given_literals))
    verdict = load_task("propositional").check(formula, answer)
    if verdict is Verdict.INVALID:
        return
    first = TruthTableSolver().counterexample(formula, answer)
    assert PySATSolver().counterexample(formula, answer) == first
    assert (first is None) == (verdict is Verdict.CORRECT)
    if first is not None:
        values = dict(first.literals)
        assert set(values) == set(formula.symbols)
        assert all(values.get(name, value) == value for name, value in answer.literals)
        assert not holds(formula, values)


def test_a_counterexample_of_a_trace_falsifies_and_is_one_of_its_words():
    solver, rng = EmbeddedSolver(), Random(0)
    can_hold = load_solver("pysat", "propositional").solve
    wrong = 0
    for formula in random_formulas(rng, 300):
        trace = trace_for(rng, formula)
        verdict = solver.check(formula, trace)
        if verdict is Verdict.INVALID:
            continue
        example = solver.counterexample(formula, trace)
        assert (example is None) == (verdict is Verdict.CORRECT)
        if example is None:
            continue
        wrong += 1
        assert solver.check(~formula, example) is Verdict.CORRECT
        # A word is in both where both allow a letter at every place.
        places = max(len(trace.stem), len(example.stem))
        for place in range(places + lcm(len(trace.period), len(example.period))):
            assert can_hold(_at(trace, place) & _at(example, place)).status is Status.SAT
    assert wrong > 30


def _at(trace, place):
    if place < len(trace.stem):
        return trace.stem[place]
    return trace.period[(place - len(trace.stem)) % len(trace.period)]


@pytest.mark.parametrize(
    ("task", "problem", "answer", "verdict", "reason"),
    [
        ("propositional", "a & b", "a=1", "incorrect", "it allows b=0, which falsifies b"),
        ("propositional", "a & b", "a=1, a=0", "invalid", "a is given both values"),
        ("propositional", "a & b", "unsat", "incorrect", "a=1, b=1 satisfies it"),
        ("propositional", "a & !a", "unsat", "correct", ""),
        ("propositional", "a & !a", "1", "incorrect", "it allows a=0, which falsifies a"),
        ("propositional", "a | !a", "1", "correct", ""),
        ("ltl", "0", "unsat", "correct", ""),
        ("ltl", "0", "{1}", "incorrect", "it allows {1}, which falsifies 0"),
        ("ltl", "a U c & F b", "!a & b ; {1}", "incorrect", "!a & !c ; {1}, which falsifies a U c"),
        ("ltl", "a", "a ; b & !b ; {1}", "invalid", "position 1 is contradictory: b & !b"),
        ("ltl", "a", "a ; X b ; {1}", None, ""),
        ("ltl", "G a", "unsat", "incorrect", "{a} satisfies it"),
        ("copying", "a b c", "a b", "incorrect", "2 symbols, not 3"),
        ("copying", "a b c", "a c c", "incorrect", "symbol 2 is c, not b"),
        ("lookup", "a -> b c -> d c ->", "b", "incorrect", "symbol 1 is b, not d"),
        ("lookup", "a -> b a -> c a ->", "b", "incorrect", "a is shown with b and c"),
        ("permutation", "a b > b a ; c d >", "c d", "incorrect", "symbol 1 is c, not d"),
    ],
)
def test_reasons(task, problem, answer, verdict, reason):
    chosen = load_task(task)
    if verdict is None:
        with pytest.raises(Exception, match="X"):
            chosen.read_answer(answer)
        return
    read, given_answer = chosen.read_problem(problem), chosen.read_answer(answer)
    assert chosen.check(read, given_answer) == verdict
    assert reason in chosen.reason(read, given_answer, Verdict(verdict))
    assert bool(reason) == bool(chosen.reason(read, given_answer, Verdict(verdict)))


@given(formulas())
def test_unsat_is_right_where_no_assignment_satisfies(formula):
    rows = product((True, False), repeat=len(formula.symbols))
    satisfiable = any(holds(formula, dict(zip(formula.symbols, row, strict=True))) for row in rows)
    verdict = load_task("propositional").check(formula, NO_ANSWER)
    assert verdict is (Verdict.INCORRECT if satisfiable else Verdict.CORRECT)


@pytest.mark.parametrize("text", ["unsat", " UNSAT ", "Unsatisfiable"])
def test_unsat_is_read_by_both_tasks_of_formulas(text):
    for name in ("propositional", "ltl"):
        task = load_task(name)
        assert task.read_answer(text) is NO_ANSWER
        assert str(NO_ANSWER) == task.show(NO_ANSWER) == "unsat"


def test_a_witness_is_printed_as_people_write_it_and_read_back():
    for name, language, text in [
        ("propositional", propositional(), "a & !b | c"),
        ("ltl", ltl(), "a U b & G F c"),
    ]:
        task = load_task(name)
        witness = task.solve(language.read_either(text)).witness
        assert task.read_answer(str(witness)) == witness
