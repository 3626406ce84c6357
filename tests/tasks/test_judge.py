"""The judge of items, and one item within a time limit, which also counts reading."""

from __future__ import annotations

import threading

import pytest

import logicgen
from logicgen.errors import FormatError, LogicgenError
from logicgen.solvers import Status, Verdict
from logicgen.tasks.judge import Finding, Item, Wants, finding_of, judge

# Takes a solver years: a counter of many bits that has to come round.
HARD = "!b0" + "".join(f" & !b{i}" for i in range(1, 40)) + " & F(" + " & ".join(
    f"b{i}" for i in range(40)
) + ") & " + " & ".join(
    f"G(Xb{i} <-> (b{i} xor ({' & '.join(f'b{j}' for j in range(i)) or 'true'})))"
    for i in range(40)
)  # fmt: skip


def test_each_finding_is_made_if_it_is_wanted():
    everything = Wants(solution=True, shown=True, explanation=True)
    found = judge("propositional", everything)(Item("a & b", "a=1"))
    assert (found.verdict, found.answer, str(found.solution.witness)) == (
        "incorrect",
        "a=1",
        str(logicgen.solve("propositional", "a & b").witness),
    )
    assert found.reason == found.explanation.reason == "it allows b=0, which falsifies b"
    short = judge("propositional", Wants(reason=True))(Item("a & b", "a=1"))
    assert short == Finding(Verdict.INCORRECT, reason=found.reason)
    solved = judge("copying", Wants(verdict=False, solution=True, shown=True))(Item("a b"))
    assert (solved.answer, solved.solution.status) == ("a b", "sat")


def test_a_known_verdict_is_explained_and_not_checked():
    known = Item("a", "a=1", verdict=Verdict.INCORRECT)
    found = judge("propositional", Wants(explanation=True))(known)
    assert found.verdict is Verdict.INCORRECT
    assert found.explanation.reason == "it also allows words that do not satisfy the formula"


def test_what_does_not_parse():
    decide = judge("propositional", Wants(shown=True))
    found = decide(Item("a", "{"))
    assert (found.verdict, found.answer) == ("invalid", None)
    assert found.reason.startswith("line 1, column 1")
    assert isinstance(decide(Item("a &", "a=1")).error, FormatError)
    with pytest.raises(FormatError):
        finding_of(decide(Item("a &", "a=1")))
    # Models write prefix notation.
    assert judge("propositional", Wants(prefix=True))(Item("a", "a=1")).verdict == "invalid"


def test_an_answer_that_equals_the_expected_one_is_exact():
    decide = judge("propositional", Wants(prefix=True))
    assert decide(Item("| a b", "b 1", "a 1")).verdict == "correct"
    assert decide(Item("& a b", "b 1 a 1", "a 1 b 1")).verdict == "exact"
    assert decide(Item("& a b", "b 1 a 1")).verdict == "correct"
    assert decide(Item("| a b", "b 1 1", "a 1")).verdict == "invalid"


def test_an_effort_limits_every_call_of_a_solver():
    problem = "|".join(f"(a{i} & b{i % 7} & !c{i % 5})" for i in range(30))
    for effort, verdict in ((None, "incorrect"), (1, "unknown")):
        wants = Wants(effort=effort, solver="pysat")
        assert judge("propositional", wants)(Item(problem, "unsat")).verdict == verdict


def test_results_are_those_without_a_limit():
    for task, problem in (("ltl", "a U b"), ("propositional", "a & !a"), ("copying", "a b c")):
        assert logicgen.solve(task, problem, timeout=30) == logicgen.solve(task, problem)
    assert logicgen.verify("ltl", "F a", "{a}", timeout=30) is Verdict.CORRECT
    assert logicgen.verify("ltl", "F a", "{!a}", timeout=30) is Verdict.INCORRECT
    assert logicgen.verify("ltl", "F a", "{", timeout=30) is Verdict.INVALID


def test_a_limit_is_unknown_with_its_reason():
    found = logicgen.solve("ltl", HARD, timeout=0.5)
    assert found.status is Status.UNKNOWN
    assert found.reason == "time limit of 0.5 s"
    # Reading counts as well.
    assert logicgen.solve("ltl", "a & " * 300_000 + "a", timeout=0.05).status is Status.UNKNOWN
    assert logicgen.verify("ltl", HARD, "0", timeout=0.5) is Verdict.UNKNOWN
    assert logicgen.solve("ltl", "a", timeout=30).status is Status.SAT


def test_what_does_not_parse_is_said_with_its_place():
    for timeout in (None, 30):
        with pytest.raises(FormatError, match="line 1, column 4") as caught:
            logicgen.solve("ltl", "a &", timeout=timeout)
        assert (caught.value.line, caught.value.column) == (1, 4)
        with pytest.raises(FormatError):
            logicgen.verify("ltl", "a &", "{a}", timeout=timeout)
        with pytest.raises(LogicgenError, match="no task"):
            logicgen.solve("lt", "a", timeout=timeout)
        with pytest.raises(LogicgenError, match="no solver"):
            logicgen.solve("ltl", "a", solver="nobody", timeout=timeout)
    for timeout in (0, -1, float("nan"), 10**400):
        with pytest.raises(LogicgenError, match="seconds above 0"):
            logicgen.solve("ltl", "a", timeout=timeout)
    with pytest.raises(LogicgenError, match="None is not a text"):
        logicgen.verify("ltl", "a", None)
    with pytest.raises(LogicgenError, match="5 is not a text"):
        logicgen.solve("ltl", 5)


def test_threads_do_not_meet_each_others_answers():
    wrong = []

    def ask(number):
        for i in range(20):
            name = f"a{number * 100 + i}"
            if name not in str(logicgen.solve("propositional", name, timeout=30).witness):
                wrong.append(name)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
