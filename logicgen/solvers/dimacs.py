"""DIMACS files: solve the problems in them, and verify answers to them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from logicgen.errors import LogicgenError, printable, reading
from logicgen.processes.engines import open_pool
from logicgen.processes.pool import Failure
from logicgen.solvers.pysat import solve_clauses
from logicgen.syntax.clauses import CNF, read_cnf, read_model, satisfies, write_model

# The most bytes that are read from a file, because a device may have no end.
LONGEST = 1 << 30


def solve_files(
    sources: Sequence[str],
    workers: int,
    timeout: float | None,
    begun: Callable[[], None] = lambda: None,
) -> Iterator[str]:
    """Solve DIMACS files; yield the result of each file as `s` and `v` lines.

    sources: paths; `-` is standard input. If there are several, each result begins with its path.
    timeout: seconds for parsing and solving a file. After that its line is `s UNKNOWN`.
    begun: called when the first file has been read and can be solved.
    """
    solved = _solved(_texts(sources, begun), workers, timeout)
    for source, text in zip(sources, solved, strict=True):
        yield f"c {printable(source)}\n{text}" if len(sources) > 1 else text


def _texts(sources: Sequence[str], begun: Callable[[], None]) -> Iterator[tuple[bytes, str]]:
    for number, source in enumerate(sources):
        text = _bytes(source)
        if number == 0:
            begun()
        yield text, _name(source)


def _solved(
    texts: Iterable[tuple[bytes, str]], workers: int, timeout: float | None
) -> Iterator[str]:
    if timeout is None and workers == 1:
        yield from map(_text_solver(), texts)
        return
    with open_pool(_text_solver, count=workers) as pool:
        for result in pool.map(texts, timeout):
            if isinstance(result, Failure):
                yield f"c {result.reason}\ns UNKNOWN\n"
            else:
                yield result


def _text_solver() -> Callable[[tuple[bytes, str]], str]:
    """Return a function for worker processes that parses and solves the text of a file."""
    return lambda named: write_model(solve_clauses(read_cnf(*named).clauses))


def verify_file(source: str, answer: str) -> str:
    """Return the verdict on an answer to the problem in a DIMACS file.

    answer: the path of a file of `v` lines, or the text of the `v` lines.
    """
    cnf = _read(source)
    text, where = answer.encode(errors="surrogateescape"), "the answer (no file is called so)"
    with suppress(OSError):  # a long text cannot be the name of a file
        if answer == "-" or Path(answer).is_file():
            text, where = _bytes(answer), answer
    literals = read_model(text, where)
    # Refuse literals that contradict each other.
    if not set(literals).isdisjoint(-literal for literal in literals):
        return "invalid"
    return "correct" if satisfies(literals, cnf.clauses) else "incorrect"


def _read(source: str) -> CNF:
    return read_cnf(_bytes(source), _name(source))


def _name(source: str) -> str:
    return "standard input" if source == "-" else source


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
