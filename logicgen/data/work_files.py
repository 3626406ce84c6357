"""Files that the making of a data set leaves for its later steps, in a folder that it removes.

    train/00012.arrow         examples that were drawn for unit 12; gone when it has its shard
    train/00012.arrow.json    what there is to say of the shard of unit 12
    train/00000-3-1.npy       of the round whose first unit is 0: records of bucket 3 in part 1
    train/00000-3-1.arrow     examples that settling part 1 has changed in bucket 3
    train/00000-settled.json  what settling gave
    keys/train-00000-1.npy    all keys of part 1 after that round

Each ends with a checksum of the rest. They are not forced onto the disk, as shards are: a file that
a power cut has left in pieces is found by its checksum, and then it is as if it were not there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from logicgen.data.plan import DrawingRound
from logicgen.data.shards import SCHEMA
from logicgen.errors import reading
from logicgen.files import own_part_path, write_atomically
from logicgen.tasks.problems import Example

FOLDER = ".making"

_DIGEST = 16  # bytes


class LostError(Exception):
    """A file is missing which an earlier step has written: all is to be made again."""


class Found(NamedTuple):
    """What was found for a place of a unit. `cell` is a number of `Partition`."""

    unit: int
    place: int
    attempt: int
    cell: int
    given_up: int  # problems that a solver gave up meanwhile
    example: Example | None  # None: the place is left empty


NUMBERS = Found._fields[:-1]

FOUND = pa.schema(
    [
        *(pa.field(name, pa.int32()) for name in NUMBERS),
        *(pa.field(each.name, each.type) for each in SCHEMA),  # null where a place is left empty
        pa.field("key", pa.int64()),
    ]
)
"""Columns of examples in work files."""


def found_table(found: Iterable[Found]) -> pa.Table:
    """Return examples, at least one, as a table."""
    empty = (None,) * len(Example._fields)
    columns = zip(*((*each[:-1], *(each.example or empty)) for each in found), strict=True)
    arrays = [pa.array(column, each.type) for column, each in zip(columns, FOUND, strict=True)]
    return pa.table(arrays, schema=FOUND)


def unit_file(split: str, unit: int) -> str:
    """Return the work file of what was drawn for a unit."""
    return f"{split}/{unit:05d}.arrow"


def facts_file(split: str, unit: int) -> str:
    """Return the work file of what there is to say of a unit's shard."""
    return f"{unit_file(split, unit)}.json"


def records_file(one: DrawingRound, bucket: int, part: int) -> str:
    """Return the work file of a bucket's records in a part."""
    return f"{one.split}/{one.number:05d}-{bucket}-{part}.npy"


def changes_file(one: DrawingRound, bucket: int, part: int) -> str:
    """Return the work file of what settling a part changed in a bucket."""
    return f"{one.split}/{one.number:05d}-{bucket}-{part}.arrow"


def settled_file(one: DrawingRound) -> str:
    """Return the work file of what settling gave."""
    return f"{one.split}/{one.number:05d}-settled.json"


def keys_file(one: DrawingRound, part: int) -> str:
    """Return the work file of a part's keys after a round."""
    return f"keys/{one.split}-{one.number:05d}-{part}.npy"


class WorkFiles:
    """The work files of the data set in a folder, by name. LostError: one is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER

    def read_table(self, name: str) -> pa.Table:
        """Return a table of examples."""
        table = pa.ipc.open_file(pa.py_buffer(self._read(name))).read_all()
        if not table.schema.equals(FOUND):
            raise LostError(name)
        return table

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a table of examples."""
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        self._write(name, sink.getvalue())

    def read_array(self, name: str, kind: np.dtype) -> np.ndarray:
        """Return an array (N,) of such elements."""
        return np.frombuffer(self._read(name), kind)

    def map_array(self, name: str, kind: np.dtype) -> np.ndarray:
        """Return an array (N,) of such elements, N > 0, that is read where it is looked at."""
        count = len(self._read(name)) // kind.itemsize
        return np.memmap(self.folder / name, kind, "r", shape=(count,))

    def write_array(self, name: str, array: np.ndarray) -> None:
        """Write an array (N,)."""
        self._write(name, array.tobytes())

    def read_json(self, name: str) -> Any:
        """Return plain data; None where there are none."""
        try:
            return json.loads(bytes(self._read(name)))
        except LostError:
            return None

    def write_json(self, name: str, value: Any) -> None:
        """Write plain data."""
        self._write(name, json.dumps(value).encode())

    def part(self, name: str) -> Path:
        """Return the path of a file while this process writes it; another one may write it, too."""
        return own_part_path(self.folder / name)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.folder / name).unlink(missing_ok=True)

    def remove_settled(self, one: DrawingRound) -> None:
        """Remove what only the steps of a round need that has its shards."""
        for path in (self.folder / one.split).glob(f"{one.number:05d}-*-*"):
            path.unlink()

    def clear(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, name: str) -> memoryview:
        path = self.folder / name
        with reading(path):
            if not path.exists():
                raise LostError(name)
            content = memoryview(path.read_bytes())
        rest, digest = content[:-_DIGEST], content[-_DIGEST:]
        if blake2b(rest, digest_size=_DIGEST).digest() != bytes(digest):
            raise LostError(name)
        return rest

    def _write(self, name: str, content: Any) -> None:
        digest = blake2b(content, digest_size=_DIGEST).digest()

        def write(path: Path) -> None:
            with open(path, "wb") as file:
                file.write(content)
                file.write(digest)

        write_atomically(self.folder / name, write, forced=False, part=self.part(name))
