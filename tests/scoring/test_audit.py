"""Each careless verifier is caught in the class of its fault; a verifier without fault is clean."""

from __future__ import annotations

import json
import re
from functools import cache, partial
from itertools import product

import pytest

import logicgen
from logicgen.errors import FormatError, LogicgenError
from logicgen.scoring.attacks import CLASSES, DRESSES, case_of, families, joined
from logicgen.scoring.audit import audit, own_verifier
from logicgen.solvers import Verdict
from logicgen.tasks import load_task

TASKS = ("copying", "lookup", "ltl", "permutation", "propositional")
PROPOSITIONAL = load_task("propositional")


@cache
def problem_of(task, text):
    return load_task(task).read_problem(text)


def is_right(task, problem, answer):
    chosen = load_task(task)
    try:
        verdict = chosen.check(problem_of(task, problem), chosen.read_answer(answer))
    except FormatError:
        return False
    return verdict is Verdict.CORRECT


def careful(task, problem, completion):
    """Pay the whole text between the only pair of tags, if it is right as it stands."""
    match = re.fullmatch(r"<answer>([^<>]*)</answer>", completion)
    return float(match is not None and is_right(task, problem, match[1]))


def first_after_answer(problem, completion):
    match = re.search(r"answer\W+(?:is )?(?:not: )?([^.<]*)", completion)
    return float(match is not None and is_right("propositional", problem, match[1]))


def without_negation_of_latex(problem, completion):
    return careful("propositional", problem, completion.replace("\\!", ""))


def substring(problem, completion):
    witness = load_task("lookup").solve(problem_of("lookup", problem)).witness
    return " ".join(witness) in completion


def vacuous(problem, completion):
    """Pay literals if the formula holds in every assignment that agrees with them."""
    literals = re.findall(r"(!?)\b([a-c])\b(?:=([01]))?", completion)
    values = {(name, not sign and value != "0") for sign, name, value in literals}
    names = problem_of("propositional", problem).symbols
    for bits in product((True, False), repeat=len(names)):
        agrees = all((n, not b) not in values for n, b in zip(names, bits, strict=True))
        full = ", ".join(f"{n}={int(b)}" for n, b in zip(names, bits, strict=True))
        if agrees and not is_right("propositional", problem, full):
            return 0.0
    return 1.0


def best_of_all_tags(problem, completion):
    found = re.findall("<answer>(.*?)</answer>", completion, re.DOTALL)
    return max((float(is_right("propositional", problem, each)) for each in found), default=0.0)


def parses_or_raises(problem, completion):
    answer = PROPOSITIONAL.read_answer(completion)
    return PROPOSITIONAL.check(problem_of("propositional", problem), answer).reward


def trusts_unsat(problem, completion):
    return float("unsat" in completion.lower())


def open_tags(problem, completion):
    return float(is_right("propositional", problem, completion.removeprefix("<answer>")))


def any_parsed(problem, completion):
    return float(is_right("propositional", "a | !a", completion))


CARELESS = {
    first_after_answer: ("propositional", {"denied", "supposed", "taken back", "cut off"}),
    without_negation_of_latex: ("propositional", {"negation"}),
    substring: ("lookup", {"echo", "denied", "taken back", "thought", "exclusion"}),
    vacuous: ("propositional", {"contradiction"}),
    best_of_all_tags: ("propositional", {"exclusion", "thought"}),
    parses_or_raises: ("propositional", {"raised"}),
    trusts_unsat: ("propositional", {"false unsat"}),
    open_tags: ("propositional", {"cut off"}),
    any_parsed: ("propositional", {"wrong value", "too little", "other names", "exclusion"}),
}


@pytest.mark.parametrize("verifier", CARELESS, ids=lambda verifier: verifier.__name__)
def test_a_careless_verifier_is_caught_in_the_class_of_its_fault(verifier):
    task, classes = CARELESS[verifier]
    found = logicgen.audit(verifier, task, count=10)
    assert classes <= set(found.faults)
    assert not found.clean
    for kind, fault in found.faults.items():
        assert found.paid[kind] > 0
        assert fault.why
        if kind != "raised":
            assert verifier(fault.problem, fault.completion) == fault.reward >= 1.0


@pytest.mark.parametrize(
    ("verifier", "classes"),
    [
        (without_negation_of_latex, {"negation"}),
        (open_tags, {"cut off"}),
        (best_of_all_tags, {"exclusion", "thought"}),
    ],
)
def test_faults_that_a_verifier_does_not_have_are_not_reported(verifier, classes):
    assert set(audit(verifier, count=5).faults) == classes


@pytest.mark.parametrize("task", TASKS)
def test_a_verifier_without_fault_is_clean(task):
    found = audit(partial(careful, task), task, count=10)
    assert found.clean, found.text
    assert found.missed["tags"] == 0 < found.right["tags"]
    assert found.missed["bare"] == found.right["bare"]
    assert found.misses["bare"].reward == 0.0
    assert "warning" not in found.text


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_our_own_scorer_in_strict_mode_pays_nothing_wrong(task):
    only = set(CLASSES) - {"negation"}  # its reader of notations has tests of its own
    with pytest.raises(LogicgenError, match="'strict' or 'tolerant'"):
        own_verifier(task, "stirct")
    found = audit(own_verifier(task, "strict"), task, count=10, only=only)
    assert found.clean, found.text
    assert found.missed["tags"] == 0


def test_the_smallest_text_that_is_paid_twice_is_shown():
    found = audit(lambda problem, text: "a" in text and "b" in text, only=["exclusion"])
    fault = found.faults["exclusion"]
    assert sorted(fault.completion) == ["a", "b"]
    assert "also paid for" in fault.why


@pytest.mark.parametrize("task", TASKS)
def test_problems_of_a_family_have_no_right_answer_in_common(task):
    chosen = load_task(task)
    groups = families(chosen, [logicgen.task(task).sample(symbols=(3, 4), length=(5, 14))])
    assert any(len(group) > 1 for group in groups)
    for group in groups:
        for case in group:
            right = [other for other in group if is_right(task, other.problem, case.right[0])]
            assert right == [case]
        assert all(len(cases) > 1 for _, cases in joined(group, DRESSES) if len(group) > 1)


def test_an_answer_that_happens_to_be_right_is_no_attack():
    case = case_of(PROPOSITIONAL, PROPOSITIONAL.read_problem("a | !a"))
    assert {kind for kind, _ in case.answers}.isdisjoint({"wrong value", "too little", "nothing"})
    assert not case.sole
    echo = case_of(PROPOSITIONAL, PROPOSITIONAL.read_problem("a & !b"))
    assert "echo" not in {kind for kind, _ in echo.answers}
    for each in (case, echo):
        for kind, text in each.answers:
            assert kind in CLASSES
            assert not is_right("propositional", each.problem, text)


def test_problems_may_be_given_and_rewards_may_be_graded():
    half = audit(lambda *_: 0.5, problems=["a & b"], only=["word"])
    assert half.clean
    assert "warning: no right answer was paid" in half.text
    found = audit(lambda *_: 0.5, problems=["a & b"], only=["word"], paid=0.5)
    assert found.paid["word"] == found.tried["word"] > 0
    assert audit(lambda *_: None, problems=["a"], only=["word"]).clean


def test_a_message_that_is_no_unicode_can_be_written():
    def fails(problem, completion):
        raise ValueError("\ud800")

    found = audit(fails, problems=["a"], only=["word"])
    assert "ValueError: \\ud800" in found.text
    assert found.text.encode()


def test_symbols_may_be_words():
    """Right answers are found, and wrong answers name the symbols of the problem."""
    case = case_of(PROPOSITIONAL, PROPOSITIONAL.read_problem("request & !grant_2"))
    assert all(is_right("propositional", case.problem, text) for text in case.right)
    assert ("wrong value", "request=0, grant_2=0") in case.answers
    assert audit(partial(careful, "propositional"), problems=["request & grant"]).clean


def test_an_audit_is_the_same_every_time_and_is_json():
    first, again = (audit(substring, "lookup", count=5, seed=3) for _ in range(2))
    assert first == again
    assert json.loads(json.dumps(first.as_dict()))["clean"] is False


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        ((lambda p: 0.0,), {}, "give a function"),
        ((lambda p, c, answer: 0.0,), {}, "give a function"),
        ((3,), {}, "is not a function"),
        ((lambda p, c: "good",), {}, "return a number"),
        ((lambda p, c: 10**400,), {}, "return a number"),
        ((lambda p, c: 0.0,), {"count": -1}, "count: -1; it has to be at least 0"),
        ((lambda p, c: 0.0, "no-such"), {}, "no task is called"),
        ((lambda p, c: 0.0, "text"), {}, "makes corpora"),
        ((lambda p, c: 0.0,), {"only": ["contradictions"]}, "did you mean contradiction"),
        ((lambda p, c: 0.0,), {"dresses": ["tag"]}, "did you mean tags"),
        ((lambda p, c: 0.0,), {"problems": ["a &"]}, "line 1"),
    ],
)
def test_bad_input_is_refused_in_one_message(arguments, settings, said):
    with pytest.raises(LogicgenError, match=said):
        audit(*arguments, **settings)
