"""Weights of many strings at once, of their prefixes, and next-symbol probabilities.

They are computed by the forward algorithm: each string has a vector over the states, the forward
vector, which is multiplied by the matrix of each symbol. The vector is rescaled, so that strings of
100,000 symbols do not underflow. One scale for all states is not always enough: the weight of one
state may become smaller than another's by more than a float holds, and yet be the only one from
which the string can continue. Strings for which this may have happened are computed again with one
logarithm for each state.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from logicgen.automata.automaton import Automaton
from logicgen.automata.strings import Readable, Strings, encode
from logicgen.automata.sums import normalise, normalise_with_log, useful

# Numbers below this fraction of the largest one of their vector are not trusted to a common scale.
LEAST = 1e-140

# The largest change between two rescalings; LEAST * DRIFT * LEAST is still a normal float.
DRIFT = 1e-20

# Numbers held at once: in forward vectors, and while logarithms are added.
VECTORS = 20_000_000
BLOCK = 4_000_000


def log_weights(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return the natural logarithm of the weight of each string, (S,), -inf where it is 0."""
    batch = encode(automaton.symbols, strings)
    logs = log_forward(automaton, batch, automaton.final[:, None])
    return np.asarray(logs[np.arange(len(batch)), batch.lengths, 0])


def log_prefix_weights(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return the natural logarithm of the weight of all strings with each prefix, (S, L + 1).

    Entry 0 is the allsum; nan beyond the end of a string. Raises LogicgenError if it is infinite.
    """
    batch = encode(automaton.symbols, strings)
    if not useful(automaton).any():
        return log_forward(automaton, batch, np.zeros((len(automaton.states), 1)))[..., 0]
    model, total = normalise_with_log(automaton)
    return total + log_forward(model, batch, np.ones((len(model.states), 1)))[..., 0]


def next_probabilities(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return the probabilities of each symbol and, last, the end, (S, L + 1, k + 1).

    They are given for the position after each prefix, among all strings with that prefix: if a
    probabilistic automaton is not tight, they are conditional on the string ending. nan beyond the
    end of a string, and after a prefix of weight 0. Raises LogicgenError for an allsum of 0 or inf.
    """
    batch = encode(automaton.symbols, strings)
    model = normalise(automaton)
    return np.asarray(np.exp(log_normalised(log_forward(model, batch, step_weights(model)))))


def log_normalised(logs: np.ndarray) -> np.ndarray:
    """Return logarithms of weights as those of probabilities that sum to 1 over the last axis."""
    with np.errstate(invalid="ignore"):
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))


def step_weights(automaton: Automaton) -> np.ndarray:
    """Return the weight of each symbol and, last, of the end, from each state, (n, k + 1)."""
    columns = [matrix.sum(axis=1) for matrix in automaton.transitions]
    return np.stack([*columns, automaton.final], axis=1)


def log_forward(automaton: Automaton, strings: Strings, readout: np.ndarray) -> np.ndarray:
    """Return the natural logarithms of `forward vector @ readout` after the prefixes of strings.

    They have shape (S, L + 1, r), nan beyond the end of a string. readout: (n, r), nonnegative.
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
    """Return the most symbols between two rescalings, by the smallest weight and largest sum."""
    weights = np.concatenate([matrix.data for matrix in automaton.transitions])
    if not len(weights):
        return 1
    largest = max(float(matrix.sum(axis=0).max()) for matrix in automaton.transitions)
    change = max(-math.log(weights.min()), math.log(largest), 1e-3)
    return max(1, int(-math.log(DRIFT) / change))


def _with_common_scale(
    automaton: Automaton, strings: Strings, readout: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute `log_forward` with one scale for all states; and (S,) bool: where it may be wrong."""
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
        going = int(np.searchsorted(-lengths, -t, side="right"))  # strings of at least t symbols
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
    """Return the smallest number above 0, but at most 1."""
    return float(numbers[numbers > 0].min(initial=1))
