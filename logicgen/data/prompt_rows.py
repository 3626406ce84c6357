"""Problems with their prompts, as plain data: what files, streams and adapters hand on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from logicgen.data.dataset import Dataset
from logicgen.data.drawer import alpha_class_of
from logicgen.scoring.prompts import VERSION, Notation, Wording, prompt_of, wording_of
from logicgen.solvers import Status
from logicgen.syntax.answers import NO_ANSWER
from logicgen.tasks import Task
from logicgen.tasks.problem_samples import ProblemSamples

Row = dict[str, Any]

ROWS = 10_000
"""Rows that are made at a time."""


def prompt_rows(
    data: Dataset,
    split: str,
    examples: int = 0,
    notation: Notation = "infix",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Row]:
    """Yield the examples of a split with their prompts.

    Raises LogicgenError for a task without prompts, and a split that there is not or that is empty.
    """
    task, wording = data.task, wording_of(data.task_name)
    table = data.table(split)
    for first in range(0, table.num_rows, ROWS):
        progress(first, table.num_rows)
        for number, row in enumerate(table.slice(first, ROWS).to_pylist(), start=first):
            problem = task.decode_problem(row.pop("problem"))
            answer = task.decode_answer(row.pop("answer"))
            asked = _asked(task, wording, problem, answer, examples, notation)
            yield {**asked, "split": split, "row": number, **row}


def sampled_rows(
    samples: ProblemSamples,
    numbers: Iterable[int],
    examples: int = 0,
    notation: Notation = "infix",
) -> Iterator[Row]:
    """Yield random problems of these numbers, with answers and prompts, as rows of *train*.

    Raises LogicgenError for a task without prompts, and where the ranges hold no problem.
    """
    task = samples.task
    wording = wording_of(task.name)
    for number in numbers:
        problem, cell = samples[number], samples.cell(number)
        solution = task.solve(problem)
        answer = NO_ANSWER if solution.status is Status.UNSAT else solution.witness
        yield {
            **_asked(task, wording, problem, answer, examples, notation),
            "split": "train",
            "row": number,
            "symbols": cell.symbols,
            "length": cell.length,
            "alpha_class": alpha_class_of(task.encode(problem)),
        }


def _asked(
    task: Task, wording: Wording, problem: Any, answer: Any, examples: int, notation: Notation
) -> Row:
    """Return what a row says of a problem, its answer and its prompt."""
    return {
        "prompt": prompt_of(task, wording, problem, examples, notation),
        "problem": task.show_problem(problem),
        "answer": task.show(answer),
        "task": task.name,
        "prompt_version": VERSION,
    }
