"""Random automata, for experiments that need a language whose every probability is known."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_array, diags_array

from logicgen.automata.allsum import solve
from logicgen.automata.automaton import Automaton
from logicgen.errors import LogicgenError


def random_automaton(
    symbols: Iterable[str],
    states: int,
    length: float,
    rng: np.random.Generator,
    branching: int = 1,
    concentration: float = 1.0,
) -> Automaton:
    """A tight probabilistic automaton whose strings have `length` symbols on average.

    It begins in state 0, from which every other can be reached. It follows from the arguments and
    the state of `rng`.

    Args:
        length: above 0; met but for rounding, by scaling the odds of ending in every state alike.
        branching: states that a symbol may lead to from each state. With 1 the automaton is
            deterministic; with more it is, in general, ambiguous.
        concentration: of the Dirichlet distribution of the transitions of each state; small ones
            make few transitions likely.

    Raises LogicgenError where an argument is out of range.
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

    # Where each state and symbol leads to, `branching` different places.
    targets = np.stack([_choose(states, k, branching, rng) for _ in range(states)])
    # A slot of an earlier state leads to each later one, so that all are accessible.
    free = [(0, symbol) for symbol in range(k)]
    for state in range(1, states):
        source, symbol = free.pop(int(rng.integers(len(free))))
        if state not in targets[source, symbol]:
            targets[source, symbol, 0] = state
        free += [(state, symbol) for symbol in range(k)]
    shares = rng.gamma(concentration, size=targets.shape)
    shares += 1e-12 * shares.max()  # a small concentration draws numbers that are 0 as floats
    shares /= shares.sum(axis=(1, 2), keepdims=True)
    sources = np.repeat(np.arange(states), branching)
    matrices = [
        csr_array((shares[:, i].ravel(), (sources, targets[:, i].ravel())), shape=(states, states))
        for i in range(k)
    ]
    onward = csr_array(sum(matrices[1:], start=matrices[0]))
    odds = rng.gamma(1.0, size=states) + 1e-3
    initial = np.zeros(states)
    initial[0] = 1.0

    def ending(scale: float) -> np.ndarray:
        """(n,): the chance to end in each state, the odds multiplied by e ** scale."""
        scaled = odds * math.exp(scale)
        return scaled / (1 + scaled)

    def excess(scale: float) -> float:
        """How far the expected length is from that wanted; falls with `scale`."""
        matrix = csr_array(diags_array(1 - ending(scale)) @ onward)
        # Each visit of a state is followed by a symbol unless the string ends there.
        passed = solve(csr_array(matrix.T), initial)
        return math.log(float(passed @ (1 - ending(scale))) / length)

    low = high = 0.0
    while excess(low) < 0:
        low -= 2
    while excess(high) > 0:
        high += 2
    scale = low if low == high else brentq(excess, low, high, xtol=1e-14, rtol=1e-14)
    final = ending(scale)
    going_on = diags_array(1 - final)
    return Automaton(
        symbols,
        tuple(map(str, range(states))),
        initial,
        final,
        tuple(csr_array(going_on @ matrix) for matrix in matrices),
    )


def _choose(states: int, k: int, branching: int, rng: np.random.Generator) -> np.ndarray:
    """(k, branching): that many different states for each symbol."""
    if branching == 1:
        return rng.integers(states, size=(k, 1))
    return np.stack([rng.choice(states, size=branching, replace=False) for _ in range(k)])
