"""The plan of a data set: how many examples of which cell, and the slots for them.

It follows from the recipe and what earlier rounds gave, as often as a run is interrupted. A slot is
a place for one example of a cell. What is drawn for it follows from the seed, the split, the round,
its number and the attempt alone. The slots of a round are drawn in units of work. A unit's slots
become one shard.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random

from logicgen.data.recipe import SPLITS, DataRecipe, Grid, Progress
from logicgen.tasks import Cell, Source
from logicgen.tasks.problems import RENAMED, RESERVED, Slot, alphabet

# Problems are scarce in a cell of which more than one in so many is wanted.
SCARCE = 100

# A cell of which more than one problem in so many is wanted is listed and shuffled, unless it holds
# more than LONGEST_LIST: drawing at random would mostly find what it already has.
LISTED = 10
LONGEST_LIST = 50_000

# Planning says how far it is only if it takes more than so many seconds.
QUICK = 2.0


@dataclass
class CellPlan:
    """One cell of a split."""

    cell: Cell
    asked: int  # examples the recipe asks for
    holds: float  # problems that exist, answered or not; infinity where nobody counts them
    quota: int  # examples it can be asked for
    held_out: bool = False  # competes with training for its problems
    held: int = 0  # examples it has so far
    exhausted: bool = False  # no further ones were found

    @property
    def listed(self) -> bool:
        """Return whether its problems are listed rather than drawn."""
        return LISTED * self.quota > self.holds and self.holds <= LONGEST_LIST

    @property
    def rationed(self) -> bool:
        """Return whether it may only take problems that are reserved for held-out splits."""
        return self.held_out and SCARCE * self.quota > self.holds


def stages(
    recipe: DataRecipe, source: Source, progress: Progress = lambda split, done, total: None
) -> list[tuple[str, list[CellPlan]]]:
    """Return what to make, in order: splits, or parts of them, with their cells.

    Held-out splits come before training, with a small share of each cell. Grid cells beyond the
    training region come last: where their problems can be training problems as well (a string over
    160 letters may hold three different ones), training has had its part.
    """
    plans = {split: split_cells(recipe, source, split, progress) for split in recipe.splits}
    grid = plans.pop("grid", [])
    inside = [plan for plan in grid if _inside(recipe, plan.cell)]
    beyond = [plan for plan in grid if not _inside(recipe, plan.cell)]
    held_out_first = [(split, plans[split]) for split in reversed(SPLITS) if split in plans]
    parts = [("grid", inside), *held_out_first, ("grid", beyond)]
    return [(split, plans) for split, plans in parts if plans]


def _inside(recipe: DataRecipe, cell: Cell) -> bool:
    """Return whether a grid cell lies in the training region."""
    (least, most), (shortest, longest) = recipe.region.symbols, recipe.region.length
    within = shortest <= cell.lengths[0] and cell.lengths[-1] <= longest
    return least <= (cell.symbols or 0) <= most and within


def capacity(recipe: DataRecipe, source: Source, cell: Cell) -> float:
    """Return how many different problems a cell holds, as the recipe tells them apart."""
    counts = source.count(cell)
    if recipe.alpha or recipe.names not in RENAMED or math.inf in counts.values():
        return sum(counts.values())
    letters = alphabet(recipe.names, recipe.region.symbols[1], cell.symbols)
    return sum(count * _perm(letters, k) for k, count in counts.items())


# Cells of the same symbols follow one another, and need the same ones.
_perm = lru_cache(maxsize=1 << 12)(math.perm)


def split_cells(
    recipe: DataRecipe,
    source: Source,
    split: str,
    progress: Progress = lambda split, done, total: None,
) -> list[CellPlan]:
    """Return the cells of a split with what is asked of each and what each can give."""
    part, plans, begun = recipe.part(split), list[CellPlan](), time.monotonic()
    size = part.per_cell if isinstance(part, Grid) else getattr(recipe.sizes, split)
    cells = list(part.cells())
    for cell in cells:
        if time.monotonic() > begun + QUICK:
            progress(f"cells of {split}", len(plans), len(cells))
        held_out = split != "train" and recipe.sizes.train > 0
        held_out = held_out and (split != "grid" or _inside(recipe, cell))
        holds = capacity(recipe, source, cell)
        # Held-out splits may take about their reserved share of the problems of a cell.
        room = -(-int(holds) // RESERVED) if held_out and holds != math.inf else holds
        plans.append(CellPlan(cell, size, holds, int(min(size, room)), held_out))
    if split != "grid":
        shares = fill(size, [plan.quota for plan in plans])
        flat = fill(size, [size if plan.holds else 0 for plan in plans])
        for plan, share, asked in zip(plans, shares, flat, strict=True):
            plan.quota, plan.asked = share, asked
    return plans


def fill(amount: int, room: Sequence[float]) -> list[int]:
    """Return `amount` spread as evenly as `room` allows; less where there is less room."""
    given = [0] * len(room)
    left = int(min(amount, sum(room)))
    while left:
        open_places = [i for i, most in enumerate(room) if given[i] < most]
        share, extra = divmod(left, len(open_places))
        for rank, i in enumerate(open_places):
            more = int(min(share + (rank < extra), room[i] - given[i]))
            given[i] += more
            left -= more
    return given


def next_shares(plans: Sequence[CellPlan], missing: int) -> list[tuple[Cell, int]]:
    """Return cells that may still hold more, with the slots that make up for `missing` examples."""
    open_plans = [plan for plan in plans if not plan.exhausted and plan.held < plan.holds]
    open_plans.sort(key=lambda plan: plan.held)  # what does not divide evenly goes to the emptiest
    shares = fill(missing, [min(plan.holds - plan.held, missing) for plan in open_plans])
    return [(plan.cell, share) for plan, share in zip(open_plans, shares, strict=True) if share]


# Units whose work files are written together.
BUCKET = 32


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

    def slots(self) -> Iterator[Slot]:
        """Yield the slots."""
        for number, cell in enumerate(self.cells, self.first):
            yield Slot(self.split, self.round, number, cell, cell in self.rationed)


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
        first_drawn: number of the first shard whose slots are drawn.
        end: number of the shard behind the last one.
    """

    split: str
    number: int
    listings: tuple[Listing, ...]
    cells: tuple[Cell, ...]
    shares: tuple[int, ...]
    slots: array[int] = field(repr=False)
    reserved: frozenset[Cell] = field(repr=False)
    size: int
    first_drawn: int
    end: int

    @property
    def stem(self) -> str:
        """Return how the names of the round's work files begin."""
        return f"{self.split}/{self.number:05d}"

    def outline(self) -> DrawingRound:
        """Return the round without its slots, which a worker is not sent."""
        return replace(self, cells=(), shares=(), slots=array("B"))

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

    def slot(self, unit: int, place: int, cell: Cell) -> Slot:
        """Return a slot that is drawn, by the number of its unit and its place there."""
        number = (unit - self.first_drawn) * self.size + place
        return Slot(self.split, self.number, number, cell, cell in self.reserved)

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
    return next_round(shares, plans, split, seed, number, size, tuple(listings))


def next_round(
    shares: Sequence[tuple[Cell, int]],
    plans: Iterable[CellPlan],
    split: str,
    seed: int,
    number: int,
    size: int,
    listings: tuple[Listing, ...] = (),
) -> DrawingRound:
    """Return a further round; `shares` says how many slots each cell has."""
    slots = shuffled(shares, f"{seed}/{split}/{number}")
    cells, counts = tuple(cell for cell, _ in shares), tuple(count for _, count in shares)
    drawn = listings[-1].unit + 1 if listings else number
    end = drawn + -(-len(slots) // size)
    reserved = frozenset(plan.cell for plan in plans if plan.rationed)
    return DrawingRound(split, number, listings, cells, counts, slots, reserved, size, drawn, end)


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
