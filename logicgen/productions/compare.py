"""Comparison of two grammars: equivalence, and the alignment and distance of their units.

A unit is a hidden state of a layer (`grammar.py`). Two grammars are equivalent if all sentences
have the same probabilities in both. There are P layers. Let E_i be the array of the probabilities
that units of layer i emit words. Let B_i be the array of the probabilities that units of layer i
choose units of layer i + 1. Each array has a column for each unit of layer i, and B_i' is the
transpose of B_i. These changes of weights keep the probabilities of all sentences:

- another order of the units of a layer;
- other weights of a unit that is never active;
- in the first layer, another E_1 diag(start) and B_1 with the same product E_1 diag(start) B_1',
  where `start` contains the probabilities of the first layer's units.
  The product is the joint distribution of the first word and the second unit. For an invertible
  matrix A with rows that sum to 1, E_1 diag(start) A and inv(A) B_1' have the same product. They
  are weights of a grammar if they are nonnegative;
- in the last layer, another E_P and B_(P-1) with the same product E_P B_(P-1). The product is the
  distribution of the last word given the unit before;
- other choices after an `<end>`.

The canonical form is an equivalent grammar that removes this freedom: in the first and the last
layer, it has a unit for each word. Equivalent grammars with the same numbers of units have the same
canonical form, up to the order of the middle units, if

- the words before each middle layer distinguish its units linearly: the matrix of probabilities of
  these words given the unit has full rank;
- the words after each middle layer distinguish its units linearly, too;
- no two units of a middle layer have the same distribution over words.

This follows from the theorem of Kruskal (1977). Source: Allman, Matias and Rhodes, Identifiability
of parameters in latent structure models with many observed variables (Annals of Statistics 2009).
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

# The largest number of sweeps over the layers in `aligned`. Each sweep lowers the distance, and a
# few sweeps are enough.
SWEEPS = 20


class Distance(NamedTuple):
    """The distance of a learned grammar (student) from a given grammar (teacher).

    The units (hidden states) of both grammars are in the same order.
    """

    # The mean total variation distance of corresponding distributions of the two grammars, from 0
    # (equal) to 1. The distributions of a unit are weighted by the probability that the teacher
    # uses the unit.
    mean: float
    # The largest difference between two corresponding weights of a unit that the teacher uses
    largest: float


def aligned(student: Grammar, teacher: Grammar, named: Container[int] = ()) -> Grammar:
    """Reorder the units (hidden states) of a student grammar to match the units of its teacher.

    named: numbers, from 0, of layers with units that already match and keep their order.

    The Hungarian method (SciPy) matches units. It first compares distributions over words. Then
    sweeps over the layers compare all weights of a unit, given the order of the neighboring layers,
    until nothing changes. The result is optimal for each single layer.
    Raises LogicgenError unless both grammars have the same numbers of units, words and layers.
    """
    if [len(units) for units in student.units] != [len(units) for units in teacher.units] or (
        len(student.words) != len(teacher.words)
    ):
        raise LogicgenError(
            "only grammars with the same numbers of words, layers and units can be aligned"
        )
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
    """Return the distance of two grammars with units in the same order.

    named: numbers, from 0, of layers in which each unit emits only one word. The distributions over
    words of these layers are not counted.
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
    """Compare each unit (hidden state) of a teacher grammar with each unit of a student grammar.

    yours, mine: distributions of the teacher's and the student's units, in columns.
    reach: the probability that the teacher uses each unit.

    Returns distances, (teacher units, student units): the total variation times `reach`.
    """
    distances = np.abs(yours.T[:, None] - mine.T[None]).sum(axis=-1)
    return np.asarray(distances / 2 * reach[:, None])


def _costs(student: Grammar, teacher: Grammar, layer: int, orders: list[np.ndarray]) -> np.ndarray:
    """Compare all weights of a layer; return distances of units, (teacher units, student units).

    orders: for each layer, the current order of the student's units.
    """
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
    """Match each row of `cost` to a column, with the least total cost; return the columns."""
    return np.asarray(linear_sum_assignment(cost)[1])


# A singular value up to this fraction of the largest singular value counts as 0. A difference
# between two distributions, or a relative difference between two grammars, counts as 0 up to this
# number.
TOLERANCE = 1e-9


def canonical(grammar: Grammar) -> Grammar:
    """Return the canonical form of a grammar.

    It is an equivalent grammar with a unit for each word in the first and in the last layer. If
    `<end>` is a word, each middle layer gets an additional unit, and only this unit emits `<end>`.
    """
    grammar = _with_one_end(grammar)
    # (words, units): joint probabilities of the first word and the first unit
    joint = grammar.tokens[0] * grammar.start
    said = joint.sum(axis=1)
    everything = np.eye(len(grammar.words))
    if grammar.positions == 1:
        return replace(grammar, units=(grammar.words,), start=said, tokens=(everything,))
    # (units, words): probabilities of the first unit, given the first word
    given = (joint / np.where(said > 0, said, 1)[:, None]).T
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
    """Return the distance of the canonical forms of two grammars, with aligned middle units.

    Equivalent grammars have the distance 0 if `is_determined` is true of them. The distributions
    over words of the first and the last layer are not counted, since each unit emits only one word.
    Raises LogicgenError unless both grammars have the same words, and the same numbers of layers
    and units.
    """
    check_comparable(student, teacher)
    if [len(units) for units in student.units] != [len(units) for units in teacher.units]:
        raise LogicgenError(
            "only grammars with the same number of units in each layer can be aligned"
        )
    one, other, words = canonical(student), canonical(teacher), (0, student.positions - 1)
    return distance(aligned(one, other, words), other, words)


def difference(one: Grammar, other: Grammar) -> float:
    """Return the relative difference between the sentence probabilities of two grammars.

    It is the Euclidean norm of the differences, divided by the norm of the probabilities of `one`.
    It is 0 for equivalent grammars. The norms are computed layer by layer (see `_read`), without a
    list of all sentences. Raises LogicgenError if words or lengths differ.
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
    """Return whether all sentences have the same probabilities in both grammars.

    tolerance: the largest permitted relative `difference`.

    Raises LogicgenError if words or lengths differ.
    """
    return difference(one, other) <= tolerance


def is_determined(grammar: Grammar) -> bool:
    """Return whether sentence probabilities determine the canonical form, up to the order of units.

    The result is True if the three conditions in the description of this module hold. They are
    sufficient, not necessary, among grammars with the same numbers of units.
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
    """Return the equivalent grammar with an additional unit in each layer that emits `<end>`.

    The new unit of a layer chooses only the new unit of the next layer, so another `<end>` follows
    each `<end>`. The other units no longer emit `<end>`. A unit that emitted only `<end>` is never
    active. A grammar without `<end>` stays as it is.
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
    """Extend each of N beginnings of sentences by each word; return the new weights of units.

    weights: (units, N) the probability of each beginning together with the unit that follows it.
    said: (words, units) p(word | unit).

    The new weights have a row for each unit, and a column for each beginning and word. A QR
    decomposition reduces the columns to at most the number of units. It keeps the inner products of
    rows, which determine norms and ranks.
    """
    each = (said.T[:, :, None] * weights[:, None]).reshape(len(weights), -1)  # (units, words * N)
    return np.asarray(np.linalg.qr(each.T, mode="r")).T


def _rank(weights: np.ndarray) -> int:
    """Return the rank of an array. Rows are normalized first, since their norms may differ much."""
    norms = np.linalg.norm(weights, axis=1, keepdims=True)
    values = np.linalg.svd(weights / np.where(norms > 0, norms, 1), compute_uv=False)
    return int((values > TOLERANCE * values.max(initial=0)).sum())


def _are_different(said: np.ndarray) -> bool:
    """Return whether no two columns, the word distributions of two units, are the same."""
    columns = said.T[np.lexsort(said)]
    return all(np.abs(one - other).max() > TOLERANCE for one, other in pairwise(columns))
