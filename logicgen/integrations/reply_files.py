"""Read what models wrote from files: JSON lines, or a log of Inspect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError, at, reading
from logicgen.integrations.versions import importing
from logicgen.tasks.lines import LONGEST, fields_of

SAID = ("row", "problem", "split", "dataset", "fingerprint", "prompt_version")
"""What the metadata of a sample say of the problem that it asks."""


def read_replies(path: Path) -> list[dict[str, Any]]:
    """Return replies as plain data: each has a `completion`, and says what it answers.

    path: a log of Inspect (`.eval` or `.json`), or JSON lines with `completion`, and `row` or
        `problem` or both.

    Raises LogicgenError naming the line or the sample that is damaged or has no completion.
    """
    if path.suffix in (".eval", ".json") and not _has_lines(path):
        return list(_of_log(path))
    return list(read_lines(path))


def _has_lines(path: Path) -> bool:
    """Return whether a file begins with a line that is a reply, which no log does."""
    with reading(path), path.open("rb") as file:
        first = file.readline(LONGEST)
    try:
        return "completion" in fields_of(first.decode(), json_only=True)
    except (LogicgenError, UnicodeDecodeError):
        return False


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON lines. Raises LogicgenError naming the line that is none."""
    with reading(path), path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                with at(f"{path}, line {number}"):
                    yield fields_of(line, json_only=True)


def _of_log(path: Path) -> Iterator[dict[str, Any]]:
    with importing("inspect_ai", "0.3.285"):
        from inspect_ai.log import read_eval_log
    with reading(path):
        path.open("rb").close()  # complain about a file that cannot be read as of all others
    try:
        log = read_eval_log(str(path))
    except Exception as error:  # whatever a damaged file makes it raise
        why = re.sub(r"\s+", " ", str(error))[:100]
        raise LogicgenError(f"{path}: not a whole log of Inspect ({why})") from None
    for sample in log.samples or ():
        if sample.error is not None:
            raise LogicgenError(
                f"{path}: sample {sample.id} ended in an error, so it has no completion: finish the"
                " evaluation with inspect eval-retry"
            )
        said = sample.metadata or {}
        yield {
            **{key: said[key] for key in SAID if key in said},
            "completion": sample.output.completion,
        }
