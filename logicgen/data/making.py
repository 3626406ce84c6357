"""The steps in which a data set is made; any number of them at once, in any process.

    draw      a unit: a first example for each of its slots, whatever other units draw
    gather    a bucket of units: what settling has to know of their examples, by part
    settle    some cells, a part of the partition: which slot keeps an example that several have
              found, and further examples for the others
    finish    a bucket of units: their shards
    check     a part of the partition: that its keys are different, and are those of the shards

Problems of cells in different parts are different (`partition.py`), so each is settled alone. Of
slots that found the same problem the earliest keeps it. The others then draw again, in order, each
until it has a problem that nobody has; after one that finds none, its cell is given up.

Steps hand on what they found in work files, in a folder of the data set that is removed in the end.
A step that is done again writes the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logicgen.data.partition import KeyTable, Partition, sum_of_keys
from logicgen.data.plan import BUCKET, Listing, Unit
from logicgen.data.recipe import DataRecipe
from logicgen.data.shards import SCHEMA, given_up, keys, read_shard, shard_path, write_shard
from logicgen.data.work_files import LostError, WorkFiles
from logicgen.errors import LogicgenError
from logicgen.files import sha256
from logicgen.tasks.problems import REMAINDERS, Drawer, Example, Slot

KEY = np.dtype("i8")

RECORD = np.dtype(
    [("key", "i8"), ("unit", "i4"), ("place", "i4"), ("attempt", "i4"), ("cell", "i4")]
)
"""What settling knows of an example that a slot has found; `cell` is a number of `Partition`."""

# Records in memory at a time.
RECORDS = 100_000

FOUND = pa.schema(
    [
        pa.field("unit", pa.int32()),
        pa.field("place", pa.int32()),
        pa.field("attempt", pa.int32()),
        pa.field("given_up", pa.int32()),
        pa.field("key", pa.int64()),  # null where a slot is left empty, and so are the columns of
        *(pa.field(each.name, each.type) for each in SCHEMA),  # a shard
    ]
)
"""Examples in work files."""

DRAWN = FOUND.append(pa.field("cell", pa.int32()))
"""First examples of a unit; `cell` is that of the slot, a number of `Partition`."""


@dataclass(frozen=True)
class Draw:
    """Find a first example for each slot of a unit; the result is how many were found."""

    unit: Unit


@dataclass(frozen=True)
class Gather:
    """Write the records of some drawn units; the result is how many there are, by part."""

    split: str
    number: int  # of the round's first shard
    bucket: int
    units: range


@dataclass(frozen=True)
class Settle:
    """Settle the cells of a part in a round; the result is a `Settled`.

    Attributes:
        number: of the round's first shard, which keys its random numbers.
        buckets: those with records of the part; `records`, how many there are.
        listings: of the part, with the bucket of each.
        rationed: cells that may only take problems that are reserved for held-out splits.
        table: the work file of the keys that the part has; None without any.
    """

    part: int
    split: str
    number: int
    first_drawn: int
    size: int
    buckets: tuple[int, ...]
    records: int
    listings: tuple[tuple[int, Listing], ...]
    rationed: frozenset[int]
    table: str | None


@dataclass(frozen=True)
class Settled:
    """What settling gave: the keys' work file, examples by cell, buckets with changes."""

    part: int
    table: str
    held: dict[int, int]
    buckets: list[int]


@dataclass(frozen=True)
class Finish:
    """Write the shards of some units; the result is a fact sheet for each that is not empty."""

    split: str
    number: int  # of the round's first shard
    first_drawn: int
    bucket: int
    units: range
    parts: tuple[int, ...]  # of the partition, with changes in the bucket


@dataclass(frozen=True)
class Facts:
    """What a description says of a shard, and the sum of its keys."""

    file: str
    examples: int
    bytes: int
    sha256: str
    given_up: int
    keys: int


@dataclass(frozen=True)
class Look:
    """Read a shard that was finished earlier; the result is its `Facts`, or an error if others."""

    facts: Facts


@dataclass(frozen=True)
class Check:
    """Count the keys of a part: how many, and their sum. LogicgenError: one is there twice."""

    table: str


@dataclass(frozen=True)
class Lost:
    """Says that a file is missing which an earlier step has written."""

    file: str


class Maker:
    """Does the steps of one data set."""

    def __init__(self, recipe: DataRecipe, seed: int, folder: Path, partition: Partition) -> None:
        self.recipe, self.drawer = recipe, Drawer(recipe.rules(), seed)
        self.folder, self.files, self.partition = folder, WorkFiles(folder), partition

    def __call__(self, step: Any) -> Any:
        """Do a step and return its result; `Lost` where it lacks a file."""
        try:
            return self._done(step)
        except LostError as error:
            return Lost(str(error))

    def _done(self, step: Any) -> Any:
        match step:
            case Draw(unit):
                return self.draw(unit)
            case Gather():
                return self.gather(step)
            case Settle():
                return self.settle(step)
            case Finish():
                changes = self._changes(step)
                found = (self.finish(step, unit, changes) for unit in step.units)
                return [facts for facts in found if facts is not None]
            case Look(facts):
                return self.look(facts)
            case Check(table):
                return self.check(table)
        raise TypeError(step)

    # -- draw -----------------------------------------------------------------------------------

    def draw(self, unit: Unit) -> int:
        """Write the examples of a unit to a work file; return how many there are."""
        name = unit_file(unit.split, unit.number)
        table = self.files.read_table(name, DRAWN)
        if table is None:
            table = self._drawn(unit)
            self.files.write_table(name, table)
        return len(table)

    def _drawn(self, unit: Unit) -> pa.Table:
        drawn = self.drawer.unit(unit.slots())
        rows = [
            (unit.number, place, attempt, 0, example)
            for place, (example, attempt) in enumerate(
                zip(drawn.examples, drawn.attempts, strict=True)
            )
            if example is not None
        ]
        cells = [self.partition.numbers[unit.cells[place]] for _, place, *_ in rows]
        table = _table(rows).append_column(DRAWN.field("cell"), pa.array(cells, pa.int32()))
        # What is not written down would be forgotten after an interruption.
        return table.replace_schema_metadata({"given_up": str(drawn.given_up)})

    def _unit(self, split: str, unit: int) -> pa.Table:
        """Return what was drawn for a unit."""
        table = self.files.read_table(unit_file(split, unit), DRAWN)
        if table is None:
            raise LostError(f"unit {unit} of {split}")
        return table

    # -- gather ---------------------------------------------------------------------------------

    def gather(self, step: Gather) -> dict[int, int]:
        """Write the records of some units, in order of their keys, a file for each part."""
        found = []
        for unit in step.units:
            table = self._unit(step.split, unit)
            records = np.zeros(len(table), RECORD)
            for column in RECORD.names or ():
                records[column] = table[column].to_numpy()
            found.append(records)
        records = np.concatenate([np.empty(0, RECORD), *found])
        records = records[np.argsort(records["key"], kind="stable")]
        parts = np.array(self.partition.parts)[records["cell"]]
        counts = {}
        for part in map(int, np.unique(parts)):
            mine = records[parts == part]
            name = records_file(step.split, step.number, step.bucket, part)
            self.files.write_array(name, mine)
            counts[part] = len(mine)
        return counts

    # -- settle ---------------------------------------------------------------------------------

    def settle(self, step: Settle) -> Settled:
        """Settle a part."""
        seen = KeyTable(np.empty(0, np.int64))
        if step.table is not None:
            seen = KeyTable(self._array(step.table, KEY))
        held: Counter[int] = Counter()
        changes: dict[int, list[tuple[int, int, int, int, Example | None]]] = {}
        for bucket, listing in step.listings:
            changes.setdefault(bucket, []).extend(self._listed(step, listing, seen, held))

        keys, losers = [np.empty(0, np.int64)], [np.empty(0, RECORD)]
        for records in self._records(step):
            new = ~seen.hold(records["key"])
            new[1:] &= records["key"][1:] != records["key"][:-1]  # the earliest slot keeps it
            keys.append(records["key"][new])
            losers.append(records[~new])
            held.update(Counter(records["cell"][new].tolist()))
        seen.extend(np.concatenate(keys))
        again = np.sort(np.concatenate(losers), order=("unit", "place"))
        exhausted: set[int] = set()
        written: list[int] = []

        def write(bucket: int) -> None:
            table = _table(changes.pop(bucket))
            self.files.write_table(changes_file(step, bucket, step.part), table)
            written.append(bucket)

        last = -1
        for _, unit, place, attempt, cell in map(np.void.item, again):
            bucket = (unit - step.number) // BUCKET
            if bucket != last and last in changes:
                write(last)
            last = bucket
            example, before = None, self.drawer.given_up
            if cell not in exhausted:
                number = (unit - step.first_drawn) * step.size + place
                rationed = cell in step.rationed
                slot = Slot(step.split, step.number, number, self.partition.cells[cell], rationed)
                example, _ = self.drawer.slot(slot, attempt + 1, seen)
                if example is None:
                    exhausted.add(cell)
                else:
                    held[cell] += 1
            lost = self.drawer.given_up - before
            changes.setdefault(bucket, []).append((unit, place, 0, lost, example))
        for bucket in list(changes):
            write(bucket)
        table = table_file(step)
        self.files.write_array(table, seen.array())
        return Settled(step.part, table, dict(held), sorted(written))

    def _records(self, step: Settle) -> Iterator[np.ndarray]:
        """Yield the records of a part in order of their keys, then of slots; some at a time."""
        names = [records_file(step.split, step.number, each, step.part) for each in step.buckets]
        maps = [self.files.map_array(name, RECORD) for name in names]
        ranges = -(-step.records // RECORDS)  # of equal widths: keys are hashes of 63 bits
        for number in range(ranges):
            ends = [min(2**63 * each // ranges, 2**63 - 1) for each in (number, number + 1)]
            some = [np.empty(0, RECORD)]
            for each in maps:
                low, high = np.searchsorted(each["key"], np.array(ends, np.int64))
                some.append(np.array(each[low : len(each) if number == ranges - 1 else high]))
            records = np.concatenate(some)
            yield records[np.lexsort((records["place"], records["unit"], records["key"]))]

    def _listed(
        self, step: Settle, listing: Listing, seen: KeyTable, held: Counter[int]
    ) -> Iterator[tuple[int, int, int, int, Example | None]]:
        """Yield rows of a listed cell."""
        cell = self.partition.numbers[listing.cell]
        remainder = REMAINDERS[step.split] if cell in step.rationed else None
        before, place = self.drawer.given_up, listing.place
        found = self.drawer.listed(listing.cell, step.split, remainder, seen)
        for place, example in enumerate(islice(found, listing.quota), listing.place):
            held[cell] += 1
            yield listing.unit, place, 0, self.drawer.given_up - before, example
            before = self.drawer.given_up
        if self.drawer.given_up > before:
            yield listing.unit, place + 1, 0, self.drawer.given_up - before, None

    # -- finish ---------------------------------------------------------------------------------

    def finish(self, step: Finish, unit: int, changes: pa.Table) -> Facts | None:
        """Write the shard of a unit, unless that was done; return what there is to say of it."""
        path, name = shard_path(self.folder, step.split, unit), unit_file(step.split, unit)
        done = f"{name}.json"
        if (known := self.files.read_json(done)) is not None:
            return self.look(Facts(**known))
        mine = changes.filter(pc.equal(changes["unit"], unit))
        table, lost = self._finished(step, unit, mine)
        if not len(table):
            return None
        # Whatever is there already may be anything.
        write_shard(path, table, lost, part=self.files.part(name))
        facts = self.facts(path.relative_to(self.folder).as_posix())
        self.files.write_json(done, asdict(facts))
        self.files.remove(name)
        return facts

    def _finished(self, step: Finish, unit: int, changes: pa.Table) -> tuple[pa.Table, int]:
        """Return the rows of a shard, and how many problems were given up for them."""
        lost, table = sum(changes["given_up"].to_pylist()), changes
        if unit >= step.first_drawn:
            drawn = self._unit(step.split, unit)
            lost += int((drawn.schema.metadata or {}).get(b"given_up", 0))
            kept = ~np.isin(drawn["place"].to_numpy(), changes["place"].to_numpy())
            table = pa.concat_tables([drawn.filter(pa.array(kept)).select(FOUND.names), changes])
        table = table.filter(pc.is_valid(table["key"])).sort_by("place")
        return table.select(SCHEMA.names).cast(SCHEMA).combine_chunks(), lost

    def _changes(self, step: Finish) -> pa.Table:
        """Return the rows that settling has changed in a bucket."""
        found = []
        for part in step.parts:
            table = self.files.read_table(changes_file(step, step.bucket, part), FOUND)
            if table is None:
                raise LostError(f"changes of {step.split}")
            found.append(table)
        return pa.concat_tables([FOUND.empty_table(), *found])

    def _array(self, name: str, kind: np.dtype) -> np.ndarray:
        array = self.files.read_array(name, kind)
        if array is None:
            raise LostError(name)
        return array

    def facts(self, file: str) -> Facts:
        """Return what there is to say of a shard, read from the disk.

        Raises LogicgenError where it is damaged, LostError where it is not there.
        """
        path = self.folder / file
        if not path.exists():
            raise LostError(file)
        table = read_shard(path)
        total = sum_of_keys(keys(table, self.drawer.alpha))
        size, digest = path.stat().st_size, sha256(path)
        return Facts(file, len(table), size, digest, given_up(path), total)

    def look(self, known: Facts) -> Facts:
        """Return what there is to say of a shard. LogicgenError: something else than was known."""
        if self.facts(known.file) != known:
            raise LogicgenError(
                f"{self.folder / known.file}: was changed; delete it and run the same command"
                " again, which makes it anew"
            )
        return known

    def check(self, name: str) -> tuple[int, int]:
        """Return how many keys a part has, and their sum."""
        found = self._array(name, KEY)
        if (np.diff(found) <= 0).any():
            raise LogicgenError(f"{self.folder}: a problem occurs twice: delete it and run again")
        return len(found), sum_of_keys(found)


def _table(rows: Sequence[tuple[int, int, int, int, Example | None]]) -> pa.Table:
    """Return rows of unit, place, attempt, problems given up, and an example if there is one."""
    columns: list[list[Any]] = [[row[i] for row in rows] for i in range(4)]
    examples = [row[4] for row in rows]
    columns.append([None if each is None else each.key for each in examples])
    for i in range(len(SCHEMA)):
        columns.append([None if each is None else each[i] for each in examples])
    arrays = [pa.array(column, each.type) for column, each in zip(columns, FOUND, strict=True)]
    return pa.table(arrays, schema=FOUND)


def unit_file(split: str, unit: int) -> str:
    """Return the work file of what was drawn for a unit."""
    return f"{split}/{unit:05d}.arrow"


def records_file(split: str, number: int, bucket: int, part: int) -> str:
    """Return the work file of a bucket's records in a part, of the round of that number."""
    return f"{split}/{number:05d}-{bucket}-{part}.npy"


def changes_file(step: Settle | Finish, bucket: int, part: int) -> str:
    """Return the work file of what settling a part changed in a bucket."""
    return f"{step.split}/{step.number:05d}-{bucket}-{part}.arrow"


def table_file(step: Settle) -> str:
    """Return the work file of a part's keys after a round."""
    return f"keys/{step.split}-{step.number:05d}-{step.part}.npy"


def maker(
    recipe: DataRecipe, seed: int, folder: Path, partition: Partition
) -> Callable[[Any], Any]:
    """Return the function with which a worker process does steps."""
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own keeps 50 MB that nobody uses
    return Maker(recipe, seed, folder, partition)
