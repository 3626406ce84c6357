"""The cells of a data set in partitions: problems of different ones are different.

So whether a problem occurs twice can be found out for each partition alone, at the same time, and
with the keys of no other in memory. Keys are sorted numbers, eight bytes each, not Python objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from logicgen.data.plan import CellPlan
from logicgen.tasks import Cell, Task

# Examples for which a partition is worth its files.
EXAMPLES = 250_000


@dataclass(frozen=True)
class Partition:
    """Cells, each once, with their numbers, and the number of the part that each is in."""

    cells: tuple[Cell, ...]
    parts: tuple[int, ...]
    numbers: Mapping[Cell, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {cell: number for number, cell in enumerate(self.cells)}
        object.__setattr__(self, "numbers", numbers)

    @staticmethod
    def of(plans: Iterable[CellPlan], task: Task) -> Partition:
        """Return the partition of all cells of a plan, into about equal parts."""
        quotas: dict[Cell, int] = {}
        for plan in plans:
            quotas[plan.cell] = quotas.get(plan.cell, 0) + plan.quota
        shown = task.symbols_meaning == Task.symbols_meaning  # how many distinct ones it shows
        kinds = _kinds(list(quotas), shown)
        sizes: dict[int, int] = {}
        for cell, kind in kinds.items():
            sizes[kind] = sizes.get(kind, 0) + quotas[cell]
        count = min(len(sizes), max(1, math.ceil(sum(sizes.values()) / EXAMPLES)))
        loads, part_of = [0] * count, {}
        for kind in sorted(sizes, key=lambda kind: -sizes[kind]):
            part = loads.index(min(loads))
            part_of[kind] = part
            loads[part] += sizes[kind]
        return Partition(tuple(kinds), tuple(part_of[kind] for kind in kinds.values()))


def _kinds(cells: list[Cell], by_symbols: bool) -> dict[Cell, int]:
    """Return a number for each cell, the same for cells that may hold the same problem.

    Equal problems have equal lengths, and as many symbols; but a cell may have no number of symbols
    or, where problems do not show all symbols they were drawn from (`by_symbols` is false), any.
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


# Keys that are added one by one wait in a set until there are so many.
ADDED = 100_000


class KeyTable:
    """A set of keys: those of a sorted array, and a few that were added since."""

    def __init__(self, keys: np.ndarray) -> None:
        self._sorted = keys  # int64 (N,), strictly increasing
        self._added: set[int] = set()  # none of them is in the array

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
        """Return which keys are in the table, bool (N,)."""
        known = self.array()
        places = known.searchsorted(keys)
        there = places < len(known)
        there[there] = known[places[there]] == keys[there]
        return there

    def extend(self, keys: np.ndarray) -> None:
        """Add keys (N,), of which none is in the table and none comes twice."""
        self._sorted = np.sort(np.concatenate([self.array(), keys]))

    def array(self) -> np.ndarray:
        """Return all keys, int64 (N,), strictly increasing."""
        if self._added:
            added = np.sort(np.fromiter(self._added, np.int64, len(self._added)))
            self._sorted = np.insert(self._sorted, self._sorted.searchsorted(added), added)
            self._added = set()
        return self._sorted


def sum_of_keys(keys: np.ndarray) -> int:
    """Return a number that other keys, also one fewer or one twice, have with chance 2^-64.

    It does not depend on their order: the sum, modulo 2^64, of the keys after the mixing function
    of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
    """
    mixed = keys.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return int((mixed ^ (mixed >> np.uint64(31))).sum(dtype=np.uint64))
