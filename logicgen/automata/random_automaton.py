"""Random automata, for experiments that need a language with known probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_array, diags_array

from logicgen.automata.automaton import Automaton
from logicgen.automata.sums import solve_linear
from logicgen.errors import LogicgenError


def random_automaton(
    symbols: Iterable[str],
    states: int,
    length: float,
    rng: np.random.Generator,
    branching: int = 1,
    concentration: float = 1.0,
) -> Automaton:
    """Draw a random automaton whose strings have `length` symbols on average.

    The automaton is probabilistic and tight (every string ends with probability 1). Its only
    initial state is 0, and every state can be reached from it. The arguments and the state of `rng`
    determine the automaton. Raises LogicgenError if an argument is out of range.

    states: the number of states.
    length: the expected number of symbols of a string, above 0.
    branching: the number of target states for each state and symbol. With 1 the automaton is
    deterministic; with more it is, in general, ambiguous.
    concentration: the parameter of the Dirichlet distribution of each state's transitions. If it is
    small, few transitions of a state are likely.
    """
    symbols = tuple(symbols)
    k = len(symbols)
    for what, value, good in (
        ("states", states, states >= 1),
        ("length", length, 0 < length < 1e9),
        ("branching", branching, 1 <= branching <= states),
        ("concentration", concentration, 0 < concentration < math.inf),
        ("number of symbols", k, k >= 1),
    ):
        if not good:
            raise LogicgenError(f"random automaton: {what} {value} is out of range")
    targets = _targets(states, k, branching, rng)
    shares = rng.gamma(concentration, size=targets.shape)
    shares += 1e-12 * shares.max()  # with a small concentration, shares underflow to 0
    shares /= shares.sum(axis=(1, 2), keepdims=True)
    sources = np.repeat(np.arange(states), branching)
    matrices = [
        csr_array((shares[:, i].ravel(), (sources, targets[:, i].ravel())), shape=(states, states))
        for i in range(k)
    ]
    onward = csr_array(sum(matrices[1:], start=matrices[0]))
    initial = np.zeros(states)
    initial[0] = 1.0
    final = _ending(rng.gamma(1.0, size=states) + 1e-3, onward, initial, length)
    going_on = diags_array(1 - final)
    steps = tuple(csr_array(going_on @ matrix) for matrix in matrices)
    return Automaton(symbols, tuple(map(str, range(states))), initial, final, steps)


def _targets(states: int, k: int, branching: int, rng: np.random.Generator) -> np.ndarray:
    """Draw different target states for each state and symbol, (states, k, branching).

    k is the number of symbols. Each state but 0 is a target of a state with a smaller number, so
    all states can be reached from state 0.
    """
    if branching == 1:
        targets = rng.integers(states, size=(states, k, 1))
    else:
        each = [rng.choice(states, branching, replace=False) for _ in range(states * k)]
        targets = np.array(each).reshape(states, k, branching)
    free = [(0, symbol) for symbol in range(k)]
    for state in range(1, states):
        source, symbol = free.pop(int(rng.integers(len(free))))
        if state not in targets[source, symbol]:
            targets[source, symbol, 0] = state
        free += [(state, symbol) for symbol in range(k)]
    return targets


def _ending(odds: np.ndarray, onward: csr_array, initial: np.ndarray, length: float) -> np.ndarray:
    """Return the probability that a string ends at each of n states, (n,).

    The result makes `length` the expected number of symbols of a string.

    odds: (n,) the odds of ending at each state, up to a common factor that is determined here.
    onward: (n, n) probabilities of the next state if the string does not end.
    """

    def ending(scale: float) -> np.ndarray:
        """Return the probabilities of ending, (n,), with all odds multiplied by e ** scale."""
        scaled = odds * math.exp(scale)
        return np.asarray(scaled / (1 + scaled))

    def excess(scale: float) -> float:
        """Return log(expected length / length); it decreases as `scale` increases."""
        matrix = csr_array(diags_array(1 - ending(scale)) @ onward)
        # The expected length is the expected number of visits after which the string continues.
        visits = solve_linear(csr_array(matrix.T), initial)
        return math.log(float(visits @ (1 - ending(scale))) / length)

    low = high = 0.0
    while excess(low) < 0:
        low -= 2
    while excess(high) > 0:
        high += 2
    scale = low if low == high else brentq(excess, low, high, xtol=1e-14, rtol=1e-14)
    return ending(scale)
