"""Solving and verifying of many problems: worker processes, limits, one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from logicgen.errors import LogicgenError
from logicgen.solvers import Status
from logicgen.tasks import fitting_solver, load_task
from logicgen.workers import Failure, Limits, Workers

# Lines per chunk: sending one costs little next to solving it, and results keep coming.
CHUNK = 256

Row = dict[str, Any]


def solve_lines(
    task: str, lines: Iterable[str], solver: str | None, workers: int, limits: Limits
) -> Iterator[Row]:
    """Yield each line's problem (plain, or JSON with `problem`) with `status` and `witness`.

    A `reason` follows where there is one. Raises LogicgenError for an unknown task or solver.
    """
    return _mapped(solving, _unsolved, task, lines, solver, workers, limits)


def verify_lines(
    task: str, lines: Iterable[str], solver: str | None, workers: int, limits: Limits
) -> Iterator[Row]:
    """Yield the fields of each JSON line with `problem` and `answer`, and its `verdict`.

    A `reason` follows where there is one. Raises LogicgenError for an unknown task or solver.
    """
    return _mapped(verifying, _unjudged, task, lines, solver, workers, limits)


def _mapped(
    setup: Callable[[str, str | None], Callable[[str], Row]],
    failed: Callable[[str, str], Row],
    task: str,
    lines: Iterable[str],
    solver: str | None,
    workers: int,
    limits: Limits,
) -> Iterator[Row]:
    setup(task, solver)  # complain here, not in a worker
    sent: list[str] = []

    def remembered() -> Iterator[str]:
        for line in lines:
            if line.strip():
                sent.append(line)
                yield line

    with Workers[str, Row](setup, (task, solver), count=workers, limits=limits) as pool:
        for result in pool.map(remembered(), CHUNK):
            line = sent.pop(0)
            if isinstance(result, Failure):
                yield {**fields_of(line), **failed(Status.UNKNOWN, result.reason)}
            else:
                yield result


def solving(task: str, solver: str | None) -> Callable[[str], Row]:
    """Return the function of one line that `solve_lines` runs in its workers."""
    chosen, solver = load_task(task), fitting_solver(task, solver)

    def read(row: Row) -> tuple[Any, ...]:
        return (chosen.read_problem(text_of(row, "problem")),)

    def solve(problem: Any) -> Row:
        solution = chosen.solve(problem, solver)
        witness = None if solution.witness is None else chosen.show(solution.witness)
        result = {"status": str(solution.status), "witness": witness}
        return {**result, "reason": solution.reason} if solution.reason else result

    return partial(_done, read, solve, _unsolved, False)


def verifying(task: str, solver: str | None) -> Callable[[str], Row]:
    """Return the function of one line that `verify_lines` runs in its workers."""
    chosen, solver = load_task(task), fitting_solver(task, solver)

    def read(row: Row) -> tuple[Any, ...]:
        problem = chosen.read_problem(text_of(row, "problem"))
        return problem, chosen.read_answer(text_of(row, "answer"))

    def verify(problem: Any, answer: Any) -> Row:
        return {"verdict": str(chosen.check(problem, answer, solver))}

    return partial(_done, read, verify, _unjudged, True)


def _done(
    read: Callable[[Row], tuple[Any, ...]],
    work: Callable[..., Row],
    failed: Callable[[str, str], Row],
    json_only: bool,
    line: str,
) -> Row:
    row: Row = {"problem": line}
    try:
        row = fields_of(line, json_only)
        values = read(row)
    except LogicgenError as error:
        return {**row, **failed(Status.INVALID, _one_line(error))}
    try:
        return {**row, **work(*values)}
    except MemoryError:
        raise  # a limit, which the worker reports
    except Exception as error:  # whatever a plugin raises, the other problems go on
        return {**row, **failed(Status.UNKNOWN, _failure(error))}


def _unsolved(status: str, reason: str) -> Row:
    return {"status": str(status), "witness": None, "reason": reason}


def _unjudged(verdict: str, reason: str) -> Row:
    return {"verdict": str(verdict), "reason": reason}


def fields_of(line: str, json_only: bool = False) -> Row:
    """Return the fields of a JSON line, or of a plain one; raise LogicgenError for faulty JSON."""
    text = line.strip()
    if not json_only and not text.startswith("{"):
        return {"problem": text}
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LogicgenError(f"not a JSON object: {error}") from None
    if not isinstance(row, dict):
        raise LogicgenError("not a JSON object")
    return row


def text_of(row: Row, key: str) -> str:
    """Return the text of a key. Raises LogicgenError where it is missing or no text."""
    value = row.get(key)
    if not isinstance(value, str):
        raise LogicgenError(f"key {key!r} is missing" if value is None else f"{key} is not a text")
    return value


def _one_line(error: LogicgenError) -> str:
    return str(error).splitlines()[0]


def _failure(error: Exception) -> str:
    """Return why a solver gave no answer: a problem beyond its limits, or a fault of its own."""
    if isinstance(error, LogicgenError):
        return _one_line(error)
    return f"the solver failed: {type(error).__name__}: {error}"
