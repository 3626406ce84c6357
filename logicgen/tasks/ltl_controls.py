"""Controls of LTL: programs without training that write traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations, product
from random import Random
from typing import ClassVar

from logicgen.solvers.lassos import evaluate
from logicgen.solvers.ltl_graph import AND, FALSE, NEXT, SYMBOL, TRUE, UNTIL, XOR, Graph
from logicgen.syntax.answers import NO_ANSWER, NoAnswer, Trace, literals_of
from logicgen.syntax.formula import Formula
from logicgen.tasks.formula_controls import (
    ConstantAnswer,
    FormulaControl,
    Values,
    flipped,
    polarity_vote,
    truth,
)
from logicgen.tasks.ltl import LTL
from logicgen.tasks.placement import Placement
from logicgen.tasks.propagation import LassoGates

# The most positions of a trace of the controls.
MOST_POSITIONS = 8

# The numbers of positions of the lassos of the control `propagate`.
UNROLLED = (6, 8, 4, 12, 2, 1)

# The most symbols that the rule flips in a vote.
MOST_FLIPS = 2

# The number of flips after which the walk starts again, with another shape.
FLIPS = 8


def trace(letters: Sequence[Values], loop: int) -> Trace:
    """Return the trace with the given literals at each position.

    loop: the position that follows the last position.
    """
    positions = tuple(map(_conjunction, letters))
    return Trace(positions[:loop], positions[loop:])


def _conjunction(letter: Values) -> Formula:
    """Return the conjunction of literals, grouped from the left; 1 if there are no literals."""
    literals = [Formula(name) if value else ~Formula(name) for name, value in letter.items()]
    return reduce(Formula.__and__, literals) if literals else Formula("1")


class TraceControl(FormulaControl):
    """A control that answers with traces."""

    task: ClassVar = LTL()


class ConstantTrace(ConstantAnswer, TraceControl):
    """A fixed answer of one position, repeated for ever."""

    def answer(self, values: Values) -> Trace:
        return trace([values], 0)

    def values(self, answer: str) -> Values:
        found = self.task.decode_answer(answer)
        positions = found.positions if isinstance(found, Trace) else ()
        literals: Values = {}
        for position in positions:
            for name, value in (literals_of(position) or {}).items():
                literals.setdefault(name, value == "1")
        return literals


class RandomTraces(TraceControl):
    """Different random words of one to three positions. They depend on the formula alone."""

    name = "random"
    about = "random values at one to three positions"

    def candidates(self, formula: Formula) -> Iterator[Trace]:
        rng = Random(formula.prefix)
        while True:
            count = rng.randint(1, 3)
            letters = [{name: rng.random() < 0.5 for name in formula.symbols} for _ in range(count)]
            yield trace(letters, rng.randrange(count))


def erased(formula: Formula) -> tuple[Graph, int]:
    """Return a formula without temporal operators, equal to the formula on constant words.

    On a word of equal letters, `X a` is `a`, and `a U b` is `b`. The result is a graph
    and the edge of the formula.
    """
    graph, found = Graph(), Graph()
    root = graph.add(formula)
    edges = {TRUE: TRUE, FALSE: FALSE}
    for node in graph.reachable(root):
        kind, left, right = graph.kind[node], graph.left[node], graph.right[node]
        if kind == SYMBOL:
            edge = found.symbol(graph.symbols[left])
        elif kind == AND:
            edge = found.conjunction(edges[left], edges[right])
        elif kind == XOR:
            edge = found.exclusive(edges[left], edges[right])
        else:
            edge = edges[right]  # both edges of X are the same
        edges[2 * node], edges[2 * node + 1] = edge, edge ^ 1
    return found, edges[root]


def depth(graph: Graph, root: int) -> int:
    """Return the deepest nesting of temporal operators."""
    found = {TRUE: 0}
    for node in graph.reachable(root):
        if graph.kind[node] == SYMBOL:
            found[2 * node] = 0
            continue
        deepest = max(found[graph.left[node] & -2], found[graph.right[node] & -2])
        found[2 * node] = deepest + (graph.kind[node] in (NEXT, UNTIL))
    return found[root & -2]


def vote(formula: Formula) -> tuple[Graph, int, Values, dict[str, int]]:
    """Return the erased formula, the value that each symbol's occurrences vote for, and margins.

    Symbols that the erased formula lacks are true.
    """
    graph, root = erased(formula)
    return graph, root, *polarity_vote(graph, root, formula.symbols)


class TraceVote(TraceControl):
    """The same letter at every position, chosen by a vote of the occurrences of each symbol.

    First, it erases the operands that do not matter on a word of equal letters: `X a` becomes `a`,
    `a U b` becomes `b`. Constants are folded. Then each symbol gets the value that more of its
    occurrences ask for. Further answers flip the symbols with the closest votes.
    """

    name = "vote"
    about = "one letter for ever, in which each symbol has the value that more occurrences ask for"

    def candidates(self, formula: Formula) -> Iterator[Trace]:
        _, _, values, margins = vote(formula)
        for each in flipped(values, margins):
            yield trace([each], 0)


class Rule(TraceControl):
    """The vote; if it fails, at most two flips; if they fail, literals placed in one pass.

    The vote and its flips are tested on the erased formula, without a verifier. The literals are
    placed once (`placement.py`), on one position more than temporal operators are nested, and the
    last position repeats. Nothing is tried twice. Further answers have other shapes and orders.
    """

    name = "rule"
    about = "the vote with at most two flips, else literals placed position by position"

    def candidates(self, formula: Formula) -> Iterator[Trace]:
        graph, root, values, _ = vote(formula)
        for flips in range(MOST_FLIPS + 1):
            for names in combinations(values, flips):
                each = values | {name: not values[name] for name in names}
                if truth(graph, graph.reachable(root), each)[root]:
                    yield trace([each], 0)
                    return
        for placed in placements(formula):
            yield trace(placed.letters(), placed.loop)
        yield from TraceVote().candidates(formula)


def placements(formula: Formula) -> Iterator[Placement]:
    """Yield placements of a formula in different shapes and orders, the likeliest shape first."""
    graph = Graph()
    root = graph.add(formula)
    likely = min(1 + depth(graph, root), MOST_POSITIONS)
    counts = [likely, *(n for n in range(1, MOST_POSITIONS + 1) if n != likely)]
    for delay, last_first, back, count in product(range(3), (False, True), (1, 2), counts):
        loop = max(count - back, 0)
        yield Placement(graph, root, count, loop, last_first=last_first, delay=delay)


def fitting_first(
    answers: Iterable[tuple[bool, Trace]], if_none_fits: Sequence[NoAnswer] = ()
) -> Iterator[Trace | NoAnswer]:
    """Yield the answers that fit, then the other answers.

    answers: pairs of a mark and an answer. The mark is True if the answer fits.
    if_none_fits: answers to yield first if no answer fits.
    """
    found_one, others = False, []
    for fits, answer in answers:
        if fits:
            found_one = True
            yield answer
        else:
            others.append(answer)
    if not found_one:
        yield from if_none_fits
    yield from others


class Placer(TraceControl):
    """The placements of `rule`, without its vote. Placements that fit come first.

    It tries up to 96 shapes and orders. So it is a solver that searches little and may fail.
    """

    name = "place"
    about = "literals placed in one pass, in 96 shapes and orders until all literals fit"
    if_none_fits: ClassVar[Sequence[NoAnswer]] = ()

    def candidates(self, formula: Formula) -> Iterator[Trace | NoAnswer]:
        answers = (
            (placed.fits, trace(placed.letters(), placed.loop)) for placed in placements(formula)
        )
        return fitting_first(answers, self.if_none_fits)


class Decider(Placer):
    """The answers of `place`. If no placement fits, its first answer is that no trace exists."""

    name = "decide"
    about = "the answers of `place`; before them, that no trace exists, if no placement fits"
    if_none_fits = (NO_ANSWER,)


class Propagator(TraceControl):
    """Values found by propagation on a lasso that repeats its last position (`propagation.py`).

    The first answer has six positions; further answers have other numbers. Answers with
    contradictory values come last.
    """

    name = "propagate"
    about = "values by propagation on a lasso of six positions, choices never taken back"

    def candidates(self, formula: Formula) -> Iterator[Trace | NoAnswer]:
        graph = Graph()
        root = graph.add(formula)
        lassos = (LassoGates(graph, root, positions) for positions in UNROLLED)
        return fitting_first(
            (lasso.fits, trace(lasso.letters(), lasso.positions - 1)) for lasso in lassos
        )


class LassoWalk(TraceControl):
    """A focused random walk over lassos, starting with the vote at every position.

    Each step walks from the root of the formula to a literal, and at each operator chooses an
    operand that keeps the operator from its value. It flips the literal. The number of positions
    grows by 1 with every restart, and returns to 1 after MOST_POSITIONS. The walk stops at a word
    that satisfies the formula.
    """

    name = "walk"
    about = "local search over lassos: flips a literal of a part that is false"

    def candidates(self, formula: Formula) -> Iterator[Trace]:
        rng = Random(formula.prefix)
        graph = Graph()
        root = graph.add(formula)
        start = vote(formula)[2]
        nodes = graph.reachable(root)
        while True:
            for positions in range(1, MOST_POSITIONS + 1):
                loop = positions - 1 if rng.random() < 0.5 else rng.randrange(positions)
                walk = _Lasso(graph, nodes, root, positions, loop, start)
                for _ in range(FLIPS):
                    yield walk.trace()
                    if walk.right():
                        return
                    walk.flip(rng)


class _Lasso:
    """A lasso with letters that change one literal at a time."""

    def __init__(
        self, graph: Graph, nodes: list[int], root: int, positions: int, loop: int, start: Values
    ) -> None:
        self.graph, self.nodes, self.root = graph, nodes, root
        self.positions, self.loop = positions, loop
        values = [int(start.get(name, True)) for name in graph.symbols]
        self.columns = [[value] * positions for value in values]
        self._true: dict[int, list[int]] = {}

    def trace(self) -> Trace:
        """Return the lasso as a trace."""
        names = self.graph.symbols
        letters = [
            {name: bool(self.columns[i][at]) for i, name in enumerate(names)}
            for at in range(self.positions)
        ]
        return trace(letters, self.loop)

    def right(self) -> bool:
        """Return whether the lasso satisfies the formula, and remember all truth values."""
        values = evaluate(self.graph, self.nodes, self.columns, self.positions, self.loop, 1)
        self._true = {}
        for node in [0, *self.nodes]:
            positive = values[2 * node]
            assert positive is not None
            self._true[2 * node] = positive
            self._true[2 * node + 1] = [1 - value for value in positive]
        return bool(self._true[self.root][0]) or not self.nodes

    def flip(self, rng: Random) -> None:
        """Change a literal that helps to keep the formula false at the first position."""
        edge, at, graph = self.root, 0, self.graph
        while graph.kind[edge >> 1] != SYMBOL:
            edge, at = self._blamed(edge, at, rng)
            # The edge has to change its value. Take the edge of the pair that is false.
            edge = edge ^ 1 if self._true[edge][at] else edge
        column = self.columns[graph.left[edge >> 1]]
        column[at] = 1 - column[at]

    def _blamed(self, edge: int, at: int, rng: Random) -> tuple[int, int]:
        """Return an operand, and a position, that help to keep an edge false at a position."""
        graph, node = self.graph, edge >> 1
        kind, left, right = graph.kind[node], graph.left[node], graph.right[node]
        if kind == NEXT:
            return left, self._after(at)
        if kind == UNTIL:
            return self._blamed_until(edge, at, rng)
        operands = [left, right]
        if kind == AND and not edge & 1:
            operands = [operand for operand in operands if not self._true[operand][at]]
        return rng.choice(operands), at

    def _blamed_until(self, edge: int, at: int, rng: Random) -> tuple[int, int]:
        """Return an operand of an until, and a position, that help to keep an edge false."""
        node = edge >> 1
        left, right = self.graph.left[node], self.graph.right[node]
        options: list[tuple[int, int]] = []
        for _ in range(self.positions):
            if edge & 1:
                if self._true[right][at]:
                    options.append((right, at))
                    break
                options.append((left, at))
            else:
                options.append((right, at))
                if not self._true[left][at]:
                    options.append((left, at))
                    break
            at = self._after(at)
        options = [(operand, place) for operand, place in options if operand > 1]
        return rng.choice(options or [(right, at)])

    def _after(self, position: int) -> int:
        return position + 1 if position + 1 < self.positions else self.loop
