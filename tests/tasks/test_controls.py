"""Controls: what they answer, and that `meanings` does not know what a token means."""

from __future__ import annotations

import itertools
from random import Random
from types import SimpleNamespace

import pytest

from logicgen.errors import LogicgenError
from logicgen.tasks import TASKS, load_task
from logicgen.tasks.controls import Control, load_control
from logicgen.tasks.task import Cell

LOGIC = load_task("propositional")
OPERATORS = {"operators": {"!": 1, "&": 1, "|": 1}, "distribution": "tree"}


def solved(count, seed=0):
    """Return random formulas of `! & |` with their canonical answers."""
    rng = Random(seed)
    source = LOGIC.source(LOGIC.Settings.model_validate(OPERATORS), (1, 3))
    found = dict[str, str]()
    while len(found) < count:
        cell = Cell(rng.randint(1, 3), rng.choice((5, 6, 7)))
        problem = source.sample(rng, cell).problem
        solution = LOGIC.solve(problem)
        if solution.witness is not None:
            found[LOGIC.encode(problem)] = LOGIC.encode(solution.witness)
    return list(found.items())


@pytest.mark.parametrize("task", TASKS)
def test_every_control_has_its_name_and_a_line_about_it(task):
    for name in load_task(task).controls:
        control = load_control(load_task(task), name)
        assert isinstance(control, Control)
        assert (control.name, bool(control.about)) == (name, True)


def test_an_unknown_control_is_refused_with_the_known_ones():
    with pytest.raises(LogicgenError, match=r"control:near: .* did you mean nearest"):
        load_control(LOGIC, "near")
    with pytest.raises(LogicgenError, match="this task has none"):
        load_control(SimpleNamespace(name="another", controls={}), "near")


@pytest.mark.needs("rapidfuzz")
def test_answers_differ_and_are_as_many_as_asked_for():
    (problem, _), *shots = solved(9)
    for name in LOGIC.controls:
        control = load_control(LOGIC, name)
        answers = control.answers(problem, 5, shots)
        assert len(set(answers)) == len(answers) <= 5
        assert control.answers(problem, 1, shots) == answers[:1]
        assert control.answers(problem, 5, shots) == answers


def meaning(tokens, said):
    """Evaluate a formula in prefix notation with Python's own operators."""
    stack = []
    for token in reversed(tokens):
        if token == "!":
            stack.append(not stack.pop())
        elif token in "&|":
            first, second = stack.pop(), stack.pop()
            stack.append(first and second if token == "&" else first or second)
        else:
            stack.append(said[token])
    return stack.pop()


def test_solved_problems_that_tell_the_operators_apart_give_right_answers():
    """Sixteen solved problems do; the answers are checked by a truth table of the test's own."""
    examples = solved(40, seed=3)
    control = load_control(LOGIC, "meanings")
    for place in range(12):
        (problem, stored), *shots = examples[place : place + 17]
        (answer,) = control.answers(problem, 1, shots)
        assert answer == stored
        names = [token for token in dict.fromkeys(problem.split()) if token not in "!&|"]
        given = dict(zip(answer.split()[::2], answer.split()[1::2], strict=True))
        for values in itertools.product((True, False), repeat=len(names)):
            said = dict(zip(names, values, strict=True))
            if all(said[name] == (value == "1") for name, value in given.items()):
                assert meaning(problem.split(), said)


def test_without_solved_problems_the_meaning_of_a_token_is_a_guess():
    """`& a b` may be any of three formulas; the true one is not the most probable answer."""
    control = load_control(LOGIC, "meanings")
    answers = control.answers("& a b", 99)
    assert len(answers) > 2
    assert {"a 1", "a 1 b 1"} <= {*answers}


def test_in_context_controls_do_not_know_the_names_of_tokens():
    """Renaming all tokens of problems and answers, operators as well, renames the answers."""
    examples = solved(10, seed=5)
    tokens = sorted({token for pair in examples for text in pair for token in text.split()})
    assert {"!", "&", "|", "0", "1"} < {*tokens}
    secret = {token: f"t{number}" for number, token in enumerate(tokens)}

    def renamed(text):
        return " ".join(secret[token] for token in text.split())

    meanings = load_control(LOGIC, "meanings")
    (problem, _), *shots = examples
    hidden = [(renamed(text), renamed(answer)) for text, answer in shots]
    plain = meanings.answers(problem, 4, shots)
    assert [renamed(answer) for answer in plain] == meanings.answers(renamed(problem), 4, hidden)


@pytest.mark.needs("rapidfuzz")
def test_the_nearest_solved_problem_lends_its_answer():
    control = load_control(LOGIC, "nearest")
    shots = [("| a ! b", "a 1"), ("& a ! b", "a 1 b 0")]
    assert control.answers("& c ! a", 1, shots) == ["c 1 a 0"]
    assert control.answers("& c ! a", 2, shots) == ["c 1 a 0", "c 1"]
    assert control.answers("& c ! a", 2) == []


def test_all_true_names_symbols_only():
    control = load_control(LOGIC, "all-true")
    assert control.answers("& c ! a", 3) == ["c 1 a 1"]
    assert control.answers("<-> ^ a 1 -> b a", 3) == ["a 1 b 1"]


@pytest.mark.needs("rapidfuzz")
def test_other_operators():
    """`nearest` compares them like all others; `meanings` cannot, and says so."""
    shots = [("^ a b", "a 1 b 0"), ("| a b", "a 1")]
    assert load_control(LOGIC, "nearest").answers("^ c d", 1, shots) == ["c 1 d 0"]
    with pytest.raises(LogicgenError, match=r"knows ! & \|, and the formula has \^"):
        load_control(LOGIC, "meanings").answers("^ c d", 1, shots)


@pytest.mark.needs("rapidfuzz")
def test_symbols_may_be_words_and_constants_are_no_symbols():
    problem, shots = "& request grant_2", [("& a b", "a 1 b 1")]
    assert load_control(LOGIC, "all-true").answers(problem, 1) == ["request 1 grant_2 1"]
    assert load_control(LOGIC, "nearest").answers(problem, 1, shots) == ["request 1 grant_2 1"]
    assert load_control(LOGIC, "all-true").answers("| 1 a", 1) == ["a 1"]
    with pytest.raises(LogicgenError, match=r"knows ! & \|, and the formula has 1"):
        load_control(LOGIC, "meanings").answers("1", 1, shots)


def test_meanings_knows_the_operators_of_the_training_problems():
    control = load_control(LOGIC, "meanings")
    control.fit([("^ a b", "a 1 b 0"), ("! a", "a 0")])
    assert control.answers("^ c d", 1, [("^ a b", "a 1 b 0"), ("! b", "b 0")]) == ["c 1 d 0"]
    with pytest.raises(LogicgenError, match=r"knows ! \^, and the formula has &"):
        control.answers("& c d", 1, [("^ a b", "a 1 b 0")])
