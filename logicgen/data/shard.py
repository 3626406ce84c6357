"""Shards: Parquet files that are either whole or not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from logicgen.atomic import write_atomically
from logicgen.data.drawer import Example, fingerprint
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
    """Return where shard `number` of a split is."""
    return folder / split / f"{number:05d}.parquet"


def write_shard(path: Path, examples: Sequence[Example]) -> None:
    """Write a shard at once: under another name first, then renamed."""
    columns = list(zip(*examples, strict=True))
    table = pa.table(
        [pa.array(columns[i], type=field.type) for i, field in enumerate(SCHEMA)], schema=SCHEMA
    )
    write_atomically(
        path,
        # Page checksums let a resumed run notice a shard that was damaged meanwhile.
        lambda part: pq.write_table(table, part, compression="zstd", write_page_checksum=True),
    )


def read_shard(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a shard's rows. Raises LogicgenError where the file is not a whole shard."""
    try:
        chosen = list(columns) if columns else None
        return pq.read_table(path, columns=chosen, memory_map=True, page_checksum_verification=True)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        raise LogicgenError(
            f"{path}: not a whole shard ({str(error).splitlines()[0]}); delete it and run "
            "logicgen generate again, which makes it anew"
        ) from error


def keys(table: pa.Table, alpha: bool) -> list[int]:
    """Return what tells the rows' problems apart: up to renaming, or exactly."""
    if alpha:
        return list(table["alpha_class"].to_pylist())
    return [fingerprint(problem) for problem in table["problem"].to_pylist()]
