"""The plan of a data set: the number of examples of each cell, and the slots for them.

A cell is the problems of one number of symbols and one range of lengths. A slot is the place of an
example in its split. The example depends only on the seed, the split, the round, the number of the
slot, and the number of the attempt. A unit is a group of slots. Its examples become one shard
(file). A worker fills a unit at a time.

The plan depends only on the recipe and the results of earlier rounds, not on interruptions.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from random import Random

from logicgen.callbacks import StageProgress, no_progress
from logicgen.data.ranges import Grid
from logicgen.data.recipe import SPLITS, DataRecipe
from logicgen.tasks import Cell, Source
from logicgen.tasks.problems import RENAMED, RESERVED, Slot, alphabet

# Problems of a cell are scarce if a split asks for more than 1 / SCARCE of them.
SCARCE = 100

# If a split asks for more than 1 / LISTED of the problems of a cell, all problems are listed and
# shuffled, because random drawing would mostly repeat problems. LONGEST_LIST limits the list.
LISTED = 10
LONGEST_LIST = 50_000

# Planning reports its progress only after QUICK seconds.
QUICK = 2.0


@dataclass
class CellPlan:
    """The plan for one cell of a split: a number of symbols and a range of lengths."""

    cell: Cell
    asked: int  # number of examples that the recipe asks for
    # Number of possible problems, with or without an answer; infinity if they are not counted.
    holds: float
    # Number of examples to make. It differs from `asked` if some cells have too few problems.
    quota: int
    # Whether the problems must be kept away from a training split that could contain them.
    held_out: bool = False
    held: int = 0  # number of examples that exist in shards
    exhausted: bool = False  # whether the last round found fewer examples than the cell needed

    @property
    def listed(self) -> bool:
        """Return whether all problems are listed and shuffled, instead of drawn at random."""
        return LISTED * self.quota > self.holds and self.holds <= LONGEST_LIST

    @property
    def reserved(self) -> bool:
        """Return whether only problems that are reserved for held-out splits are allowed."""
        return self.held_out and SCARCE * self.quota > self.holds


def stages(
    recipe: DataRecipe, source: Source, progress: StageProgress = no_progress
) -> list[tuple[str, list[CellPlan]]]:
    """Return pairs of a split and the plans of its cells, in the order in which they are made.

    Held-out splits come before training, because each needs only a small share of a cell. Grid
    cells beyond the training region come last. Some of their problems may also be training problems
    (a string over 160 letters may contain only three letters), and training has priority.
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
    fewest, greatest = cell.among or (cell.symbols or 0, cell.symbols or 0)
    if not (within and least <= fewest and greatest <= most):
        return False
    for band in cell.bands:
        low, high = recipe.region.columns.get(band.column, (-math.inf, math.inf))
        if not low <= band.low <= band.high <= high:
            return False
    return True


def capacity(recipe: DataRecipe, source: Source, cell: Cell) -> float:
    """Return the number of different problems of a cell, as defined by `recipe.distinct`.

    The number contains problems of any difficulty.
    """
    return sum(_capacity(recipe, source, size) for size in source.sizes(cell))


def _capacity(recipe: DataRecipe, source: Source, cell: Cell) -> float:
    counts = source.count(cell)
    if recipe.alpha or recipe.names not in RENAMED or math.inf in counts.values():
        return sum(counts.values())
    letters = alphabet(recipe.names, recipe.region.symbols[1], cell.symbols)
    return sum(count * _perm(letters, k) for k, count in counts.items())


# Consecutive cells have the same number of symbols, so `math.perm` gets the same arguments again.
_perm = lru_cache(maxsize=1 << 12)(math.perm)


def split_cells(
    recipe: DataRecipe, source: Source, split: str, progress: StageProgress = no_progress
) -> list[CellPlan]:
    """Return the plans of the cells of a split."""
    part, plans, begun = recipe.part(split), list[CellPlan](), time.monotonic()
    size = part.per_cell if isinstance(part, Grid) else getattr(recipe.sizes, split)
    cells, count = list(part.cells()), cache(partial(capacity, recipe, source))
    for cell in cells:
        if time.monotonic() > begun + QUICK:
            progress(f"cells of {split}", len(plans), len(cells))
        held_out = split != "train" and recipe.sizes.train > 0
        held_out = held_out and (split != "grid" or _inside(recipe, cell))
        holds = count(replace(cell, bands=()))
        # A held-out split may take about 1 / RESERVED of the problems of a cell.
        room = -(-int(holds) // RESERVED) if held_out and holds != math.inf else holds
        plans.append(CellPlan(cell, size, holds, int(min(size, room)), held_out))
    if split != "grid":
        shares = fill(size, [plan.quota for plan in plans])
        flat = fill(size, [size if plan.holds else 0 for plan in plans])
        for plan, share, asked in zip(plans, shares, flat, strict=True):
            plan.quota, plan.asked = share, asked
    return plans


def fill(amount: int, room: Sequence[float]) -> list[int]:
    """Divide `amount` into shares that are as equal as possible; return the shares.

    If `amount` exceeds the sum of the limits, each share is equal to its limit.

    room: the limit of each share.
    """
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
    """Divide `missing` examples among cells that are not exhausted; return cells and shares."""
    open_plans = [plan for plan in plans if not plan.exhausted and plan.held < plan.holds]
    open_plans.sort(key=lambda plan: plan.held)  # cells with few examples get the remainder
    shares = fill(missing, [min(plan.holds - plan.held, missing) for plan in open_plans])
    return [(plan.cell, share) for plan, share in zip(open_plans, shares, strict=True) if share]


# The number of units (shards) in a bucket. The work files of a bucket are written together.
BUCKET = 32


@dataclass(frozen=True)
class Unit:
    """A group of slots (places of examples) of a split. Its examples become one shard."""

    split: str
    number: int  # number of the shard
    round: int  # number of the first shard of the round
    first: int  # number of the first slot
    cells: tuple[Cell, ...] = field(repr=False)  # cells of the slots, in order
    # Cells that may only take problems reserved for held-out splits.
    reserved: frozenset[Cell] = field(repr=False)

    def slots(self) -> Iterator[Slot]:
        """Yield the slots of the unit in order."""
        for number, cell in enumerate(self.cells, self.first):
            yield Slot(self.split, self.round, number, cell, cell in self.reserved)


@dataclass(frozen=True)
class Listing:
    """A small cell and the place of its examples. Its problems are listed instead of drawn."""

    unit: int  # number of the shard
    place: int  # place of the first example in the shard
    cell: Cell
    quota: int


@dataclass(frozen=True)
class DrawingRound:
    """A round of one split: listed problems of small cells, and slots for random problems.

    Attributes:
        number: number of the first shard; the random numbers depend on this number. Shards of
            listed cells come first.
        cells: the different cells of the slots.
        shares: number of slots of each cell.
        slots: for each slot, the index of its cell in `cells`, in a random order.
        reserved: cells that may only take problems reserved for held-out splits.
        size: number of slots of a unit.
        first_drawn: number of the first shard with drawn examples.
        end: one more than the number of the last shard.
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
        """Return the common beginning of the names of the round's work files."""
        return f"{self.split}/{self.number:05d}"

    def outline(self) -> DrawingRound:
        """Return the round without its slots, which are too large to send to workers."""
        return replace(self, cells=(), shares=(), slots=array("B"))

    @property
    def buckets(self) -> int:
        """Return the number of buckets (groups of units)."""
        return -(-(self.end - self.number) // BUCKET)

    def bucket(self, unit: int) -> int:
        """Return the number of the bucket to which a unit belongs."""
        return (unit - self.number) // BUCKET

    def units_in(self, bucket: int) -> range:
        """Return the numbers of the units in a bucket."""
        first = self.number + bucket * BUCKET
        return range(first, min(first + BUCKET, self.end))

    def slot(self, unit: int, place: int, cell: Cell) -> Slot:
        """Return the slot with the number `place` in the shard `unit`.

        cell: the cell of the slot.
        """
        number = (unit - self.first_drawn) * self.size + place
        return Slot(self.split, self.number, number, cell, cell in self.reserved)

    def units(self) -> Iterator[Unit]:
        """Yield the units (groups of slots) for random problems."""
        for number in range(self.first_drawn, self.end):
            first = (number - self.first_drawn) * self.size
            cells = tuple(self.cells[place] for place in self.slots[first : first + self.size])
            # Keep only the cells of this unit, because units are sent to workers.
            reserved = self.reserved.intersection(cells)
            yield Unit(self.split, number, self.number, first, cells, reserved)


def first_round(
    plans: Sequence[CellPlan], split: str, seed: int, number: int, size: int
) -> DrawingRound:
    """Return the first round for some cells.

    number: the number of the first shard.
    size: the number of slots (places of examples) in a shard.
    """
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
    """Return a round with the given number of slots (places of examples) for each cell."""
    slots = shuffled(shares, f"{seed}/{split}/{number}")
    cells, counts = tuple(cell for cell, _ in shares), tuple(count for _, count in shares)
    drawn = listings[-1].unit + 1 if listings else number
    end = drawn + -(-len(slots) // size)
    reserved = frozenset(plan.cell for plan in plans if plan.reserved)
    return DrawingRound(split, number, listings, cells, counts, slots, reserved, size, drawn, end)


def shuffled(shares: Sequence[tuple[Cell, int]], key: str) -> array[int]:
    """Assign cells to the slots (places of examples) of a round in a random order.

    shares: cells with their numbers of slots.
    key: the seed of the random order.

    Returns, for each slot, the index of its cell in `shares`. The array has the smallest possible
    integers, because a round may have a hundred million slots.
    """
    slots = array("B" if len(shares) <= 1 << 8 else "H" if len(shares) <= 1 << 16 else "I")
    for place, (_, share) in enumerate(shares):
        slots.extend(array(slots.typecode, [place]) * share)
    Random(key).shuffle(slots)
    return slots


def shard_size(size: int) -> int:
    """Return the examples per shard of a split of `size` examples.

    Shards are small, so that workers share the split and interruptions lose little.
    """
    return min(10_000, max(500, math.ceil(size / 8)))
