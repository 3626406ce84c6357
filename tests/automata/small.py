"""Small automata and what they weigh by definition: sums over paths and over strings, in a loop."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from logicgen.automata import Automaton

WEIGHTS = st.sampled_from([0.0, 0.0, 0.05, 0.25, 0.5, 1.0, 1.5])


@st.composite
def automata(draw, states=3, symbols=2, acyclic=False):
    """Automata of any weights; with `acyclic`, transitions lead to later states only."""
    n, k = draw(st.integers(1, states)), draw(st.integers(1, symbols))

    def numbers(count):
        return np.array(draw(st.lists(WEIGHTS, min_size=count, max_size=count)))

    table = numbers(k * n * n).reshape(k, n, n)
    if acyclic:
        table = np.triu(table, 1)
    return Automaton.dense("abcdefgh"[:k], numbers(n), numbers(n), table)


@st.composite
def shrinking(draw, **kwargs):
    """Automata from every state of which transitions weigh at most a quarter together."""
    automaton = draw(automata(**kwargs))
    table = np.stack([matrix.toarray() for matrix in automaton.transitions])
    table *= 0.25 / max(0.25, table.sum(axis=(0, 2)).max())
    return Automaton.dense(automaton.symbols, automaton.initial, automaton.final, table)


@st.composite
def probabilistic(draw, states=3, symbols=3, zeros=True):
    """Automata in which initial weights sum to 1, transitions and final weights do; all tight."""
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
    """The weight of every path that reads a string, by its states."""
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
    """By string: the weights of all strings up to a length, carried along a tree of prefixes."""
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
    """One symbol, one state."""
    return Automaton.dense("a", [initial], [final], [[[loop]]])


def forked():
    """Two ways that read a^m: likely without an end but b, unlikely without an end but c."""
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
