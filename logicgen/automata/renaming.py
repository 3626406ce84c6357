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


def log_joint(model: Automaton, strings: Strings) -> np.ndarray:
    """(S, L + 1, k + 1): natural logarithm of p' of each prefix and of what comes next.

    That is one of the k symbols or, last, the end. nan beyond the end of a string. The automaton
    has to be probabilistic.
    """
    k = len(model.symbols)
    ahead = step_weights(model)  # (n, k + 1)
    found = np.full((len(strings), strings.ids.shape[1] + 1, k + 1), np.nan)
    delicate = _out_of_range(model, strings)
    order, read, first = canonical(strings, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        for moment in _moments(model, strings.lengths, read, first, delicate):
            top = moment.scale.max(axis=1)  # (m,)
            top = np.where(np.isfinite(top), top, 0)
            share = np.exp(moment.scale - top[:, None])  # (m, P)
            joint = (moment.vectors @ ahead) * share[..., None]  # (m, P, k + 1)
            values = _for_the_strings(joint, moment.seen, order[moment.rows])
            classes = joint.shape[1]
            found[moment.rows, moment.places] = np.log(values) + (top - np.log(classes))[:, None]
    if delicate.any():
        again = strings.rows(delicate)
        some = log_joint_by_enumeration(model, again)
        found[delicate, : some.shape[1]] = some
    return found


def log_ended(model: Automaton, strings: Strings) -> np.ndarray:
    """(S,): natural logarithm of p' of each string, for a probabilistic automaton."""
    found = np.empty(len(strings))
    delicate = _out_of_range(model, strings)
    _, read, first = canonical(strings, len(model.symbols))
    with np.errstate(divide="ignore", invalid="ignore"):
        for moment in _moments(model, strings.lengths, read, first, delicate):
            over = moment.places == strings.lengths[moment.rows]
            if over.any():
                # Logarithms, since only a way that has fallen far behind may be able to end.
                logs = np.log(moment.vectors[over] @ model.final) + moment.scale[over]
                total = np.logaddexp.reduce(logs, axis=1) - np.log(logs.shape[1])
                found[moment.rows[over]] = total
    if delicate.any():
        again = strings.rows(delicate)
        logs = log_joint_by_enumeration(model, again)
        found[delicate] = logs[np.arange(len(again)), again.lengths, -1]
    return found


def log_joint_by_enumeration(model: Automaton, strings: Strings) -> np.ndarray:
    """As `log_joint`, by the definition: every permutation is weighed on its own.

    For comparison, and for strings in which the numbers of one forward vector range too far for a
    common scale.
    """
    k = len(model.symbols)
    found = np.full((len(strings), strings.ids.shape[1] + 1, k + 1), -np.inf)
    ahead = step_weights(model)
    ids = np.where(strings.inside, strings.ids, 0)
    for meaning in permutations(k):
        logs = carry(model, Strings(meaning[ids], strings.lengths), ahead)
        with np.errstate(invalid="ignore"):
            found = np.logaddexp(found, logs[..., [*meaning, k]])
    return found - np.log(factorial(k))


@dataclass(frozen=True)
class _Moment:
    """Some strings after some of their symbols, with equally many different ones each.

    Attributes:
        rows: (m,) the strings' numbers.
        places: (m,) how many symbols have been read.
        seen: how many different symbols j; `assignments(k, j)` says what they may stand for.
        vectors: (m, P, n) forward vectors, one for each assignment.
        scale: (m, P) natural logarithms of what these are to be multiplied by.
    """

    rows: np.ndarray
    places: np.ndarray
    seen: int
    vectors: np.ndarray
    scale: np.ndarray


def _out_of_range(model: Automaton, strings: Strings) -> np.ndarray:
    """(S,) bool: all strings, if single weights are too small for a common scale."""
    numbers = [model.initial, model.final, *(matrix.data for matrix in model.transitions)]
    return np.full(len(strings), min(map(least, numbers)) < LEAST)


def _for_the_strings(joint: np.ndarray, seen: int, order: np.ndarray) -> np.ndarray:
    """(m, k + 1): what the assignments together say about the symbols of the strings and the end.

    Args:
        joint: (m, P, k + 1) what each assignment says about the automaton's symbols and the end.
        order: (m, k) the strings' symbols, the seen ones first, in order of first occurrence.
    """
    m, _, columns = joint.shape
    k = columns - 1
    flat = joint.reshape(m, -1)
    of_seen, of_others = gather(k, seen)
    found = np.empty((m, columns))
    for i in range(seen):
        found[np.arange(m), order[:, i]] = flat.take(of_seen[i], axis=1).sum(axis=1)
    if seen < k:  # no way to tell the others apart
        others = flat.take(of_others, axis=1).sum(axis=1) / (k - seen)
        np.put_along_axis(found, order[:, seen:], others[:, None], axis=1)
    found[:, k] = joint[..., k].sum(axis=1)
    return found


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
                yield _Moment(rows[:going], begin[:going] + step, seen, some, scale[:going])
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
