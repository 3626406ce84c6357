"""Expected length and entropy of the strings of an automaton, normalised where it is not.

With one path for each string the entropy of the strings is that of the paths, which is a linear
system. Where a string may have several paths there is no such system, as for hidden Markov models;
the entropy of the paths is an upper bound then, and samples give an estimate.
Source: Cortes, Mohri, Rastogi, Riley, On the Computation of the Relative Entropy of Probabilistic
Automata (IJFCS 2008).
"""

from __future__ import annotations

import numpy as np

from logicgen.automata.allsum import forward, normalise
from logicgen.automata.ambiguity import ambiguous_pair
from logicgen.automata.automaton import Automaton
from logicgen.automata.sampling import sample
from logicgen.automata.weights import log_weights
from logicgen.errors import LogicgenError


def expected_length(automaton: Automaton) -> float:
    """The mean number of symbols of a string, the end not counted.

    Raises LogicgenError where the allsum is 0 or infinite.
    """
    return float(forward(normalise(automaton)).sum()) - 1


def path_entropy(automaton: Automaton) -> float:
    """The entropy, in bits, of the accepting path: at least that of the string.

    Raises LogicgenError where the allsum is 0 or infinite.
    """
    model = normalise(automaton)
    passed = forward(model)  # (n,) how often on average
    total = _surprise(model.initial).sum() + passed @ _surprise(model.final)
    for matrix in model.transitions:
        surprise = matrix.copy()
        surprise.data = _surprise(matrix.data)
        total += passed @ surprise.sum(axis=1)
    return float(total) + 0.0


def entropy(automaton: Automaton) -> float:
    """The entropy, in bits, of the string. Exact.

    Raises LogicgenError where the automaton is ambiguous, naming two states that show it, and where
    the allsum is 0 or infinite.
    """
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
    """The entropy of the string from `count` samples, and its standard error, both in bits.

    For any automaton, since the probability of a sample is exact; unbiased.
    """
    if count < 2:
        raise LogicgenError(f"entropy: {count} samples have no standard error; take 2 or more")
    model = normalise(automaton)
    bits = -log_weights(model, sample(model, count, rng)) / np.log(2)
    return float(bits.mean()), float(bits.std(ddof=1) / np.sqrt(count))


def _surprise(weights: np.ndarray) -> np.ndarray:
    """-w log2 w, 0 at 0."""
    return -weights * np.log2(np.where(weights > 0, weights, 1))
