"""Remove repeated problems: if several examples have the same problem, only the first keeps it.

A slot is the place of an example in its split. Slots are filled independently, so several slots may
draw the same problem. Then the earliest slot keeps the problem, and the other slots draw again.

A cell is the problems of one number of symbols and one range of lengths. The cells are divided into
parts so that no problem belongs to two parts. So several processes can work at the same time, each
on one part. A process has only the keys of its part in memory. A key is a number of eight bytes
that identifies a problem.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logicgen.data.plan import CellPlan, DrawingRound, Listing
from logicgen.tasks import Cell, Task
from logicgen.tasks.problems import REMAINDERS, Drawer, Example

# The number of examples in a part (group of cells). A part is larger if all its cells may contain
# the same problem.
EXAMPLES = 250_000


@dataclass(frozen=True)
class Partition:
    """A division of all cells into parts, such that no problem belongs to two parts.

    Attributes:
        cells: all cells.
        parts: for each cell, the number of its part.
    """

    cells: tuple[Cell, ...]
    parts: tuple[int, ...]

    @cached_property
    def numbers(self) -> dict[Cell, int]:
        """Return the index of each cell in `cells`."""
        return {cell: number for number, cell in enumerate(self.cells)}

    def part(self, cell: Cell) -> int:
        """Return the number of the part that contains a cell."""
        return self.parts[self.numbers[cell]]

    @staticmethod
    def of(plans: Iterable[CellPlan], task: Task) -> Partition:
        """Divide the cells of some plans into parts with about equal numbers of examples."""
        quotas: Counter[Cell] = Counter()
        for plan in plans:
            quotas[plan.cell] += plan.quota
        # Whether a problem of a cell contains all symbols that the cell counts.
        shown = task.symbols_meaning == Task.symbols_meaning
        kinds = _kinds(list(quotas), shown)
        sizes: Counter[int] = Counter()
        for cell, kind in kinds.items():
            sizes[kind] += quotas[cell]
        count = min(len(sizes), max(1, math.ceil(sum(sizes.values()) / EXAMPLES)))
        loads, part_of = [0] * count, {}
        for kind in sorted(sizes, key=lambda kind: -sizes[kind]):
            part = loads.index(min(loads))
            part_of[kind] = part
            loads[part] += sizes[kind]
        return Partition(tuple(kinds), tuple(part_of[kind] for kind in kinds.values()))


def _kinds(cells: list[Cell], by_symbols: bool) -> dict[Cell, int]:
    """Number the cells; cells that may contain the same problem get the same number.

    by_symbols: whether problems of cells with different numbers of symbols always differ. They may
        be equal if a problem need not contain all symbols of its cell.
    """
    by_symbols = by_symbols and all(cell.symbols is not None for cell in cells)
    above: dict[tuple[int | None, int], tuple[int | None, int]] = {}

    def top(item: tuple[int | None, int]) -> tuple[int | None, int]:
        while (higher := above.setdefault(item, item)) != item:
            item = higher
        return item

    firsts = {}
    for cell in cells:
        symbols = cell.symbols if by_symbols else None
        firsts[cell] = top((symbols, cell.length))
        for length in cell.lengths:
            above[top((symbols, length))] = top(firsts[cell])
    numbers: dict[tuple[int | None, int], int] = {}
    return {cell: numbers.setdefault(top(firsts[cell]), len(numbers)) for cell in cells}


# A table collects up to this number of new keys in a set, then it adds the keys to its array.
ADDED = 100_000


class KeyTable:
    """A set of keys (numbers that identify problems), mostly in a sorted array."""

    def __init__(self, keys: np.ndarray) -> None:
        self._sorted = keys  # int64 (keys,), strictly increasing
        self._added: set[int] = set()  # keys that are not in the array

    def __contains__(self, key: object) -> bool:
        if key in self._added:
            return True
        place = int(self._sorted.searchsorted(key))  # type: ignore[call-overload]
        return place < len(self._sorted) and bool(self._sorted[place] == key)

    def add(self, key: int) -> None:
        """Add a key."""
        if key not in self:
            self._added.add(key)
        if len(self._added) >= ADDED:
            self.array()

    def hold(self, keys: np.ndarray) -> np.ndarray:
        """Return, for each of some keys, whether it is in the table: bool (keys,)."""
        known = self.array()
        places = known.searchsorted(keys)
        there = places < len(known)
        there[there] = known[places[there]] == keys[there]
        return there

    def extend(self, keys: np.ndarray) -> None:
        """Add different keys that are not in the table. keys: int64 (keys,)."""
        self._sorted = np.sort(np.concatenate([self.array(), keys]))

    def array(self) -> np.ndarray:
        """Return all keys in ascending order, int64 (keys,)."""
        if self._added:
            added = np.sort(np.fromiter(self._added, np.int64, len(self._added)))
            self._sorted = np.insert(self._sorted, self._sorted.searchsorted(added), added)
            self._added = set()
        return self._sorted


def sum_of_keys(keys: np.ndarray) -> int:
    """Return an order-independent 64-bit checksum of the keys.

    It is the sum, modulo 2^64, of the keys after the mixing function of SplitMix64 (Steele, Lea,
    Flood, "Fast Splittable Pseudorandom Number Generators", 2014). A missing or repeated key
    changes the checksum, except with probability 2^-64.
    """
    mixed = keys.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return int((mixed ^ (mixed >> np.uint64(31))).sum(dtype=np.uint64))


class PlacedExample(NamedTuple):
    """An example at its place in a shard.

    Attributes:
        unit: the number of the shard.
        place: the index of the example in the shard.
        attempt: the number of the random attempt that gave the example.
        cell: the number of the example's cell in `Partition`.
    """

    unit: int
    place: int
    attempt: int
    cell: int
    given_up: int  # number of problems that a solver gave up before it solved this problem
    example: Example | None  # None: the place stays empty


NUMBERS = PlacedExample._fields[:-1]


def found_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of examples in work files, from the columns of a shard."""
    return pa.schema(
        [
            *(pa.field(name, pa.int32()) for name in NUMBERS),
            pa.field("key", pa.int64()),
            *(pa.field(each.name, each.type) for each in schema),  # null if a place stays empty
        ]
    )


def found_table(found: Iterable[PlacedExample], schema: pa.Schema) -> pa.Table:
    """Return one or more examples as a table. schema: the result of `found_schema`."""
    empty = (None,) * (len(schema) - len(NUMBERS))
    rows = ((*each[:-1], *_values(each.example, empty)) for each in found)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, each.type) for column, each in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _values(example: Example | None, empty: tuple[None, ...]) -> tuple[object, ...]:
    return empty if example is None else (example.key, *example.row)


# The record by which repeated examples are found. It has the key of the problem, and numbers: the
# shard (unit), the place in the shard, the attempt, and the cell in `Partition`.
RECORD = np.dtype(
    [("key", "i8"), ("unit", "i4"), ("place", "i4"), ("attempt", "i4"), ("cell", "i4")]
)

# The number of records in memory at a time.
RECORDS = 100_000


def records(tables: Iterable[pa.Table]) -> np.ndarray:
    """Return a record for each drawn example, sorted by key, then by place in the split."""
    found = [np.empty(0, RECORD)]
    for table in tables:
        table = table.filter(pc.is_valid(table["key"]))
        found.append(np.empty(len(table), RECORD))
        for column in RECORD.names or ():
            found[-1][column] = table[column].to_numpy()
    together = np.concatenate(found)
    return together[np.argsort(together["key"], kind="stable")]


class DuplicateRemoval:
    """The removal of repeated problems from one part of the cells, in one round.

    If several slots drew the same problem, the earliest slot keeps it. The other slots draw again,
    in order, until they have new problems. If a slot finds no new problem, its cell is exhausted.

    Attributes:
        seen: keys of all examples of the part.
        held: for the number of each cell, the number of its examples in this round.
    """

    def __init__(
        self,
        drawer: Drawer,
        partition: Partition,
        drawing: DrawingRound,
        part: int,
        keys: np.ndarray,
    ) -> None:
        self._drawer, self._partition, self._drawing, self._part = drawer, partition, drawing, part
        self.seen, self.held = KeyTable(keys), Counter[int]()

    def changes(self, drawn: Sequence[np.ndarray]) -> Iterator[PlacedExample]:
        """Yield listed examples, then replacements of drawn examples, in order of their shards.

        drawn: the records of the part, an array sorted by key for each bucket (group of shards).
        """
        for listing in self._drawing.listings:
            if self._partition.part(listing.cell) == self._part:
                yield from self._listed(listing)
        yield from self._replacements(self._repeated(drawn))

    def _listed(self, listing: Listing) -> Iterator[PlacedExample]:
        cell = self._partition.numbers[listing.cell]
        split, reserved = self._drawing.split, listing.cell in self._drawing.reserved
        remainder = REMAINDERS[split] if reserved else None
        before, place = self._drawer.given_up, listing.place
        found = self._drawer.listed(listing.cell, split, remainder, self.seen)
        for example in islice(found, listing.quota):
            self.held[cell] += 1
            yield PlacedExample(
                listing.unit, place, 0, cell, self._drawer.given_up - before, example
            )
            before, place = self._drawer.given_up, place + 1
        if self._drawer.given_up > before:
            yield PlacedExample(listing.unit, place, 0, cell, self._drawer.given_up - before, None)

    def _repeated(self, drawn: Sequence[np.ndarray]) -> np.ndarray:
        """Add new keys to `seen`; return the records of repeated problems, in order of the split.

        The first example of a problem does not count as repeated.

        drawn: the records of the part, an array sorted by key for each bucket (group of shards).
        """
        keys, repeated = [np.empty(0, np.int64)], [np.empty(0, RECORD)]
        for some in _merged(drawn):
            new = ~self.seen.hold(some["key"])
            new[1:] &= some["key"][1:] != some["key"][:-1]
            keys.append(some["key"][new])
            repeated.append(some[~new])
            self.held.update(Counter(some["cell"][new].tolist()))
        self.seen.extend(np.concatenate(keys))
        return np.sort(np.concatenate(repeated), order=("unit", "place"))

    def _replacements(self, repeated: np.ndarray) -> Iterator[PlacedExample]:
        exhausted: set[int] = set()
        for _, unit, place, attempt, cell in map(np.void.item, repeated):
            example, before = None, self._drawer.given_up
            if cell not in exhausted:
                slot = self._drawing.slot(unit, place, self._partition.cells[cell])
                example, _ = self._drawer.slot(slot, attempt + 1, self.seen)
                if example is None:
                    exhausted.add(cell)
                else:
                    self.held[cell] += 1
            yield PlacedExample(unit, place, 0, cell, self._drawer.given_up - before, example)


def _merged(drawn: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """Merge sorted arrays of records; yield pieces of the result, sorted by key, then by place.

    drawn: arrays of records, each sorted by key.
    """
    # Keys are hashes of 63 bits, so ranges of equal widths have about equal numbers of records.
    ranges = -(-sum(map(len, drawn)) // RECORDS)
    for number in range(ranges):
        ends = [min(2**63 * each // ranges, 2**63 - 1) for each in (number, number + 1)]
        some = []
        for each in drawn:
            low, high = np.searchsorted(each["key"], np.array(ends, np.int64))
            some.append(np.array(each[low : len(each) if number == ranges - 1 else high]))
        together = np.concatenate(some)
        yield together[np.lexsort((together["place"], together["unit"], together["key"]))]
