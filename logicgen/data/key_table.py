"""Keys of examples: sorted numbers, eight bytes each, not Python objects."""

from __future__ import annotations

import numpy as np

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
