"""Expected length and entropy of the strings of an automaton, ambiguity, and divergences.

If each string has one path, the entropy of the strings equals the entropy of the paths, which
solves a linear system. In an ambiguous automaton, such as a hidden Markov model, some string has
several paths. Then the entropy of the paths is an upper bound, and samples give an estimate. The
automaton is normalized first. These functions raise LogicgenError if the allsum is 0 or infinite.

The divergences compare the next-symbol distributions of any two models at each position: an
automaton, its lexinvariant model, a trained model. Distributions are arrays (S, L + 1, k + 1). The
last column is the end of the string. Entries beyond the end of a string are nan.

Source: Cortes, Mohri, Rastogi, Riley, On the Computation of the Relative Entropy of Probabilistic
Automata (IJFCS 2008).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import entr, rel_entr

from logicgen.automata.automaton import Automaton, is_deterministic
from logicgen.automata.strings import sample
from logicgen.automata.sums import forward, normalise, trim, useful
from logicgen.automata.weights import log_weights
from logicgen.errors import LogicgenError


def expected_length(automaton: Automaton) -> float:
    """Return the mean number of symbols of a string, without the end."""
    return float(forward(normalise(automaton)).sum()) - 1


def path_entropy(automaton: Automaton) -> float:
    """Return the entropy of the accepting path in bits, at least the entropy of the string."""
    model = normalise(automaton)
    visits = forward(model)  # (n,), mean numbers
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
            f" {pair[0]} and {pair[1]} at one place. So the entropy of the strings has no closed"
            " form; path_entropy is an upper bound, estimated_entropy an estimate"
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


def ambiguous_pair(automaton: Automaton) -> tuple[str, str] | None:
    """Return two states that paths of the same string visit at the same place, if they exist.

    A state of the squared automaton is a pair of states that two paths over the same symbols reach.
    An automaton is ambiguous exactly if a pair of different states lies on an accepting path of its
    square. Source: Allauzen, Mohri, Rastogi, General Algorithms for Testing the Ambiguity of Finite
    Automata (DLT 2008).
    """
    if not useful(automaton).any():
        return None
    part = trim(automaton)
    ahead = [(matrix > 0).astype(np.int64) for matrix in part.transitions]
    back = [csr_array(matrix.T) for matrix in ahead]
    if part.is_deterministic or is_deterministic(back, part.final):
        return None
    # Accessible pairs, and pairs with a path to a pair of final states.
    reached = _closure(_pairs(part.initial), ahead, back)
    ending = _closure(_pairs(part.final), back, ahead)
    both = (reached.multiply(ending)).tocoo()
    for first, second in zip(*both.coords, strict=True):
        if first != second:
            return part.states[first], part.states[second]
    return None


def _pairs(start: np.ndarray) -> csr_array:
    column = csr_array((start > 0).astype(np.int64)[:, None])
    return csr_array(column @ column.T)


def _closure(start: csr_array, ahead: list[csr_array], back: list[csr_array]) -> csr_array:
    """Return the pairs that the same symbols reach from `start`; back: `ahead`, transposed."""
    found = frontier = start
    while frontier.nnz:
        after = sum(
            ((b @ frontier @ a) > 0).astype(np.int64) for a, b in zip(ahead, back, strict=True)
        )
        after = csr_array(after > 0).astype(np.int64)
        frontier = csr_array((after - after.multiply(found)).astype(np.int64))
        frontier.eliminate_zeros()
        found = csr_array((found + frontier).astype(np.int64))
    return found


def l1_distances(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the sums of |p - q|, (S, L + 1), between 0 and 2; nan if p or q is nan."""
    _check_shapes(p, q)
    return np.asarray(np.abs(p - q).sum(axis=-1))


def divergences(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return KL(p || q) = sum of p log2(p/q), in bits, (S, L + 1): the cost of predicting q for p.

    The result is inf if q is 0 and p is not, and nan if p or q is nan.
    """
    _check_shapes(p, q)
    return np.asarray(rel_entr(p, q).sum(axis=-1) / np.log(2))


def mean_by_position(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and count of the numbers at each position, (L + 1,) each; nan if count is 0."""
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(there, values, 0.0).sum(axis=0) / np.where(count, count, np.nan), count


def _check_shapes(p: np.ndarray, q: np.ndarray) -> None:
    if p.shape != q.shape:
        raise LogicgenError(
            f"distributions of shape {p.shape} and {q.shape} cannot be compared; both have to be"
            " (strings, longest + 1, symbols + 1), the end last"
        )
