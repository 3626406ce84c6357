"""Shards: Parquet files that are either whole or not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from logicgen.data import parquet
from logicgen.data.drawer import fingerprint
from logicgen.errors import LogicgenError
from logicgen.files import write_atomically
from logicgen.tokens import MOST_SYMBOLS

SCHEMA = pa.schema(
    [
        pa.field("problem", pa.string(), nullable=False),
        pa.field("answer", pa.string(), nullable=False),
        pa.field("symbols", pa.int32(), nullable=False),
        pa.field("length", pa.int32(), nullable=False),
        pa.field("alpha_class", pa.int64(), nullable=False),
    ]
)

GIVEN_UP = "logicgen.given_up"  # key of a shard's metadata; not there where nothing was

MOST_BYTES = 2**30  # of a shard in memory; those that are made have a few megabytes
LONGEST = 10_000  # tokens of a problem


def shard_path(folder: Path, split: str, number: int) -> Path:
    """Return where shard `number` of a split is."""
    return folder / split / f"{number:05d}.parquet"


def write_shard(
    path: Path, table: pa.Table, given_up: int = 0, *, part: Path | None = None
) -> None:
    """Write a shard at once: under another name first, then renamed.

    given_up: problems that a solver gave up while these were found, for the file's metadata.
    part: that name, if no other process may have it.
    """
    table = table.replace_schema_metadata({GIVEN_UP: str(given_up)} if given_up else None)
    write_atomically(
        path,
        # Page checksums let a resumed run notice a shard that was damaged meanwhile.
        lambda part: pq.write_table(table, part, compression="zstd", write_page_checksum=True),
        part=part,
    )


def given_up(path: Path) -> int:
    """Return how many problems a solver gave up for the examples of a shard that is whole."""
    try:
        return int((pq.read_schema(path).metadata or {}).get(GIVEN_UP.encode(), 0))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise LogicgenError(f"{path}: not a whole shard: delete it and run again") from error


def read_shard(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a shard's rows. Raises LogicgenError where the file is not a whole shard.

    So is one with other columns, with numbers that no recipe allows, or that is larger than
    `MOST_BYTES` when it is read; the last is found before the memory is taken.
    """
    try:
        table = parquet.read_table(path, SCHEMA, columns, most=MOST_BYTES)
        check_numbers(table)
        return table
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise LogicgenError(
            f"{path}: not a whole shard ({parquet.fault(error)}); delete it and run logicgen"
            " generate again, which makes it anew"
        ) from error


def check_numbers(table: pa.Table) -> None:
    """Raise ValueError where a number of symbols or a length is none of a problem."""
    for name, least, most in (("symbols", 0, MOST_SYMBOLS), ("length", 1, LONGEST)):
        if name in table.column_names and table.num_rows:
            low, high = pc.min_max(table[name]).as_py().values()
            if low < least or high > most:
                wrong = low if low < least else high
                raise ValueError(f"{name} is {wrong} in a row; allowed: {least} to {most:,}")


def keys(table: pa.Table, alpha: bool) -> np.ndarray:
    """Return what tells the rows' problems apart, int64 (N,): up to renaming, or exactly."""
    if alpha:
        return np.asarray(table["alpha_class"])
    return np.array([fingerprint(problem) for problem in table["problem"].to_pylist()], np.int64)
