"""Properties of all judgements, on a few random completions; `make fuzz` tries many more."""

from __future__ import annotations

from random import Random

import pytest

from logicgen.scoring.scorer import judge
from logicgen.tasks import load_task
from tests.scoring import properties
from tests.scoring.properties import EXCLUDING, MODES

CASES = [(task, mode) for task in EXCLUDING for mode in MODES]


@pytest.mark.parametrize(("task", "mode"), CASES)
def test_a_completion_is_paid_for_one_of_problems_that_exclude_each_other(task, mode):
    found = properties.exclusion(task, mode, Random(task + mode), 300)
    assert found["failures"] == {}
    assert found["paid"] > 10


@pytest.mark.parametrize(("task", "mode"), CASES)
def test_an_independent_reader_reads_the_same(task, mode):
    found = properties.readings(task, mode, Random(task + mode), 300)
    assert found["failures"] == {}
    assert found["read"] > 30


@pytest.mark.parametrize("mode", MODES)
def test_what_a_climb_is_paid_for_is_right(mode):
    right = 0
    for task in EXCLUDING:
        found = properties.climb(task, mode, Random(task + mode), 600, most=300)
        assert found["failures"] == {}
        right += found["verdicts"].get("correct", 0)
    assert right > 0


def test_a_text_and_its_contradiction_are_not_both_paid():
    task = load_task("propositional")

    def pays(mode, problem, completion):
        return judge(task, task.read_problem(problem), completion, mode).reward == 1.0

    assert properties.contradictions(pays) == []


def test_a_scorer_that_drops_negations_is_found():
    task = load_task("propositional")

    def careless(mode, problem, completion):
        text = completion.replace("\\!", "").replace("The answer is not", "The answer is")
        return judge(task, task.read_problem(problem), text, mode).reward == 1.0

    found = properties.contradictions(careless)
    assert any("strict" in each and "\\\\!" in each for each in found)
    assert any("answer is not" in each for each in found)
