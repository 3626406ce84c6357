"""The sum over all renamings of symbols, computed with partial permutations.

The sum, divided by the number of renamings, is p', the lexinvariant model of an automaton
(`lexinvariant.py`).

A forward vector has a weight for each state: the weight of all paths that read the prefix and end
in the state. In a deterministic automaton only one weight is not 0. So the number of this state and
its weight replace the vector.

A partial permutation is a one-to-one map from the symbols of a prefix to symbols of the automaton.
Permutations that agree on the symbols of a prefix give it the same weight. So a string needs one
forward vector for each partial permutation. A new symbol extends each partial permutation by every
symbol that is not an image yet. If j of k symbols occur in a prefix, there are P = k!/(k - j)!
vectors instead of k!.

The symbols of each string are renumbered by first occurrence. So the tables of partial permutations
depend only on j and k, and many strings share the tables.

In shapes of arrays, S is the number of strings and L the length of the longest string; m strings
are read together. The automaton has n states and k symbols. P is the number of partial
permutations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations as all_permutations
from math import factorial, log, perm

import numpy as np
from scipy.sparse import csr_array

from logicgen.automata.automaton import Automaton
from logicgen.automata.strings import Strings
from logicgen.automata.weights import (
    LEAST,
    log_forward,
    smallest_positive,
    step_weights,
    steps_in_range,
)
from logicgen.errors import LogicgenError

# Up to this number of states, a dense matrix multiplies faster than a sparse matrix.
DENSE = 100


class ForwardVectors:
    """Forward vectors (m, P, n) for m strings, P partial permutations and n states.

    count: the number of strings.
    most: the largest P that will occur; it determines the size of buffers.
    """

    def __init__(self, model: Automaton, count: int, most: int) -> None:
        n = len(model.states)
        self.symbols = len(model.symbols)
        self.steps: list[np.ndarray | csr_array] = [
            matrix.toarray() if n <= DENSE else matrix for matrix in model.transitions
        ]
        self.vectors = np.tile(model.initial, (count, 1, 1))
        # A buffer for two arrays of `read_seen`: allocating them costs more than the arithmetic.
        self.spare = np.empty(2 * count * most * n)

    @staticmethod
    def size(model: Automaton) -> int:
        """Return the count of numbers that are stored for each string and partial permutation."""
        return 3 * len(model.states)

    def choose(self, rows: np.ndarray) -> None:
        """Keep only the strings with the numbers `rows`, in this order."""
        self.vectors = self.vectors[rows]

    def read_new(self, source: np.ndarray, symbols: np.ndarray) -> None:
        """Read a symbol that did not occur before in any of the strings.

        New partial permutation i extends the old partial permutation `source[i]`: it also maps the
        new symbol to `symbols[i]`.
        """
        before = self.vectors
        self.vectors = np.empty((len(before), len(source), before.shape[2]))
        for symbol, matrix in enumerate(self.steps):
            chosen = symbols == symbol
            some = before[:, source[chosen]]
            self.vectors[:, chosen] = (some.reshape(-1, some.shape[2]) @ matrix).reshape(some.shape)

    def read_seen(self, read: np.ndarray, seen: int) -> None:
        """Read a symbol that occurred before, in the first m strings.

        read: (m,) the number of the symbol in each string.
        seen: the number of different symbols that have been read.

        Each vector is multiplied by the matrix of the image of the symbol. Vectors are sorted by
        this image, multiplied in k blocks of equal size, and sorted back.
        """
        vectors = self.vectors[: len(read)]
        m, classes, n = vectors.shape
        k = self.symbols
        by_symbol, symbols, within = blocks(k, seen)
        each = classes // k  # the number of partial permutations that map `read` to a given symbol
        strings = np.arange(m)[:, None]
        source = by_symbol[:, read] + classes * strings  # (k, m, P / k)
        ordered, after = self.spare[: 2 * vectors.size].reshape(2, k, m * each, n)
        vectors.reshape(-1, n).take(source.reshape(k, -1), axis=0, mode="clip", out=ordered)
        for symbol, matrix in enumerate(self.steps):
            if isinstance(matrix, np.ndarray):
                np.matmul(ordered[symbol], matrix, out=after[symbol])
            else:
                after[symbol] = ordered[symbol] @ matrix
        back = (symbols[read] * m + strings) * each + within[read]  # (m, P)
        after.reshape(-1, n).take(back, axis=0, mode="clip", out=vectors)

    def rescale(self, scale: np.ndarray) -> np.ndarray:
        """Divide each vector by its sum, and add the logarithm of the sum to `scale`, in place.

        scale: (m, P), for m strings and P partial permutations.

        Returns (m,) bool: whether the smallest positive entry of a string's vectors may underflow.
        """
        sums = self.vectors.sum(axis=2)
        scale += np.log(sums)
        self.vectors /= np.where(sums > 0, sums, 1)[..., None]
        smallest: np.ndarray = np.where(self.vectors > 0, self.vectors, 1).min(axis=(1, 2))
        return smallest < LEAST

    def readout(self, strings: np.ndarray | slice, matrix: np.ndarray) -> np.ndarray:
        """Multiply the forward vectors (m, P, n) of m strings by a matrix (n, r).

        Returns (m, P, r), for P partial permutations and n states.
        """
        return np.asarray(self.vectors[strings] @ matrix)


class ForwardStates:
    """Forward vectors of a deterministic automaton, with the methods of `ForwardVectors`.

    For m strings and P partial permutations, (m, P) arrays contain the state that was reached and
    the weight of its path.
    """

    def __init__(self, model: Automaton, count: int, most: int) -> None:
        k, self.states = len(model.symbols), len(model.states)
        self.symbols = k
        # Target and weight of each symbol's arc from each state; weight 0 if there is no arc.
        self.target = np.zeros(k * self.states, dtype=np.int64)
        self.step = np.zeros(k * self.states)
        for symbol, matrix in enumerate(model.transitions):
            source, target = matrix.tocoo().coords
            self.target[symbol * self.states + source] = target
            self.step[symbol * self.states + source] = matrix.data
        start = int(model.initial.argmax())
        self.state = np.full((count, 1), start)
        self.weight = np.full((count, 1), model.initial[start])

    @staticmethod
    def size(model: Automaton) -> int:
        return 6

    def choose(self, rows: np.ndarray) -> None:
        self.state, self.weight = self.state[rows], self.weight[rows]

    def read_new(self, source: np.ndarray, symbols: np.ndarray) -> None:
        self.state, self.weight = self.state[:, source], self.weight[:, source]
        self._go(len(self.state), symbols)

    def read_seen(self, read: np.ndarray, seen: int) -> None:
        self._go(len(read), partial_permutations(self.symbols, seen).T[read])

    def _go(self, count: int, symbols: np.ndarray) -> None:
        place = symbols * self.states + self.state[:count]
        self.weight[:count] *= self.step[place]
        self.state[:count] = self.target[place]

    def rescale(self, scale: np.ndarray) -> np.ndarray:
        """Add the logarithm of each weight to `scale`, in place, and set the weight to 1.

        A weight of 0 remains 0.

        scale: (m, P), for m strings and P partial permutations.

        Returns (m,) bool, as in `ForwardVectors`: all false, as a single weight cannot underflow.
        """
        scale += np.log(self.weight)
        self.weight[:] = self.weight > 0
        return np.zeros(len(scale), dtype=bool)

    def readout(self, strings: np.ndarray | slice, matrix: np.ndarray) -> np.ndarray:
        return np.asarray(matrix[self.state[strings]] * self.weight[strings][..., None])


def permutations(symbols: int) -> np.ndarray:
    """Return all permutations of k symbols, (k!, k).

    Entry (i, j) is the number of the symbol to which permutation i maps symbol j.
    """
    return partial_permutations(symbols, symbols)


def canonical(strings: Strings, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Renumber the symbols of each string in order of first occurrence.

    The first result, (S, k), contains the old numbers of the symbols in the new order; symbols that
    do not occur in the string are last. The second result, (S, L), contains the renumbered strings.
    The third result, (S, k), contains the position of the first occurrence of each new number, or
    the length of the string if the symbol does not occur.
    """
    count, longest = strings.ids.shape
    ids = np.where(strings.inside, strings.ids, -1)
    first = np.empty((count, k), dtype=np.int64)
    for symbol in range(k):
        here = ids == symbol
        occurs = here.any(axis=1)
        first[:, symbol] = np.where(occurs, here.argmax(axis=1) if longest else 0, strings.lengths)
    order = np.argsort(first, axis=1, kind="stable")
    place = np.argsort(order, axis=1)
    renamed = np.take_along_axis(place, np.where(strings.inside, strings.ids, 0), axis=1)
    return order, renamed, np.take_along_axis(first, order, axis=1)


@lru_cache(maxsize=32)
def partial_permutations(k: int, seen: int) -> np.ndarray:
    """Return all maps from `seen` symbols to different symbols among k, (k! / (k - seen)!, seen).

    Each row is a partial permutation: the images of symbols 0, 1, ... Rows are in lexicographic
    order.
    """
    ways = list(all_permutations(range(k), seen))
    return np.array(ways, dtype=np.int64).reshape(perm(k, seen), seen)


@lru_cache(maxsize=32)
def blocks(k: int, seen: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group the P partial permutations by the image of each of the `seen` symbols.

    P / k partial permutations map symbol s to symbol x. They form the group (x, s). The first
    result, (k, seen, P / k), contains the indices of the partial permutations in each group. The
    second result, (seen, P), contains the image of s under each partial permutation. The third
    result, (seen, P), contains the place of each partial permutation in its group.
    """
    meaning = partial_permutations(k, seen)
    order = np.argsort(meaning.T, axis=1, kind="stable")  # (seen, P)
    rank = np.argsort(order, axis=1)
    each = len(meaning) // k
    return order.reshape(seen, k, each).transpose(1, 0, 2).copy(), rank // each, rank % each


@lru_cache(maxsize=32)
def gather(k: int, seen: int) -> tuple[np.ndarray, np.ndarray]:
    """Return flat indices into an array (P, k + 1) with a column for each symbol and the end.

    The first result, (seen, P), contains the index of the image of each of the `seen` symbols under
    each of the P partial permutations. The second result, (P * (k - seen),), contains the indices
    of the symbols that are not an image under a partial permutation.
    """
    meaning = partial_permutations(k, seen)
    numbers = np.arange(len(meaning) * (k + 1)).reshape(-1, k + 1)
    free = np.ones((len(meaning), k + 1), dtype=bool)
    np.put_along_axis(free, meaning, False, axis=1)
    free[:, k] = False
    return np.take_along_axis(numbers, meaning, axis=1).T.copy(), numbers[free]


# BLOCK: the count of numbers in the forward vectors of strings that are read together. These
# numbers fit into a CPU cache. MOST: the largest permitted count for a single string (4 GiB).
BLOCK = 750_000
MOST = 2**29


def log_joint(model: Automaton, strings: Strings) -> np.ndarray:
    """Return the natural logarithm of p' for each prefix and next symbol, (S, L + 1, k + 1).

    Here p' is the mean over all renamings of the joint probability of the prefix and the symbol.
    The last column is for the end of the string. Entries after the end are nan. The automaton has
    to be probabilistic.
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
    """Return the natural logarithm of p' for each of S strings, (S,).

    Here p' is the mean probability of the string over all renamings of symbols. The automaton has
    to be probabilistic.
    """
    found = np.empty(len(strings))
    delicate = _out_of_range(model, strings)
    _, read, first = canonical(strings, len(model.symbols))
    with np.errstate(divide="ignore", invalid="ignore"):
        for prefixes in _all_prefixes(model, strings.lengths, read, first, delicate):
            over = np.flatnonzero(prefixes.places == strings.lengths[prefixes.rows])
            if len(over):
                # Sum with `logaddexp`, since the vectors that can end may have very small weights.
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
    """Return the same as `log_joint`, computed as the sum over all k! permutations.

    This function is slower than `log_joint`. It is used in tests, and for strings whose weights
    would underflow in `log_joint`.
    """
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

    rows: np.ndarray  # (m,) the numbers of the strings
    places: np.ndarray  # (m,) the length of each prefix
    seen: int  # the number of different symbols in each prefix
    # The forward vectors of at least m strings; the first m belong to these prefixes.
    vectors: ForwardVectors | ForwardStates
    scale: np.ndarray  # (m, P) natural logarithm of the number that each vector was divided by


def _out_of_range(model: Automaton, strings: Strings) -> np.ndarray:
    """Return whether the automaton has a weight so small that forward vectors may underflow.

    The answer is repeated for each string, (S,) bool.
    """
    numbers = [model.initial, model.final, *(matrix.data for matrix in model.transitions)]
    return np.full(len(strings), min(map(smallest_positive, numbers)) < LEAST)


def _by_string_symbol(joint: np.ndarray, seen: int, order: np.ndarray) -> np.ndarray:
    """Sum the weights of m strings over P partial permutations, by symbol of the string.

    Returns (m, k + 1) sums for k symbols; the last column is for the end.

    joint: (m, P, k + 1) weights by symbol of the automaton; the last column is for the end.
    order: (m, k) the symbols in order of first occurrence; symbols that do not occur are last.
    """
    m, _, columns = joint.shape
    k = columns - 1
    flat = joint.reshape(m, -1)
    of_seen, of_others = gather(k, seen)
    found = np.empty((m, columns))
    for i in range(seen):
        found[np.arange(m), order[:, i]] = flat.take(of_seen[i], axis=1).sum(axis=1)
    if seen < k:  # all symbols that do not occur in the prefix have the same weight
        others = flat.take(of_others, axis=1).sum(axis=1) / (k - seen)
        np.put_along_axis(found, order[:, seen:], others[:, None], axis=1)
    found[:, k] = joint[..., k].sum(axis=1)
    return found


def _numbers(model: Automaton, kind: type[ForwardStates | ForwardVectors], ways: int) -> int:
    """Return the count of numbers in the forward vectors of a string under all renamings.

    ways: the number of renamings.

    Raises LogicgenError if the count is above MOST.
    """
    numbers = ways * kind.size(model)
    if numbers > MOST:
        raise LogicgenError(
            f"lexinvariant: {ways:,} ways to rename the symbols of a string, with a vector over"
            f" {len(model.states):,} states each, take {numbers * 8 / 2**30:.0f} GiB; use a"
            " deterministic automaton, fewer states, or estimated_log_probabilities"
        )
    return numbers


def _all_prefixes(
    model: Automaton, lengths: np.ndarray, ids: np.ndarray, first: np.ndarray, delicate: np.ndarray
) -> Iterator[_Prefixes]:
    """Yield all prefixes of S strings in groups. The next group overwrites the arrays of a group.

    ids, first: renumbered strings (S, L) and first positions of symbols (S, k), of `canonical`.
    delicate: (S,) bool; set to True, in place, for each string if its vectors may underflow.
    """
    k = len(model.symbols)
    kind = ForwardStates if model.is_deterministic else ForwardVectors
    every = steps_in_range(model)
    # Read strings with equally many different symbols together, so that they need equal memory.
    different = (first < lengths[:, None]).sum(axis=1)
    pending = np.argsort(different, kind="stable")
    while len(pending):
        most = perm(k, int(different[pending[-1]]))
        size = max(1, BLOCK // _numbers(model, kind, most))
        rows, pending = pending[-size:], pending[:-size]
        vectors = kind(model, len(rows), most)
        scale = np.zeros((len(rows), 1))
        taken = 0  # symbols read since the last rescaling
        for seen in range(k + 1):
            begin = first[rows, seen - 1] + 1 if seen else np.zeros(len(rows), dtype=np.int64)
            finish = first[rows, seen] if seen < k else lengths[rows]
            # Sort strings by the distance to the next new symbol, longest first. Then the strings
            # that still read known symbols are always the first rows.
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
