"""Expected length and entropy of the strings of an automaton, ambiguity, and divergences.

If each string has only one accepting path, the entropy of the strings equals the entropy of the
paths. The entropy of the paths is computed by solving a linear system. In an ambiguous automaton,
such as a hidden Markov model, some string has several accepting paths. Then the entropy of the
paths is an upper bound, and samples give an estimate. Each function first normalizes the automaton,
and raises LogicgenError if the allsum (the sum of the weights of all strings) is 0 or infinite.

The divergences compare the next-symbol distributions of two models, such as an automaton and a
trained model. For S strings of up to L symbols from an alphabet of k symbols, the distributions of
a model are an array (S, L + 1, k + 1). Its last column is the probability that the string ends.
Entries after the end of a string are nan. An automaton has n states.

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
    """Return the expected number of symbols of a random string."""
    return float(forward(normalise(automaton)).sum()) - 1


def path_entropy(automaton: Automaton) -> float:
    """Return the entropy of a random accepting path, in bits.

    It is an upper bound of the entropy of a random string.
    """
    model = normalise(automaton)
    visits = forward(model)  # (n,), the expected number of visits to each of n states
    total = entr(model.initial).sum() + visits @ entr(model.final)
    for matrix in model.transitions:
        terms = matrix.copy()
        terms.data = entr(matrix.data)
        total += visits @ terms.sum(axis=1)
    return float(total / np.log(2)) + 0.0


def entropy(automaton: Automaton) -> float:
    """Return the exact entropy of a random string, in bits.

    Raises LogicgenError if the automaton is ambiguous.
    """
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
    """Estimate the entropy of a random string, in bits, from `count` samples.

    Returns the estimate, which is unbiased, and its standard error.
    """
    if count < 2:
        raise LogicgenError(f"entropy: {count} samples have no standard error; take 2 or more")
    model = normalise(automaton)
    bits = -log_weights(model, sample(model, count, rng)) / np.log(2)
    return float(bits.mean()), float(bits.std(ddof=1) / np.sqrt(count))


def ambiguous_pair(automaton: Automaton) -> tuple[str, str] | None:
    """Return the names of two states that show that an automaton is ambiguous.

    Two accepting paths of the same string visit the two states after the same number of symbols.
    The result is None if the automaton is unambiguous.

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
    # Pairs that can be reached from initial states, and pairs from which final states can be
    # reached. Each is an (n, n) matrix with a nonzero entry for each pair.
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
    """Return all pairs of states that two paths over the same symbols reach from pairs in `start`.

    A set of pairs is an (n, n) matrix with 1 for each pair.

    ahead: for each symbol, an (n, n) matrix with 1 for each transition.
    back: the transposed matrices of `ahead`.
    """
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
    """Return the L1 distance of two next-symbol distributions at each position, (S, L + 1).

    The distance is the sum of |p - q|, from 0 to 2. It is nan if p or q is nan.
    """
    _check_shapes(p, q)
    return np.asarray(np.abs(p - q).sum(axis=-1))


def divergences(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the divergence KL(p || q) at each position, in bits, (S, L + 1).

    The divergence is the sum of p log2(p / q) over the next symbols. It is inf if q is 0 for a
    symbol with a positive p. It is nan if p or q is nan.
    """
    _check_shapes(p, q)
    return np.asarray(rel_entr(p, q).sum(axis=-1) / np.log(2))


def mean_by_position(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over strings, and the number of strings, at each position, (L + 1,) each.

    values: (S, L + 1), with nan after the end of a string; nan is not counted. The mean is nan if
    the count is 0.
    """
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
