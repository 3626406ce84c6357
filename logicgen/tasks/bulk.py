"""Solving and verifying of many problems: worker processes, limits, one JSON object per line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from logicgen.errors import LogicgenError
from logicgen.files import parse_json
from logicgen.processes.engines import open_pool
from logicgen.processes.pool import Failure, Limits
from logicgen.solvers import Status
from logicgen.solvers.registry import in_words
from logicgen.tasks import fitting_solver, load_task
from logicgen.tasks.limited import checked

# Lines per chunk: sending one costs little next to solving it, and results keep coming.
CHUNK = 256

# Characters of a line that are read.
LONGEST = 16_000_000

# Verdict on a line that cannot be verified: no JSON, no answer, or a problem that does not parse.
ERROR = "error"

Row = dict[str, Any]


def solve_lines(
    task: str, lines: Iterable[str], solver: str | None, workers: int, limits: Limits
) -> Iterator[Row]:
    """Yield each line's problem (plain, or JSON with `problem`) with `status` and `witness`.

    A `reason` follows where there is one. Reading counts under the limits as solving does.
    Raises LogicgenError for an unknown task or solver.
    """
    return _mapped((task, solver, False), lines, workers, limits)


def verify_lines(
    task: str, lines: Iterable[str], solver: str | None, workers: int, limits: Limits
) -> Iterator[Row]:
    """Yield the fields of each JSON line with `problem` and `answer`, and its `verdict`.

    The verdict is `error` if a line is no such JSON or its problem does not parse, and `invalid` if
    its answer does not. A `reason` follows where there is one. Reading counts under the limits.
    Raises LogicgenError for an unknown task or solver.
    """
    return _mapped((task, solver, True), lines, workers, limits)


def _mapped(
    setup: tuple[str, str | None, bool], lines: Iterable[str], workers: int, limits: Limits
) -> Iterator[Row]:
    deciding(*setup)  # complain here, not in a worker
    sent: list[str] = []

    def remembered() -> Iterator[str]:
        for line in lines:
            if line.strip():
                sent.append(line)
                yield line

    with open_pool(deciding, setup, count=workers, memory=limits.memory) as pool:
        for result in pool.map(remembered(), limits.seconds, CHUNK):
            line = sent.pop(0)
            if isinstance(result, Failure):
                yield {**_readable(line), **_undecided(setup[2], Status.UNKNOWN, result.reason)}
            else:
                yield result


def deciding(task: str, solver: str | None, verify: bool = False) -> Callable[[str], Row]:
    """Return the function that solves, or verifies, one line in a worker."""
    chosen, solver = load_task(task), fitting_solver(task, solver)

    def decided(line: str) -> Row:
        row = unread(line)
        try:
            row = fields_of(line, json_only=verify)
            problem = chosen.read_problem(text_of(row, "problem"))
            answer = text_of(row, "answer") if verify else ""
        except LogicgenError as error:
            status = ERROR if verify else Status.INVALID
            return {**row, **_undecided(verify, status, str(error).splitlines()[0])}
        try:
            if verify:
                verdict, reason = checked(chosen, problem, answer, solver)
                reasons = {"reason": reason.splitlines()[0]} if reason else {}
                return {**row, "verdict": str(verdict), **reasons}
            solution = chosen.solve(problem, solver)
            witness = None if solution.witness is None else chosen.show(solution.witness)
        except MemoryError:
            raise  # a limit, which the worker reports
        except LogicgenError as error:  # a problem beyond the solver's limits
            return {**row, **_undecided(verify, Status.UNKNOWN, str(error).splitlines()[0])}
        except Exception as error:  # whatever a plugin raises, the other problems go on
            reason = f"the solver failed: {in_words(error)}"
            return {**row, **_undecided(verify, Status.UNKNOWN, reason)}
        reasons = {"reason": solution.reason} if solution.reason else {}
        return {**row, "status": str(solution.status), "witness": witness, **reasons}

    return decided


def _undecided(verify: bool, status: str, reason: str) -> Row:
    result = {"verdict": str(status)} if verify else {"status": str(status), "witness": None}
    return {**result, "reason": reason}


def unread(line: str) -> Row:
    """Return the row of a line that cannot be read: the line, or the beginning of a long one."""
    return {"problem": line if len(line) <= LONGEST else f"{line[:80]}..."}


def _readable(line: str) -> Row:
    """Return the fields of a line, or the line where it has none."""
    try:
        return fields_of(line)
    except LogicgenError:
        return unread(line)


def fields_of(line: str, json_only: bool = False) -> Row:
    """Return the fields of a JSON line, or of a plain one.

    Raises LogicgenError for what is not strict JSON (`NaN` is not), and for a line that is too long
    or nested too deeply.
    """
    if len(line) > LONGEST:
        raise LogicgenError(f"a line of more than {LONGEST:,} characters")
    text = line.strip()
    if not json_only and not text.startswith("{"):
        return {"problem": text}
    try:
        row = parse_json(text)
    except ValueError as error:
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
