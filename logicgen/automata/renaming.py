"""The sum over all renamings of symbols, by what the symbols of a string may stand for.

Permutations that agree on the symbols seen so far give a prefix the same weight. So what is carried
through a string is one forward vector for each way to assign different symbols to those seen, and
where a new symbol comes in, each is continued with every symbol that it has not assigned yet: after
j different symbols of k there are k!/(k - j)! vectors instead of k!. Only which symbols of a string
are equal matters, so many strings share the same assignments and are done at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial, perm

import numpy as np
from scipy.sparse import csr_array

from logicgen.automata.assignments import assignments, blocks, canonical, gather, permutations
from logicgen.automata.automaton import Automaton
from logicgen.automata.strings import Strings
from logicgen.automata.weights import LEAST, carry, least, step_weights, steps_in_range

# Numbers in flight: strings are scored in groups whose vectors fit into a cache.
BLOCK = 250_000

# Up to so many states a dense matrix multiplies faster than a sparse one.
DENSE = 100


def log_joint(model: Automaton, strings: Strings, everywhere: bool = True) -> np.ndarray:
    """Natural logarithm of p' of a prefix and of what comes next, for a probabilistic automaton.

    What comes next is one of the k symbols or, last, the end. Shape (S, L + 1, k + 1) for all
    prefixes, nan beyond the end of a string; with `everywhere` false (S, k + 1), for the whole
    strings.
    """
    k = len(model.symbols)
    ahead = step_weights(model)  # (n, k + 1)
    weights = [least(matrix.data) for matrix in model.transitions]
    if min(least(ahead), least(model.initial), *weights) < LEAST:
        return log_joint_by_enumeration(model, strings, everywhere)
    shape = (len(strings), strings.ids.shape[1] + 1) if everywhere else (len(strings),)
    found = np.full((*shape, k + 1), np.nan)
    delicate = np.zeros(len(strings), dtype=bool)
    order, read, first = canonical(strings, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        for moment in _moments(model, strings.lengths, read, first, delicate):
            if not everywhere:
                moment = moment.at(strings.lengths)
                if not len(moment.rows):
                    continue
            top = moment.scale.max(axis=1)  # (m,)
            top = np.where(np.isfinite(top), top, 0)
            share = np.exp(moment.scale - top[:, None])  # (m, P)
            joint = (moment.vectors @ ahead) * share[..., None]  # (m, P, k + 1)
            classes, seen = moment.meaning.shape
            flat = joint.reshape(len(joint), -1)
            of_seen, of_others = gather(k, seen)
            values = np.empty((len(joint), k + 1))
            for i in range(seen):
                sums = flat.take(of_seen[i], axis=1).sum(axis=1)
                values[np.arange(len(joint)), order[moment.rows, i]] = sums
            if seen < k:  # no way to tell the others apart
                sums = flat.take(of_others, axis=1).sum(axis=1) / (k - seen)
                np.put_along_axis(values, order[moment.rows, seen:], sums[:, None], axis=1)
            values[:, k] = joint[..., k].sum(axis=1)
            place = (moment.rows, moment.places) if everywhere else moment.rows
            found[place] = np.log(values) + (top - np.log(classes))[:, None]
    if delicate.any():
        again = strings.rows(delicate)
        where = (delicate, slice(again.ids.shape[1] + 1)) if everywhere else delicate
        found[where] = log_joint_by_enumeration(model, again, everywhere)
    return found


def log_joint_by_enumeration(
    model: Automaton, strings: Strings, everywhere: bool = True
) -> np.ndarray:
    """As `log_joint`, by the definition: every permutation is weighed on its own.

    For comparison, and for strings in which the numbers of one forward vector range too far for a
    common scale.
    """
    k = len(model.symbols)
    shape = (len(strings), strings.ids.shape[1] + 1) if everywhere else (len(strings),)
    found = np.full((*shape, k + 1), -np.inf)
    ahead = step_weights(model)
    for meaning in permutations(k):
        renamed = Strings(meaning[strings.ids], strings.lengths)
        logs = carry(model, renamed, ahead, everywhere)
        with np.errstate(invalid="ignore"):
            found = np.logaddexp(found, logs[..., [*meaning, k]])
    return found - np.log(factorial(k))


@dataclass(frozen=True)
class _Moment:
    """Some strings after some of their symbols, with equally many different ones each.

    Attributes:
        rows: (m,) the strings' numbers.
        places: (m,) how many symbols have been read.
        meaning: (P, j) what the j seen symbols, in order of first occurrence, stand for.
        vectors: (m, P, n) forward vectors.
        scale: (m, P) natural logarithms of what these are to be multiplied by.
    """

    rows: np.ndarray
    places: np.ndarray
    meaning: np.ndarray
    vectors: np.ndarray
    scale: np.ndarray

    def at(self, places: np.ndarray) -> _Moment:
        """Only those strings of which `places`, by number of the string, have been read."""
        chosen = self.places == places[self.rows]
        return _Moment(
            self.rows[chosen],
            self.places[chosen],
            self.meaning,
            self.vectors[chosen],
            self.scale[chosen],
        )


def _moments(
    model: Automaton,
    lengths: np.ndarray,
    ids: np.ndarray,
    first: np.ndarray,
    delicate: np.ndarray,
) -> Iterator[_Moment]:
    """Each string of `canonical` after each of its symbols, once.

    Marks in `delicate` the strings for which the numbers of one vector range too far. What is
    yielded holds until the next is asked for.
    """
    k, n = len(model.symbols), len(model.states)
    steps: list[np.ndarray | csr_array] = [
        matrix.toarray() if n <= DENSE else matrix for matrix in model.transitions
    ]
    every = steps_in_range(model)
    # Strings of as many different symbols together: these have as many vectors.
    different = (first < lengths[:, None]).sum(axis=1)
    pending = np.argsort(different, kind="stable")
    while len(pending):
        size = max(1, BLOCK // (perm(k, int(different[pending[-1]])) * n))
        rows, pending = pending[-size:], pending[:-size]
        vectors = np.tile(model.initial, (len(rows), 1, 1))  # (m, P, n)
        spare = np.empty(2 * len(rows) * perm(k, int(different[rows].max())) * n)
        scale = np.zeros((len(rows), 1))
        taken = 0  # steps since the last rescaling
        for seen in range(k + 1):
            meaning = assignments(k, seen)
            begin = first[rows, seen - 1] + 1 if seen else np.zeros(len(rows), dtype=np.int64)
            finish = first[rows, seen] if seen < k else lengths[rows]
            # Those that stay longest without a new symbol first: the others drop out at the end.
            staying = finish - begin
            by_stay = np.argsort(-staying, kind="stable")
            rows, begin, finish, staying = (x[by_stay] for x in (rows, begin, finish, staying))
            vectors, scale = vectors[by_stay], scale[by_stay]
            for step in range(staying[0] + 1):
                going = int(np.searchsorted(-staying, -step, side="right"))
                some = vectors[:going]
                if step:
                    read = ids[rows[:going], begin[:going] + step - 1]
                    _step(some, read, k, seen, steps, spare)
                    taken += 1
                if taken >= every or not seen:
                    taken = 0
                    delicate[rows] |= _rescale(vectors, scale)
                yield _Moment(rows[:going], begin[:going] + step, meaning, some, scale[:going])
            on = finish < lengths[rows]
            if not on.any():
                break
            rows, scale = rows[on], np.repeat(scale[on], k - seen, axis=1)
            source, symbols = np.divmod(np.arange(len(meaning) * k), k)
            new = ~(meaning[source] == symbols[:, None]).any(axis=1)
            source, symbols = source[new], symbols[new]  # (P * (k - seen),)
            before, vectors = vectors[on], np.empty((len(rows), len(source), n))
            for symbol, matrix in enumerate(steps):
                chosen = symbols == symbol
                some = before[:, source[chosen]]
                vectors[:, chosen] = (some.reshape(-1, n) @ matrix).reshape(some.shape)
            taken += 1


def _step(
    vectors: np.ndarray,
    read: np.ndarray,
    k: int,
    seen: int,
    steps: list[np.ndarray | csr_array],
    spare: np.ndarray,
) -> None:
    """Take the vectors (m, P, n) through one more seen symbol in each string, in place.

    Each symbol has one matrix to multiply with. Of the assignments to what was read, as many stand
    for each symbol, so all can be ordered by it, multiplied in k blocks, and ordered back.

    Args:
        read: (m,) the symbol of each string, by order of first occurrence.
        spare: room for as many numbers twice: fresh memory costs more than the arithmetic.
    """
    by_symbol, symbols, within = blocks(k, seen)
    m, classes, n = vectors.shape
    each = classes // k  # assignments for a symbol
    strings = np.arange(m)[:, None]
    source = by_symbol[:, read] + classes * strings  # (k, m, P / k)
    ordered, after = spare[: 2 * vectors.size].reshape(2, k, m * each, n)
    vectors.reshape(-1, n).take(source.reshape(k, -1), axis=0, mode="clip", out=ordered)
    for symbol, matrix in enumerate(steps):
        if isinstance(matrix, np.ndarray):
            np.matmul(ordered[symbol], matrix, out=after[symbol])
        else:
            after[symbol] = ordered[symbol] @ matrix
    back = (symbols[read] * m + strings) * each + within[read]  # (m, P)
    after.reshape(-1, n).take(back, axis=0, mode="clip", out=vectors)


def _rescale(vectors: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Make every vector sum to 1, in place. Returns (m,) bool: where numbers range too far."""
    sums = vectors.sum(axis=2)
    scale += np.log(sums)
    vectors /= np.where(sums > 0, sums, 1)[..., None]
    return np.where(vectors > 0, vectors, 1).min(axis=(1, 2)) < LEAST
