"""Parquet files that others may have written: other columns, or too large ones, are refused.

What they would take is found before the memory is taken: a file of a few kilobytes may hold one
text of a megabyte a million times.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROW_BYTES = 24  # of a row without the characters of its texts


def read_table(
    path: Path,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    *,
    optional: Collection[str] = (),
    most: int,
) -> pa.Table:
    """Return columns of a file that has those of a schema, perhaps without `optional` ones.

    most: bytes that it may take in memory.
    Raises ValueError, KeyError, OSError or an ArrowException for any other file.
    """
    there = set(pq.read_schema(path).names)
    texts = [each.name for each in schema if each.type == pa.string() and each.name in there]
    # Texts are read as numbers of different texts, so that one text a million times takes no room.
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
    """Return the names of the columns. ValueError: other ones, or more than memory should hold."""
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
    """Return the field of a column whose texts are read as numbers, as the file has it."""
    return field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field


def _check_size(table: pa.Table, most: int) -> None:
    """Raise ValueError where texts, each written out, are more than memory should hold."""
    characters = 0
    for column in table.columns:
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
            lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
            characters += pc.sum(lengths, min_count=0).as_py()
    check_bytes(characters + ROW_BYTES * table.num_rows, most)


def check_bytes(size: int, most: int) -> None:
    """Raise ValueError where so many bytes are too many."""
    if size > most:
        raise ValueError(f"it would take {size:,} bytes; {most:,} are allowed")


def fault(error: Exception) -> str:
    """Return what is wrong with a file, in one line."""
    what = "a column is missing" if isinstance(error, KeyError) else str(error)
    return " ".join(what.split())[:200]
