"""Comparison of two grammars: equivalence, and the alignment and distance of their units.

Two grammars are equivalent if all sentences have the same probabilities in both. These changes of a
grammar's weights keep all probabilities, with E the arrays of words, B those of units below:

- another order of the units of a layer;
- anything of units that are never on;
- in the first layer, units in other proportions. The first unit shows itself by its word and by the
  unit that it switches on, so only the joint distribution of these two matters,
  E_1 diag(start) B_1'. For an invertible A whose rows sum to 1, E_1 diag(start) A and inv(A) B_1'
  have the same product, and are weights of a grammar if all their numbers are nonnegative;
- in the last layer the same, where only E_P B_(P-1) matters, the distribution of the last word
  given the unit before;
- anything that follows an `<end>`.

The canonical form leaves out what is open: in the first and the last layer it has a unit for each
word, which says nothing else. It has the same sentences, and no more weights are to be traded, so
that equivalent grammars of one width have the same one, up to the order of units in the middle,
wherever those are determined: by the theorem of Kruskal (1977), as Allman, Matias and Rhodes use it
(Identifiability of parameters in latent structure models with many observed variables, Annals of
Statistics 2009), if the words before a layer tell its units apart, linearly, and so do those behind
it, and no two of its units say the same.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from logicgen.errors import LogicgenError
from logicgen.productions.grammar import Grammar, check_comparable
from logicgen.tokens import END

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
        before = np.concatenate(orders)
        for layer in range(student.positions):
            if layer not in named:
                orders[layer] = _match(_costs(student, teacher, layer, orders))
        if (before == np.concatenate(orders)).all():
            break
    return student.permuted(orders)


def distance(student: Grammar, teacher: Grammar, named: Container[int] = ()) -> Distance:
    """Return the distance of two grammars, comparing their units in the order they are in.

    named: layers whose units are words, so that saying one is no choice.
    """
    each = [(student.start[:, None], teacher.start[:, None], np.ones(1))]
    said = zip(student.tokens, teacher.tokens, teacher.reach, strict=True)
    each += [words for layer, words in enumerate(said) if layer not in named]
    each += zip(student.below, teacher.below, teacher.reach[:-1], strict=True)
    weighted, choices, largest = 0.0, 0.0, 0.0
    for mine, yours, reach in each:
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


# Relative to the largest: singular values up to this are 0, and so are differences.
TOLERANCE = 1e-9


def canonical(grammar: Grammar) -> Grammar:
    """Return the equivalent grammar whose first and last units are words.

    If `<end>` is a word, each layer in the middle has one more unit, the only one that says it.
    """
    grammar = _with_one_end(grammar)
    joint = grammar.tokens[0] * grammar.start  # (T, Z), of the first word and its unit
    said = joint.sum(axis=1)
    everything = np.eye(len(grammar.words))
    if grammar.positions == 1:
        return replace(grammar, units=(grammar.words,), start=said, tokens=(everything,))
    given = (joint / np.where(said > 0, said, 1)[:, None]).T  # (Z, T), the unit given its word
    below = list(grammar.below)
    below[0] = below[0] @ given
    below[-1] = grammar.tokens[-1] @ below[-1]
    return replace(
        grammar,
        units=(grammar.words, *grammar.units[1:-1], grammar.words),
        start=said,
        tokens=(everything, *grammar.tokens[1:-1], everything),
        below=tuple(below),
    )


def class_distance(student: Grammar, teacher: Grammar) -> Distance:
    """Return the distance of two grammars' canonical forms, units in the middle aligned.

    It is 0 for grammars that differ in nothing but what sentences leave open. The mean is over the
    choices of the canonical form that are no foregone conclusions.
    Raises LogicgenError unless both have the same words, and the same numbers of layers and units.
    """
    check_comparable(student, teacher)
    if [len(units) for units in student.units] != [len(units) for units in teacher.units]:
        raise LogicgenError("only grammars with as many units in each layer can be aligned")
    one, other, words = canonical(student), canonical(teacher), (0, student.positions - 1)
    return distance(aligned(one, other, words), other, words)


def difference(one: Grammar, other: Grammar) -> float:
    """Return how much the probabilities of all sentences differ, 0 for equivalent grammars.

    It is the Euclidean norm of the differences, divided by that of the probabilities of `one`.
    Sentences are not listed: (Z, N) arrays, one column for each of N beginnings, are replaced by
    (Z, Z) arrays with the same products of rows. Raises LogicgenError for other words or lengths.
    """
    check_comparable(one, other)
    one, other = _with_one_end(one), _with_one_end(other)
    own, both = one.start[:, None], np.concatenate([one.start, -other.start])[:, None]
    for layer in range(one.positions):
        said = np.concatenate([one.tokens[layer], other.tokens[layer]], axis=1)
        own, both = _read(own, one.tokens[layer]), _read(both, said)
        if layer + 1 < one.positions:
            width = one.below[layer].shape[1]
            own = one.below[layer] @ own
            both = np.concatenate(
                [one.below[layer] @ both[:width], other.below[layer] @ both[width:]]
            )
    return float(np.linalg.norm(both.sum(axis=0)) / np.linalg.norm(own.sum(axis=0)))


def equivalent(one: Grammar, other: Grammar, tolerance: float = TOLERANCE) -> bool:
    """Return whether all sentences have the same probabilities, up to a relative `difference`.

    Raises LogicgenError for grammars of other words or lengths.
    """
    return difference(one, other) <= tolerance


def is_determined(grammar: Grammar) -> bool:
    """Return whether sentences determine the canonical form, up to the order of its units.

    This is a sufficient condition among grammars with as many units in each layer; see above.
    """
    grammar = _with_one_end(grammar)
    before, behind = grammar.start[:, None], np.ones((len(grammar.units[-1]), 1))
    befores, behinds = [before], [behind]
    for said, below in zip(grammar.tokens, grammar.below, strict=False):
        befores.append(below @ _read(befores[-1], said))
    for said, below in zip(grammar.tokens[:0:-1], grammar.below[::-1], strict=True):
        behinds.append(below.T @ _read(behinds[-1], said))
    behinds.reverse()
    return all(
        _rank(befores[layer]) == _rank(behinds[layer]) == len(grammar.units[layer])
        and _are_different(grammar.tokens[layer])
        for layer in range(1, grammar.positions - 1)
    )


def _with_one_end(grammar: Grammar) -> Grammar:
    """Return the equivalent grammar with a further unit in each layer that says `<end>`.

    The new unit of a layer leads only to the new unit of the next layer: after an `<end>` comes
    another `<end>`. The other units no longer say `<end>`, and a unit that said nothing else is
    never on. A grammar without `<end>` stays as it is.
    """
    if grammar.end is None:
        return grammar
    units, tokens, ends, others = [], [], [], []
    for names, said in zip(grammar.units, grammar.tokens, strict=True):
        name = END
        while name in names:
            name = f"<{name}>"
        words = np.where(np.arange(len(said)) == grammar.end, 0.0, said.T).T
        ends.append(said[grammar.end])
        others.append(words.sum(axis=0))
        units.append((*names, name))
        words = words / np.where(others[-1] > 0, others[-1], 1)
        tokens.append(np.column_stack([words, np.eye(len(said))[grammar.end]]))

    def choices(shares: np.ndarray, layer: int) -> np.ndarray:
        return np.vstack([shares * others[layer][:, None], ends[layer] @ shares])

    below = []
    for layer, shares in enumerate(grammar.below, 1):
        on = choices(shares, layer)
        below.append(np.column_stack([on, np.eye(len(on))[-1]]))
    start = choices(grammar.start[:, None], 0)[:, 0]
    return replace(
        grammar, units=tuple(units), start=start, tokens=tuple(tokens), below=tuple(below)
    )


def _read(weights: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Return weights (Z, N) times p(word | unit) for each word, as (Z, Z or fewer) columns.

    Columns are replaced by fewer with the same products of rows, which norms and ranks are of.
    """
    each = (said.T[:, :, None] * weights[:, None]).reshape(len(weights), -1)  # (Z, T N)
    return np.asarray(np.linalg.qr(each.T, mode="r")).T


def _rank(weights: np.ndarray) -> int:
    """Return the rank of (Z, N) whose rows may differ much in size."""
    norms = np.linalg.norm(weights, axis=1, keepdims=True)
    values = np.linalg.svd(weights / np.where(norms > 0, norms, 1), compute_uv=False)
    return int((values > TOLERANCE * values.max(initial=0)).sum())


def _are_different(said: np.ndarray) -> bool:
    """Return whether no two columns are the same."""
    columns = said.T[np.lexsort(said)]
    return all(np.abs(one - other).max() > TOLERANCE for one, other in pairwise(columns))
