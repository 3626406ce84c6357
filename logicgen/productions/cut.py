"""Removal of one connection from a grammar.

A unit is a hidden state. It emits a word and chooses a unit of the next layer. A connection is a
pair of a unit and a unit of the next layer that it chooses with positive probability.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from logicgen.errors import LogicgenError, nearest
from logicgen.productions.grammar import Grammar

# The weights of a trained model are never exactly 0. Weights up to this number count as 0.
NEGLIGIBLE = 1e-3


def pruned(grammar: Grammar, least: float) -> Grammar:
    """Set the weights of a grammar that are at most `least` to 0, and normalize the other weights.

    If all weights of a distribution are at most `least`, the distribution does not change.
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
    """Remove the connection from the unit (hidden state) `above` to `below` in the next layer.

    The probability p' of a sentence s in the new grammar is its probability p in the old grammar,
    given that the connection is not used:

        p'(s) = p(s) (1 - P(connection | s)) / (1 - P(connection))

    Sentences that need the connection get probability 0. Sentences that never use the connection
    keep their relative probabilities. It would be wrong to normalize only the weights of the unit
    `above`, because this would change these relative probabilities. Instead, the weights of all
    units are normalized by weight pushing (Mohri, Weighted Automata Algorithms, 2009). This method
    multiplies each weight by the total weight of the remaining paths from the chosen unit.

    above, below: names of units. If several layers have a unit `name`, write `2:name` for layer 2.

    Raises LogicgenError if a unit is unknown, if the connection does not exist, or if every
    sentence needs the connection. The weights of a trained model are never 0: apply `pruned` first.
    """
    layer, chooser, chosen = find_connection(grammar, above, below)
    left = [array.copy() for array in grammar.below]
    left[layer][chosen, chooser] = 0.0
    # For each layer, the total weight of the remaining paths from each unit to the last layer. The
    # words do not matter here, since the word probabilities of each unit sum to 1.
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
    """Find a connection by the names of its units, such as `name` or `2:name` for layer 2.

    Returns the numbers, from 0, of the layer, of its unit, and of the unit of the next layer.
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
    """Return the number of the layer, and the number in this layer, of each unit called `name`.

    Both numbers are counted from 0. If `name` is `2:x`, only units `x` of layer 2 are found.
    """
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
