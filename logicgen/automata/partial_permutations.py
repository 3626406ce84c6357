"""Permutations of symbols, and partial permutations: one-to-one maps of the symbols seen so far.

A (partial) permutation says which symbol of the automaton each symbol of a string stands for.
Strings are numbered by first occurrence, so these tables depend on the numbers of symbols only.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations as all_permutations
from math import perm

import numpy as np

from logicgen.automata.strings import Strings


def permutations(symbols: int) -> np.ndarray:
    """Return all permutations, (k!, k): of each symbol of a string, the symbol it stands for."""
    return partial_permutations(symbols, symbols)


def canonical(strings: Strings, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return strings with their symbols renumbered in order of first occurrence.

    They are: (S, k) the symbols in order of first occurrence, then the others; (S, L) the strings,
    each symbol replaced by its place in that order; (S, k) the first position of each of these
    numbers, or the length of the string if it does not occur.
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
def partial_permutations(k: int, seen: int) -> np.ndarray:
    """Return all choices of different symbols in lexicographic order, (k! / (k - seen)!, seen)."""
    ways = list(all_permutations(range(k), seen))
    return np.array(ways, dtype=np.int64).reshape(perm(k, seen), seen)


@lru_cache(maxsize=32)
def blocks(k: int, seen: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the partial permutations grouped by the image of each seen symbol.

    They are: (k, seen, P / k) the numbers of those with each image; and (seen, P) the image of each
    and (seen, P) its place among those with that image.
    """
    meaning = partial_permutations(k, seen)
    order = np.argsort(meaning.T, axis=1, kind="stable")  # (seen, P)
    rank = np.argsort(order, axis=1)
    each = len(meaning) // k
    return order.reshape(seen, k, each).transpose(1, 0, 2).copy(), rank // each, rank % each


@lru_cache(maxsize=32)
def gather(k: int, seen: int) -> tuple[np.ndarray, np.ndarray]:
    """Return flat indices into an array (P, k + 1) with a column for each symbol and the end:

    (seen, P) the images of each seen symbol, and (P * (k - seen),) all symbols that are no images.
    """
    meaning = partial_permutations(k, seen)
    numbers = np.arange(len(meaning) * (k + 1)).reshape(-1, k + 1)
    free = np.ones((len(meaning), k + 1), dtype=bool)
    np.put_along_axis(free, meaning, False, axis=1)
    free[:, k] = False
    return np.take_along_axis(numbers, meaning, axis=1).T.copy(), numbers[free]
