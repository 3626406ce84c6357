"""The steps by which a worker makes a data set; `generate.py` decides their order.

A unit is the examples of one shard, and a bucket is a group of units. A cell is the problems of one
number of symbols and one range of lengths, and a part is a group of cells. A key is a number that
identifies a problem, and a record is the key of an example with its place. To settle a part is to
replace its repeated examples, so that no problem occurs twice.

Each step reads work files of earlier steps. Their folder is removed at the end:

    train/00012.arrow         examples drawn for unit 12; removed when its shard is written
    train/00012.arrow.json    facts about the shard of unit 12
    train/00000-3-1.npy       in the round with first unit 0: records of bucket 3 in part 1
    train/00000-3-1.arrow     new examples for bucket 3, from settling part 1
    train/00000-settled.json  results of settling: numbers of examples, changed buckets
    keys/train-00000-1.npy    all keys of part 1 after this round

Each file ends with a checksum of its content. Unlike shards, work files are not flushed to the disk
at once. If a power cut damages a file, its checksum is wrong, and the file counts as missing.
A step may be repeated: it writes the same bytes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logicgen.data.plan import DrawingRound, Unit
from logicgen.data.recipe import DataRecipe
from logicgen.data.shards import given_up, keys, read_shard, schema_of, shard_path, write_shard
from logicgen.data.unique import (
    RECORD,
    DuplicateRemoval,
    Partition,
    PlacedExample,
    found_schema,
    found_table,
    records,
    sum_of_keys,
)
from logicgen.errors import LogicgenError, reading
from logicgen.files import is_part, own_part_path, sha256, write_atomically
from logicgen.tasks.problems import Drawer

FOLDER = ".making"

KEY = np.dtype("i8")

_DIGEST = 16  # bytes


class LostError(Exception):
    """A work file of an earlier step is missing: all steps must be repeated."""


class PartClaims(NamedTuple):
    """The result of replacing the repeated examples of a part (a group of cells).

    Attributes:
        held: pairs of the number of a cell and its number of examples.
        buckets: the groups of shards in which examples were replaced.
    """

    part: int
    held: list[tuple[int, int]]
    buckets: list[int]


class ShardFacts(NamedTuple):
    """The facts about a shard in the description of the data set, and further numbers.

    Attributes:
        given_up: number of problems that a solver gave up while the examples were made.
        keys: checksum of the keys of the problems.
    """

    file: str
    examples: int
    bytes: int
    sha256: str
    given_up: int
    keys: int


def unit_file(split: str, unit: int) -> str:
    """Return the name of the work file with the examples drawn for a unit (shard)."""
    return f"{split}/{unit:05d}.arrow"


def keys_file(drawing: DrawingRound, part: int) -> str:
    """Return the name of the work file with the keys of a part (group of cells) after a round."""
    return f"keys/{drawing.split}-{drawing.number:05d}-{part}.npy"


class WorkFiles:
    """The work files of a data set. A method raises LostError if its file is missing or damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER

    def read_table(self, name: str) -> pa.Table:
        """Return a table of examples."""
        table = pa.ipc.open_file(pa.py_buffer(self._read(name))).read_all()
        return table

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a table of examples."""
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        self._write(name, sink.getvalue())

    def read_array(self, name: str, kind: np.dtype) -> np.ndarray:
        """Read a one-dimensional array with elements of type `kind`."""
        return np.frombuffer(self._read(name), kind)

    def map_array(self, name: str, kind: np.dtype) -> np.ndarray:
        """Map a nonempty one-dimensional array with elements of type `kind` into memory."""
        count = len(self._read(name)) // kind.itemsize
        return np.memmap(self.folder / name, kind, "r", shape=(count,))

    def write_array(self, name: str, array: np.ndarray) -> None:
        """Write a one-dimensional array."""
        self._write(name, array.tobytes())

    def read_json(self, name: str) -> Any:
        """Return the JSON data in a file; None if the file is missing."""
        try:
            return json.loads(bytes(self._read(name)))
        except LostError:
            return None

    def write_json(self, name: str, value: Any) -> None:
        """Write JSON data."""
        self._write(name, json.dumps(value).encode())

    def part(self, name: str) -> Path:
        """Return a temporary path for a file, which no other process uses for the same file."""
        return own_part_path(self.folder / name)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self.folder / name).unlink(missing_ok=True)

    def remove_settled(self, drawing: DrawingRound) -> None:
        """Remove the work files of a round after its shards were written."""
        for path in self.folder.glob(f"{drawing.stem}-*-*"):
            path.unlink()

    def remove_unfinished(self) -> None:
        """Remove the temporary files of workers that were killed."""
        for path in filter(is_part, self.folder.rglob("*")):
            path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the folder with all work files."""
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


class Maker:
    """The worker that does the steps of one data set."""

    def __init__(self, recipe: DataRecipe, seed: int, folder: Path, partition: Partition) -> None:
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pool keeps 50 MB unused
        self.drawer, self.folder = Drawer(recipe.rules(), seed), folder
        self.files, self.partition = WorkFiles(folder), partition
        self._schema = schema_of(self.drawer.task)
        self._found = found_schema(self._schema)

    def __call__(self, step: tuple[Any, ...]) -> Any:
        """Do a step, and return its result. If a work file is missing, return the LostError.

        step: a method of this class, followed by its arguments.
        """
        method, *arguments = step
        try:
            return method(self, *arguments)
        except LostError as error:
            return error

    def draw(self, unit: Unit) -> int:
        """Write the examples of a unit to a work file; return their number."""
        name = unit_file(unit.split, unit.number)
        try:
            table = self._read(name)
        except LostError:
            table = found_table(self._drawn(unit), self._found)
            self.files.write_table(name, table)
        return len(table) - int(table["key"].null_count)

    def _read(self, name: str) -> pa.Table:
        """Return a work file with examples. Raises LostError if it has other columns."""
        table = self.files.read_table(name)
        if not table.schema.equals(self._found):
            raise LostError(name)
        return table

    def _drawn(self, unit: Unit) -> Iterator[PlacedExample]:
        drawn = self.drawer.unit(unit.slots())
        # The number of problems that a solver gave up is stored with the first example.
        lost = drawn.given_up
        slots = zip(unit.cells, drawn.attempts, drawn.examples, strict=True)
        for place, (cell, attempt, example) in enumerate(slots):
            number = self.partition.numbers[cell]
            yield PlacedExample(
                unit.number, place, attempt, number, lost if place == 0 else 0, example
            )

    def gather(self, drawing: DrawingRound, bucket: int) -> list[int]:
        """Write the keys and places of the drawn examples in a bucket (group of shards).

        Each part (group of cells) gets a file. Returns the numbers of the parts that have a file.
        """
        units = (unit for unit in drawing.units_in(bucket) if unit >= drawing.first_drawn)
        found = records(self._read(unit_file(drawing.split, unit)) for unit in units)
        part_of = np.array(self.partition.parts)[found["cell"]]
        parts = [int(part) for part in np.unique(part_of)]
        for part in parts:
            self.files.write_array(f"{drawing.stem}-{bucket}-{part}.npy", found[part_of == part])
        return parts

    def settle(
        self, drawing: DrawingRound, part: int, buckets: Sequence[int], keys: str | None
    ) -> PartClaims:
        """Replace the repeated examples of a part (a group of cells) by new examples.

        Writes the new examples, and the keys of all problems of the part.

        buckets: the groups of shards with examples of the part.
        keys: the work file with the keys of the part's earlier problems; None if there is no file.
        """
        there = np.empty(0, KEY) if keys is None else self.files.read_array(keys, KEY)
        removal = DuplicateRemoval(self.drawer, self.partition, drawing, part, there)
        names = (f"{drawing.stem}-{bucket}-{part}.npy" for bucket in buckets)
        changes = removal.changes([self.files.map_array(name, RECORD) for name in names])
        changed = []
        for bucket, found in groupby(changes, lambda each: drawing.bucket(each.unit)):
            self.files.write_table(
                f"{drawing.stem}-{bucket}-{part}.arrow", found_table(found, self._found)
            )
            changed.append(bucket)
        self.files.write_array(keys_file(drawing, part), removal.seen.array())
        return PartClaims(part, list(removal.held.items()), changed)

    def finish(self, drawing: DrawingRound, bucket: int, parts: Sequence[int]) -> list[ShardFacts]:
        """Write the missing shards of a bucket (group of shards); return facts about each shard.

        parts: the groups of cells with replaced examples in the bucket.
        """
        made: list[ShardFacts] = []
        changes = None
        for unit in drawing.units_in(bucket):
            name = f"{unit_file(drawing.split, unit)}.json"
            if (known := self.files.read_json(name)) is not None:
                made += [self._same(ShardFacts(*each)) for each in known]
                continue
            if changes is None:
                names = (f"{drawing.stem}-{bucket}-{part}.arrow" for part in parts)
                changes = pa.concat_tables([self._found.empty_table(), *map(self._read, names)])
            facts = self._shard(drawing, unit, changes.filter(pc.equal(changes["unit"], unit)))
            self.files.write_json(name, facts)
            self.files.remove(unit_file(drawing.split, unit))
            made += facts
        return made

    def _shard(self, drawing: DrawingRound, unit: int, table: pa.Table) -> list[ShardFacts]:
        """Write a shard if it has any examples; return facts about the shard.

        unit: the number of the shard.
        table: new examples that replace drawn examples of the shard.
        """
        name, lost = unit_file(drawing.split, unit), _given_up(table)
        if unit >= drawing.first_drawn:
            drawn = self._read(name)
            lost += _given_up(drawn)
            kept = ~np.isin(drawn["place"].to_numpy(), table["place"].to_numpy())
            table = pa.concat_tables([drawn.filter(pa.array(kept)), table])
        table = table.filter(pc.is_valid(table["key"])).sort_by("place")
        if not len(table):
            return []
        path = shard_path(self.folder, drawing.split, unit)
        table = table.select(self._schema.names).cast(self._schema).combine_chunks()
        # If the file exists, it is replaced without being read.
        write_shard(path, table, lost, part=self.files.part(name))
        return [self._facts(path.relative_to(self.folder).as_posix())]

    def _facts(self, file: str) -> ShardFacts:
        """Read a shard from the disk, and return the facts about it.

        Raises LogicgenError if the shard is damaged, and LostError if it is missing.
        """
        path = self.folder / file
        if not path.exists():
            raise LostError(file)
        table = read_shard(path, self.drawer.task)
        total = sum_of_keys(keys(table, self.drawer.alpha))
        size, digest = path.stat().st_size, sha256(path)
        return ShardFacts(file, len(table), size, digest, given_up(path), total)

    def _same(self, known: ShardFacts) -> ShardFacts:
        """Return the recorded facts about a shard (its size and so on), if they still hold.

        Raises LogicgenError if the file was changed after it had been recorded.
        """
        if self._facts(known.file) != known:
            raise LogicgenError(
                f"{self.folder / known.file}: was changed; delete it and run the same command"
                " again, which makes it anew"
            )
        return known

    def check(self, name: str) -> tuple[int, int]:
        """Return the number and the checksum of the keys in a work file.

        name: the name of the file.

        Raises LogicgenError if a key occurs twice.
        """
        found = self.files.read_array(name, KEY)
        if (np.diff(found) <= 0).any():
            raise LogicgenError(f"{self.folder}: a problem occurs twice: delete it and run again")
        return len(found), sum_of_keys(found)


def _given_up(table: pa.Table) -> int:
    return sum(table["given_up"].to_pylist())
