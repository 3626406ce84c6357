"""Solve and verify many problems: JSON lines in and out, judged by worker processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from logicgen.errors import LogicgenError, reading
from logicgen.files import parse_json
from logicgen.processes.engines import open_pool
from logicgen.processes.pool import Failure, Limits
from logicgen.solvers import Status
from logicgen.solvers.registry import in_words
from logicgen.tasks.judge import Item, Wants, judge

# The number of lines that are sent to a worker process at a time. Sending them takes less time than
# solving them, and results come regularly.
CHUNK = 256

# The most characters of a line that are read.
LONGEST = 16_000_000

# If this number of bytes has no line break, the input is refused. It may be an endless device.
ENDLESS = 1 << 30

# Fields of an earlier result, which a new result of solving drops.
EARLIER = ("reason", "warning", "draws")

# The verdict on a line that cannot be verified: no JSON, no answer, or an unreadable problem.
ERROR = "error"

Row = dict[str, Any]


def read_lines(source: str) -> Iterator[str]:
    """Return the lines of a file; `-` is standard input.

    A line of more than 4 * `LONGEST` bytes is cut there; `fields_of` then refuses it as too long.
    Raises LogicgenError for a file that cannot be read, is not UTF-8, or has no line breaks.
    """
    with reading(source):
        stream: BinaryIO = sys.stdin.buffer if source == "-" else open(source, "rb")  # noqa: SIM115

    def decoded() -> Iterator[str]:
        with reading(source):
            number = 1
            # A character has up to four bytes.
            while line := stream.readline(4 * LONGEST):
                rest = line
                size = len(line)
                while len(rest) == 4 * LONGEST and not rest.endswith(b"\n"):
                    rest = stream.readline(4 * LONGEST)
                    size += len(rest)
                    if size > ENDLESS:
                        raise LogicgenError(
                            f"{source}: line {number} is longer than {ENDLESS:,} bytes:"
                            " this is not a file with a problem on each line"
                        )
                yield _decoded(line, source, number, cut=rest is not line)
                number += 1

    return decoded()


def _decoded(line: bytes, source: str, number: int, cut: bool) -> str:
    try:
        if cut:  # the cut may have split a character; drop the incomplete character
            return line.decode("utf-8", "ignore")
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        reason = f"line {number} is not UTF-8 at byte {error.start + 1} ({error.reason})"
        raise LogicgenError(f"{source}: {reason}; convert the file") from error
    return text.rstrip("\r\n")


def solve_lines(
    task: str, lines: Iterable[str], solver: str | None, workers: int, limits: Limits
) -> Iterator[Row]:
    """Solve the problem of each line; yield its fields with `status` and `witness`.

    A line is a problem, or a JSON object with the key `problem`. A row also has a `reason` if it
    is known. The limits apply to parsing and solving together.
    Raises LogicgenError for an unknown task or solver.
    """
    return _mapped(task, lines, solver, False, workers, limits)


def verify_lines(
    task: str, lines: Iterable[str], solver: str | None, workers: int, limits: Limits
) -> Iterator[Row]:
    """Verify the answer of each line; yield the fields of the line with its `verdict`.

    A line is a JSON object with the keys `problem` and `answer`. For any other line, and if the
    problem does not parse, the verdict is `error`. If the answer does not parse, it is `invalid`. A
    row also has a `reason` if it is known. The limits apply to parsing and checking together.
    Raises LogicgenError for an unknown task or solver.
    """
    return _mapped(task, lines, solver, True, workers, limits)


def _mapped(
    task: str, lines: Iterable[str], solver: str | None, verify: bool, workers: int, limits: Limits
) -> Iterator[Row]:
    asked = task, solver, verify
    judge_line(*asked)  # raise errors in this process, not in a worker
    sent: list[str] = []

    def remembered() -> Iterator[str]:
        for line in lines:
            if line.strip():
                sent.append(line)
                yield line

    with open_pool(judge_line, asked, count=workers, memory=limits.memory) as pool:
        for result in pool.map(remembered(), limits.seconds, CHUNK):
            line = sent.pop(0)
            if isinstance(result, Failure):
                row = _readable(line, _earlier(verify))
                yield {**row, **_undecided(verify, Status.UNKNOWN, result.reason)}
            else:
                yield result


def judge_line(task: str, solver: str | None, verify: bool) -> Callable[[str], Row]:
    """Return the function that verifies or solves one line."""
    decide = judge(task, Wants(verify, solution=not verify, shown=not verify, solver=solver))
    wrong = ERROR if verify else Status.INVALID

    def decided(line: str) -> Row:
        row = unread(line)
        try:
            row = fields_of(line, json_only=verify, drop=_earlier(verify))
            item = Item(text_of(row, "problem"), text_of(row, "answer") if verify else "")
        except LogicgenError as error:
            return {**row, **_undecided(verify, wrong, str(error))}
        try:
            found = decide(item)
        except MemoryError:
            raise  # the worker reports the limit
        except LogicgenError as error:  # a problem beyond the solver's limits
            return {**row, **_undecided(verify, Status.UNKNOWN, str(error))}
        except Exception as error:  # a plugin may raise any exception; continue with the next line
            reason = f"the solver failed: {in_words(error)}"
            return {**row, **_undecided(verify, Status.UNKNOWN, reason)}
        if found.error is not None:
            return {**row, **_undecided(verify, wrong, str(found.error))}
        if found.solution is None:
            reasons = {"reason": found.reason.splitlines()[0]} if found.reason else {}
            return {**row, "verdict": str(found.verdict), **reasons}
        reasons = {"reason": found.reason} if found.reason else {}
        return {**row, "status": str(found.solution.status), "witness": found.answer, **reasons}

    return decided


def _undecided(verify: bool, status: str, reason: str) -> Row:
    result = {"verdict": str(status)} if verify else {"status": str(status), "witness": None}
    return {**result, "reason": reason.splitlines()[0]}


def unread(line: str) -> Row:
    """Return the row of a line without fields: its text (shortened if too long) as `problem`."""
    return {"problem": line if len(line) <= LONGEST else f"{line[:80]}..."}


def _earlier(verify: bool) -> tuple[str, ...]:
    """Return the fields of an earlier result, which a new result does not keep."""
    return ("reason",) if verify else EARLIER


def _readable(line: str, drop: Sequence[str]) -> Row:
    """Return the fields of a line except `drop`, or the line itself if it has no fields."""
    try:
        return fields_of(line, drop=drop)
    except LogicgenError:
        return unread(line)


def fields_of(line: str, json_only: bool = False, drop: Sequence[str] = ()) -> Row:
    """Return the fields of a JSON line; a line that is not JSON is the field `problem`.

    drop: fields that are left out.

    Raises LogicgenError for a line that is not strict JSON (`NaN` is not), is too long, or is
    nested too deeply.
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
    return {key: value for key, value in row.items() if key not in drop}


def text_of(row: Row, key: str) -> str:
    """Return the text of a row's key. Raises LogicgenError if it is missing or not a text."""
    value = row.get(key)
    if not isinstance(value, str):
        raise LogicgenError(f"key {key!r} is missing" if value is None else f"{key} is not a text")
    return value
