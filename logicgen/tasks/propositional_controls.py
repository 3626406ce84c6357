"""Controls of propositional logic: programs without training that assign values to symbols."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar

from logicgen.solvers.ltl_graph import AND, FALSE, SYMBOL, TRUE, Graph
from logicgen.syntax.answers import Assignment
from logicgen.syntax.formula import Formula
from logicgen.tasks.formula_controls import (
    ConstantAnswer,
    FormulaControl,
    Values,
    flipped,
    polarity_vote,
    truth,
)
from logicgen.tasks.parities import LinearSystem
from logicgen.tasks.propositional import Propositional

# The probability that the walk flips a random symbol of the formula.
NOISE = 0.1


class AssignmentControl(FormulaControl):
    """A control that answers with total assignments."""

    task: ClassVar = Propositional()


class ConstantAssignment(ConstantAnswer, AssignmentControl):
    """A fixed assignment by order of first occurrence."""

    def answer(self, values: Values) -> Assignment:
        return Assignment(tuple(values.items()))

    def values(self, answer: str) -> Values:
        found = self.task.decode_answer(answer)
        return dict(found.literals) if isinstance(found, Assignment) else {}


class RandomAssignments(AssignmentControl):
    """Different random assignments. They depend on the formula alone."""

    name = "random"
    about = "random values"

    def candidates(self, formula: Formula) -> Iterator[Assignment]:
        rng = Random(formula.prefix)
        while True:
            yield Assignment(tuple((name, rng.random() < 0.5) for name in formula.symbols))


class AssignmentVote(AssignmentControl):
    """Each symbol has the value that more of its occurrences ask for.

    An occurrence under an even number of negations asks for true. Further answers flip the symbols
    with the closest votes.
    """

    name = "vote"
    about = "the value that more occurrences of a symbol ask for"

    def candidates(self, formula: Formula) -> Iterator[Assignment]:
        graph = Graph()
        for each in flipped(*polarity_vote(graph, graph.add(formula), formula.symbols)):
            yield Assignment(tuple(each.items()))


class Greedy(AssignmentControl):
    """One symbol after the other gets the value with which the formula is more probably true.

    The probability is computed as if all subformulas were independent, and as if symbols without a
    value were true with probability 1/2. The symbol with the largest effect comes first. Further
    answers flip the symbols with the smallest effects.
    """

    name = "greedy"
    about = "values that make the formula most probable, if its parts were independent"

    def candidates(self, formula: Formula) -> Iterator[Assignment]:
        for values in flipped(*greedy(formula)):
            yield Assignment(tuple(values.items()))


def greedy(formula: Formula) -> tuple[Values, dict[str, float]]:
    """Return greedy values of the symbols, and by how much each value raised the probability."""
    graph = Graph()
    root = graph.add(formula)
    nodes = graph.reachable(root)
    chances = dict.fromkeys(graph.symbols, 0.5)
    margins: dict[str, float] = {}
    order = sorted(chances, key=lambda name: -abs(_gain(graph, nodes, root, chances, name)))
    for name in order:
        gain = _gain(graph, nodes, root, chances, name)
        chances[name], margins[name] = float(gain >= 0), abs(gain)
    values = {name: chances[name] == 1.0 for name in graph.symbols}
    return values, margins


def _gain(graph: Graph, nodes: list[int], root: int, chances: dict[str, float], name: str) -> float:
    """Return the probability of an edge if a symbol is true, minus that if it is false."""
    both = (_probability(graph, nodes, root, chances | {name: value}) for value in (1.0, 0.0))
    return next(both) - next(both)


def _probability(graph: Graph, nodes: list[int], root: int, chances: dict[str, float]) -> float:
    """Return the probability of an edge if all subformulas were independent."""
    found = {TRUE: 1.0, FALSE: 0.0}
    for node in nodes:
        left, right = graph.left[node], graph.right[node]
        if graph.kind[node] == SYMBOL:
            chance = chances[graph.symbols[left]]
        elif graph.kind[node] == AND:
            chance = found[left] * found[right]
        else:
            chance = found[left] + found[right] - 2 * found[left] * found[right]
        found[2 * node], found[2 * node + 1] = chance, 1 - chance
    return found[root]


class Parities(AssignmentControl):
    """Values by linear equations over the field of two elements, without search (`parities.py`).

    Symbols that the equations leave free are false. Further answers flip one or more symbols.
    """

    name = "parities"
    about = "values by linear equations and propagation, choices never taken back"

    def candidates(self, formula: Formula) -> Iterator[Assignment]:
        graph = Graph()
        values = LinearSystem(graph, graph.add(formula)).values()
        values = {name: values.get(name, False) for name in formula.symbols}
        for each in flipped(values, dict.fromkeys(values, 1)):
            yield Assignment(tuple(each.items()))


class AssignmentWalk(AssignmentControl):
    """A focused random walk: start with the greedy values, and flip a symbol of a false part.

    It walks from the root of the formula to a symbol, and at each operator chooses an operand that
    keeps the operator from its value. This is the idea of WalkSAT for formulas that are not
    clauses. It stops at an assignment that satisfies the formula.

    Source: Selman, Kautz, Cohen, Noise strategies for improving local search (AAAI 1994).
    """

    name = "walk"
    about = "local search: flips a symbol of a part that is false, from the greedy values"

    def candidates(self, formula: Formula) -> Iterator[Assignment]:
        rng = Random(formula.prefix)
        graph = Graph()
        root = graph.add(formula)
        nodes, values = graph.reachable(root), greedy(formula)[0]
        while True:
            yield Assignment(tuple(values.items()))
            true = truth(graph, nodes, values)
            if true[root] or not nodes:
                return
            name = rng.choice(list(values))
            if rng.random() >= NOISE:
                name = _blamed(graph, root, true, rng)
            values = values | {name: not values[name]}


def _blamed(graph: Graph, root: int, true: dict[int, bool], rng: Random) -> str:
    """Return a symbol that helps to keep a false edge false."""
    edge = root
    while graph.kind[edge >> 1] != SYMBOL:
        operands = [graph.left[edge >> 1], graph.right[edge >> 1]]
        if graph.kind[edge >> 1] == AND and not edge & 1:
            operands = [operand for operand in operands if not true[operand]]
        edge = rng.choice(operands)
        # The edge has to change its value. Take the edge of the pair that is false.
        edge = edge ^ 1 if true[edge] else edge
    return graph.symbols[graph.left[edge >> 1]]
