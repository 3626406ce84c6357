"""Files that the making of a data set leaves for its later steps, in a folder that it removes.

Each ends with a checksum of the rest. They are not forced onto the disk, as shards are: a file that
a power cut has left in pieces is found by its checksum, and then it is as if it were not there.
"""

from __future__ import annotations

import json
import shutil
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from logicgen.errors import reading
from logicgen.files import own_part_path, write_atomically

FOLDER = ".making"

_DIGEST = 16  # bytes


class LostError(Exception):
    """A file is missing which an earlier step has written: all is to be made again."""


class WorkFiles:
    """The work files of the data set in a folder, by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER

    def read_table(self, name: str, schema: pa.Schema) -> pa.Table | None:
        """Return a table of such columns; None where there is none, or another one."""
        content = self._read(name)
        if content is None:
            return None
        table = pa.ipc.open_file(pa.py_buffer(content)).read_all()
        return table if table.schema.equals(schema) else None

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a table."""
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        self._write(name, sink.getvalue())

    def read_array(self, name: str, kind: np.dtype) -> np.ndarray | None:
        """Return an array (N,) of such elements; None where there is none."""
        content = self._read(name)
        return None if content is None else np.frombuffer(content, kind)

    def write_array(self, name: str, array: np.ndarray) -> None:
        """Write an array (N,)."""
        self._write(name, array.tobytes())

    def map_array(self, name: str, kind: np.dtype) -> np.ndarray:
        """Return an array that is read where it is looked at. Raises LostError: there is none."""
        if self._read(name) is None:
            raise LostError(name)
        path = self.folder / name
        count = (path.stat().st_size - _DIGEST) // kind.itemsize
        return np.memmap(path, kind, "r", shape=(count,)) if count else np.empty(0, kind)

    def part(self, name: str) -> Path:
        """Return the path of a file while this process writes it; another one may write it, too."""
        return own_part_path(self.folder / name)

    def read_json(self, name: str) -> Any:
        """Return plain data; None where there are none."""
        content = self._read(name)
        return None if content is None else json.loads(bytes(content))

    def write_json(self, name: str, value: Any) -> None:
        """Write plain data."""
        self._write(name, json.dumps(value).encode())

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.folder / name).unlink(missing_ok=True)

    def remove_all(self, folder: str, pattern: str) -> None:
        """Remove the files of a folder whose names match a pattern."""
        for path in (self.folder / folder).glob(pattern):
            path.unlink()

    def clear(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, name: str) -> memoryview | None:
        path = self.folder / name
        with reading(path):
            if not path.exists():
                return None
            content = memoryview(path.read_bytes())
        rest, digest = content[:-_DIGEST], content[-_DIGEST:]
        return rest if blake2b(rest, digest_size=_DIGEST).digest() == bytes(digest) else None

    def _write(self, name: str, content: Any) -> None:
        digest = blake2b(content, digest_size=_DIGEST).digest()

        def write(path: Path) -> None:
            with open(path, "wb") as file:
                file.write(content)
                file.write(digest)

        write_atomically(self.folder / name, write, forced=False, part=self.part(name))
