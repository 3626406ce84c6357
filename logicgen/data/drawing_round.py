"""The slots of a data set that are drawn together, in units of work.

A slot is a place for one example of a cell. What is drawn for it follows from the seed, the split,
the round, its number and the attempt alone. A unit's slots become one shard.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from logicgen.data.cell_plan import CellPlan, rationed
from logicgen.tasks import Cell

# Units whose work files are written together.
BUCKET = 32


class Slot(NamedTuple):
    """A place for one example."""

    split: str
    round: int
    number: int  # in the round
    cell: Cell
    rationed: bool  # may only take a problem that is reserved for held-out splits


@dataclass(frozen=True)
class Unit:
    """The slots that become one shard.

    Split, round, first slot and seed key the random numbers.
    """

    split: str
    number: int  # of the shard
    round: int
    first: int  # number of the first slot
    cells: tuple[Cell, ...] = field(repr=False)  # of the slots, in order
    rationed: frozenset[Cell] = field(repr=False)  # may only take problems reserved for held-out

    def slot(self, place: int) -> Slot:
        """Return a slot of the unit, by its place."""
        cell = self.cells[place]
        return Slot(self.split, self.round, self.first + place, cell, cell in self.rationed)


@dataclass(frozen=True)
class Listing:
    """A cell whose problems are listed rather than drawn, for places of a unit of its own kind."""

    unit: int  # number of the shard
    place: int  # the first
    cell: Cell
    quota: int


@dataclass(frozen=True)
class DrawingRound:
    """Listed cells, and slots to draw, of one split.

    Attributes:
        number: of its first shard, a key of its random numbers. Shards of listed cells come first.
        cells: of the slots, each once; `shares`, how many slots each has.
        slots: by slot, the place of its cell in `cells`, in an order shuffled by the seed.
        reserved: cells that may only take problems that are reserved for held-out splits.
        size: slots of a unit.
    """

    split: str
    number: int
    listings: tuple[Listing, ...]
    cells: tuple[Cell, ...]
    shares: tuple[int, ...]
    slots: array[int] = field(repr=False)
    reserved: frozenset[Cell] = field(repr=False)
    size: int

    @property
    def first_drawn(self) -> int:
        """Return the number of the first shard whose slots are drawn."""
        return self.listings[-1].unit + 1 if self.listings else self.number

    @property
    def end(self) -> int:
        """Return the number of the shard behind the last one."""
        return self.first_drawn + -(-len(self.slots) // self.size)

    @property
    def buckets(self) -> int:
        """Return how many buckets of units there are."""
        return -(-(self.end - self.number) // BUCKET)

    def bucket(self, unit: int) -> int:
        """Return the bucket of a unit, by number."""
        return (unit - self.number) // BUCKET

    def units_in(self, bucket: int) -> range:
        """Return the numbers of a bucket's units."""
        first = self.number + bucket * BUCKET
        return range(first, min(first + BUCKET, self.end))

    def drawn_in(self, bucket: int) -> range:
        """Return the numbers of a bucket's units whose slots are drawn."""
        units = self.units_in(bucket)
        return range(max(units.start, self.first_drawn), max(units.stop, self.first_drawn))

    def units(self) -> Iterator[Unit]:
        """Yield the units to draw."""
        for number in range(self.first_drawn, self.end):
            first = (number - self.first_drawn) * self.size
            cells = tuple(self.cells[place] for place in self.slots[first : first + self.size])
            # No others: a worker is sent its units whole.
            reserved = self.reserved.intersection(cells)
            yield Unit(self.split, number, self.number, first, cells, reserved)


def first_round(
    plans: Sequence[CellPlan], split: str, seed: int, number: int, size: int
) -> DrawingRound:
    """Return the first round of some cells; `number` is that of its first shard."""
    listings: list[Listing] = []
    unit, place = number, 0
    for plan in plans:
        if plan.quota and plan.listed:
            if place and place + plan.quota > size:
                unit, place = unit + 1, 0
            listings.append(Listing(unit, place, plan.cell, plan.quota))
            place += plan.quota
    shares = [(plan.cell, plan.quota) for plan in plans if plan.quota and not plan.listed]
    return _round(shares, plans, tuple(listings), split, seed, number, size)


def next_round(
    shares: Sequence[tuple[Cell, int]],
    plans: Iterable[CellPlan],
    split: str,
    seed: int,
    number: int,
    size: int,
) -> DrawingRound:
    """Return a further round, of so many slots of each cell."""
    return _round(shares, plans, (), split, seed, number, size)


def _round(
    shares: Sequence[tuple[Cell, int]],
    plans: Iterable[CellPlan],
    listings: tuple[Listing, ...],
    split: str,
    seed: int,
    number: int,
    size: int,
) -> DrawingRound:
    slots = shuffled(shares, f"{seed}/{split}/{number}")
    cells, counts = tuple(cell for cell, _ in shares), tuple(count for _, count in shares)
    return DrawingRound(split, number, listings, cells, counts, slots, rationed(plans), size)


def shuffled(shares: Sequence[tuple[Cell, int]], key: str) -> array[int]:
    """Return slots in a random order that follows from a text: for each the place of its cell.

    One byte a slot, or two or four where there are more cells: there may be a hundred million.
    """
    slots = array("B" if len(shares) <= 1 << 8 else "H" if len(shares) <= 1 << 16 else "I")
    for place, (_, share) in enumerate(shares):
        slots.extend(array(slots.typecode, [place]) * share)
    Random(key).shuffle(slots)
    return slots


def shard_size(size: int) -> int:
    """Return the examples per shard of a split of `size`: interruptions lose few, workers share."""
    return min(10_000, max(500, math.ceil(size / 8)))
