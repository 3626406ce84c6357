"""DIMACS files in `solve` and `verify`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from logicgen.cli.terminal import is_standard_output, put
from logicgen.errors import LogicgenError, printable, reading
from logicgen.syntax.clauses import CNF, SUFFIX, read_cnf, read_model, satisfies, write_model

# Bytes of a file; a device may have no end.
LONGEST = 1 << 30


def is_dimacs(name: str | None) -> bool:
    """Return whether a problem or file on the command line is a DIMACS file.

    Its suffix decides, because no formula ends in it.
    """
    return name is not None and name.endswith(SUFFIX)


def check_options(task: str | None, solver: str | None) -> None:
    """Raise LogicgenError if the options name another task or solver than DIMACS files have."""
    if task not in (None, "propositional"):
        raise LogicgenError(f"a DIMACS file is a propositional problem; leave out --task {task}")
    if solver not in (None, "pysat"):
        raise LogicgenError("DIMACS files are decided by pysat; leave out --solver")


def solve_files(
    sources: list[str], target: str | None, workers: int, timeout: float | None
) -> None:
    """Write the `s` and `v` lines of each file (`-` is standard input) to `target`."""
    from logicgen.files import write_atomically

    texts = (
        f"c {printable(source)}\n{text}" if len(sources) > 1 else text
        for source, text in zip(sources, _solved(sources, workers, timeout), strict=True)
    )

    def write(path: Path) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(texts)

    if is_standard_output(target):
        for text in texts:
            put(text, nl=False)
    else:
        write_atomically(Path(str(target)), write)


def _solved(sources: list[str], workers: int, timeout: float | None) -> Iterator[str]:
    from logicgen.processes.pool import Failure, Pool
    from logicgen.solvers.pysat import clause_solver

    problems = (_read(source).clauses for source in sources)
    if timeout is None and workers == 1:
        yield from map(write_model, map(clause_solver(), problems))
        return
    with Pool[list[list[int]], list[int] | None](clause_solver, count=workers) as pool:
        for result in pool.map(problems, timeout):
            if isinstance(result, Failure):
                yield f"c {result.reason}\ns UNKNOWN\n"
            else:
                yield write_model(result)


def verify_file(source: str, answer: str) -> str:
    """Return the verdict on an answer to a file's problem: a file of `v` lines, or their text."""
    cnf = _read(source)
    text, where = answer.encode(), "the answer (no file is called so)"
    with suppress(OSError):  # a text that is too long is no file's name
        if answer == "-" or Path(answer).is_file():
            text, where = _bytes(answer), answer
    literals = read_model(text, where)
    if not set(literals).isdisjoint(-literal for literal in literals):  # contradictory
        return "invalid"
    return "correct" if satisfies(literals, cnf.clauses) else "incorrect"


def _read(source: str) -> CNF:
    return read_cnf(_bytes(source), "standard input" if source == "-" else source)


def _bytes(source: str) -> bytes:
    with reading(source):
        if source == "-":
            text = sys.stdin.buffer.read(LONGEST + 1)
        else:
            with open(source, "rb") as file:
                text = file.read(LONGEST + 1)
    if len(text) > LONGEST:
        raise LogicgenError(f"{source}: longer than {LONGEST:,} bytes, which is no DIMACS file")
    return text
