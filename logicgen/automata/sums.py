"""Sums over all strings: allsum, trimming, normalization, tightness.

The allsum is the sum of the weights of all strings. Normalization makes a weighted automaton
probabilistic. In shapes of arrays, n is the number of states.

The backward weight of a state is the total weight of all paths from the state to the end. The
backward weights x of all states solve the linear system `x = A x + final`; A is the sum of all
transition matrices. The solution is finite exactly if A, restricted to the states on accepting
paths, has a spectral radius below 1.

If weights of paths are too large or too small for floating-point numbers, the system is solved for
`x / 2^e` instead of x. The integer e of a state is chosen so that 2^e is near the weight of the
best path from the state.

A probabilistic automaton is tight if it loses no probability to strings that never end. It is
tight exactly if every accessible state is coaccessible: a final state can be reached from it.

The closure of a matrix A is I + A + A^2 + ..., the sum over paths of all lengths. Weight pushing
multiplies the weight of a transition by the backward weight of its target state, and divides it by
the backward weight of its source state.
Source for closure and weight pushing: Mohri, Weighted Automata Algorithms (Handbook of Weighted
Automata, 2009).

Source for tightness: Du, Torroba Hennigen, Pimentel, Meister, Eisner, Cotterell, A
Measure-Theoretic Characterization of Tight Language Models (ACL 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import splu

from logicgen.automata.automaton import Automaton, up_to_five
from logicgen.errors import LogicgenError

# Up to this number of states, systems are solved with dense matrices. Larger automata are mostly
# n-gram models, and sparse.
DENSE = 3000

# A closure with a larger entry counts as infinite. If a cycle has weight exactly 1, the closure is
# infinite, but its computed value is 1 divided by a rounding error.
INFINITE = 1e13

# If an entry of a solution is below SMALLEST or above 1 / SMALLEST, the solution is computed again
# for `x / 2^e`.
SMALLEST = 1e-140


def accessible(automaton: Automaton) -> np.ndarray:
    """Return whether each of n states can be reached from an initial state, (n,) bool."""
    return _reached(automaton.total, automaton.initial)


def coaccessible(automaton: Automaton) -> np.ndarray:
    """Return whether a final state can be reached from each of n states, (n,) bool."""
    return _reached(csr_array(automaton.total.T), automaton.final)


def useful(automaton: Automaton) -> np.ndarray:
    """Return whether each of n states is on an accepting path, (n,) bool."""
    return np.asarray(accessible(automaton) & coaccessible(automaton))


def trim(automaton: Automaton) -> Automaton:
    """Remove the states that are on no accepting path.

    Raises LogicgenError if no state is on an accepting path.
    """
    kept = useful(automaton)
    if kept.all():
        return automaton
    if not kept.any():
        if not automaton.initial.any():
            reason = "it has no initial state"
        elif not automaton.final.any():
            reason = "it has no final state"
        else:
            finals = automaton.names(automaton.final > 0)
            reason = f"no final state ({up_to_five(finals)}) can be reached from an initial state"
        raise LogicgenError(
            f"automaton: every string weighs 0: {reason}; add the missing weights or transitions"
        )
    return automaton.restricted(np.flatnonzero(kept))


def forward(automaton: Automaton) -> np.ndarray:
    """Return the forward weight of each of n states, (n,).

    It is the total weight of all paths from the beginning to the state. In a probabilistic
    automaton, it is the expected number of visits of a random string to the state.

    Raises LogicgenError if a forward weight is infinite; the message names states.
    """
    reached = accessible(automaton)
    found = np.zeros(len(reached))
    if reached.any():
        part = automaton.restricted(np.flatnonzero(reached))
        check_finite(part)
        with np.errstate(over="ignore"):
            found[reached] = np.ldexp(*_path_weights(csr_array(part.total.T), part.initial))
        if np.isinf(found).any():
            raise LogicgenError(
                "automaton: the paths of states"
                f" {up_to_five(automaton.names(np.isinf(found)))} weigh more than a floating-point"
                " number holds; make the weights smaller"
            )
    return found


def allsum(automaton: Automaton) -> float:
    """Return the allsum, the sum of the weights of all strings.

    Raises LogicgenError if the allsum is infinite, or too large or too small for a floating-point
    number (see `log_allsum`).
    """
    number, exponent = _allsum(automaton)
    with np.errstate(over="ignore"):
        total = float(np.ldexp(number, exponent))
    if number and not 0 < total < math.inf:
        power = (math.log2(number) + exponent) * math.log10(2)
        raise LogicgenError(
            f"automaton: the weights of all strings add up to about 10^{power:.0f}, which is no"
            " floating-point number; scale the initial or final weights, or take log_allsum"
        )
    return total


def log_allsum(automaton: Automaton) -> float:
    """Return the natural logarithm of the allsum; -inf if the allsum is 0.

    Raises LogicgenError if the allsum is infinite; the message names the states of a cycle.
    """
    number, exponent = _allsum(automaton)
    return math.log(number) + exponent * math.log(2) if number else -math.inf


def _allsum(automaton: Automaton) -> tuple[float, int]:
    """Return a number x and an integer e, so that the allsum is `x 2^e`."""
    if not useful(automaton).any():
        return 0.0, 0
    initial, ahead, _, exponent = _pushed(trim(automaton))
    return float(initial @ ahead), exponent


def _pushed(part: Automaton) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return initial and backward weights as numbers times powers of 2, to avoid overflow.

    The results are arrays i, x and e (n,) and an integer t. The backward weights are `x 2^e`, the
    initial weights are `i 2^(t - e)`, and the allsum is `2^t (i @ x)`. The caller guarantees that
    all n states are on accepting paths.
    """
    check_finite(part)
    ahead, exponents = _path_weights(part.total, part.final)
    mantissas, powers = np.frexp(part.initial)
    together = powers + exponents
    top = int(together[mantissas > 0].max())
    return np.ldexp(mantissas, together - top), ahead, exponents, top


def normalise(automaton: Automaton) -> Automaton:
    """Return the probabilistic automaton in which the weight of a string is divided by the allsum.

    Weight pushing makes the initial weights sum to 1. For each state, the final weight and the
    transitions sum to 1, too. All states of the result are on accepting paths, so it is tight.
    Raises LogicgenError if the allsum is 0 or infinite.
    """
    return normalise_with_log(automaton)[0]


def normalise_with_log(automaton: Automaton) -> tuple[Automaton, float]:
    """Return the result of `normalise`, and the natural logarithm of the allsum."""
    part = trim(automaton)
    initial, ahead, exponents, exponent = _pushed(part)
    initial = initial * ahead
    transitions = []
    for matrix in part.transitions:
        pushed = matrix.copy()
        source = np.repeat(np.arange(len(ahead)), np.diff(matrix.indptr))
        data = np.ldexp(matrix.data, exponents[matrix.indices] - exponents[source])
        pushed.data = data * (ahead[matrix.indices] / ahead[source])
        transitions.append(pushed)
    final = np.ldexp(part.final, -exponents) / ahead
    total = initial.sum()
    model = Automaton(part.symbols, part.states, initial / total, final, tuple(transitions))
    return model, math.log(total) + exponent * math.log(2)


def check_finite(automaton: Automaton) -> None:
    """Raise LogicgenError if cycles make the sum of the weights of all paths infinite.

    The message names the states of the cycles. No cycle leaves a strongly connected component, so
    each component is checked alone. For a nonnegative matrix A, `(I - A) x = 1` has a positive
    solution exactly if the spectral radius is below 1. So the check needs no eigenvalue. Source:
    Berman and Plemmons, Nonnegative Matrices in the Mathematical Sciences, 1979, theorem 6.2.3.
    """
    total = automaton.total
    if not np.isfinite(total.data).all():
        raise LogicgenError(
            "automaton: the transitions from one state to another add up to more than a"
            " floating-point number holds; make their weights smaller"
        )
    count, component = connected_components(total, connection="strong")
    sizes = np.bincount(component, minlength=count)
    loops = total.diagonal()
    alone = sizes[component] == 1
    for number in [*component[alone & (loops >= 1 - 1 / INFINITE)], *np.flatnonzero(sizes > 1)]:
        states = np.flatnonzero(component == number)
        matrix = csr_array(total[states][:, states])
        if _has_closure(matrix):
            continue
        radius = _perron_root(matrix)
        # A very large weight can make the solution exceed `INFINITE`, although the product of each
        # cycle is small. So test the scaled matrix, too.
        first = np.eye(1, len(states))[0]
        if radius >= 1 or not _has_closure(_scaled(matrix, _best_paths(matrix, first))):
            names = up_to_five(automaton.names(component == number))
            raise LogicgenError(
                "automaton: the weights of all strings add up to infinity: the cycles through"
                f" {names} have spectral radius {radius:.6g}, and"
                " it has to be below 1; make the weights on them smaller"
            )


def _has_closure(matrix: csr_array) -> bool:
    """Return whether `x = matrix x + 1` has a finite and positive solution."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            visits = _solution(matrix, np.ones(matrix.shape[0]))
    except ZeroDivisionError:
        return False
    return bool(((visits >= 1 - 1e-9) & (visits < INFINITE)).all())


def _path_weights(matrix: csr_array, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve `x = matrix x + ends`; return arrays f and e, (n,), with `x = f 2^e`.

    The caller guarantees that the spectral radius is below 1, and that no entry of x is 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            found = solve_linear(matrix, ends)
        except ZeroDivisionError:
            found = np.zeros(len(ends))
    if ((found >= SMALLEST) & (found <= 1 / SMALLEST)).all():
        return found, np.zeros(len(ends), dtype=np.int64)
    exponents = _best_paths(matrix, ends)
    return solve_linear(_scaled(matrix, exponents), np.ldexp(ends, -exponents)), exponents


def _best_paths(matrix: csr_array, ends: np.ndarray) -> np.ndarray:
    """Return log2 of the largest weight of a path from each of n states, (n,), rounded down.

    A path ends in a state q with `ends[q] > 0`. Its weight is `ends[q]` times the entries of
    `matrix` for its steps. The caller guarantees that each state has such a path, and that no cycle
    has a weight above 1. So a best path without cycles exists, and has fewer than n steps.
    """
    rows = np.flatnonzero(np.diff(matrix.indptr))
    with np.errstate(divide="ignore"):
        best, arcs = np.log2(ends), np.log2(matrix.data)
    for _ in range(len(ends)):
        after = best.copy()
        along = np.maximum.reduceat(arcs + best[matrix.indices], matrix.indptr[rows])
        after[rows] = np.maximum(best[rows], along)
        if not (after > best + 1e-9).any():
            break
        best = after
    return np.asarray(np.floor(best), dtype=np.int64)


def _scaled(matrix: csr_array, exponents: np.ndarray) -> csr_array:
    """Return the matrix of the linear system for `x / 2^exponents` instead of x."""
    scaled = matrix.copy()
    source = np.repeat(np.arange(len(exponents)), np.diff(matrix.indptr))
    scaled.data = np.ldexp(matrix.data, exponents[matrix.indices] - exponents[source])
    return scaled


def solve_linear(matrix: csr_array, known: np.ndarray) -> np.ndarray:
    """Return the solution x, (n,), of `x = matrix x + known`; the spectral radius is below 1."""
    # Inserting the solution into the right side makes small entries precise relative to their size.
    return np.asarray(matrix @ np.maximum(_solution(matrix, known), 0) + known)


def _solution(matrix: csr_array, known: np.ndarray) -> np.ndarray:
    """Return the solution of `x = matrix x + known`, improved once by its residual.

    Raises ZeroDivisionError if the system is singular.
    """
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
    """Return whether each state can be reached from a nonzero entry of `start`, (n,) bool."""
    n = len(start)
    first = np.flatnonzero(start)
    # Add a state with an arc to each nonzero entry of `start`, and search from this state alone.
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
    """Return the spectral radius of an irreducible matrix A.

    Power iteration with A may oscillate. With I + A it converges, to the spectral radius plus 1.
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


# The largest permitted error of a sum of probabilities. Files may contain probabilities with only
# ten digits.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Tightness:
    """The total probability of all strings, and the states that lose probability."""

    mass: float  # the probability of all strings together
    trapped: tuple[str, ...]  # accessible states without a path to a final state
    # Accessible states for which the final weight and the transitions sum to less than 1
    leaking: tuple[str, ...]
    beginning: float  # the sum of the initial weights

    @property
    def is_tight(self) -> bool:
        """Return whether all strings together have probability 1."""
        return not self.trapped and not self.leaking and self.beginning >= 1 - TOLERANCE

    @property
    def reason(self) -> str:
        """Report in one line whether the automaton is tight, and all reasons if it is not."""
        if self.is_tight:
            return "tight: every accessible state leads to the end"
        reasons = []
        if self.beginning < 1 - TOLERANCE:
            reasons.append(f"the initial weights sum to {self.beginning:.6g} only")
        for states, what in (
            (self.leaking, "weights that sum to less than 1"),
            (self.trapped, "no path to a final state"),
        ):
            if states:
                reasons.append(f"{what} from {up_to_five(states)}")
        return f"not tight, all strings together have {self.mass:.6g}: {'; '.join(reasons)}"


def tightness(automaton: Automaton) -> Tightness:
    """Return the total probability of all strings, and the states that lose probability.

    Raises LogicgenError if the initial weights sum to more than 1, or if the final weight and the
    transitions of a state sum to more than 1.
    """
    reached = accessible(automaton)
    sums = automaton.total.sum(axis=1) + automaton.final  # (n,)
    beginning = float(automaton.initial.sum())
    for state in np.flatnonzero(reached & (sums > 1 + TOLERANCE))[:1]:
        raise LogicgenError(
            f"automaton: state {automaton.states[state]}: final weight and transitions sum to"
            f" {sums[state]:.6g}, not 1, so these are no probabilities; normalise it first"
        )
    if beginning > 1 + TOLERANCE:
        raise LogicgenError(
            f"automaton: the initial weights sum to {beginning:.6g}, not 1, so these are no"
            " probabilities; normalise it first"
        )
    return Tightness(
        mass=allsum(automaton),
        trapped=automaton.names(reached & ~coaccessible(automaton)),
        leaking=automaton.names(reached & (sums < 1 - TOLERANCE)),
        beginning=beginning,
    )
