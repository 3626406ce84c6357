"""The records of a study: what came out at each point, a line each in one compressed file."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError
from logicgen.files import write_atomically
from logicgen.study.point import DAMAGE, Plan, Record, digest

FILE = "trials.jsonl.gz"

ONE = "take its line out of the file to run the point again"


def write_records(records: Iterable[Record], folder: Path) -> None:
    """Write the file of records; equal records give equal bytes."""
    text = "".join(f"{record.line()}\n" for record in records)
    compressed = gzip.compress(text.encode(), mtime=0)
    write_atomically(folder / FILE, lambda part: part.write_bytes(compressed))


def made_with(records: Sequence[Record]) -> str:
    """Return machines, commits and versions of records, for the page made from them."""
    values = {
        "Machine": {record.machine for record in records},
        "Commit": {record.commit for record in records if record.commit},
        "Precision": {precision for record in records if (precision := _precision(record))},
    }
    lines = [f"{key}: {'; '.join(sorted(each))}." for key, each in values.items() if each]
    versions = [f"{name} {value}" for name, value in records[0].versions.items()]
    return "\n".join([*lines, f"{', '.join(versions)}."])


def _precision(record: Record) -> str | None:
    """Return in which precision the model of a record was trained; None if this is not known."""
    training = record.found.get("training")
    return training.get("precision") if isinstance(training, dict) else None


def in_order(plan: Plan, records: dict[str, Record]) -> list[Record]:
    """Return records in the order of the plan; those of no point of it come last."""
    names = dict.fromkeys([*plan.points, *records])
    return [records[name] for name in names if name in records]


def read_records(plan: Plan, folder: Path) -> dict[str, Record]:
    """Return the records of a folder by name: those of the plan in its order, then others.

    Raises LogicgenError for a damaged file, and for a point of the plan with other arguments.
    """
    stored = _stored(folder / FILE)
    found: dict[str, Record] = {}
    for name in plan.points:
        record = stored.pop(name, None)
        if record is not None:
            _check(plan, record, f"{folder / FILE}: {name}")
            found[name] = record
    return found | stored


def _stored(path: Path) -> dict[str, Record]:
    if not os.path.isfile(path):
        return {}
    try:
        compressed = path.read_bytes()
        lines = gzip.decompress(compressed).decode().splitlines()
        if not compressed:  # which decompresses
            raise EOFError
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        raise LogicgenError(
            f"{path}: damaged: restore the file, or delete it to run all points again"
        ) from None
    found: dict[str, Record] = {}
    for number, line in enumerate(lines, 1):
        name = "?"
        try:
            content = json.loads(line)
            name = content["point"]
            if content.pop("sha256") != digest(content) or name in found:
                raise ValueError
            found[name] = Record.model_validate(content)
        except (*DAMAGE, AttributeError, RecursionError):
            raise LogicgenError(
                f"{path}: line {number} ({name}): damaged: restore the file, or {ONE}"
            ) from None
    return found


def _check(plan: Plan, record: Record, where: str) -> None:
    """Raise LogicgenError if a record is damaged or its arguments are not those of the plan."""
    arguments = json.loads(json.dumps(plan.points[record.point].arguments))
    differs = _difference(record.arguments, arguments)
    if differs is not None:
        raise LogicgenError(
            f"{where}: made with another recipe ({differs}): choose another folder with -o, or"
            f" {ONE}"
        )
    try:
        plan.check(record)
    except DAMAGE:
        raise LogicgenError(f"{where}: damaged: restore the file, or {ONE}") from None


def _difference(before: Any, now: Any, place: str = "") -> str | None:
    """Return the first place where two trees differ, and how; None where they are equal."""
    if before == now:
        return None
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*now, *before]:
            if before.get(key) != now.get(key):
                return _difference(before.get(key), now.get(key), f"{place}.{key}".lstrip("."))
    return f"{place}: {json.dumps(before)} there, {json.dumps(now)} now"
