"""Prompts: every task has one, its examples are right, and it says what a scorer accepts."""

from __future__ import annotations

import pytest

from logicgen.errors import FormatError, LogicgenError
from logicgen.scoring.prompts import prompt, written_problem
from logicgen.scoring.scorer import judge
from logicgen.tasks import TASKS, load_task
from logicgen.tasks.copying import Copying
from tests.scoring.test_fooling import PROBLEMS


@pytest.mark.parametrize("task", TASKS)
def test_worked_examples_are_right_and_in_the_form_that_is_asked_for(task):
    chosen = load_task(task)
    for problem, answer in load_task(task).wording.examples:
        found = judge(chosen, chosen.read_problem(problem), f"<answer>{answer}</answer>")
        assert found.reward == 1.0, found
        assert found.answer == answer


@pytest.mark.parametrize("task", PROBLEMS)
def test_a_prompt_explains_shows_examples_and_ends_with_the_problem(task):
    problem, _ = PROBLEMS[task]
    written = written_problem(load_task(task), load_task(task).read_problem(problem))
    plain, worked = prompt(task, problem), prompt(task, problem, examples=3)
    assert plain.endswith(f": {written}")
    assert worked.endswith(f": {written}")
    assert "<answer>" in plain
    assert worked.count("Example") - plain.count("Example") >= 3
    for shown, said in load_task(task).wording.examples:
        shown = written_problem(load_task(task), load_task(task).read_problem(shown))
        assert f"{shown}\n<answer>{said}</answer>" in worked
    assert prompt(task, problem) == plain


def test_formulas_are_asked_in_polish_notation_too():
    asked = prompt("ltl", "a U b & X !b", notation="prefix", examples=1)
    assert asked.endswith("Formula: & U a b X ! b")
    assert "Polish notation" in asked
    assert "bind" not in asked
    assert prompt("ltl", "& U a b X ! b") == prompt("ltl", "a U b & X !b")


def test_what_is_written_is_the_problem():
    task = load_task("ltl")
    for text in ("GFa & X!aXb", "F grant U XX(aGb)", "G(a -> F b)", "X(1) & F(0)"):
        problem = task.read_problem(text)
        assert task.read_problem(written_problem(task, problem)) is problem
    assert written_problem(task, task.read_problem("GFgrant & XaXb")) == "GF grant & X aXb"


def test_the_precedence_that_is_explained_is_that_of_the_grammar():
    """Each operator binds more tightly than the one behind it in the explanation."""
    read = load_task("ltl").read_problem
    assert read("!a & b") is read("(!a) & b")
    assert read("a U b & c") is read("(a U b) & c")
    assert read("X a U b") is read("(X a) U b")
    assert read("a & b ^ c") is read("(a & b) ^ c")
    assert read("a ^ b | c") is read("(a ^ b) | c")
    assert read("a | b -> c") is read("(a | b) -> c")
    assert read("a -> b -> c") is read("a -> (b -> c)")
    assert read("a U b U c") is read("a U (b U c)")


@pytest.mark.parametrize(
    ("task", "settings", "said"),
    [
        ("text", {}, "makes corpora"),
        ("chess", {}, "no task is called"),
        ("ltl", {"examples": 4}, "the task ltl has 0 to 3"),
        ("ltl", {"examples": -1}, "the task ltl has 0 to 3"),
        ("ltl", {"version": 2}, "version 1, not 2"),
        (None, {}, "a task is NoneType"),
    ],
)
def test_what_there_is_not_is_refused(task, settings, said):
    with pytest.raises(LogicgenError, match=said):
        prompt(task, "a", **settings)


def test_a_problem_that_is_no_text_is_refused():
    with pytest.raises(LogicgenError, match="a problem is NoneType, not text"):
        prompt("ltl", None)


def test_a_task_without_prompts_is_named(monkeypatch):
    monkeypatch.setattr(Copying, "wording", None)
    with pytest.raises(LogicgenError, match="task copying has no prompts"):
        prompt("copying", "a b")


def test_a_problem_that_does_not_parse_is_an_error_with_its_place():
    with pytest.raises(FormatError, match="line 1, column 4"):
        prompt("propositional", "a |")
