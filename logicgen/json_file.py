"""JSON that others may have written: strict, and files read whole or refused in one line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError, reading

MOST_BYTES = 2**28
MOST_LEVELS = 64  # what is nested deeper can only break what reads it


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the JSON object of a file, nested `MOST_LEVELS` deep at most.

    Raises LogicgenError with `remedy` where there is none, or it is of more than `MOST_BYTES`.
    """
    return json_object(read_bytes(path), path, remedy)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, or of a larger one more than `MOST_BYTES`."""
    with reading(path), open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def json_object(content: bytes, place: object, remedy: str) -> dict[str, Any]:
    """Return the JSON object that bytes are; `place` is what errors name. See `read_json`."""
    try:
        if len(content) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        found = parse_json(content.decode())
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")
    except ValueError as error:
        raise damaged(place, remedy, error) from None
    return found


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises ValueError for any other text, such as one with `NaN` or a number that no float holds,
    and where lists and objects are nested deeper than `MOST_LEVELS`.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > MOST_LEVELS:
        check_depth(value)
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _too_deep() -> ValueError:
    return ValueError(f"nested deeper than {MOST_LEVELS} levels")


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
    raise _too_deep()


def damaged(place: object, remedy: str, error: object) -> LogicgenError:
    """Return the error of a file whose content is not what it has to be."""
    line = " ".join(str(error).split())  # it may quote the file
    return LogicgenError(f"{place}: damaged; {remedy} ({line[:300]})")
