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

from logicgen.automata.assignments import assignments, canonical, gather, permutations
from logicgen.automata.automaton import Automaton
from logicgen.automata.carried import Points, Vectors
from logicgen.automata.strings import Strings
from logicgen.automata.weights import LEAST, carry, least, step_weights, steps_in_range
from logicgen.errors import LogicgenError

# Numbers in flight: strings are scored in groups whose vectors fit into a cache; and the most that
# those of one string may be, 4 GiB.
BLOCK = 750_000
MOST = 2**29


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
            joint = (
                moment.carried.readout(slice(len(top)), ahead) * share[..., None]
            )  # (m, P, k + 1)
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
            over = np.flatnonzero(moment.places == strings.lengths[moment.rows])
            if len(over):
                # Logarithms, since only a way that has fallen far behind may be able to end.
                ended = moment.carried.readout(over, model.final[:, None])[..., 0]  # (m, P)
                logs = np.log(ended) + moment.scale[over]
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
        carried: forward vectors, those of these strings first, one for each assignment.
        scale: (m, P) natural logarithms of what these are to be multiplied by.
    """

    rows: np.ndarray
    places: np.ndarray
    seen: int
    carried: Vectors | Points
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
    k = len(model.symbols)
    kind = Points if model.is_deterministic else Vectors
    every = steps_in_range(model)
    # Strings of as many different symbols together: these have as many assignments.
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
        carried = kind(model, len(rows), most)
        scale = np.zeros((len(rows), 1))
        taken = 0  # steps since the last rescaling
        for seen in range(k + 1):
            begin = first[rows, seen - 1] + 1 if seen else np.zeros(len(rows), dtype=np.int64)
            finish = first[rows, seen] if seen < k else lengths[rows]
            # Those that stay longest without a new symbol first: the others drop out at the end.
            staying = finish - begin
            by_stay = np.argsort(-staying, kind="stable")
            rows, begin, finish, staying = (x[by_stay] for x in (rows, begin, finish, staying))
            carried.choose(by_stay)
            scale = scale[by_stay]
            for step in range(staying[0] + 1):
                going = int(np.searchsorted(-staying, -step, side="right"))
                if step:
                    carried.read_seen(ids[rows[:going], begin[:going] + step - 1], seen)
                    taken += 1
                if taken >= every or not seen:
                    taken = 0
                    delicate[rows] |= carried.rescale(scale)
                yield _Moment(rows[:going], begin[:going] + step, seen, carried, scale[:going])
            on = np.flatnonzero(finish < lengths[rows])
            if not len(on):
                break
            rows, scale = rows[on], np.repeat(scale[on], k - seen, axis=1)
            meaning = assignments(k, seen)
            source, symbols = np.divmod(np.arange(len(meaning) * k), k)
            new = ~(meaning[source] == symbols[:, None]).any(axis=1)
            carried.choose(on)
            carried.read_new(source[new], symbols[new])
            taken += 1
