"""Read the replies of models from files: JSON lines, or a log of Inspect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError, at, reading
from logicgen.integrations.versions import importing
from logicgen.tasks import lines

SAID = ("row", "problem", "split", "dataset", "fingerprint", "prompt_version")
"""The keys in the metadata of a sample of Inspect that identify its problem."""


def read_replies(path: Path) -> list[dict[str, Any]]:
    """Return the replies in a file as dicts with the keys `completion`, and `row` or `problem`.

    path: a log of Inspect (`.eval` or `.json`), or JSON lines with these keys.

    Raises LogicgenError if a line or a sample is damaged or has no completion.
    """
    if path.suffix in (".eval", ".json") and not _has_lines(path):
        return list(_of_log(path))
    return list(read_rows(path))


def _has_lines(path: Path) -> bool:
    """Return whether a file has JSON lines: whether its first line is a reply. Else it is a log."""
    with reading(path), path.open("rb") as file:
        first = file.readline(lines.LONGEST)
    try:
        return "completion" in lines.fields_of(first.decode(), json_only=True)
    except (LogicgenError, UnicodeDecodeError):
        return False


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON object on each line of a file. Raises LogicgenError for any other line."""
    for number, line in enumerate(lines.read_lines(str(path)), 1):
        if line.strip():
            with at(f"{path}, line {number}"):
                yield lines.fields_of(line, json_only=True)


def _of_log(path: Path) -> Iterator[dict[str, Any]]:
    with importing("inspect_ai", "0.3.285"):
        from inspect_ai.log import read_eval_log
    with reading(path):
        path.open("rb").close()  # raises an OSError for a file that cannot be read
    try:
        log = read_eval_log(str(path))
    except Exception as error:  # a damaged file can raise any exception
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
