"""Shards: Parquet files that are either whole or not there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from logicgen.data.draw import Example, fingerprint
from logicgen.errors import LogicgenError

SCHEMA = pa.schema(
    [
        pa.field("problem", pa.string(), nullable=False),
        pa.field("answer", pa.string(), nullable=False),
        pa.field("symbols", pa.int32(), nullable=False),
        pa.field("length", pa.int32(), nullable=False),
        pa.field("alpha_class", pa.int64(), nullable=False),
    ]
)


def shard_path(folder: Path, split: str, number: int) -> Path:
    """Where shard `number` of a split is."""
    return folder / split / f"{number:05d}.parquet"


def write_shard(path: Path, examples: Sequence[Example]) -> None:
    """Write a shard at once: under another name first, then renamed."""
    columns = list(zip(*examples, strict=True))
    table = pa.table(
        [pa.array(columns[i], type=field.type) for i, field in enumerate(SCHEMA)], schema=SCHEMA
    )
    write_atomically(path, lambda file: pq.write_table(table, file, compression="zstd"))


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file of another name beside `path`, then rename it.

    Raises LogicgenError where that fails; then nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise LogicgenError(
            f"{path}: cannot be written: {error.strerror or error}; what is finished is safe, "
            "run the same command again when that is mended"
        ) from error


def read_shard(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A shard's rows. Raises LogicgenError where the file is not a whole shard."""
    try:
        return pq.read_table(path, columns=list(columns) if columns else None, memory_map=True)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        raise LogicgenError(
            f"{path}: not a whole shard ({str(error).splitlines()[0]}); delete it and run "
            "logicgen generate again, which makes it anew"
        ) from error


def keys(table: pa.Table, alpha: bool) -> list[int]:
    """What tells the rows' problems apart: up to renaming, or exactly."""
    if alpha:
        return table["alpha_class"].to_pylist()
    return [fingerprint(problem) for problem in table["problem"].to_pylist()]


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
