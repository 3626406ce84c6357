"""Examples as a folder of DIMACS files: `000000.cnf` with a problem, `000000.sol` with its answer.

Variable `v` is symbol number `v - 1` (`a` is 1, `b` is 2), so that nothing is lost there and back.
Symbols with names of their own are numbered in order of first occurrence, and comments name them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from logicgen.data.two_lines import Example
from logicgen.errors import LogicgenError, reading
from logicgen.files import part_path
from logicgen.syntax.answers import Assignment
from logicgen.syntax.clauses import (
    CNF,
    SUFFIX,
    clauses_of,
    formula_of,
    read_cnf,
    read_model,
    write_cnf,
    write_model,
)
from logicgen.syntax.formula_language import propositional
from logicgen.tasks import Task
from logicgen.tasks.task import symbols_of
from logicgen.tokens import symbol_index, symbol_name

ANSWER = ".sol"


def write_dimacs(examples: Iterable[Example], folder: Path, label: str) -> int:
    """Write each example as two files of a new folder, with `label` in a comment; return how many.

    Raises LogicgenError where a problem is no conjunction of clauses or the folder is not empty.
    """
    if os.path.exists(folder) and (not os.path.isdir(folder) or any(folder.iterdir())):
        raise LogicgenError(f"{folder}: is there already; choose another folder")
    part = part_path(folder)
    shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
    row = -1
    try:
        part.mkdir(parents=True)
        for row, example in enumerate(examples):
            with _room(row):
                _write(example, part / f"{row:06d}", f"{label}, row {row}")
        os.replace(part, folder)
    except OSError as error:
        raise LogicgenError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return row + 1


@contextmanager
def _room(row: int) -> Iterator[None]:
    """Name the row of an example that DIMACS cannot hold."""
    try:
        yield
    except LogicgenError as error:
        raise LogicgenError(
            f'row {row}: {error}; DIMACS has room for data sets of [problem] source = "cnf" only'
        ) from None


def _write(example: Example, path: Path, label: str) -> None:
    problem, answer = example
    formula = propositional().read_prefix(problem)
    names = dict.fromkeys([*formula.symbols, *symbols_of(problem)])
    plain = all(symbol_index(name) is not None for name in names)
    number = {
        name: (symbol_index(name) or 0) + 1 if plain else place
        for place, name in enumerate(names, start=1)
    }
    clauses = clauses_of(formula, number.__getitem__)
    comments = [label, f"{len(names)} symbols, {formula.length} tokens in prefix notation"]
    if not plain:
        comments += [f"variable {variable} is {name}" for name, variable in number.items()]
    text = write_cnf(CNF(max(number.values(), default=0), clauses), comments)
    path.with_suffix(SUFFIX).write_text(text, encoding="utf-8")
    if answer is not None:
        literals = [
            number[name] if value else -number[name]
            for name, value in Assignment.read_prefix(answer).literals
            if name in number  # a symbol that does not occur does no harm
        ]
        path.with_suffix(ANSWER).write_text(write_model(literals), encoding="utf-8")


def read_dimacs(path: Path, task: Task) -> Iterator[Example]:
    """Yield the problems of a `.cnf` file or of a folder of them, in prefix notation.

    Answers come from `.sol` files beside them. Raises LogicgenError with file and line.
    """
    files = sorted(path.glob(f"*{SUFFIX}")) if os.path.isdir(path) else [path]
    if not files:
        raise LogicgenError(f"{path}: neither a data set nor a folder with {SUFFIX} files")
    for file in files:
        with reading(file):
            clauses = read_cnf(file.read_bytes(), str(file)).clauses
        problem = formula_of(clauses, lambda variable: symbol_name(variable - 1))
        answer = None
        if os.path.isfile(beside := file.with_suffix(ANSWER)):
            with reading(beside):
                literals = read_model(beside.read_bytes(), str(beside))
            pairs = ((symbol_name(abs(literal) - 1), literal > 0) for literal in literals)
            answer = task.encode(Assignment(tuple(pairs)))
        yield task.encode(problem), answer
