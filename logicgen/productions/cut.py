"""Removal of one connection from a grammar."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from logicgen.errors import LogicgenError, nearest
from logicgen.productions.grammar import Grammar

# A trained model's weights are never exactly 0. Weights up to this number count as 0.
NEGLIGIBLE = 1e-3


def pruned(grammar: Grammar, least: float) -> Grammar:
    """Return the grammar without weights up to `least`; the remaining weights are normalized.

    A distribution without a larger weight stays as it is.
    """

    def prune(array: np.ndarray) -> np.ndarray:
        kept = np.where(array > least, array, 0)
        kept = np.where(kept.any(axis=0), kept, array)
        return kept / np.where(kept.any(axis=0), kept.sum(axis=0), 1)

    return replace(
        grammar,
        start=prune(grammar.start[:, None])[:, 0],
        tokens=tuple(map(prune, grammar.tokens)),
        below=tuple(map(prune, grammar.below)),
    )


def cut(grammar: Grammar, above: str, below: str) -> Grammar:
    """Return the grammar without the connection from a unit to a unit of the layer below.

    The new grammar is the old grammar, conditional on the connection not being used:

        p'(s) = p(s) (1 - P(connection | s)) / (1 - P(connection))

    Sentences that need the connection get probability 0. Sentences that never use it keep their
    relative probabilities; normalizing only the distribution of the unit would change them. Weight
    pushing makes distributions of the weights again: each weight is multiplied by the remaining
    weight of the paths after it (Mohri, Weighted Automata Algorithms, 2009).

    above, below: names of units; `2:name` is the unit of layer 2, if layers share names.

    Raises LogicgenError if a unit is unknown, if the connection does not exist, or if every
    sentence needs it. A trained model's weights are never 0, so apply `pruned` first.
    """
    layer, chooser, chosen = find_connection(grammar, above, below)
    left = [array.copy() for array in grammar.below]
    left[layer][chosen, chooser] = 0.0
    # The remaining weight of the paths from each unit to the end; words always sum to 1.
    remaining = [np.ones(len(grammar.units[-1]))]
    for array in reversed(left):
        remaining.append(remaining[-1] @ array)
    remaining.reverse()
    total = float(grammar.start @ remaining[0])
    if not total:
        raise LogicgenError(f"every sentence needs {above} -> {below}: nothing would be left")
    pushed = []
    for number, array in enumerate(left):
        whole = np.where(remaining[number] > 0, remaining[number], 1)
        pushed.append(array * remaining[number + 1][:, None] / whole)
    return replace(grammar, start=grammar.start * remaining[0] / total, below=tuple(pushed))


def find_connection(grammar: Grammar, above: str, below: str) -> tuple[int, int, int]:
    """Return (layer from 0, unit, unit below) of a connection.

    Raises LogicgenError unless there is exactly one such connection.
    """
    choosers, chosen = _find(grammar, above), _find(grammar, below)
    pairs = [
        (layer, unit, other) for layer, unit in choosers for at, other in chosen if at == layer + 1
    ]
    if not pairs:
        raise LogicgenError(
            f"no connection {above} -> {below}: {below} is not in the layer below {above}"
        )
    there = [pair for pair in pairs if grammar.below[pair[0]][pair[2], pair[1]]]
    if not there:
        layer, unit, _ = pairs[0]
        column = zip(grammar.units[layer + 1], grammar.below[layer][:, unit], strict=True)
        known = [f"{name} ({weight:.3g})" for name, weight in column if weight]
        raise LogicgenError(
            f"no connection {above} -> {below}: {above} leads to {', '.join(known) or 'nothing'}"
        )
    if len(there) > 1:
        layers = " and ".join(str(layer + 1) for layer, _, _ in there)
        raise LogicgenError(
            f"{above} -> {below} is in layers {layers}: name its layer: {there[0][0] + 1}:{above}"
        )
    return there[0]


def _find(grammar: Grammar, name: str) -> list[tuple[int, int]]:
    before, colon, after = name.partition(":")
    exact = colon and before.isdecimal()
    places = [
        (layer, number)
        for layer, units in enumerate(grammar.units)
        for number, unit in enumerate(units)
        if unit == name or (exact and unit == after and layer + 1 == int(before))
    ]
    if not places:
        known = list(dict.fromkeys(unit for units in grammar.units for unit in units))
        raise LogicgenError(f"no unit is called {name!r}: {nearest(name, known)}")
    return places
