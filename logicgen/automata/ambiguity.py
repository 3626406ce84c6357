"""A test of ambiguity: does some string have several accepting paths?"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from logicgen.automata.allsum import accessible, coaccessible, trim
from logicgen.automata.automaton import Automaton, is_deterministic


def ambiguous_pair(automaton: Automaton) -> tuple[str, str] | None:
    """Return two states that accepting paths of one string visit at the same position, or None.

    A state of the squared automaton is a pair of states that two paths over the same symbols reach.
    An automaton is ambiguous exactly if a pair of different states lies on an accepting path of its
    square. Source: Allauzen, Mohri, Rastogi, General Algorithms for Testing the Ambiguity of Finite
    Automata (DLT 2008).
    """
    if not (accessible(automaton) & coaccessible(automaton)).any():
        return None
    part = trim(automaton)
    ahead = [(matrix > 0).astype(np.int64) for matrix in part.transitions]
    back = [csr_array(matrix.T) for matrix in ahead]
    if part.is_deterministic or is_deterministic(back, part.final):
        return None
    # Pairs that can be reached, and those from which a pair of final states can be reached.
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
    """Return the pairs reached from `start` by the same symbols; back: `ahead`, transposed."""
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
