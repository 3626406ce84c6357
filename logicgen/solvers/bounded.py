"""Find a lasso of a given shape that satisfies an LTL formula, with a SAT solver.

A lasso is a word that repeats its last letters (the period) for ever. Its shape is the number of
its positions and the length of its period.

Sources:
- Biere, Cimatti, Clarke, Zhu, Symbolic model checking without BDDs (TACAS 1999).
- Latvala, Biere, Heljanko, Junttila, Simple bounded LTL model checking (FMCAD 2004). As there,
  `until` is evaluated in two rounds of the period.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from logicgen.solvers.ltl_graph import NEXT, SYMBOL, UNTIL, Graph
from logicgen.solvers.sat_engine import Effort, SatEngine, first_model
from logicgen.solvers.tableau import Letter, gate


def shapes(most: int) -> Iterator[tuple[int, int]]:
    """Yield shapes as `(positions, period)`: fewer positions first, then shorter periods."""
    for positions in range(1, most + 1):
        for period in range(1, positions + 1):
            yield positions, period


def word_of_shape(
    graph: Graph, root: int, positions: int, period: int, effort: Effort | None = None
) -> list[Letter] | None:
    """Return the letters of the first word of a shape that satisfies the formula of edge `root`.

    Words are ordered lexicographically: by position, then by symbol in order of first occurrence,
    with true before false. Every symbol gets a value. Returns None if no word of the shape
    satisfies the formula.
    """
    count = len(graph.symbols) * positions
    with SatEngine(_clauses(graph, root, positions, period), effort=effort) as engine:
        model = first_model(engine, count)
    if model is None:
        return None
    symbols = len(graph.symbols)
    return [[v > 0 for v in model[i : i + symbols]] for i in range(0, count, symbols)] or [[]]


def has_word(
    graph: Graph, root: int, positions: int, period: int, effort: Effort | None = None
) -> bool:
    """Return whether a word of a shape satisfies the formula of edge `root`."""
    with SatEngine(_clauses(graph, root, positions, period), effort=effort) as engine:
        return bool(engine.solve())


def _clauses(graph: Graph, root: int, positions: int, period: int) -> list[list[int]]:
    """Return clauses. Their models are the words of a shape that satisfy the formula of an edge."""
    encoding = Encoding(graph, positions, positions - period)
    encoding.clauses.append([encoding.literal(root, 0)])
    encoding.unfold()
    return encoding.clauses


def variable_of(graph: Graph, symbol: int, position: int) -> int:
    """Return the variable of a symbol, given by its number, at a position."""
    return position * len(graph.symbols) + symbol + 1


class Encoding:
    """The words of a shape, encoded as the models of clauses.

    If the literal of a formula at a position is true, the formula holds there.

    variable: returns the literal of a symbol at a position (`variable_of` if not given).
    last: the last variable that is in use.
    """

    def __init__(
        self,
        graph: Graph,
        positions: int,
        loop: int,
        variable: Callable[[int, int], int] | None = None,
        last: int | None = None,
    ) -> None:
        self.graph = graph
        self.positions = positions
        self.loop = loop
        self.clauses: list[list[int]] = []
        self.variable = variable or partial(variable_of, graph)
        self.last = len(graph.symbols) * positions if last is None else last
        # By edge, position, and whether an until is in its second and last round of the period.
        self._literal: dict[tuple[int, int, bool], int] = {}
        self._pending: list[tuple[int, int, bool]] = []

    def literal(self, edge: int, position: int, last_round: bool = False) -> int:
        """Return a literal for the formula of an edge at a position.

        last_round: whether an until is in its second and last round of the period.
        """
        node = edge >> 1
        if node and self.graph.kind[node] == SYMBOL:
            variable = self.variable(self.graph.left[node], position)
            return -variable if edge & 1 else variable
        key = edge, position, last_round
        literal = self._literal.get(key)
        if literal is None:
            self.last += 1
            literal = self._literal[key] = self.last
            if node:
                self._pending.append(key)
            else:
                self.clauses.append([-literal if edge & 1 else literal])
        return literal

    def unfold(self) -> None:
        """Add the clauses of all requested literals, and of all literals in these clauses."""
        graph, clauses, holds = self.graph, self.clauses, self.literal
        while self._pending:
            edge, i, last_round = self._pending.pop()
            now = self._literal[edge, i, last_round]
            node, negated = edge >> 1, edge & 1
            kind, a, b = graph.kind[node], graph.left[node], graph.right[node]
            wraps = i + 1 == self.positions
            after = self.loop if wraps else i + 1
            if kind == NEXT:
                clauses.append([-now, holds(a ^ negated, after)])
            elif kind == UNTIL and negated:
                clauses += [-now, holds(b ^ 1, i)], [-now, holds(a ^ 1, i), holds(edge, after)]
            elif kind == UNTIL:
                if wraps and last_round:
                    clauses.append([-now, holds(b, i)])
                else:
                    later = holds(edge, after, last_round or wraps)
                    clauses += [-now, holds(b, i), holds(a, i)], [-now, holds(b, i), later]
            else:
                clauses += gate(kind, negated, now, a, b, partial(holds, position=i))
