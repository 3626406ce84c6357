"""Examples in other formats: two lines of text, JSON lines, and folders of DIMACS files.

Two lines are the format of DeepLTL: a line with the problem, a line with the answer. Both are in
prefix notation with one character per token and no blanks: `U a & b X ! a` is `Ua&bX!a`,
`a ; { b ; ! a }` is `a;{b;!a}`, `->` is `>`, `<->` is `=`. Writing and reading changes nothing,
because no task has two tokens with the same character.

In a folder of DIMACS files, `000000.cnf` is a problem and `000000.sol` its answer. Variable `v` is
symbol number `v - 1` (`a` is 1, `b` is 2). Symbols with other names are numbered in order of first
occurrence, and comments name them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from os.path import isdir
from pathlib import Path

from logicgen.data.opening import as_dataset, load_dataset
from logicgen.errors import LogicgenError, at, reading
from logicgen.files import part_path, write_texts
from logicgen.syntax.answers import NO_ANSWER, Assignment
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
from logicgen.tasks import Task, load_task
from logicgen.tasks.lines import fields_of, read_lines, text_of
from logicgen.tasks.task import symbols_of
from logicgen.tokens import symbol_index, symbol_name

ONE_CHARACTER = {"->": ">", "<->": "="}
Example = tuple[str, str | None]
"""A problem and its answer, as tokens in prefix notation, separated by blanks.

If the answer is not known, it is None.
"""

_SEVERAL = {character: token for token, character in ONE_CHARACTER.items()}


def convert(task: str, source: Path, target: str, split: str = "train") -> int:
    """Write the examples of a source in the format of the target, and return their number.

    source: a data-set folder (its `split`), a `.txt`, `.jsonl` or `.cnf` file, or a folder of
        `.cnf` files.
    target: a path that ends in `.txt`, in `.jsonl`, or in `/` for a folder of `.cnf` files.
    Raises LogicgenError for another source or target, and for DIMACS of another task.
    """
    chosen, out = load_task(task), Path(target)
    folder = isdir(source)
    writers: dict[str, Callable[[Iterable[Example], Path], int]] = {
        ".txt": write_two_lines,
        ".jsonl": write_json_lines,
        "/": partial(write_dimacs, label=f"{source.name} {split}" if folder else source.name),
    }
    kind = "/" if target.endswith("/") else out.suffix
    if kind not in writers:
        raise LogicgenError(f"{out}: a target ends in .txt, in .jsonl, or in / for .cnf files")
    dimacs = source.suffix == ".cnf" or (folder and any(source.glob("*.cnf")))
    if (dimacs or kind == "/") and task != "propositional":
        raise LogicgenError(f"DIMACS files contain propositional problems, not problems of {task}")
    if dimacs:
        examples = read_dimacs(source, chosen)
    elif folder:
        opened = as_dataset(load_dataset(source))
        if opened.task.name != task:
            raise LogicgenError(f"{source}: problems of {opened.task.name}, not of {task}")
        examples = opened.pairs(split)
    elif source.suffix == ".txt":
        examples = read_two_lines(source, chosen)
    elif source.suffix == ".jsonl":
        examples = read_json_lines(source, chosen)
    else:
        raise LogicgenError(f"{source}: a source is a data-set folder, a .txt, .jsonl or .cnf file")
    try:
        return writers[kind](examples, out)
    except OSError as error:
        raise LogicgenError(f"{error.filename}: {error.strerror}") from error


def compact(text: str) -> str:
    """Return a text with one character for each token of `text`.

    Raises LogicgenError if a symbol has several characters.
    """
    tokens = [ONE_CHARACTER.get(token, token) for token in text.split()]
    if long := [token for token in tokens if len(token) != 1]:
        raise LogicgenError(
            f"{long[0]} has several characters, and this format has room for symbols a to z only;"
            " choose a data set with at most 26 symbols"
        )
    return "".join(tokens)


def spread(text: str, tokens: Collection[str]) -> str:
    """Return the tokens of a compact text (one character for each token), separated by blanks.

    tokens: the fixed tokens of the language. `>` is `->` only if the language has that token.
    """
    spelt = {character: token for character, token in _SEVERAL.items() if token in tokens}
    return " ".join(spelt.get(character, character) for character in text)


def write_two_lines(examples: Iterable[Example], path: Path) -> int:
    """Write pairs of problem and answer (prefix notation); return their number.

    Raises LogicgenError for a problem without an answer, or a symbol of several characters.
    """

    def text(row: int, example: Example) -> str:
        problem, answer = example
        if answer is None:
            raise LogicgenError(
                f"row {row}: a problem without an answer; this format has room for both only"
            )
        return f"{compact(problem)}\n{compact(answer)}\n"

    return write_texts(path, (text(*numbered) for numbered in enumerate(examples)))


def write_json_lines(examples: Iterable[Example], path: Path) -> int:
    """Write examples as JSON lines, which `logicgen verify` reads; return their number."""
    rows = (
        {"problem": problem} if answer is None else {"problem": problem, "answer": answer}
        for problem, answer in examples
    )
    return write_texts(path, (json.dumps(row) + "\n" for row in rows))


def read_two_lines(path: Path, task: Task) -> Iterator[Example]:
    """Yield problems and answers in prefix notation from a file with two lines for each example.

    Raises LogicgenError with file and line if a line does not parse or an answer is missing.
    """
    lines = read_lines(str(path))
    for number, (problem, answer) in enumerate(zip_longest(lines, lines)):
        with at(f"{path}, line {2 * number + 1}"):
            if answer is None:
                raise LogicgenError("a problem without an answer")
            parsed = task.decode_problem(spread(problem, task.problem_language.tokens))
        with at(f"{path}, line {2 * number + 2}"):
            decoded = task.decode_answer(spread(answer, task.answer_language.tokens))
        yield task.encode(parsed), task.encode(decoded)


def read_json_lines(path: Path, task: Task) -> Iterator[Example]:
    """Yield pairs of problem and answer in prefix notation from a file of JSON lines.

    A line has `problem` and perhaps `answer`, in any notation that the task can parse. Raises
    LogicgenError with file and line if a line does not parse.
    """
    for number, line in enumerate(read_lines(str(path)), start=1):
        with at(f"{path}, line {number}"):
            row = fields_of(line, json_only=True)
            problem = task.read_problem(text_of(row, "problem"))
            answer = None
            if "answer" in row:
                answer = task.encode(task.read_answer(text_of(row, "answer")))
        yield task.encode(problem), answer


ANSWER = ".sol"


def write_dimacs(examples: Iterable[Example], folder: Path, label: str) -> int:
    """Write each example as two files of a new folder; return the number of examples.

    label: text of a comment in each file.
    Raises LogicgenError if a problem is no conjunction of clauses or the folder is not empty.
    """
    if os.path.exists(folder) and (not os.path.isdir(folder) or any(folder.iterdir())):
        raise LogicgenError(f"{folder}: is there already; choose another folder")
    if not folder.name:
        raise LogicgenError(f"{folder}: name a new folder")
    part = part_path(folder)
    shutil.rmtree(part, ignore_errors=True)  # a killed process left these files
    row = -1
    try:
        part.mkdir(parents=True)
        for row, example in enumerate(examples):
            try:
                _write_example(example, part / f"{row:06d}", f"{label}, row {row}")
            except LogicgenError as error:
                raise LogicgenError(
                    f'row {row}: {error}; DIMACS has room for data sets of [problem] source = "cnf"'
                    " only"
                ) from None
        os.replace(part, folder)
    except OSError as error:
        raise LogicgenError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return row + 1


def _write_example(example: Example, path: Path, label: str) -> None:
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
        literals = None
        if answer != NO_ANSWER.prefix:
            literals = [
                number[name] if value else -number[name]
                for name, value in Assignment.read_prefix(answer).literals
                if name in number  # symbols that do not occur in the problem are left out
            ]
        path.with_suffix(ANSWER).write_text(write_model(literals), encoding="utf-8")


def read_dimacs(path: Path, task: Task) -> Iterator[Example]:
    """Yield the problems of a `.cnf` file or of a folder of them, in prefix notation.

    Answers come from `.sol` files of the same name. Raises LogicgenError with file and line if a
    file is not valid.
    """
    files = sorted(path.glob(f"*{SUFFIX}")) if os.path.isdir(path) else [path]
    if not files:
        raise LogicgenError(f"{path}: not a data set, and not a folder with {SUFFIX} files")
    for file in files:
        with reading(file):
            clauses = read_cnf(file.read_bytes(), str(file)).clauses
        problem = formula_of(clauses, lambda variable: symbol_name(variable - 1))
        answer = None
        if os.path.isfile(beside := file.with_suffix(ANSWER)):
            with reading(beside):
                text = beside.read_bytes()
            if any(line.split() == [b"s", b"UNSATISFIABLE"] for line in text.splitlines()):
                answer = NO_ANSWER.prefix
            else:
                literals = read_model(text, str(beside))
                pairs = ((symbol_name(abs(literal) - 1), literal > 0) for literal in literals)
                answer = task.encode(Assignment(tuple(pairs)))
        yield task.encode(problem), answer
