"""Alignment of the units of two grammars, and the distance between them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from logicgen.errors import LogicgenError
from logicgen.productions.grammar import Grammar

# The largest number of sweeps over the layers; each lowers the distance, and few are needed.
SWEEPS = 20


class Distance(NamedTuple):
    """The distance of two grammars whose units are in the same order."""

    # Total variation of distributions, weighted by the teacher's use, 0 (identified) to 1
    mean: float
    largest: float  # the largest difference of a single weight of a unit that the teacher uses


def aligned(student: Grammar, teacher: Grammar, named: Container[int] = ()) -> Grammar:
    """Return the student with its units in the order that is closest to the teacher's.

    named: layers whose units stay in their order, since they are known by their names.

    Units are matched by the Hungarian method (SciPy): first by their distributions over words,
    then, in sweeps over the layers until nothing changes, by all of their weights, given the order
    of the neighbouring layers. The result is optimal for each single layer; if words identify
    units, no better order of two layers at once has been found.
    Raises LogicgenError unless both have the same numbers of units, words and layers.
    """
    if [len(units) for units in student.units] != [len(units) for units in teacher.units] or (
        len(student.words) != len(teacher.words)
    ):
        raise LogicgenError("only grammars with as many words, layers and units can be aligned")
    each = zip(student.tokens, teacher.tokens, teacher.reach, strict=True)
    orders = [
        np.arange(mine.shape[1]) if layer in named else _match(_pairwise(mine, yours, reach))
        for layer, (mine, yours, reach) in enumerate(each)
    ]
    for _ in range(SWEEPS):
        before = [order.copy() for order in orders]
        for layer in range(student.positions):
            if layer in named:
                continue
            orders[layer] = _match(_costs(student, teacher, layer, orders))
        if all((old == new).all() for old, new in zip(before, orders, strict=True)):
            break
    return student.permuted(orders)


def distance(student: Grammar, teacher: Grammar) -> Distance:
    """Return the distance of two grammars, comparing their units in the order they are in."""
    pairs = [(student.start[:, None], teacher.start[:, None], np.ones(1))]
    pairs += zip(student.tokens, teacher.tokens, teacher.reach, strict=True)
    pairs += zip(student.below, teacher.below, teacher.reach[:-1], strict=True)
    return distance_of(pairs)


def distance_of(pairs: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Distance:
    """Return the distance of distributions: of a student, of its teacher, how often it uses them.

    The first two have a distribution in each column, the last has a number for each.
    """
    weighted, choices, largest = 0.0, 0.0, 0.0
    for mine, yours, reach in pairs:
        difference = np.abs(mine - yours)
        weighted += float(difference.sum(axis=0) @ reach) / 2
        choices += float(reach.sum())
        largest = max(largest, float(difference[:, reach > 0].max(initial=0)))
    return Distance(weighted / choices, largest)


def _pairwise(mine: np.ndarray, yours: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Return the weighted total variation of all pairs of columns, (Z of teacher, Z of student)."""
    distances = np.abs(yours.T[:, None] - mine.T[None]).sum(axis=-1)
    return np.asarray(distances / 2 * reach[:, None])


def _costs(student: Grammar, teacher: Grammar, layer: int, orders: list[np.ndarray]) -> np.ndarray:
    reach = teacher.reach
    cost = _pairwise(student.tokens[layer], teacher.tokens[layer], reach[layer])
    if layer + 1 < student.positions:
        mine = student.below[layer][orders[layer + 1]]
        cost += _pairwise(mine, teacher.below[layer], reach[layer])
    if layer == 0:
        cost += np.abs(teacher.start[:, None] - student.start[None]) / 2
    else:
        above = reach[layer - 1]
        mine = student.below[layer - 1][:, orders[layer - 1]]
        yours = teacher.below[layer - 1]
        cost += np.abs(yours[:, None] - mine[None]) @ above / 2
    return cost


def _match(cost: np.ndarray) -> np.ndarray:
    return np.asarray(linear_sum_assignment(cost)[1])
