"""Weights of many strings at once, of their prefixes, and next-symbol probabilities.

The forward algorithm computes these numbers. Each string has a forward vector with a weight for
each state. Reading a symbol multiplies the vector by the matrix of the symbol. The vector is
rescaled, so that strings of 100,000 symbols do not underflow. A common scale for all states can
fail: a state with a very small weight may underflow although only this state can continue the
string. The weights of such strings are computed again with a logarithm for each state.

In shapes of arrays, S is the number of strings, L the length of the longest string, n the number of
states, and k the number of symbols. The allsum is the sum of the weights of all strings.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from logicgen.automata.automaton import Automaton
from logicgen.automata.strings import Readable, Strings, encode
from logicgen.automata.sums import normalise, normalise_with_log, useful

# If a nonzero entry of a forward vector, divided by the largest entry, is below LEAST, the weights
# of the string are computed again with logarithms.
LEAST = 1e-140

# Forward vectors are rescaled after a number of symbols (`steps_in_range`). Between two rescalings,
# the symbols multiply a weight by a factor from DRIFT to 1 / DRIFT. So a weight of at least LEAST
# stays above LEAST * DRIFT. The product with a final weight of at least LEAST does not underflow.
DRIFT = 1e-20

# VECTORS: strings are read in groups. The forward vectors of a group have at most VECTORS numbers.
# BLOCK: the largest number of terms of a sum that is computed with logarithms.
VECTORS = 20_000_000
BLOCK = 4_000_000


def log_weights(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return the natural logarithm of the weight of each string, (S,); -inf for weight 0."""
    batch = encode(automaton.symbols, strings)
    logs = log_forward(automaton, batch, automaton.final[:, None])
    return np.asarray(logs[np.arange(len(batch)), batch.lengths, 0])


def log_prefix_weights(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return log weights of the prefixes of each string, (S, L + 1).

    The weight of a prefix is the total weight of all strings that begin with it. Column i belongs
    to the prefix of i symbols, so column 0 is the logarithm of the allsum. Logarithms are natural.
    Entries after the end of a string are nan. Raises LogicgenError if the allsum is infinite.
    """
    batch = encode(automaton.symbols, strings)
    if not useful(automaton).any():
        return log_forward(automaton, batch, np.zeros((len(automaton.states), 1)))[..., 0]
    model, total = normalise_with_log(automaton)
    return total + log_forward(model, batch, np.ones((len(model.states), 1)))[..., 0]


def next_probabilities(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return the next-symbol distribution after each prefix of each string, (S, L + 1, k + 1).

    The last column is the probability that the string ends. If a probabilistic automaton is not
    tight, the distributions are conditional on the string ending at some time. Entries after the
    end of a string, and after a prefix of weight 0, are nan. Raises LogicgenError if the allsum is
    0 or infinite.
    """
    batch = encode(automaton.symbols, strings)
    model = normalise(automaton)
    return np.asarray(np.exp(log_normalised(log_forward(model, batch, step_weights(model)))))


def log_normalised(logs: np.ndarray) -> np.ndarray:
    """Return normalized logarithms: the exponentials sum to 1 over the last axis."""
    with np.errstate(invalid="ignore"):
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))


def step_weights(automaton: Automaton) -> np.ndarray:
    """Return the total weight of the transitions of each state with each symbol, (n, k + 1).

    The last column contains the final weight of the state.
    """
    columns = [matrix.sum(axis=1) for matrix in automaton.transitions]
    return np.stack([*columns, automaton.final], axis=1)


def log_forward(automaton: Automaton, strings: Strings, readout: np.ndarray) -> np.ndarray:
    """Return log(forward vector @ readout) after each prefix of each string, (S, L + 1, r).

    readout: (n, r) nonnegative weights of the states, such as the final weights with r = 1.
    Entries after the end of a string are nan.
    """
    count, longest = strings.ids.shape
    found = np.full((count, longest + 1, readout.shape[1]), np.nan)
    together = max(1, VECTORS // len(automaton.states))
    for begin in range(0, count, together):
        rows = np.arange(begin, min(begin + together, count))
        part = strings.rows(rows)
        with np.errstate(divide="ignore"):
            some, delicate = _with_common_scale(automaton, part, readout)
            if delicate.any():
                again = _with_logarithms(automaton, part.rows(delicate), readout)
                some[delicate, : again.shape[1]] = again
        found[rows, : some.shape[1]] = some
    return found


def steps_in_range(automaton: Automaton) -> int:
    """Return the largest number of symbols that can be read without rescaling the vectors."""
    weights = np.concatenate([matrix.data for matrix in automaton.transitions])
    if not len(weights):
        return 1
    largest = max(float(matrix.sum(axis=0).max()) for matrix in automaton.transitions)
    change = max(-math.log(weights.min()), math.log(largest), 1e-3)
    return max(1, int(-math.log(DRIFT) / change))


def _with_common_scale(
    automaton: Automaton, strings: Strings, readout: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the result of `log_forward`, computed with a common scale for all states.

    Also returns (S,) bool: whether the result of a string may be wrong because of underflow.
    """
    count, longest = strings.ids.shape
    found = np.full((count, longest + 1, readout.shape[1]), np.nan)
    order = np.argsort(-strings.lengths, kind="stable")
    ids, lengths = strings.ids[order], strings.lengths[order]
    into = [csr_array(matrix.T) for matrix in automaton.transitions]
    weights = np.concatenate([matrix.data for matrix in automaton.transitions])
    numbers = weights, readout, automaton.initial
    largest = max(each.max(initial=1) for each in numbers)
    if min(map(smallest_positive, numbers)) < LEAST or largest > 1 / LEAST:
        return found, np.ones(count, dtype=bool)
    vectors = np.repeat(automaton.initial[:, None], count, axis=1)  # (n, S)
    scale = np.zeros(count)
    delicate = np.zeros(count, dtype=bool)
    every = steps_in_range(automaton)
    for t in range(longest + 1):
        # The number of strings of t or more symbols.
        going = int(np.searchsorted(-lengths, -t, side="right"))
        if t:
            read = ids[:going, t - 1]
            for symbol in np.unique(read):
                chosen = np.flatnonzero(read == symbol)
                if len(chosen) == count:
                    vectors = into[symbol] @ vectors
                else:
                    vectors[:, chosen] = into[symbol] @ vectors[:, chosen]
        if t % every == 0:
            part = vectors[:, :going]
            largest = part.max(axis=0)
            dead = largest == 0
            part /= np.where(dead, 1, largest)
            scale[:going] += np.log(largest)
            delicate[:going] |= np.where(part > 0, part, 1).min(axis=0) < LEAST
        found[order[:going], t] = np.log(vectors[:, :going].T @ readout) + scale[:going, None]
    return found, delicate[np.argsort(order)]


def _with_logarithms(automaton: Automaton, strings: Strings, readout: np.ndarray) -> np.ndarray:
    """Return the result of `log_forward`, computed with a logarithm for each state."""
    arcs = []
    for matrix in automaton.transitions:
        into = csr_array(matrix.T)  # sorted by target
        targets = np.flatnonzero(np.diff(into.indptr))
        arcs.append((targets, into.indptr[targets], into.indices, np.log(into.data)[:, None]))
    width = max(readout.size, *(matrix.nnz for matrix in automaton.transitions))
    rows = max(1, BLOCK // width)
    log_readout = np.log(readout)  # (n, r)
    count, longest = strings.ids.shape
    found = np.full((count, longest + 1, readout.shape[1]), np.nan)
    for begin in range(0, count, rows):
        block = np.arange(begin, min(begin + rows, count))
        vectors = np.repeat(np.log(automaton.initial)[:, None], len(block), axis=1)  # (n, S)
        for t in range(longest + 1):
            if t:
                after = np.full_like(vectors, -np.inf)
                read = np.where(strings.lengths[block] >= t, strings.ids[block, t - 1], -1)
                for symbol, (targets, starts, sources, weights) in enumerate(arcs):
                    chosen = np.flatnonzero(read == symbol)
                    if len(chosen) and len(targets):
                        terms = vectors[sources[:, None], chosen] + weights
                        sums = np.logaddexp.reduceat(terms, starts, axis=0)
                        after[targets[:, None], chosen] = sums
                vectors = after
            now = strings.lengths[block] >= t
            terms = vectors[:, now, None] + log_readout[:, None]
            found[block[now], t] = np.logaddexp.reduce(terms, axis=0)
    return found


def smallest_positive(numbers: np.ndarray) -> float:
    """Return the smallest positive number of an array, but at most 1."""
    return float(numbers[numbers > 0].min(initial=1))
