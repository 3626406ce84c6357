"""The plain text format of DeepLTL-style code: a line with the problem, a line with the answer.

Both are in prefix notation with one character a token and no blanks: `U a & b X ! a` is `Ua&bX!a`,
`a ; { b ; ! a }` is `a;{b;!a}`, `->` is `>`, `<->` is `=`. There and back changes nothing: no task
has two tokens that are written alike.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from logicgen.errors import LogicgenError, at, reading
from logicgen.files import write_atomically
from logicgen.tasks import Task
from logicgen.tasks.bulk import fields_of, text_of

ONE_CHARACTER = {"->": ">", "<->": "="}
Example = tuple[str, str | None]
"""A problem and its answer, if there is one, in prefix notation, tokens separated by blanks."""

_SEVERAL = {character: token for token, character in ONE_CHARACTER.items()}


def compact(text: str) -> str:
    """Return tokens as one character each. LogicgenError: a symbol has several characters."""
    tokens = [ONE_CHARACTER.get(token, token) for token in text.split()]
    if long := [token for token in tokens if len(token) != 1]:
        raise LogicgenError(
            f"{long[0]} has several characters, and this format has room for symbols a to z only;"
            " choose a data set with at most 26 symbols"
        )
    return "".join(tokens)


def spread(text: str, tokens: Collection[str]) -> str:
    """Return tokens separated by blanks, from one character a token.

    tokens: the fixed tokens of the language. `>` is `->` only where the language has that token.
    """
    spelt = {character: token for character, token in _SEVERAL.items() if token in tokens}
    return " ".join(spelt.get(character, character) for character in text)


def write_two_lines(examples: Iterable[Example], path: Path) -> int:
    """Write pairs of problem and answer (prefix notation); return how many there were.

    Raises LogicgenError for a problem without an answer, or a symbol of several characters.
    """

    def text(row: int, example: Example) -> str:
        problem, answer = example
        if answer is None:
            raise LogicgenError(
                f"row {row}: a problem without an answer; this format has room for both only"
            )
        return f"{compact(problem)}\n{compact(answer)}\n"

    return _write((text(*numbered) for numbered in enumerate(examples)), path)


def write_json_lines(examples: Iterable[Example], path: Path) -> int:
    """Write pairs as JSON lines, which `logicgen verify` reads; return how many there were."""
    rows = (
        {"problem": problem} if answer is None else {"problem": problem, "answer": answer}
        for problem, answer in examples
    )
    return _write((json.dumps(row) + "\n" for row in rows), path)


def _write(texts: Iterable[str], path: Path) -> int:
    """Write texts one after the other; return how many there were."""
    count = 0

    def write(part: Path) -> None:
        nonlocal count
        with open(part, "w", encoding="utf-8") as file:
            for text in texts:
                file.write(text)
                count += 1

    write_atomically(path, write)
    return count


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 text. Raises LogicgenError with file and line where it is none."""
    with reading(path), open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            with reading(f"{path}, line {number}"):
                text = line.decode("utf-8")
            yield text.rstrip("\r\n")


def read_two_lines(path: Path, task: Task) -> Iterator[Example]:
    """Yield pairs of problem and answer in prefix notation, read by the task and written again.

    Raises LogicgenError with file and line where one does not parse or an answer is missing.
    """
    lines = _lines(path)
    for number, (problem, answer) in enumerate(zip_longest(lines, lines)):
        with at(f"{path}, line {2 * number + 1}"):
            if answer is None:
                raise LogicgenError("a problem without an answer")
            parsed = task.decode_problem(spread(problem, task.problem_language.tokens))
        with at(f"{path}, line {2 * number + 2}"):
            decoded = task.decode_answer(spread(answer, task.answer_language.tokens))
        yield task.encode(parsed), task.encode(decoded)


def read_json_lines(path: Path, task: Task) -> Iterator[Example]:
    """Yield pairs from JSON lines with `problem` and `answer`, in any notation the task reads.

    A line may have no `answer`, as `write_json_lines` leaves it out.
    Raises LogicgenError with file and line where one does not parse.
    """
    for number, line in enumerate(_lines(path), start=1):
        with at(f"{path}, line {number}"):
            row = fields_of(line, json_only=True)
            problem = task.read_problem(text_of(row, "problem"))
            answer = None
            if "answer" in row:
                answer = task.encode(task.read_answer(text_of(row, "answer")))
        yield task.encode(problem), answer
