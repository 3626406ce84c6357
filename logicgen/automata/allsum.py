"""Sums over all strings: allsum, trimming, and the probabilistic automaton of a weighted one.

The backward weight of a state, the total weight of all paths from it to the end, solves the linear
system `x = A x + final`, where A is the sum of the transition matrices of all symbols. The solution
is finite exactly if A, restricted to the states on accepting paths, has a spectral radius below 1.
Source: Mohri, Weighted Automata Algorithms (Handbook of Weighted Automata, 2009), for the closure
and for weight pushing.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import splu

from logicgen.automata.automaton import Automaton, up_to_five
from logicgen.errors import LogicgenError

# Up to so many states systems are solved densely; larger automata, mostly n-grams, are sparse.
DENSE = 3000

# A closure above this counts as infinite: that of a cycle of weight exactly 1 is computed as 1
# divided by a rounding error or two.
INFINITE = 1e13


def accessible(automaton: Automaton) -> np.ndarray:
    """Return which states can be reached from an initial state, (n,) bool."""
    return _reached(automaton.total, automaton.initial)


def coaccessible(automaton: Automaton) -> np.ndarray:
    """Return from which states a final state can be reached, (n,) bool."""
    return _reached(csr_array(automaton.total.T), automaton.final)


def trim(automaton: Automaton) -> Automaton:
    """Return the automaton of the states on accepting paths; raise LogicgenError if none is."""
    useful = accessible(automaton) & coaccessible(automaton)
    if useful.all():
        return automaton
    if not useful.any():
        if not automaton.initial.any():
            reason = "it has no initial state"
        elif not automaton.final.any():
            reason = "it has no final state"
        else:
            finals = automaton.names(automaton.final > 0)
            reason = f"no final state ({up_to_five(finals)}) can be reached from an initial one"
        raise LogicgenError(
            f"automaton: every string weighs 0: {reason};"
            " add what is missing to its initial or final weights or its transitions"
        )
    return automaton.restricted(np.flatnonzero(useful))


def backward(automaton: Automaton) -> np.ndarray:
    """Return the backward weights (n,), of all paths from each state, reachable or not, to the end.

    Raises LogicgenError naming the states of a cycle that makes a weight infinite.
    """
    return _solve_on(automaton, coaccessible(automaton), backwards=True)


def forward(automaton: Automaton) -> np.ndarray:
    """Return the forward weights (n,), of all paths from the beginning to each state.

    In a probabilistic automaton this is how often a string visits the state on average. Raises
    LogicgenError naming the states of a cycle that makes a weight infinite.
    """
    return _solve_on(automaton, accessible(automaton), backwards=False)


def _solve_on(automaton: Automaton, chosen: np.ndarray, backwards: bool) -> np.ndarray:
    """Return the weights of paths among the chosen states, (n,), 0 at all others."""
    found = np.zeros(len(automaton.states))
    if chosen.any():
        part = automaton.restricted(np.flatnonzero(chosen))
        check_finite(part)
        total, ends = (part.total, part.final) if backwards else (part.total.T, part.initial)
        found[chosen] = solve_linear(csr_array(total), ends)
    return found


def allsum(automaton: Automaton) -> float:
    """Return the sum of all strings' weights; raise LogicgenError, naming states, if infinite."""
    useful = accessible(automaton) & coaccessible(automaton)
    if not useful.any():
        return 0.0
    part = trim(automaton)
    return float(part.initial @ backward(part))


def normalise(automaton: Automaton) -> Automaton:
    """Return the probabilistic automaton that gives every string its weight / allsum.

    Weights are pushed towards the initial states, so that the initial weights sum to 1, and so do
    the final weight and the transitions of each state. It is trim, hence tight. Raises
    LogicgenError if the allsum is 0 or infinite.
    """
    part = trim(automaton)
    ahead = backward(part)
    initial = part.initial * ahead
    transitions = []
    for matrix in part.transitions:
        pushed = matrix.copy()
        source = np.repeat(np.arange(len(ahead)), np.diff(matrix.indptr))
        pushed.data = matrix.data * (ahead[matrix.indices] / ahead[source])
        transitions.append(pushed)
    return Automaton(
        part.symbols, part.states, initial / initial.sum(), part.final / ahead, tuple(transitions)
    )


def check_finite(automaton: Automaton) -> None:
    """Raise LogicgenError, naming the states, if the closure of a cycle is infinite.

    No cycle leaves a strongly connected component. For a nonnegative matrix A, `(I - A) x = 1` has
    a positive solution exactly if the spectral radius is below 1 (Berman and Plemmons, Nonnegative
    Matrices in the Mathematical Sciences, 1979, theorem 6.2.3): no eigenvalue is needed.
    """
    total = automaton.total
    count, component = connected_components(total, connection="strong")
    sizes = np.bincount(component, minlength=count)
    loops = total.diagonal()
    alone = sizes[component] == 1
    for number in [*component[alone & (loops >= 1 - 1 / INFINITE)], *np.flatnonzero(sizes > 1)]:
        states = np.flatnonzero(component == number)
        matrix = csr_array(total[states][:, states])
        ones = np.ones(len(states))
        try:
            visits = _solution(matrix, ones)
        except ZeroDivisionError:
            visits = -ones
        if not ((visits >= 1 - 1e-9) & (visits < INFINITE)).all():
            names = up_to_five(automaton.names(component == number))
            raise LogicgenError(
                "automaton: the weights of all strings add up to infinity: the cycles through"
                f" {names} have spectral radius {_perron_root(matrix):.6g}, and"
                " it has to be below 1; make the weights on them smaller"
            )


def solve_linear(matrix: csr_array, known: np.ndarray) -> np.ndarray:
    """Return the x of `x = matrix x + known`, (n,), for a matrix of spectral radius below 1."""
    # One more step of the recursion gives numbers far below the largest their relative precision.
    return np.asarray(matrix @ np.maximum(_solution(matrix, known), 0) + known)


def _solution(matrix: csr_array, known: np.ndarray) -> np.ndarray:
    """Return a solution of `x = matrix x + known`; raise ZeroDivisionError if it is singular."""
    n = len(known)
    left = eye_array(n, format="csc") - csc_array(matrix)
    if n <= DENSE:
        factors, pivots, singular = dgetrf(left.toarray())
        if singular:
            raise ZeroDivisionError

        def inverse(right: np.ndarray) -> np.ndarray:
            return np.asarray(dgetrs(factors, pivots, right)[0])

    else:
        try:
            inverse = splu(left).solve
        except RuntimeError:
            raise ZeroDivisionError from None
    found = inverse(known)
    return np.asarray(found + inverse(known + matrix @ found - found))


def _reached(matrix: csr_array, start: np.ndarray) -> np.ndarray:
    """Return what can be reached from the nonzero entries of `start`, (n,) bool."""
    n = len(start)
    first = np.flatnonzero(start)
    # One more state, with an arc to each entry of `start`, makes it a search from one state.
    rows, columns = matrix.nonzero()
    edges = csr_array(
        (
            np.ones(len(rows) + len(first)),
            (np.concatenate([rows, np.full(len(first), n)]), np.concatenate([columns, first])),
        ),
        shape=(n + 1, n + 1),
    )
    found = np.zeros(n + 1, dtype=bool)
    found[breadth_first_order(edges, n, return_predecessors=False)] = True
    return found[:n]


def _perron_root(matrix: csr_array) -> float:
    """Return the spectral radius of an irreducible matrix A by power iteration with I + A."""
    vector = np.full(matrix.shape[0], 1 / matrix.shape[0])
    growth = 1.0
    for _ in range(10_000):
        after = vector + matrix @ vector
        before, growth = growth, float(after.sum())
        vector = after / growth
        if abs(growth - before) < 1e-12 * growth:
            break
    return growth - 1
