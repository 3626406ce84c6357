"""Shards: Parquet files that are written atomically.

Files may come from strangers. A file with other columns is refused, and a file that needs too much
memory is refused, too. Its size in memory is computed before the memory is taken: a file of a few
kilobytes may contain a text of a megabyte a million times.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from logicgen.errors import LogicgenError
from logicgen.files import write_atomically
from logicgen.tasks import Task
from logicgen.tasks.conditions import CONTROLS, difficulty_columns
from logicgen.tasks.problems import fingerprint
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


def schema_of(task: Task) -> pa.Schema:
    """Return the columns of a shard of a task: the columns of every task, then the difficulty."""
    fields = [
        pa.field(name, pa.int32() if column.whole else pa.float64())
        for name, column in task.difficulties.items()
    ]
    if task.rated:
        fields.append(pa.field(CONTROLS, pa.string(), nullable=False))
    return pa.schema([*SCHEMA, *fields])


GIVEN_UP = "logicgen.given_up"  # key of a shard's metadata; missing if no problem was given up

MOST_BYTES = 2**30  # limit of a shard in memory; shards of logicgen have a few megabytes
LONGEST = 10_000  # limit of the tokens of a problem


def shard_path(folder: Path, split: str, number: int) -> Path:
    """Return the path of shard `number` of a split."""
    return folder / split / f"{number:05d}.parquet"


def write_shard(
    path: Path, table: pa.Table, given_up: int = 0, *, part: Path | None = None
) -> None:
    """Write a shard atomically: under a temporary name, then renamed.

    given_up: number of problems that a solver gave up, for the file's metadata.
    part: the temporary path, if other processes may write the same shard.
    """
    table = table.replace_schema_metadata({GIVEN_UP: str(given_up)} if given_up else None)
    write_atomically(
        path,
        # Page checksums let a resumed run notice a shard that was damaged meanwhile.
        lambda part: pq.write_table(table, part, compression="zstd", write_page_checksum=True),
        part=part,
    )


def given_up(path: Path) -> int:
    """Return how many problems a solver gave up while the examples of a shard were made."""
    try:
        return int((pq.read_schema(path).metadata or {}).get(GIVEN_UP.encode(), 0))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise LogicgenError(f"{path}: not a whole shard: delete it and run again") from error


def read_shard(path: Path, task: Task, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a shard's rows. Raises LogicgenError if the file is not a whole shard.

    A shard with other columns or with numbers that no recipe allows is refused. The columns of
    difficulty may be missing. A shard that needs more than `MOST_BYTES` is refused before the
    memory is taken.
    """
    try:
        optional = difficulty_columns(task)
        table = read_table(path, schema_of(task), columns, optional=optional, most=MOST_BYTES)
        for name in columns or ():
            if name not in table.column_names:
                raise LogicgenError(
                    f"{path}: has no column {name}, as data sets of earlier versions: generate the"
                    " data set again in an empty folder"
                )
        check_numbers(table)
        for name, column in task.difficulties.items():
            check_range(table, name, column.least, column.most)
        return table
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise LogicgenError(
            f"{path}: not a whole shard ({fault(error)}); delete it and run logicgen"
            " generate again, which makes it anew"
        ) from error


def check_numbers(table: pa.Table) -> None:
    """Raise ValueError if a number of symbols or a length in the table is out of range."""
    check_range(table, "symbols", 0, MOST_SYMBOLS)
    check_range(table, "length", 1, LONGEST)


def check_range(table: pa.Table, name: str, least: float, most: float) -> None:
    """Raise ValueError if a number in a column of the table is out of range or not a number."""
    if name not in table.column_names:
        return
    column = table[name]
    inside = pc.and_(pc.greater_equal(column, least), pc.less_equal(column, most))
    wrong = column.filter(pc.invert(inside))  # `inside` is null, not false, for a missing number
    if len(wrong):
        raise ValueError(f"{name} is {wrong[0]} in a row; allowed: {least:,} to {most:,}")


def keys(table: pa.Table, alpha: bool) -> np.ndarray:
    """Return a key for each problem, int64 (rows,). Equal problems have equal keys.

    alpha: give equal keys also to problems that are equal up to renaming.
    """
    if alpha:
        return np.asarray(table["alpha_class"])
    return np.array([fingerprint(problem) for problem in table["problem"].to_pylist()], np.int64)


ROW_BYTES = 48  # bytes of a row in memory, without the characters of its texts


def read_table(
    path: Path,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    *,
    optional: Collection[str] = (),
    most: int,
) -> pa.Table:
    """Read a Parquet file with the columns of a schema; return the named columns.

    columns: names of the columns to return; None for all columns.
    optional: names of columns that may be missing.
    most: limit of the table's bytes in memory.
    Raises ValueError, KeyError, OSError or an ArrowException for any other file.
    """
    there = set(pq.read_schema(path).names)
    texts = [each.name for each in schema if each.type == pa.string() and each.name in there]
    # Texts are read as dictionaries, so that a repeated text is in memory once.
    with pq.ParquetFile(
        path, memory_map=True, page_checksum_verification=True, read_dictionary=texts
    ) as file:
        names = _check_header(file, schema, optional, most)
        table = file.read(names if columns is None else list(columns))
    _check_size(table, most)
    fields = [schema.field(name) for name in table.column_names]
    table = table.cast(pa.schema(fields, table.schema.metadata))
    table.validate(full=True)
    return table


def _check_header(
    file: pq.ParquetFile, schema: pa.Schema, optional: Collection[str], most: int
) -> list[str]:
    """Check the columns of a file and the size of its rows in memory; return the column names.

    Raises ValueError if the columns differ from `schema`, or if the rows would take more than
    `most` bytes. Columns in `optional` may be missing.
    """
    there = file.schema_arrow
    wanted = [name for name in schema.names if name in there.names or name not in optional]
    same = there.names == wanted and all(
        _plain(there.field(name)).equals(schema.field(name)) for name in wanted
    )
    if not same:
        raise ValueError(
            "its columns are " + ", ".join(f"{each.name} {each.type}" for each in there)
        )
    parts = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    check_bytes(sum(part.total_byte_size for part in parts), most)
    check_bytes(ROW_BYTES * sum(part.num_rows for part in parts), most)
    return wanted


def _plain(field: pa.Field) -> pa.Field:
    """Return the field of a column; if its texts are in a dictionary, as a field of plain texts."""
    return field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field


def _check_size(table: pa.Table, most: int) -> None:
    """Raise ValueError if the rows need more than `most` bytes. Repeated texts count each time."""
    characters = 0
    for column in table.columns:
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
            lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
            characters += pc.sum(lengths, min_count=0).as_py()
    check_bytes(characters + ROW_BYTES * table.num_rows, most)


def check_bytes(size: int, most: int) -> None:
    """Raise ValueError if `size` bytes are more than `most`."""
    if size > most:
        raise ValueError(f"it would take {size:,} bytes; {most:,} are allowed")


def fault(error: Exception) -> str:
    """Return the fault of a damaged file, in one line.

    error: the error that the file raised.
    """
    what = "a column is missing" if isinstance(error, KeyError) else str(error)
    return " ".join(what.split())[:200]
