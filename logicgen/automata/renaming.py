"""The sum over all renamings of symbols, computed with partial permutations.

Permutations that agree on the symbols seen so far give a prefix the same weight. So a string needs
one forward vector for each partial permutation, which maps the symbols seen to different symbols of
the automaton. At a new symbol each of them is extended by every symbol that it does not map to yet:
after j different symbols of k there are k!/(k - j)! vectors instead of k!. Only which symbols of a
string are equal matters, so many strings share their partial permutations and are done at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial, log, perm

import numpy as np

from logicgen.automata.automaton import Automaton
from logicgen.automata.forward_vectors import ForwardStates, ForwardVectors
from logicgen.automata.partial_permutations import canonical, gather, partial_permutations
from logicgen.automata.strings import Strings
from logicgen.automata.weights import (
    LEAST,
    log_forward,
    smallest_positive,
    step_weights,
    steps_in_range,
)
from logicgen.errors import LogicgenError

# Numbers in the forward vectors of a group of strings, which then fit into a CPU cache, and the
# largest allowed for one string (4 GiB).
BLOCK = 750_000
MOST = 2**29


def log_joint(model: Automaton, strings: Strings) -> np.ndarray:
    """Return the natural logarithm of p' of each prefix and its next symbol, (S, L + 1, k + 1).

    The end is last; nan beyond it. The automaton has to be probabilistic.
    """
    k = len(model.symbols)
    ahead = step_weights(model)  # (n, k + 1)
    found = np.full((len(strings), strings.ids.shape[1] + 1, k + 1), np.nan)
    delicate = _out_of_range(model, strings)
    order, read, first = canonical(strings, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        for prefixes in _all_prefixes(model, strings.lengths, read, first, delicate):
            top = prefixes.scale.max(axis=1)  # (m,)
            top = np.where(np.isfinite(top), top, 0)
            share = np.exp(prefixes.scale - top[:, None])[..., None]  # (m, P, 1)
            joint = prefixes.vectors.readout(slice(len(top)), ahead) * share  # (m, P, k + 1)
            values = _by_string_symbol(joint, prefixes.seen, order[prefixes.rows])
            mean = np.log(values) + (top - np.log(joint.shape[1]))[:, None]
            found[prefixes.rows, prefixes.places] = mean
    if delicate.any():
        again = strings.rows(delicate)
        some = log_joint_by_enumeration(model, again)
        found[delicate, : some.shape[1]] = some
    return found


def log_complete(model: Automaton, strings: Strings) -> np.ndarray:
    """Return the natural logarithm of p' of each string, (S,), for a probabilistic automaton."""
    found = np.empty(len(strings))
    delicate = _out_of_range(model, strings)
    _, read, first = canonical(strings, len(model.symbols))
    with np.errstate(divide="ignore", invalid="ignore"):
        for prefixes in _all_prefixes(model, strings.lengths, read, first, delicate):
            over = np.flatnonzero(prefixes.places == strings.lengths[prefixes.rows])
            if len(over):
                # Logarithms, since only a vector of very small weight may be able to end.
                ended = prefixes.vectors.readout(over, model.final[:, None])[..., 0]  # (m, P)
                logs = np.log(ended) + prefixes.scale[over]
                total = np.logaddexp.reduce(logs, axis=1) - np.log(logs.shape[1])
                found[prefixes.rows[over]] = total
    if delicate.any():
        again = strings.rows(delicate)
        logs = log_joint_by_enumeration(model, again)
        found[delicate] = logs[np.arange(len(again)), again.lengths, -1]
    return found


def log_joint_by_enumeration(model: Automaton, strings: Strings) -> np.ndarray:
    """Compute `log_joint` as the sum over all k! permutations: for tests, and delicate strings."""
    k = len(model.symbols)
    found = np.full((len(strings), strings.ids.shape[1] + 1, k + 1), -np.inf)
    ahead = step_weights(model)
    ids = np.where(strings.inside, strings.ids, 0)
    for meaning in partial_permutations(k, k):
        logs = log_forward(model, Strings(meaning[ids], strings.lengths), ahead)
        with np.errstate(invalid="ignore"):
            found = np.logaddexp(found, logs[..., [*meaning, k]])
    return found - log(factorial(k))


@dataclass(frozen=True)
class _Prefixes:
    """One prefix of each of m strings, all with the same number of different symbols."""

    rows: np.ndarray  # (m,) the strings' numbers
    places: np.ndarray  # (m,) how many symbols have been read
    seen: int  # j, the number of different symbols; they have `partial_permutations(k, j)`
    # Forward vectors, one for each partial permutation, those of these strings first
    vectors: ForwardVectors | ForwardStates
    scale: np.ndarray  # (m, P) natural logarithms of the factors that these are to be multiplied by


def _out_of_range(model: Automaton, strings: Strings) -> np.ndarray:
    """Return (S,) bool, all alike: whether a single weight is too small for a common scale."""
    numbers = [model.initial, model.final, *(matrix.data for matrix in model.transitions)]
    return np.full(len(strings), min(map(smallest_positive, numbers)) < LEAST)


def _by_string_symbol(joint: np.ndarray, seen: int, order: np.ndarray) -> np.ndarray:
    """Sum (m, P, k + 1) weights over the partial permutations, in the strings' symbols: (m, k + 1).

    order: (m, k) the strings' symbols, the seen ones first, in order of first occurrence.
    """
    m, _, columns = joint.shape
    k = columns - 1
    flat = joint.reshape(m, -1)
    of_seen, of_others = gather(k, seen)
    found = np.empty((m, columns))
    for i in range(seen):
        found[np.arange(m), order[:, i]] = flat.take(of_seen[i], axis=1).sum(axis=1)
    if seen < k:  # all other symbols have the same weight
        others = flat.take(of_others, axis=1).sum(axis=1) / (k - seen)
        np.put_along_axis(found, order[:, seen:], others[:, None], axis=1)
    found[:, k] = joint[..., k].sum(axis=1)
    return found


def _all_prefixes(
    model: Automaton, lengths: np.ndarray, ids: np.ndarray, first: np.ndarray, delicate: np.ndarray
) -> Iterator[_Prefixes]:
    """Yield each prefix of each string of `canonical` once; arrays are valid until the next one.

    Sets `delicate` for strings with a vector whose numbers differ too much for a common scale.
    """
    k = len(model.symbols)
    kind = ForwardStates if model.is_deterministic else ForwardVectors
    every = steps_in_range(model)
    # Strings with the same number of different symbols have as many partial permutations.
    different = (first < lengths[:, None]).sum(axis=1)
    pending = np.argsort(different, kind="stable")
    while len(pending):
        most = perm(k, int(different[pending[-1]]))
        numbers = most * kind.size(model)
        if numbers > MOST:
            raise LogicgenError(
                f"lexinvariant: {most:,} ways to rename the symbols of a string, with a vector over"
                f" {len(model.states):,} states each, take {numbers * 8 / 2**30:.0f} GiB; use a"
                " deterministic automaton, fewer states, or estimated_log_probabilities"
            )
        size = max(1, BLOCK // numbers)
        rows, pending = pending[-size:], pending[:-size]
        vectors = kind(model, len(rows), most)
        scale = np.zeros((len(rows), 1))
        taken = 0  # steps since the last rescaling
        for seen in range(k + 1):
            begin = first[rows, seen - 1] + 1 if seen else np.zeros(len(rows), dtype=np.int64)
            finish = first[rows, seen] if seen < k else lengths[rows]
            # Sorted by how long they have no new symbol, so that strings drop out at the end.
            staying = finish - begin
            by_stay = np.argsort(-staying, kind="stable")
            rows, begin, finish, staying = (x[by_stay] for x in (rows, begin, finish, staying))
            vectors.choose(by_stay)
            scale = scale[by_stay]
            for step in range(staying[0] + 1):
                going = int(np.searchsorted(-staying, -step, side="right"))
                if step:
                    vectors.read_seen(ids[rows[:going], begin[:going] + step - 1], seen)
                    taken += 1
                if taken >= every or not seen:
                    taken = 0
                    delicate[rows] |= vectors.rescale(scale)
                yield _Prefixes(rows[:going], begin[:going] + step, seen, vectors, scale[:going])
            on = np.flatnonzero(finish < lengths[rows])
            if not len(on):
                break
            rows, scale = rows[on], np.repeat(scale[on], k - seen, axis=1)
            meaning = partial_permutations(k, seen)
            source, symbols = np.divmod(np.arange(len(meaning) * k), k)
            new = ~(meaning[source] == symbols[:, None]).any(axis=1)
            vectors.choose(on)
            vectors.read_new(source[new], symbols[new])
            taken += 1
