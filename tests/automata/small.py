"""Small automata and their weights by definition: sums over paths and strings, in loops."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from logicgen.automata import Automaton

WEIGHTS = st.sampled_from([0.0, 0.0, 0.05, 0.25, 0.5, 1.0, 1.5])


@st.composite
def automata(draw, states=3, symbols=2, acyclic=False):
    """Draw automata of any weights; with `acyclic`, transitions lead to later states only."""
    n, k = draw(st.integers(1, states)), draw(st.integers(1, symbols))

    def numbers(count):
        return np.array(draw(st.lists(WEIGHTS, min_size=count, max_size=count)))

    table = numbers(k * n * n).reshape(k, n, n)
    if acyclic:
        table = np.triu(table, 1)
    return Automaton.dense("abcdefgh"[:k], numbers(n), numbers(n), table)


@st.composite
def shrinking(draw, **kwargs):
    """Draw automata whose transitions from each state have a total weight of at most 1/4."""
    automaton = draw(automata(**kwargs))
    table = np.stack([matrix.toarray() for matrix in automaton.transitions])
    table *= 0.25 / max(0.25, table.sum(axis=(0, 2)).max())
    return Automaton.dense(automaton.symbols, automaton.initial, automaton.final, table)


@st.composite
def probabilistic(draw, states=3, symbols=3, zeros=True):
    """Draw tight probabilistic automata."""
    n, k = draw(st.integers(1, states)), draw(st.integers(1, symbols))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    table = rng.random((k, n, n))
    if zeros:
        table *= rng.random(table.shape) < 0.6
    final = rng.random(n) + 0.05
    sums = table.sum(axis=(0, 2)) + final
    initial = rng.random(n)
    return Automaton.dense(
        "abcdefgh"[:k],
        initial / initial.sum(),
        final / sums,
        table / sums[:, None],
    )


def all_strings(automaton, longest):
    return [
        "".join(string)
        for length in range(longest + 1)
        for string in product(automaton.symbols, repeat=length)
    ]


def paths(automaton, string):
    """Return the weight of every path that reads a string, by its states."""
    n = len(automaton.states)
    table = {s: m.toarray() for s, m in zip(automaton.symbols, automaton.transitions, strict=True)}
    found = {}
    for path in product(range(n), repeat=len(string) + 1):
        weight = automaton.initial[path[0]] * automaton.final[path[-1]]
        for symbol, source, target in zip(string, path, path[1:], strict=False):
            weight *= table[symbol][source, target]
        found[path] = weight
    return found


def weight(automaton, string):
    return sum(paths(automaton, string).values())


def weights(automaton, longest):
    """Return the weights of all strings up to a length, from those of their prefixes."""
    table = [matrix.toarray() for matrix in automaton.transitions]
    found, layer = {}, {"": automaton.initial}
    for _ in range(longest + 1):
        found.update({string: float(vector @ automaton.final) for string, vector in layer.items()})
        layer = {
            string + symbol: vector @ matrix
            for string, vector in layer.items()
            for symbol, matrix in zip(automaton.symbols, table, strict=True)
        }
    return found


def one_state(loop, final=1.0, initial=1.0):
    """Return an automaton of one symbol and one state."""
    return Automaton.dense("a", [initial], [final], [[[loop]]])


def forked():
    """Return an automaton with two paths for a^m: a likely one that ends by b, another by c."""
    return Automaton.from_arcs(
        "abc",
        ["fast", "slow", "end"],
        {"fast": 0.5, "slow": 0.5},
        {"end": 1.0},
        [
            ("fast", "a", "fast", 0.9),
            ("fast", "b", "end", 0.1),
            ("slow", "a", "slow", 0.1),
            ("slow", "c", "end", 0.9),
        ],
    )
