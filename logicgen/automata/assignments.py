"""Which symbols those of a string may stand for: permutations, and assignments to those seen.

As tables that depend on numbers of symbols only, since strings are looked at up to renaming.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations as all_permutations
from math import perm

import numpy as np

from logicgen.automata.strings import Strings


def permutations(symbols: int) -> np.ndarray:
    """(k!, k): all permutations in lexicographic order.

    In a row, number i is the symbol of the automaton that symbol i of a string stands for.
    """
    return np.array(list(all_permutations(range(symbols))), dtype=np.int64)


def canonical(strings: Strings, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Strings up to renaming.

    Returns:
        (S, k) the symbols in order of first occurrence, then the others; (S, L) the strings, every
        symbol as its place in that order; (S, k) where each place of that order occurs first, the
        length of the string where it does not.
    """
    count, longest = strings.ids.shape
    ids = np.where(strings.inside, strings.ids, -1)
    first = np.empty((count, k), dtype=np.int64)
    for symbol in range(k):
        here = ids == symbol
        occurs = here.any(axis=1)
        first[:, symbol] = np.where(occurs, here.argmax(axis=1) if longest else 0, strings.lengths)
    order = np.argsort(first, axis=1, kind="stable")
    place = np.argsort(order, axis=1)
    renamed = np.take_along_axis(place, np.where(strings.inside, strings.ids, 0), axis=1)
    return order, renamed, np.take_along_axis(first, order, axis=1)


@lru_cache(maxsize=32)
def assignments(k: int, seen: int) -> np.ndarray:
    """(k! / (k - seen)!, seen): all ways to choose different symbols, in lexicographic order."""
    ways = list(all_permutations(range(k), seen))
    return np.array(ways, dtype=np.int64).reshape(perm(k, seen), seen)


@lru_cache(maxsize=32)
def blocks(k: int, seen: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Assignments ordered by what they make of a symbol that has been seen.

    Returns:
        (k, seen, P / k) the assignments that make it each symbol; and, to find an assignment there,
        (seen, P) the symbol, and (seen, P) the place among those of that symbol.
    """
    meaning = assignments(k, seen)
    order = np.argsort(meaning.T, axis=1, kind="stable")  # (seen, P)
    rank = np.argsort(order, axis=1)
    each = len(meaning) // k
    return order.reshape(seen, k, each).transpose(1, 0, 2).copy(), rank // each, rank % each


@lru_cache(maxsize=32)
def gather(k: int, seen: int) -> tuple[np.ndarray, np.ndarray]:
    """Where in a flattened (P, k + 1) the symbols stand that an assignment has made.

    Returns:
        (seen, P) for each seen symbol; (P * (k - seen),) for all that are not assigned.
    """
    meaning = assignments(k, seen)
    numbers = np.arange(len(meaning) * (k + 1)).reshape(-1, k + 1)
    free = np.ones((len(meaning), k + 1), dtype=bool)
    np.put_along_axis(free, meaning, False, axis=1)
    free[:, k] = False
    return np.take_along_axis(numbers, meaning, axis=1).T.copy(), numbers[free]
