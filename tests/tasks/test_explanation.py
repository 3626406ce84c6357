"""What there is to see of an answer, and why it is wrong, against brute force."""

from __future__ import annotations

from itertools import product
from math import lcm
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import FormatError
from logicgen.solvers import Status, Verdict, load_solver
from logicgen.solvers.embedded import EmbeddedSolver
from logicgen.solvers.pysat import PySATSolver
from logicgen.solvers.truth_table import TruthTableSolver
from logicgen.syntax import Assignment, ltl, propositional
from logicgen.syntax.answers import NO_ANSWER
from logicgen.tasks import load_task
from logicgen.tasks.task import Explanation
from tests.solvers.lasso_words import holds
from tests.solvers.random_traces import random_formulas, trace_for
from tests.solvers.test_ltl import over
from tests.solvers.test_propositional import holds as true_under
from tests.syntax.test_formula import formulas

LTL, PROPOSITIONAL = load_task("ltl"), load_task("propositional")
assignments = st.dictionaries(st.sampled_from("abce"), st.booleans(), min_size=1)


def explained(task, problem, text):
    answer = task.read_answer(text)
    verdict = task.check(problem, answer)
    return verdict, task.explain(problem, answer, verdict)


@given(formulas("abcd", 8), assignments)
def test_values_of_subformulas(problem, given_values):
    text = ", ".join(f"{name}={value:d}" for name, value in given_values.items())
    verdict, found = explained(PROPOSITIONAL, problem, text)
    nodes = list(problem.preorder())
    assert len(found.truth) == len(nodes)
    if verdict is Verdict.INCORRECT:
        (letter,) = found.letters
        assert all((name in letter) == value for name, value in given_values.items())
        assert found.truth[0] == "0"
        assert [holds(node, [letter], 0) for node in nodes] == [t == "1" for t in found.truth]
        return
    assert (found.letters, found.loop, found.truth[0]) == ((), None, "1")
    free = [name for name in "abcde" if name not in given_values]
    letters = [
        {
            *(n for n, value in given_values.items() if value),
            *(n for n, v in zip(free, values, strict=True) if v),
        }
        for values in product((False, True), repeat=len(free))
    ]
    for node, value in zip(nodes, found.truth, strict=True):
        values = {holds(node, [letter], 0) for letter in letters}
        assert value == ("?" if len(values) == 2 else "01"[values.pop()])


@given(over("ab", 6), st.sampled_from(["{1}", "a ; {!b}", "{a | b ; !a}", "b ; a ; {a & b ; 1}"]))
def test_truth_on_the_word_that_is_shown(problem, text):
    verdict, found = explained(LTL, problem, text)
    letters = [set(letter) for letter in found.letters]
    for node, truth in zip(problem.preorder(), found.truth, strict=True):
        assert (truth[0] == "1") == holds(node, letters, found.loop)
        assert len(truth) == len(letters)
    assert (found.truth[0][0] == "1") == verdict.is_right
    assert (found.reason == "") == verdict.is_right


def test_the_word_falsifies_what_the_reason_says():
    problem = LTL.read_problem("a & F b & G c")
    _, found = explained(LTL, problem, "a & c ; {c | b}")
    assert found.reason.endswith("which falsifies Fb")
    nodes = [LTL.encode(node) for node in problem.preorder()]
    assert found.truth[nodes.index("F b")][0] == "0"


@pytest.mark.parametrize(
    ("task", "problem", "text"),
    [
        ("ltl", "a & !a", "unsat"),
        ("propositional", "a", "a=1, a=0"),
        ("ltl", "a", "{a & !a}"),
    ],
)
def test_nothing_is_drawn_of_what_stands_for_nothing(task, problem, text):
    task = load_task(task)
    _, found = explained(task, task.read_problem(problem), text)
    assert (found.truth, found.letters) == ((), ())


def test_who_says_unsat_is_shown_what_satisfies():
    _, found = explained(LTL, LTL.read_problem("X a"), "unsat")
    assert found.truth[0][0] == "1"
    assert found.reason == "{a} satisfies it"


def test_an_assignment_that_leaves_too_much_open_has_no_values():
    problem = PROPOSITIONAL.read_problem(" | ".join(f"a{i}" for i in range(1, 30)))
    verdict, found = explained(PROPOSITIONAL, problem, "a1=1")
    assert verdict.is_right
    assert found == Explanation()


@pytest.mark.parametrize(
    ("task", "problem", "deciding"),
    [
        ("copying", "a b a", ((0,), (1,), (2,))),
        ("lookup", "a -> b c -> d a -> b c a ->", ((3, 5, 9), (0, 2, 6, 8, 10))),
        ("lookup", "a -> b c ->", ()),
        ("permutation", "a b c > c a ; d e f >", ((2, 4, 9), (0, 5, 7))),
        ("permutation", "a a > a a ; b c >", ()),
    ],
)
def test_tokens_that_decide(task, problem, deciding):
    task = load_task(task)
    problem = task.read_problem(problem)
    assert task.deciding(problem) == deciding
    # What stands at one of the places is the answer.
    tokens, answer = task.encode(problem).split(), task.solve(problem).witness
    for places, token in zip(deciding, answer or (), strict=True):
        assert token in [tokens[place] for place in places]


# -- reasons, and the counterexamples in them ------------------------------------------------------

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
        assert not true_under(formula, values)


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
        with pytest.raises(FormatError, match="X"):
            chosen.read_answer(answer)
        return
    read, given_answer = chosen.read_problem(problem), chosen.read_answer(answer)
    assert chosen.check(read, given_answer) == verdict
    assert reason in chosen.reason(read, given_answer, Verdict(verdict))
    assert bool(reason) == bool(chosen.reason(read, given_answer, Verdict(verdict)))


@given(formulas())
def test_unsat_is_right_where_no_assignment_satisfies(formula):
    rows = product((True, False), repeat=len(formula.symbols))
    satisfiable = any(
        true_under(formula, dict(zip(formula.symbols, row, strict=True))) for row in rows
    )
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
