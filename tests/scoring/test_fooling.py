"""Completions that a careless scorer would pay for: none is paid, and none takes long."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from logicgen.scoring.completions import LONGEST_COMPLETION
from logicgen.scoring.scorer import judge
from logicgen.solvers import Verdict
from logicgen.tasks import load_task
from tests.scoring.fuzzed import MODES, PROBLEMS, check_judgement, fuzzed_completion

ROWS = [
    json.loads(line) for line in Path(__file__).with_name("fooling.jsonl").read_text().splitlines()
]
# What is too long for that file: texts around the right answers.
LONG = [
    "x" * 100_000,
    "x" * (LONGEST_COMPLETION + 1),
    "<answer>" + ", ".join(["a=1"] * 9000) + "</answer>",
    "<answer>" + "!" * 19_000 + "a</answer>",
    "<answer>" + "(" * 9_000 + "a" + ")" * 9_000 + "</answer>",
    "<answer>" + "{" * 19_000 + "</answer>",
    "<answer>" + "a & " * 4_900 + "</answer>",
    "<answer>" + "a=1 " * 4_900 + "b</answer>",
    "<answer>" + " " * 19_000 + "?</answer>",
    "<answer>" + "\\" * 19_000 + "</answer>",
    "<answer>" + "1 ; " * 4_900 + "{a & !a}</answer>",
    "<answer>" * 100_000,
    "</answer>" * 100_000,
    "</think>" * 100_000,
    "<think>" * 100_000,
    "answer: " * 100_000,
    "the answer is" + " " * 900_000 + "?",
    "answer" + " " * 500_000 + "answer" + " " * 500_000,
    "answer:\n" * 100_000,
    "\\boxed{" * 100_000,
    "\\boxed{}" * 100_000,
    "\\boxed{a}" * 100_000,
    "```\n" * 200_000,
    " " * 1_000_000,
    "\n" * 1_000_000,
    " \n" * 500_000 + "x",
    "<|" * 500_000,
    "<|im_end|>" * 100_000,
    "*" * 1_000_000,
    "`" * 1_000_000,
    "$" * 1_000_000,
]


def test_there_are_many_kinds():
    assert len(ROWS) >= 200
    assert {row["task"] for row in ROWS} == set(PROBLEMS)


@pytest.mark.parametrize("mode", ["strict", "tolerant"])
def test_none_is_paid(mode):
    for row in ROWS:
        task = load_task(row["task"])
        found = judge(task, task.read_problem(row["problem"]), row["completion"], mode)
        assert found.reward == 0.0, (row["kind"], row["completion"], found)
        assert found.reason


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["strict", "tolerant"])
@pytest.mark.parametrize("task", PROBLEMS)
def test_long_ones_are_not_paid(task, mode):
    chosen = load_task(task)
    problem = chosen.read_problem(PROBLEMS[task][0])
    for number, completion in enumerate(LONG):
        found = judge(chosen, problem, completion, mode)
        assert found.reward == 0.0, (number, found)


@pytest.mark.parametrize("task", PROBLEMS)
def test_what_is_no_text_is_invalid(task):
    chosen = load_task(task)
    problem = chosen.read_problem(PROBLEMS[task][0])
    for completion in (None, b"<answer>d</answer>", 1.0, ["<answer>d</answer>"], {}, object()):
        found = judge(chosen, problem, completion)
        assert found.verdict is Verdict.INVALID
        assert "not text" in found.reason


@pytest.mark.parametrize("task", PROBLEMS)
def test_whatever_is_written_there_is_a_judgement(task):
    """Random texts of pieces that mean something, and the right answer cut, doubled and mixed."""
    chosen, rng = load_task(task), Random(task)
    problem = chosen.read_problem(PROBLEMS[task][0])
    for _ in range(1_500):
        text = fuzzed_completion(task, rng)
        for mode in MODES:
            check_judgement(task, judge(chosen, problem, text, mode))
