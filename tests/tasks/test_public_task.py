"""Tasks as programs use them."""

from __future__ import annotations

from itertools import islice

import pytest

import logicgen
from logicgen.errors import FormatError, LogicgenError
from logicgen.solvers import Verdict
from logicgen.tasks import TASKS
from tests.tasks.test_problem_samples import RANGES


@pytest.mark.parametrize("name", TASKS)
def test_what_is_written_reads_back_and_answers_verify(name):
    task = logicgen.task(name)
    formulas = name in ("ltl", "propositional")
    for problem in islice(task.samples(**RANGES[name], seed=5), 20):
        for notation in ("infix", "prefix", *(["unicode"] if formulas else [])):
            assert task.read(task.write(problem, notation)) == problem
        witness = task.solve(problem).witness
        for answer in (witness, task.write(witness), task.write(witness, "prefix")):
            assert task.verify(problem, answer) is Verdict.CORRECT
            assert task.verify(task.write(problem), answer) is Verdict.CORRECT
        assert task.read_answer(task.write(witness)) == witness


def test_one_sample_is_that_of_the_endless_ones():
    task = logicgen.task("ltl")
    assert (
        task.sample(symbols=3, length=12, seed=4, index=9)
        == (task.samples(symbols=3, length=12, seed=4)[9])
    )


def test_notations():
    task = logicgen.task("ltl")
    problem = task.read("G(a -> F b)")
    assert task.write(problem) == "G(a -> F b)"
    assert task.write(problem, "prefix") == "G -> a F b"
    assert task.write(problem, "unicode") == "□(a → ◇ b)"
    assert task.write(problem, "latex") == r"\mathsf{G} ( a \rightarrow \mathsf{F} b )"
    trace = task.read_answer("!a & b ; {1}")
    assert task.write(trace, "unicode") == "¬a ∧ b ; {⊤}"
    assert str(trace) == task.write(trace)
    with pytest.raises(LogicgenError, match="there are infix, prefix, unicode and latex"):
        task.write(problem, "postfix")
    assignments, strings = logicgen.task("propositional"), logicgen.task("copying")
    assert assignments.write(assignments.read_answer("a=1"), "latex") == "a=1"
    with pytest.raises(LogicgenError, match="only for formulas and traces"):
        strings.write(strings.read("a b"), "latex")


def test_values_and_texts_are_judged_alike():
    for name in ("ltl", "propositional"):
        task = logicgen.task(name)
        none = task.read_answer("unsat")
        for answer in ("unsat", none):
            assert task.verify("a & !a", answer) is Verdict.CORRECT
            assert task.verify("a", answer) is Verdict.INCORRECT
        assert task.write(none) == "unsat"
    task = logicgen.task("ltl")
    assert task.verify("a", "a ∧ ¬b ; {⊤}") is Verdict.CORRECT
    trace = task.read_answer("a & !b ; {c}")
    assert task.read_answer(task.write(trace, "unicode")) == trace


def test_texts_are_written_in_other_notations():
    task = logicgen.task("ltl")
    assert task.write("U a ! b") == "a U !b"
    assert task.write("a U !b", "prefix") == "U a ! b"
    assert task.write("a ; {b}", "prefix") == "a ; { b }"
    assert task.write("unsat", "latex") == "unsat"


def test_what_is_no_value_is_refused():
    task = logicgen.task("ltl")
    for wrong in (None, 3, task.solve("a & !a").witness):
        with pytest.raises(LogicgenError, match="is not a problem or an answer of ltl"):
            task.write(wrong)
        with pytest.raises(LogicgenError, match="is not a problem or an answer of ltl"):
            task.verify("a", wrong)
    with pytest.raises(TypeError):
        task.samples(symbols=1, length=3)[0:2]


def test_errors():
    with pytest.raises(LogicgenError, match="no task is called 'ltll': did you mean ltl"):
        logicgen.task("ltll")
    task = logicgen.task("ltl")
    with pytest.raises(FormatError, match="column"):
        task.read("a U")
    assert task.verify("a U b", "{") is Verdict.INVALID
    assert task.solve("a & !a").status == "unsat"
    assert repr(task) == "logicgen.task('ltl')"
