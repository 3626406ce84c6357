"""Expected length and entropy of the strings of an automaton, which is normalised first.

If each string has one path, the entropy of the strings is that of the paths, which solves a linear
system. If a string may have several paths, as in hidden Markov models, there is no such system; the
entropy of the paths is then an upper bound, and samples give an estimate. All functions raise
LogicgenError if the allsum is 0 or infinite.
Source: Cortes, Mohri, Rastogi, Riley, On the Computation of the Relative Entropy of Probabilistic
Automata (IJFCS 2008).
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from logicgen.automata.allsum import forward, normalise
from logicgen.automata.ambiguity import ambiguous_pair
from logicgen.automata.automaton import Automaton
from logicgen.automata.sampling import sample
from logicgen.automata.weights import log_weights
from logicgen.errors import LogicgenError


def expected_length(automaton: Automaton) -> float:
    """Return the mean number of symbols of a string, the end not counted."""
    return float(forward(normalise(automaton)).sum()) - 1


def path_entropy(automaton: Automaton) -> float:
    """Return the entropy, in bits, of the accepting path: at least that of the string."""
    model = normalise(automaton)
    visits = forward(model)  # (n,), on average
    total = entr(model.initial).sum() + visits @ entr(model.final)
    for matrix in model.transitions:
        terms = matrix.copy()
        terms.data = entr(matrix.data)
        total += visits @ terms.sum(axis=1)
    return float(total / np.log(2)) + 0.0


def entropy(automaton: Automaton) -> float:
    """Return the exact entropy of the string in bits; raise LogicgenError if it is ambiguous."""
    pair = ambiguous_pair(automaton)
    if pair:
        raise LogicgenError(
            "automaton: it is ambiguous: some string has accepting paths through"
            f" {pair[0]} and through {pair[1]} at one place, and then the entropy of the strings"
            " has no closed form; path_entropy is an upper bound, estimated_entropy an estimate"
        )
    return path_entropy(automaton)


def estimated_entropy(
    automaton: Automaton, count: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return an unbiased estimate of the string's entropy, in bits, and its standard error."""
    if count < 2:
        raise LogicgenError(f"entropy: {count} samples have no standard error; take 2 or more")
    model = normalise(automaton)
    bits = -log_weights(model, sample(model, count, rng)) / np.log(2)
    return float(bits.mean()), float(bits.std(ddof=1) / np.sqrt(count))
