"""Solving and verifying one problem within a time limit, from Python and on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

from logicgen.errors import FormatError, LogicgenError
from logicgen.processes.pool import MEMORY, Failure, Pool
from logicgen.solvers import Solution, Status, Verdict
from logicgen.tasks import Task, fitting_solver, load_task
from logicgen.tasks.problems import EFFORT


def solve(task: str, problem: str, solver: str | None, seconds: float | None) -> Solution:
    """Return the canonical answer to a problem, `unknown` where reading and solving take longer.

    Raises LogicgenError for an unknown task or solver, FormatError for what does not parse.
    """
    if seconds is None:
        chosen, solver = load_task(task), fitting_solver(task, solver)
        return chosen.solve(chosen.read_problem(problem), solver)
    found = _called(task, solver, seconds, (problem, None))
    return Solution(Status.UNKNOWN, reason=found.reason) if isinstance(found, Failure) else found


def verify(
    task: str, problem: str, answer: str, solver: str | None, seconds: float | None
) -> tuple[Verdict, str]:
    """Return the verdict on an answer, and the reason if it does not parse or a limit was reached.

    Raises as `solve` does for everything but the answer.
    """
    if seconds is None:
        chosen, solver = load_task(task), fitting_solver(task, solver)
        return checked(chosen, chosen.read_problem(problem), answer, solver)
    found = _called(task, solver, seconds, (problem, answer))
    return (Verdict.UNKNOWN, found.reason) if isinstance(found, Failure) else found


def checked(task: Task, problem: Any, answer: str, solver: str | None) -> tuple[Verdict, str]:
    """Return the verdict on the text of an answer, `invalid` with a reason if it does not parse."""
    try:
        read = task.read_answer(answer)
    except FormatError as error:
        return Verdict.INVALID, str(error)
    return task.check(problem, read, solver), ""


def _called(task: str, solver: str | None, seconds: float, item: Any) -> Any:
    fitting_solver(task, solver)  # complain here, not in a worker
    if not (isinstance(seconds, int | float) and seconds > 0):
        raise LogicgenError(f"timeout: {seconds!r}; it has to be a number of seconds above 0")
    found = _pool(task, solver).call(item, seconds)
    if isinstance(found, Exception):
        raise found
    return found


@cache
def _pool(task: str, solver: str | None) -> Pool[Any, Any]:
    return Pool(_deciding, (task, solver), count=os.cpu_count() or 1, memory=MEMORY)


def _deciding(task: str, solver: str | None) -> Callable[[tuple[str, str | None]], Any]:
    """Return the function that solves or verifies in a worker, and returns what is wrong."""
    chosen = load_task(task)

    def decide(item: tuple[str, str | None]) -> Any:
        problem, answer = item
        try:
            parsed = chosen.read_problem(problem)
            if answer is None:
                return chosen.solve(parsed, solver)
            return checked(chosen, parsed, answer, solver)
        except FormatError as error:
            return error
        except LogicgenError as error:
            return LogicgenError(str(error))

    return decide


def judging(task: str, solver: str | None) -> Callable[[tuple[str, list[str]]], list[Verdict]]:
    """Return the function with which a worker judges the answers to a problem, all in tokens.

    What takes more than EFFORT is unknown.
    """
    chosen = load_task(task).limited(EFFORT, None)

    def judge(item: tuple[str, list[str]]) -> list[Verdict]:
        problem, answers = chosen.decode_problem(item[0]), item[1]
        known: dict[str, Verdict] = {}
        for answer in answers:
            if answer not in known:
                try:
                    known[answer] = chosen.check(problem, chosen.decode_answer(answer), solver)
                except FormatError:
                    known[answer] = Verdict.INVALID
        return [known[answer] for answer in answers]

    return judge
