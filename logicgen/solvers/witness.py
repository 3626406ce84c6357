"""Minimal symbolic traces, from a word that satisfies a formula.

First, literals that make the formula true are collected, top down. A disjunction needs one true
operand. `a U b` needs `b` at one position, and `a` at the positions before it. Every word with
these literals satisfies the formula. Then literals are dropped, last first, if the remaining
literals are still enough. The result is minimal: without any single literal, some word falsifies
the formula.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import NamedTuple

from logicgen.solvers.lassos import Columns, Values, evaluate, evaluate_known, holds
from logicgen.solvers.ltl_graph import AND, NEXT, SYMBOL, TRUE, UNTIL, Graph
from logicgen.solvers.sat_engine import Effort
from logicgen.solvers.tableau import Tableau

Literals = dict[tuple[int, int], bool]
"""Truth values by position and symbol. A missing symbol may have any value."""

# A sample of TRIES words may show that a literal is needed. Each word repeats its period VISITS
# times. TOGETHER literals are tested at the same time.
TRIES = 16
VISITS = 4
TOGETHER = 64


def justify(graph: Graph, root: int, values: Values, lane: int, loop: int) -> Literals:
    """Return literals of a lasso that make a formula true for all values of the other symbols.

    The result is sorted.

    root: the edge of the formula. values: the result of `evaluate` on a set of lassos.
    lane: the bit, in `values`, of a lasso that satisfies the formula.
    """
    positions = len(values[0] or [])
    found: Literals = {}
    seen = {(root, 0)}
    todo = [(root, 0)]

    def is_true(edge: int, i: int) -> bool:
        positive = values[edge & -2]
        assert positive is not None
        return bool(positive[i] & lane) != bool(edge & 1)

    while todo:
        edge, i = todo.pop()
        node = edge >> 1
        if graph.kind[node] == SYMBOL:
            if node:
                found[i, graph.left[node]] = not edge & 1
            continue
        after = i + 1 if i + 1 < positions else loop
        for reason in _reasons(graph, edge, i, after, is_true, seen):
            if reason not in seen:
                seen.add(reason)
                todo.append(reason)
    return dict(sorted(found.items()))


def _reasons(
    graph: Graph,
    edge: int,
    i: int,
    after: int,
    is_true: Callable[[int, int], bool],
    seen: set[tuple[int, int]],
) -> list[tuple[int, int]]:
    """Return true (edge, position) pairs that together make `edge` true at position `i`.

    after: the position that follows `i`.
    is_true: returns whether an edge is true at a position.
    seen: pairs that were returned before. If there is a choice, a pair in `seen` is preferred,
        because it adds no literals.
    """
    node, negated = edge >> 1, edge & 1
    what, a, b = graph.kind[node], graph.left[node], graph.right[node]
    if what == NEXT:
        return [(a ^ negated, after)]
    if what == AND:
        if not negated:
            return [(a, i), (b, i)]
        second = (b ^ 1, i) in seen or not is_true(a ^ 1, i)
        return [(b ^ 1, i) if second and is_true(b ^ 1, i) else (a ^ 1, i)]
    if what == UNTIL:
        if negated:
            postponed = (edge, after) in seen or not is_true(a ^ 1, i)
            return [(b ^ 1, i), (edge, after) if postponed else (a ^ 1, i)]
        return [(b, i)] if is_true(b, i) else [(a, i), (edge, after)]
    return [(operand ^ (not is_true(operand, i)), i) for operand in (a, b)]


class TraceShape(NamedTuple):
    """Symbolic traces of one shape, and a formula that all words of a trace must satisfy.

    Attributes:
        nodes: the nodes that the formula depends on, operands first.
        root: the edge of the formula.
        loop: the position that follows the last position.
        effort: the limit on the steps of the tableaux. None means no limit.
    """

    graph: Graph
    nodes: list[int]
    root: int
    positions: int
    loop: int
    effort: Effort | None = None

    def certain(self, literals: Literals) -> bool | None:
        """Return True if all words with these literals satisfy the formula, False if no word does.

        Returns None if evaluating one operator at a time does not decide this.
        """
        known = [([0] * self.positions, [0] * self.positions) for _ in self.graph.symbols]
        for (position, symbol), value in literals.items():
            known[symbol][not value][position] = 1
        values = evaluate_known(self.graph, self.nodes, known, self.positions, self.loop)
        if values[self.root][0]:
            return True
        return False if values[self.root ^ 1][0] else None

    def minimal(self, literals: Literals) -> Literals:
        """Return a minimal subset of the literals. Unnecessary literals are dropped, last first."""
        needed = self._needed(literals)
        for literal in reversed([literal for literal in literals if literal not in needed]):
            fewer = {place: value for place, value in literals.items() if place != literal}
            if self.all_satisfy(fewer):
                literals = fewer
        return literals

    def all_satisfy(self, literals: Literals) -> bool:
        """Return whether all words with these literals satisfy the formula. The result is exact."""
        verdict = self.certain(literals)
        if verdict is not None:
            return verdict
        if not self._all_tried_satisfy(literals):
            return False
        return self.contains(conjunctions(self.graph, literals, self.positions))

    def contains(self, letters: list[int]) -> bool:
        """Return whether all words of a trace satisfy the formula.

        letters: the edges of the trace's formulas, by position.
        """
        with Tableau(self.graph, self.root ^ 1, letters, self.loop, self.effort) as tableau:
            return tableau.is_empty()

    def _all_tried_satisfy(self, literals: Literals) -> bool:
        """Return whether all words of a sample with these literals satisfy the formula."""
        length, places = _unrolled(self.positions, self.loop)
        full = (1 << 64) - 1
        noise = _noise(len(self.graph.symbols), length)
        columns: Columns = [[bits & full for bits in row] for row in noise]
        for number, place in enumerate(places):
            for symbol, row in enumerate(columns):
                value = literals.get((place, symbol))
                if value is not None:
                    row[number] = full if value else 0
        values = evaluate(self.graph, self.nodes, columns, length, self.loop, full)
        return holds(values, self.root, full) == full

    def _needed(self, literals: Literals) -> set[tuple[int, int]]:
        """Return literals that cannot be dropped, as a sample of words shows."""
        length, places = _unrolled(self.positions, self.loop)
        noise = _noise(len(self.graph.symbols), length)
        in_order = list(literals)
        found: set[tuple[int, int]] = set()
        for first in range(0, len(in_order), TOGETHER):
            tested = {at: i * TRIES for i, at in enumerate(in_order[first : first + TOGETHER])}
            full = (1 << (TRIES * len(tested))) - 1
            columns: Columns = []
            for symbol, row in enumerate(noise):
                column = []
                for number, place in enumerate(places):
                    value = literals.get((place, symbol))
                    if value is None:
                        column.append(row[number] & full)
                        continue
                    bits = 0
                    start = tested.get((place, symbol))
                    if start is not None:
                        # Test the literal by sample words that violate it. The period is repeated,
                        # so a word visits the literal's position several times. The first word
                        # violates the literal at every visit, the second word only at the first
                        # visit, and the other words at random visits.
                        random = row[number] >> start & ((1 << TRIES) - 4)
                        bits = (random | 1 | 2 * (number == place)) << start
                    column.append(full ^ bits if value else bits)
                columns.append(column)
            values = evaluate(self.graph, self.nodes, columns, length, self.loop, full)
            wrong = holds(values, self.root ^ 1, full)
            block = (1 << TRIES) - 1
            found |= {place for place, start in tested.items() if wrong >> start & block}
        return found


def conjunctions(graph: Graph, literals: Literals, positions: int) -> list[int]:
    """Return the edge of the conjunction of the literals at each position."""
    found = [TRUE] * positions
    for (position, symbol), value in literals.items():
        edge = graph.symbol(graph.symbols[symbol]) ^ (not value)
        found[position] = graph.conjunction(found[position], edge)
    return found


@lru_cache(256)
def _unrolled(positions: int, loop: int) -> tuple[int, list[int]]:
    """Repeat the period of a lasso several times.

    Returns the new number of positions and, for each new position, the old position.
    """
    period = list(range(loop, positions))
    times = max(2, -(-VISITS // len(period)))
    places = [*range(loop), *(period * times)]
    return len(places), places


@lru_cache(256)
def _noise(symbols: int, positions: int) -> list[list[int]]:
    """Return random bits by symbol, then by position. They are the same on every machine."""
    rng = Random(f"noise for {symbols} symbols, {positions} positions")
    return [[rng.getrandbits(TRIES * TOGETHER) for _ in range(positions)] for _ in range(symbols)]
