"""JSON files that others may have written: read whole, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError, reading

MOST_BYTES = 2**28
MOST_LEVELS = 64  # what is nested deeper can only break what reads it


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the JSON object of a file, nested `MOST_LEVELS` deep at most.

    Raises LogicgenError with `remedy` where there is none, or it is of more than `MOST_BYTES`.
    """
    with reading(path), open(path, "rb") as file:
        text = file.read(MOST_BYTES + 1)
    try:
        if len(text) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        check_depth(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, remedy, error) from None
    return content


def check_depth(content: Any) -> None:
    """Raise ValueError where lists and objects are nested deeper than `MOST_LEVELS`."""
    level = [content] if isinstance(content, dict | list) else []
    for _ in range(MOST_LEVELS):
        level = [
            part
            for each in level
            for part in (each.values() if isinstance(each, dict) else each)
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise ValueError("nested too deeply")


def damaged(path: Path, remedy: str, error: object) -> LogicgenError:
    """Return the error of a file whose content is not what it has to be."""
    what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    line = " ".join(what.split())  # it may quote the file
    return LogicgenError(f"{path}: damaged; {remedy} ({line[:300]})")
