"""The embedded LTL solver: it tries many small lassos at once, then searches with a tableau."""

from __future__ import annotations

from typing import ClassVar

from logicgen.solvers.bounded import shapes, word_of_shape
from logicgen.solvers.lassos import (
    Values,
    all_or_some,
    evaluate,
    exhaustive,
    holds,
    of_symbols,
    spread,
)
from logicgen.solvers.ltl_graph import FALSE, TRUE, Graph
from logicgen.solvers.sat_engine import Effort, EffortError
from logicgen.solvers.solver import UNSAT, Solution, Solver, Status, Verdict
from logicgen.solvers.tableau import Letter, Tableau
from logicgen.solvers.witness import Literals, TraceShape, justify
from logicgen.solvers.word import Word
from logicgen.syntax.answers import Trace, literals_of
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import propositional

# Before the tableau, the solver evaluates many lassos at once. They have at most this number of
# positions.
PARALLEL = 3

# The tableau's word may be longer than needed. If it has at most SHORTENED positions, the solver
# searches for a word with fewer positions. The product of the positions and the nodes of the
# formula's graph is limited, too.
SHORTENED = 12
NODES_TIMES_POSITIONS = 1000

_ONE = Formula("1")
_ANYTHING = Trace((), (_ONE,))


SatisfyingLasso = tuple[Values, int, int, int]
"""Truth values on lassos of one shape, the bit of a lasso that satisfies the formula, the number of
positions and the length of the period."""


class EmbeddedSolver(Solver):
    """A complete decision procedure for LTL in Python, with PySAT for propositional reasoning.

    The witness depends only on the meaning of the formula and the order of its symbols, not on
    names or on the heuristics of a SAT solver. A shape is a number of positions and the length of
    the period. The solver takes the first shape in which it finds a word (fewer positions, then
    shorter periods), and the first word of that shape (true before false). It collects the literals
    that make the formula true on that word. Then it drops literals that are not needed, last first.

    effort: the number of steps (see `Effort`) after which the solver gives up and returns
    `unknown`. None means no limit.
    """

    name: ClassVar[str] = "embedded"
    logic: ClassVar[str] = "ltl"
    about: ClassVar[str] = "an exact tableau and lassos in parallel, in Python; needs nothing else"
    limit: ClassVar = "effort"

    def __init__(self, effort: int | None = None) -> None:
        self.effort = effort

    def solve(self, problem: Formula) -> Solution:
        """Return the canonical witness or `unsat`; `unknown` if the effort is spent.

        Raises LogicgenError if the problem is not an LTL formula.
        """
        try:
            return self._solution(problem, Effort.of(self.effort))
        except EffortError as error:
            return Solution(Status.UNKNOWN, reason=str(error))

    def _solution(self, problem: Formula, effort: Effort | None) -> Solution:
        graph = Graph()
        root = graph.add(problem)
        if root <= 1:
            return Solution.sat(_ANYTHING) if root == TRUE else UNSAT
        nodes = graph.reachable(root)
        found = self._find(graph, nodes, root, effort)
        if found is None:
            return UNSAT
        values, lane, positions, period = found
        loop = positions - period
        shape = TraceShape(graph, nodes, root, positions, loop, effort)
        literals = shape.minimal(justify(graph, root, values, lane, loop))
        return Solution.sat(_trace(graph, literals, positions, loop))

    def check(self, problem: Formula, answer: Trace) -> Verdict:
        """Return `correct` if all words of the trace satisfy the formula.

        Returns `invalid` if a position is unsatisfiable, and `unknown` if the effort is spent.
        Raises LogicgenError for an unknown operator.
        """
        try:
            return self._verdict(problem, answer, Effort.of(self.effort))
        except EffortError:
            return Verdict.UNKNOWN

    def counterexample(self, problem: Formula, answer: Trace) -> Trace | None:
        """Return a trace that falsifies the formula and has a word in common with the answer.

        All words of this trace falsify the formula. Returns None if the answer is right, or if the
        effort is spent. Each position of the answer has to be satisfiable.
        """
        graph = Graph()
        root = graph.add(problem) ^ 1
        if root == TRUE:
            return _ANYTHING
        found = self._falsifying(graph, root, answer)
        if found is None:
            return None
        values, lane, positions, period = _single(graph, graph.reachable(root), *found)
        literals = justify(graph, root, values, lane, positions - period)
        return _trace(graph, literals, positions, positions - period)

    def falsifying_word(self, problem: Formula, answer: Trace) -> Word | None:
        """Return a word of the answer that falsifies the formula.

        Returns None if the answer is right, or if the effort is spent. Each position of the answer
        has to be satisfiable.
        """
        graph = Graph()
        root = graph.add(problem) ^ 1
        if root == TRUE:
            return Word.of(answer)
        found = self._falsifying(graph, root, answer)
        if found is None:
            return None
        letters, period = found
        true = (
            frozenset(name for name, value in zip(graph.symbols, letter, strict=True) if value)
            for letter in letters
        )
        return Word(tuple(true), len(letters) - period)

    def _falsifying(
        self, graph: Graph, root: int, answer: Trace
    ) -> tuple[list[Letter], int] | None:
        """Return a word of the answer that satisfies the formula of edge `root`.

        The word is given as its letters and the length of its period. Returns None if there is no
        such word, or if the effort is spent.
        """
        letters = [graph.add(position) for position in answer.positions]
        if root == FALSE:
            return None
        try:
            effort = Effort.of(self.effort)
            with Tableau(graph, root, letters, len(answer.stem), effort) as tableau:
                word = tableau.word()
        except EffortError:
            return None
        return None if word is None else _rolled(*word)

    def _verdict(self, problem: Formula, answer: Trace, effort: Effort | None) -> Verdict:
        graph = Graph()
        root = graph.add(problem)
        number = {name: i for i, name in enumerate(graph.symbols)}
        literals: Literals = {}
        others = []
        for place, position in enumerate(answer.positions):
            values = literals_of(position)
            if values is None:
                others.append(position)
                continue
            for name, value in values.items():
                if name in number:  # other symbols do not affect the formula
                    literals[place, number[name]] = value == "1"
        if root <= 1 and not others:
            return Verdict.CORRECT if root == TRUE else Verdict.INCORRECT
        nodes, count = graph.reachable(root), len(answer.positions)
        shape = TraceShape(graph, nodes, root, count, len(answer.stem), effort)
        if others:
            return _check_any(shape, answer, others, literals)
        return Verdict.CORRECT if shape.all_satisfy(literals) else Verdict.INCORRECT

    def _find(
        self, graph: Graph, nodes: list[int], root: int, effort: Effort | None
    ) -> SatisfyingLasso | None:
        for positions, period in shapes(PARALLEL):
            found = _parallel(graph, nodes, root, positions, period)
            if found is not None:
                return found
        with Tableau(graph, root, effort=effort) as tableau:
            word = tableau.word()
        if word is None:
            return None
        letters, period = _rolled(*word)
        if len(letters) <= SHORTENED and len(nodes) * len(letters) <= NODES_TIMES_POSITIONS:
            for shape in shapes(len(letters)):
                if shape[0] <= PARALLEL and exhaustive(len(graph.symbols), shape[0]):
                    continue  # an earlier search found no word of this shape
                first = word_of_shape(graph, root, *shape, effort)
                if first is not None:
                    return _single(graph, nodes, first, shape[1])
        return _single(graph, nodes, letters, period)


def _check_any(
    shape: TraceShape, answer: Trace, others: list[Formula], literals: Literals
) -> Verdict:
    """Return the verdict on a trace with positions that are not conjunctions of literals.

    others: the formulas of these positions. literals: the literals of the other positions.
    """
    for position in others:
        propositional().check_operators(position)
    graph = shape.graph
    letters = [graph.add(position) for position in answer.positions]
    for position in dict.fromkeys(others):
        with Tableau(graph, graph.add(position), effort=shape.effort) as tableau:
            if tableau.is_empty():
                return Verdict.INVALID
    verdict = shape.certain(literals)
    if verdict is None:
        verdict = shape.contains(letters)
    return Verdict.CORRECT if verdict else Verdict.INCORRECT


def _parallel(
    graph: Graph, nodes: list[int], root: int, positions: int, period: int
) -> SatisfyingLasso | None:
    columns, full = all_or_some(len(of_symbols(graph, nodes)), positions)
    columns = spread(columns, graph, nodes)
    values = evaluate(graph, nodes, columns, positions, positions - period, full)
    found = holds(values, root, full)
    return (values, found & -found, positions, period) if found else None


def _single(graph: Graph, nodes: list[int], letters: list[Letter], period: int) -> SatisfyingLasso:
    columns = [[int(letter[symbol]) for letter in letters] for symbol in range(len(graph.symbols))]
    count = len(letters)
    return evaluate(graph, nodes, columns, count, count - period, 1), 1, count, period


def _rolled(stem: list[Letter], period: list[Letter]) -> tuple[list[Letter], int]:
    """Shorten period and stem as far as possible without changing the word.

    Returns the letters of stem and period, and the length of the period.
    """
    for length in range(1, len(period)):
        if len(period) % length == 0 and period == period[:length] * (len(period) // length):
            period = period[:length]
            break
    stem, period = list(stem), list(period)
    while stem and stem[-1] == period[-1]:
        period.insert(0, period.pop())
        stem.pop()
    return stem + period, len(period)


def _trace(graph: Graph, literals: Literals, positions: int, loop: int) -> Trace:
    letters: list[Formula] = [_ONE] * positions
    for (position, symbol), value in literals.items():
        literal = Formula(graph.symbols[symbol])
        literal = literal if value else Formula("!", (literal,))
        before = letters[position]
        letters[position] = literal if before is _ONE else Formula("&", (before, literal))
    return Trace(tuple(letters[:loop]), tuple(letters[loop:]))
