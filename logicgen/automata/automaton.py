"""Weighted finite-state automata over the real semiring, as plain data.

The weight of a path is the product of an initial weight, the weights of its transitions, and a
final weight. The weight of a string is the sum over all paths that read it. Weights are nonnegative
real numbers. If the weights of all strings sum to 1, the automaton is a language model. Source:
Mohri, Weighted Automata Algorithms (Handbook of Weighted Automata, 2009).

In shapes of arrays, n is the number of states and k the number of symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from logicgen.errors import LogicgenError, nearest

Arc = tuple[str, str, str, float]
"""A transition: the source state, the symbol, the target state and the weight."""


@dataclass(frozen=True, eq=False)
class Automaton:
    """A weighted automaton with n states and k symbols.

    Transitions are one sparse matrix per symbol. With 1,000 states and a few transitions for each
    state and symbol, sparse matrices take a hundredth of the memory and time of dense matrices.
    Dense matrices of an n-gram model of high order would not fit into memory.

    Raises LogicgenError if sizes disagree, a name occurs twice, or a weight is negative or not
    finite.
    """

    symbols: tuple[str, ...]  # k names, all different
    states: tuple[str, ...]  # n names, all different
    initial: np.ndarray  # (n,) float64, the initial weight of each state; 0 if it is not initial
    final: np.ndarray  # (n,) float64, the final weight of each state; 0 if it is not final
    # A sparse (n, n) float64 matrix for each of the k symbols, without stored zeros. Entry (i, j)
    # is the weight of the transition from state i to state j.
    transitions: tuple[csr_array, ...]

    def __post_init__(self) -> None:
        # Copy the arrays, so that the caller may change the originals.
        object.__setattr__(self, "initial", np.array(self.initial, dtype=np.float64))
        object.__setattr__(self, "final", np.array(self.final, dtype=np.float64))
        object.__setattr__(self, "transitions", tuple(map(_sparse, self.transitions)))
        _names("symbols", self.symbols)
        _names("states", self.states)
        n = len(self.states)
        if len(self.transitions) != len(self.symbols):
            raise LogicgenError(
                f"automaton: {len(self.transitions)} transition matrices for"
                f" {len(self.symbols)} symbols; give one for each symbol"
            )
        for what, weights in (("initial", self.initial), ("final", self.final)):
            if weights.shape != (n,):
                raise LogicgenError(
                    f"automaton: {what} has shape {weights.shape}; {n} states need ({n},)"
                )
            for state in np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[:1]:
                _bad_weight(f"{what} weight of state {self.states[state]!r}", weights[state])
        for symbol, matrix in zip(self.symbols, self.transitions, strict=True):
            if matrix.shape != (n, n):
                raise LogicgenError(
                    f"automaton: transitions of {symbol!r} have shape {matrix.shape};"
                    f" {n} states need ({n}, {n})"
                )
            for place in np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))[:1]:
                source, target = (self.states[i[place]] for i in matrix.tocoo().coords)
                _bad_weight(f"transition {source} --{symbol}--> {target}", matrix.data[place])

    @classmethod
    def dense(
        cls,
        symbols: Iterable[str],
        initial: Sequence[float] | np.ndarray,
        final: Sequence[float] | np.ndarray,
        transitions: Sequence[Any] | np.ndarray,
        states: Iterable[str] | None = None,
    ) -> Automaton:
        """Make an automaton from dense arrays of weights, for n states and k symbols.

        initial, final: (n,) weights of the states.
        transitions: (k, n, n) weights; the axes are the symbol, the source and the target state.
        states: the names of the states; 0, 1, ... if not given.
        """
        table = np.asarray(transitions, dtype=np.float64)
        if table.ndim != 3:
            raise LogicgenError(
                f"automaton: transitions have shape {table.shape}, not (symbols, states, states)"
            )
        names = map(str, range(len(initial))) if states is None else states
        ends = np.asarray(initial), np.asarray(final)
        return cls(tuple(symbols), tuple(names), *ends, tuple(map(csr_array, table)))

    @classmethod
    def from_arcs(
        cls,
        symbols: Iterable[str],
        states: Iterable[str],
        initial: Mapping[str, float],
        final: Mapping[str, float],
        arcs: Iterable[Arc],
    ) -> Automaton:
        """Make an automaton from names and weights; a weight that is not given is 0.

        Raises LogicgenError if a name is unknown or a transition occurs twice. The message suggests
        similar names.
        """
        symbols, states = tuple(symbols), tuple(states)
        symbol_number = {name: i for i, name in enumerate(symbols)}
        state_number = {name: i for i, name in enumerate(states)}

        def number(known: dict[str, int], name: str, what: str, where: str) -> int:
            if name not in known:
                raise LogicgenError(
                    f"{where}: {name!r} is not a {what}; {nearest(name, list(known))}"
                )
            return known[name]

        ends = np.zeros((2, len(states)))
        for vector, place, weights in zip(
            ends, ("initial", "final"), (initial, final), strict=True
        ):
            for name, weight in weights.items():
                vector[number(state_number, name, "state", place)] = weight
        rows: list[dict[tuple[int, int], float]] = [{} for _ in symbols]
        for i, (source, symbol, target, weight) in enumerate(arcs, 1):
            where = f"transition {i} ({source} --{symbol}--> {target})"
            row = rows[number(symbol_number, symbol, "symbol", where)]
            key = (
                number(state_number, source, "state", where),
                number(state_number, target, "state", where),
            )
            if key in row:
                raise LogicgenError(f"{where}: occurs twice; add the weights up")
            if not (np.isfinite(weight) and weight >= 0):
                _bad_weight(where, weight)
            row[key] = weight
        matrices = []
        for row in rows:
            places = np.array(list(row), dtype=np.int64).reshape(-1, 2).T
            values = np.array(list(row.values()), dtype=np.float64)
            matrices.append(csr_array((values, tuple(places)), shape=(len(states),) * 2))
        return cls(symbols, states, ends[0], ends[1], tuple(matrices))

    def arcs(self) -> list[Arc]:
        """Return all transitions of nonzero weight, sorted by symbol, source and target state."""
        return [
            (self.states[source], symbol, self.states[target], float(weight))
            for symbol, matrix in zip(self.symbols, self.transitions, strict=True)
            for source, target, weight in zip(*matrix.tocoo().coords, matrix.data, strict=True)
        ]

    @cached_property
    def total(self) -> csr_array:
        """Return the (n, n) sum of the transition matrices of all symbols."""
        return csr_array(sum(self.transitions[1:], start=self.transitions[0]))

    @cached_property
    def is_deterministic(self) -> bool:
        """Return whether the automaton is deterministic.

        A deterministic automaton has at most one initial state, and at most one transition for each
        state and symbol.
        """
        return is_deterministic(self.transitions, self.initial)

    def names(self, chosen: np.ndarray) -> tuple[str, ...]:
        """Return the names of the states for which `chosen`, (n,) bool, is true."""
        return tuple(self.states[i] for i in np.flatnonzero(chosen))

    def restricted(self, states: np.ndarray) -> Automaton:
        """Return the automaton of some states and the transitions between them.

        states: the numbers of the states, in increasing order.
        """
        return Automaton(
            self.symbols,
            tuple(self.states[i] for i in states),
            self.initial[states],
            self.final[states],
            tuple(csr_array(matrix[states][:, states]) for matrix in self.transitions),
        )


def is_deterministic(matrices: Sequence[csr_array], start: np.ndarray) -> bool:
    """Return whether `start`, and each row of each matrix, has at most one nonzero entry.

    matrices: for each symbol, the (n, n) weights of the transitions.
    start: (n,) initial weights.
    """
    return bool(
        np.count_nonzero(start) <= 1
        and all(np.diff(matrix.indptr).max(initial=0) <= 1 for matrix in matrices)
    )


def up_to_five(names: Sequence[str]) -> str:
    """Return the first five names and the number of the other names, for a message."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _sparse(matrix: np.ndarray | csr_array) -> csr_array:
    found = csr_array(matrix, dtype=np.float64, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    return found


def _names(what: str, names: tuple[str, ...]) -> None:
    if not names:
        raise LogicgenError(f"automaton: it has no {what}")
    for place, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise LogicgenError(f"automaton: {what}: entry {place + 1} ({name!r}) is not a name")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise LogicgenError(f"automaton: {what}: {twice!r} occurs twice")


def _bad_weight(where: str, weight: float) -> None:
    what = "negative" if weight < 0 else "not finite"
    raise LogicgenError(
        f"{where}: weight {float(weight):g} is {what}; weights are numbers from 0 up"
    )
