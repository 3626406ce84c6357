"""Sums over all strings: allsum, trimming, and the probabilistic automaton of a weighted one.

What all continuations of a state weigh solves one linear system, `x = A x + final` with A the
transitions added up over symbols. It has a finite solution exactly if, among the states that lie on
an accepting path, no cycle outweighs itself: the spectral radius of A is below 1. Source: Mohri,
Weighted Automata Algorithms (Handbook of Weighted Automata, 2009), for the closure and for pushing.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import splu

from logicgen.automata.automaton import Automaton
from logicgen.errors import LogicgenError

# Above so many states a dense matrix is too much, and what is that large is mostly an n-gram model.
DENSE = 3000

# How often the states of a cycle may be passed before the sum counts as infinite: that of a cycle
# of weight exactly 1 comes out as 1 over a rounding error or two.
INFINITE = 1e13


def accessible(automaton: Automaton) -> np.ndarray:
    """(n,) bool: states that some path from an initial state leads to."""
    return _reached(automaton.total, automaton.initial)


def coaccessible(automaton: Automaton) -> np.ndarray:
    """(n,) bool: states from which some path leads to a final state."""
    return _reached(csr_array(automaton.total.T), automaton.final)


def trim(automaton: Automaton) -> Automaton:
    """The same weights of all strings, from the states that lie on an accepting path.

    Raises LogicgenError where there is none, that is, where every string weighs 0.
    """
    useful = accessible(automaton) & coaccessible(automaton)
    if useful.all():
        return automaton
    if not useful.any():
        if not automaton.initial.any():
            reason = "it has no initial state"
        elif not automaton.final.any():
            reason = "it has no final state"
        else:
            finals = _list(automaton, automaton.final > 0)
            reason = f"no final state ({finals}) can be reached from an initial one"
        raise LogicgenError(
            f"automaton: every string weighs 0: {reason};"
            " add what is missing to its initial or final weights or its transitions"
        )
    return automaton.restricted(np.flatnonzero(useful))


def backward(automaton: Automaton) -> np.ndarray:
    """(n,): what all ways to the end weigh together, from each state.

    Raises LogicgenError naming the states of a cycle that makes it infinite. States that no path
    from an initial state leads to count as well.
    """
    able = np.flatnonzero(coaccessible(automaton))
    found = np.zeros(len(automaton.states))
    if len(able):
        part = automaton.restricted(able)
        check_finite(part)
        found[able] = solve(part.total, part.final)
    return found


def forward(automaton: Automaton) -> np.ndarray:
    """(n,): what all ways from the beginning weigh together, to each state.

    In a probabilistic automaton: how often a string passes the state, on average. Raises
    LogicgenError naming the states of a cycle that makes it infinite.
    """
    able = np.flatnonzero(accessible(automaton))
    found = np.zeros(len(automaton.states))
    if len(able):
        part = automaton.restricted(able)
        check_finite(part)
        found[able] = solve(csr_array(part.total.T), part.initial)
    return found


def allsum(automaton: Automaton) -> float:
    """The weights of all strings added up; 0 where there is no accepting path.

    Raises LogicgenError naming the states of a cycle where the sum is infinite.
    """
    useful = accessible(automaton) & coaccessible(automaton)
    if not useful.any():
        return 0.0
    part = trim(automaton)
    return float(part.initial @ backward(part))


def normalise(automaton: Automaton) -> Automaton:
    """The probabilistic automaton with `weight / allsum` as the probability of every string.

    Weights are pushed towards the initial states, so that the initial weights sum to 1 and, for
    every state, its final weight and its transitions do. It is trim, hence tight. Raises
    LogicgenError where the allsum is 0 or infinite.
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
    """Raises LogicgenError naming the states of a cycle whose closure is infinite.

    Component by component, since only states that reach each other share cycles. For a nonnegative
    matrix, `(I - A) x = 1` has a solution of positive numbers exactly if its spectral radius is
    below 1 (Berman and Plemmons, Nonnegative Matrices in the Mathematical Sciences, 1979, theorem
    6.2.3): no eigenvalue has to be computed.
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
            passed = _solved(matrix, ones)
        except ZeroDivisionError:
            passed = -ones
        if not ((passed >= 1 - 1e-9) & (passed < INFINITE)).all():
            chosen = np.isin(np.arange(len(component)), states)
            raise LogicgenError(
                "automaton: the weights of all strings add up to infinity: the cycles through"
                f" {_list(automaton, chosen)} have spectral radius {_perron_root(matrix):.6g}, and"
                " it has to be below 1; make the weights on them smaller"
            )


def solve(matrix: csr_array, known: np.ndarray) -> np.ndarray:
    """(n,): the solution x of `x = matrix x + known`, for a matrix of spectral radius below 1."""
    # Numbers far below the largest get their own relative precision from those they depend on.
    return matrix @ np.maximum(_solved(matrix, known), 0) + known


def _solved(matrix: csr_array, known: np.ndarray) -> np.ndarray:
    """As `solve`, for any matrix: with numbers below 0, too, where its spectral radius is above 1.

    Raises ZeroDivisionError where the system is singular to the last bit.
    """
    n = len(known)
    left = eye_array(n, format="csc") - csc_array(matrix)
    if n <= DENSE:
        factors, pivots, singular = dgetrf(left.toarray())
        if singular:
            raise ZeroDivisionError

        def inverse(right: np.ndarray) -> np.ndarray:
            return dgetrs(factors, pivots, right)[0]
    else:
        try:
            inverse = splu(left).solve
        except RuntimeError:
            raise ZeroDivisionError from None
    found = inverse(known)
    return found + inverse(known + matrix @ found - found)


def _reached(matrix: csr_array, start: np.ndarray) -> np.ndarray:
    """(n,) bool: what can be reached from entries of `start` that are not 0."""
    n = len(start)
    first = np.flatnonzero(start)
    # One more state that leads to all of them.
    rows, columns = matrix.nonzero()
    edges = csr_array(
        (
            np.ones(len(rows) + len(first)),
            (
                np.concatenate([rows, np.full(len(first), n)]),
                np.concatenate([columns, first]),
            ),
        ),
        shape=(n + 1, n + 1),
    )
    found = np.zeros(n + 1, dtype=bool)
    found[breadth_first_order(edges, n, return_predecessors=False)] = True
    return found[:n]


def _perron_root(matrix: csr_array) -> float:
    """The spectral radius of an irreducible matrix, to the digits that a message shows.

    Powers of I + A, since those of A alone need not converge.
    """
    vector = np.full(matrix.shape[0], 1 / matrix.shape[0])
    growth = 1.0
    for _ in range(10_000):
        after = vector + matrix @ vector
        before, growth = growth, float(after.sum())
        vector = after / growth
        if abs(growth - before) < 1e-12 * growth:
            break
    return growth - 1


def _list(automaton: Automaton, chosen: np.ndarray) -> str:
    """Up to five states by name."""
    names = [automaton.states[i] for i in np.flatnonzero(chosen)]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
