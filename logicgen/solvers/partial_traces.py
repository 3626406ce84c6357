"""Complete the beginning of a trace so that all its words satisfy an LTL formula.

A position of a trace is closed if its conjunction of literals is complete. Then the other symbols
may have any values, at each visit of the position. Open positions may get further literals, for
which a SAT solver proposes values. If a word of the proposed trace falsifies the formula, the SAT
solver gets another condition: the formula is true for the values of this word at closed positions.

Source: Janota, Klieber, Marques-Silva, Clarke, Solving QBF with counterexample guided refinement
(SAT 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from logicgen.solvers.bounded import Encoding, variable_of
from logicgen.solvers.ltl_graph import Graph
from logicgen.solvers.sat_engine import Effort, SatEngine
from logicgen.solvers.tableau import Letter, Tableau
from logicgen.solvers.witness import Literals, TraceShape, conjunctions


@dataclass(frozen=True)
class PartialTrace:
    """The beginning of a trace, or a whole trace.

    Attributes:
        literals: the literals, by position and number of the symbol.
        closed: the number of closed positions.
        least: the fewest positions of a trace with this beginning.
        loop: the first position of the period; None if it is not known.
        earliest: the first position at which the period can begin, if `loop` is None.
        most: the most positions; None if there is no limit.
    """

    literals: Literals
    closed: int
    least: int
    loop: int | None = None
    earliest: int = 0
    most: int | None = None

    def agrees(self, literals: Literals, made: PartialTrace) -> bool:
        """Return whether a trace has this beginning.

        literals: the literals of the trace. made: its shape; all its positions are closed.
        """
        if made.least < self.least or (self.most is not None and made.least > self.most):
            return False
        assert made.loop is not None
        if made.loop < self.earliest if self.loop is None else made.loop != self.loop:
            return False
        if any(literals.get(place) != value for place, value in self.literals.items()):
            return False
        return all(place in self.literals for place in literals if place[0] < self.closed)

    def shapes(self, most: int) -> list[tuple[int, int]]:
        """Return the possible numbers of positions, up to `most`, with the start of the period."""
        if self.loop is not None:
            return [(count, self.loop) for count in range(self.least, most + 1)]
        return [
            (count, loop)
            for count in range(self.least, most + 1)
            for loop in range(count - 1, self.earliest - 1, -1)
        ]


def completed(
    graph: Graph, root: int, begun: PartialTrace, most: int, effort: Effort | None = None
) -> tuple[Literals, PartialTrace] | None:
    """Return literals and shape of a right trace that completes `begun`; None if it is impossible.

    graph, root: the formula is the edge `root` of the graph.
    most: the most positions of the trace.
    """
    if not possible(graph, root, begun.literals, effort):
        return None
    for positions, loop in begun.shapes(most):
        found = _Search(graph, root, begun, positions, loop, effort).search()
        if found is not None:
            return found, PartialTrace(found, positions, positions, loop)
    return None


def possible(graph: Graph, root: int, literals: Literals, effort: Effort | None = None) -> bool:
    """Return whether some word with these literals satisfies the formula of edge `root`."""
    count = max((position for position, _ in literals), default=0) + 1
    letters = conjunctions(graph, literals, count + 1)  # at the last position, for ever, anything
    with Tableau(graph, root, letters, count, effort) as tableau:
        return not tableau.is_empty()


class _Search:
    """The search for a right trace of one shape that has a beginning."""

    def __init__(
        self,
        graph: Graph,
        root: int,
        begun: PartialTrace,
        positions: int,
        loop: int,
        effort: Effort | None,
    ) -> None:
        self.graph, self.root, self.begun, self.effort = graph, root, begun, effort
        self.positions, self.loop = positions, loop
        self.symbols = len(graph.symbols)
        self.shape = TraceShape(graph, graph.reachable(root), root, positions, loop, effort)
        self.true = self.symbols * positions + 1  # a variable that is true
        self.last = self.true

    def search(self) -> Literals | None:
        """Return the literals of a right trace; None if there is no such trace."""
        clauses = [[self.true]]
        for (position, symbol), value in self.begun.literals.items():
            variable = variable_of(self.graph, symbol, position)
            clauses.append([variable if value else -variable])
        with SatEngine(clauses, effort=self.effort) as engine:
            self._require(engine, range(self.positions), self.loop, None)
            while engine.solve():
                model = engine.get_model()
                literals = self._literals(model)
                if self.shape.all_satisfy(literals):
                    return literals
                self._refine(engine, literals)
        return None

    def _literals(self, model: list[int]) -> Literals:
        found = dict(self.begun.literals)
        for position in range(self.begun.closed, self.positions):
            for symbol in range(self.symbols):
                variable = variable_of(self.graph, symbol, position)
                found[position, symbol] = model[variable - 1] > 0
        return found

    def _refine(self, engine: SatEngine, literals: Literals) -> None:
        """Require that a word with other values, which falsifies the formula now, satisfies it."""
        letters = conjunctions(self.graph, literals, self.positions)
        with Tableau(self.graph, self.root ^ 1, letters, self.loop, self.effort) as tableau:
            word = tableau.word()
        assert word is not None
        stem, period = word
        first = max(len(stem), self.loop)
        count = first + lcm(len(period), self.positions - self.loop)
        places, values = [], []
        for number in range(count):
            place = number
            if number >= self.positions:
                place = self.loop + (number - self.loop) % (self.positions - self.loop)
            places.append(place)
            at = number - len(stem)
            values.append(stem[number] if at < 0 else period[at % len(period)])
        self._require(engine, places, first, values)

    def _require(
        self, engine: SatEngine, places: range | list[int], loop: int, values: list[Letter] | None
    ) -> None:
        """Add that the formula holds on a lasso.

        places: the position of the trace of each position of the lasso.
        values: truth values of the symbols at each position of the lasso. They apply to symbols
            without a literal at closed positions. Without `values`, the SAT solver chooses.
        """

        def variable(symbol: int, position: int) -> int:
            place = places[position]
            free = place < self.begun.closed and (place, symbol) not in self.begun.literals
            if values is None or not free:
                return variable_of(self.graph, symbol, place)
            return self.true if values[position][symbol] else -self.true

        encoding = Encoding(self.graph, len(places), loop, variable, self.last)
        encoding.clauses.append([encoding.literal(self.root, 0)])
        encoding.unfold()
        self.last = encoding.last
        for clause in encoding.clauses:
            engine.add_clause(clause)
