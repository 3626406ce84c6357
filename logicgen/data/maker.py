"""The steps in which a data set is made, as a worker does them; `generate.py` says which, and when.

Each reads what earlier steps have left in files, and may be done again: it leaves the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logicgen.data.plan import DrawingRound, Unit
from logicgen.data.recipe import DataRecipe
from logicgen.data.shards import SCHEMA, given_up, keys, read_shard, shard_path, write_shard
from logicgen.data.unique import RECORD, Partition, Settling, records, sum_of_keys
from logicgen.data.work_files import (
    FOUND,
    Found,
    LostError,
    WorkFiles,
    changes_file,
    facts_file,
    found_table,
    keys_file,
    records_file,
    unit_file,
)
from logicgen.errors import LogicgenError
from logicgen.files import sha256
from logicgen.tasks.problems import Drawer

KEY = np.dtype("i8")


@dataclass(frozen=True)
class PartClaims:
    """What settling a part gave: examples by number of the cell, and buckets with changes."""

    part: int
    held: list[tuple[int, int]]
    buckets: list[int]


@dataclass(frozen=True)
class ShardFacts:
    """What a description says of a shard, and the sum of its keys."""

    file: str
    examples: int
    bytes: int
    sha256: str
    given_up: int
    keys: int


class Maker:
    """Does the steps of one data set, in a worker."""

    def __init__(self, recipe: DataRecipe, seed: int, folder: Path, partition: Partition) -> None:
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own keeps 50 MB that nobody uses
        self.drawer, self.folder = Drawer(recipe.rules(), seed), folder
        self.files, self.partition = WorkFiles(folder), partition

    def __call__(self, step: tuple[Any, ...]) -> Any:
        """Do a step, a method with its arguments; return its result, or the LostError it raises."""
        method, *arguments = step
        try:
            return method(self, *arguments)
        except LostError as error:
            return error

    def draw(self, unit: Unit) -> int:
        """Write the examples of a unit to a work file; return how many there are."""
        name = unit_file(unit.split, unit.number)
        try:
            table = self.files.read_table(name)
        except LostError:
            table = found_table(self._drawn(unit))
            self.files.write_table(name, table)
        return len(table) - int(table["key"].null_count)

    def _drawn(self, unit: Unit) -> Iterator[Found]:
        drawn = self.drawer.unit(unit.slots())
        lost = drawn.given_up  # what is not written down would be forgotten after an interruption
        slots = zip(unit.cells, drawn.attempts, drawn.examples, strict=True)
        for place, (cell, attempt, example) in enumerate(slots):
            number = self.partition.numbers[cell]
            yield Found(unit.number, place, attempt, number, lost if place == 0 else 0, example)

    def gather(self, one: DrawingRound, bucket: int, units: range) -> list[int]:
        """Write the records of some units, a file for each part; return the parts."""
        found = records(self.files.read_table(unit_file(one.split, unit)) for unit in units)
        part_of = np.array(self.partition.parts)[found["cell"]]
        parts = [int(part) for part in np.unique(part_of)]
        for part in parts:
            self.files.write_array(records_file(one, bucket, part), found[part_of == part])
        return parts

    def settle(
        self, one: DrawingRound, part: int, buckets: Sequence[int], keys: str | None
    ) -> PartClaims:
        """Settle a part.

        buckets: those with records of the part.
        keys: the work file of the keys that the part has; None without any.
        """
        there = np.empty(0, KEY) if keys is None else self.files.read_array(keys, KEY)
        settling = Settling(self.drawer, self.partition, one, part, there)
        names = (records_file(one, bucket, part) for bucket in buckets)
        changes = settling.changes([self.files.map_array(name, RECORD) for name in names])
        changed = []
        for bucket, found in groupby(changes, lambda each: one.bucket(each.unit)):
            self.files.write_table(changes_file(one, bucket, part), found_table(found))
            changed.append(bucket)
        self.files.write_array(keys_file(one, part), settling.seen.array())
        return PartClaims(part, list(settling.held.items()), changed)

    def finish(self, one: DrawingRound, bucket: int, parts: Sequence[int]) -> list[ShardFacts]:
        """Write the shards of a bucket, unless that was done; return what there is to say of them.

        parts: those with changes in the bucket.
        """
        made: list[ShardFacts] = []
        changes = None
        for unit in one.units_in(bucket):
            name = facts_file(one.split, unit)
            if (known := self.files.read_json(name)) is not None:
                made += [self._same(ShardFacts(**each)) for each in known]
                continue
            if changes is None:
                read = (self.files.read_table(changes_file(one, bucket, part)) for part in parts)
                changes = pa.concat_tables([FOUND.empty_table(), *read])
            facts = self._shard(one, unit, changes.filter(pc.equal(changes["unit"], unit)))
            self.files.write_json(name, [asdict(each) for each in facts])
            self.files.remove(unit_file(one.split, unit))
            made += facts
        return made

    def _shard(self, one: DrawingRound, unit: int, table: pa.Table) -> list[ShardFacts]:
        """Write the shard of a unit if it has any examples; return what there is to say of it.

        table: what settling has changed in the unit.
        """
        name, lost = unit_file(one.split, unit), _given_up(table)
        if unit >= one.first_drawn:
            drawn = self.files.read_table(name)
            lost += _given_up(drawn)
            kept = ~np.isin(drawn["place"].to_numpy(), table["place"].to_numpy())
            table = pa.concat_tables([drawn.filter(pa.array(kept)), table])
        table = table.filter(pc.is_valid(table["key"])).sort_by("place")
        if not len(table):
            return []
        path = shard_path(self.folder, one.split, unit)
        table = table.select(SCHEMA.names).cast(SCHEMA).combine_chunks()
        # Whatever is there already may be anything.
        write_shard(path, table, lost, part=self.files.part(name))
        return [self._facts(path.relative_to(self.folder).as_posix())]

    def _facts(self, file: str) -> ShardFacts:
        """Return what there is to say of a shard, read from the disk.

        Raises LogicgenError where it is damaged, LostError where it is not there.
        """
        path = self.folder / file
        if not path.exists():
            raise LostError(file)
        table = read_shard(path)
        total = sum_of_keys(keys(table, self.drawer.alpha))
        size, digest = path.stat().st_size, sha256(path)
        return ShardFacts(file, len(table), size, digest, given_up(path), total)

    def _same(self, known: ShardFacts) -> ShardFacts:
        """Return the facts of a shard that are known. LogicgenError: it has others now."""
        if self._facts(known.file) != known:
            raise LogicgenError(
                f"{self.folder / known.file}: was changed; delete it and run the same command"
                " again, which makes it anew"
            )
        return known

    def check(self, name: str) -> tuple[int, int]:
        """Return how many keys a part has, and their sum. LogicgenError: one is there twice."""
        found = self.files.read_array(name, KEY)
        if (np.diff(found) <= 0).any():
            raise LogicgenError(f"{self.folder}: a problem occurs twice: delete it and run again")
        return len(found), sum_of_keys(found)


def _given_up(table: pa.Table) -> int:
    return sum(table["given_up"].to_pylist())
