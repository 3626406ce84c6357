"""The common part of the controls of formulas: votes of polarity, flips, and fixed answers.

The formulas become graphs (`solvers/ltl_graph.py`), which fold constants. An edge `2 * node` of a
graph is the formula of a node, `2 * node + 1` its negation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from itertools import islice
from typing import Any, ClassVar

from logicgen.solvers.ltl_graph import AND, FALSE, SYMBOL, TRUE, XOR, Graph
from logicgen.syntax.formula import Formula
from logicgen.tasks.controls import Control, Shot
from logicgen.tasks.formula_task import FormulaTask
from logicgen.tasks.task import symbols_of

Values = dict[str, bool]
"""The truth value of each symbol."""

Pattern = tuple[bool, ...] | None
"""A fixed answer: values in order of first occurrence, or None for `unsat`."""


class FormulaControl(Control):
    """A control that reads a formula and yields answers, most trusted first."""

    task: ClassVar[FormulaTask]

    @abstractmethod
    def candidates(self, formula: Formula) -> Iterator[Any]:
        """Yield answers to a formula, as values of the task. Answers may repeat.

        An iterator that never repeats an answer may also be endless.
        """

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        found: dict[str, None] = {}
        # An endless iterator may repeat itself, so the number of candidates is limited.
        for answer in islice(self.candidates(_parsed(self.task, problem)), 8 * count):
            found[self.task.encode(answer)] = None
            if len(found) == count:
                break
        return list(found)


@lru_cache(maxsize=1 << 12)
def _parsed(task: FormulaTask, problem: str) -> Formula:
    """Return the formula of a problem. All controls of a task answer the same problems in turn."""
    return task.decode_problem(problem)


def polarity_vote(graph: Graph, root: int, symbols: Iterable[str]) -> tuple[Values, dict[str, int]]:
    """Return the value that each symbol's occurrences vote for, and the margins of the votes.

    A positive occurrence votes for true and a negative one for false; an occurrence under `^` votes
    for both. Symbols that the graph lacks are true.

    root: an edge of a graph without temporal operators.
    """
    counts = {root: 1}
    found: dict[str, int] = {}
    for node in reversed(graph.reachable(root)):
        positive, negative = counts.pop(2 * node, 0), counts.pop(2 * node + 1, 0)
        if graph.kind[node] == SYMBOL:
            found[graph.symbols[graph.left[node]]] = positive - negative
            continue
        if graph.kind[node] == XOR:
            positive = negative = positive + negative
        for operand in (graph.left[node], graph.right[node]):
            counts[operand] = counts.get(operand, 0) + positive
            counts[operand ^ 1] = counts.get(operand ^ 1, 0) + negative
    votes = dict.fromkeys(symbols, 0) | found
    values = {name: count >= 0 for name, count in votes.items()}
    return values, {name: abs(count) for name, count in votes.items()}


def truth(graph: Graph, nodes: Iterable[int], values: Values) -> dict[int, bool]:
    """Return the truth value of each edge to the nodes of a graph without temporal operators.

    nodes: every node after the nodes below it.
    """
    true = {TRUE: True, FALSE: False}
    for node in nodes:
        left, right = graph.left[node], graph.right[node]
        if graph.kind[node] == SYMBOL:
            value = values[graph.symbols[left]]
        elif graph.kind[node] == AND:
            value = true[left] and true[right]
        else:
            value = true[left] != true[right]
        true[2 * node], true[2 * node + 1] = value, not value
    return true


def flipped(values: Values, margins: Mapping[str, float]) -> Iterator[Values]:
    """Yield the given values, then the values with one or more symbols flipped.

    The flips with the least total margin come first.

    margins: for each symbol, a number of at least 0. It is large if the value is probably right.
    """
    yield values
    names = sorted(values, key=lambda name: margins[name])
    # An entry is a total margin, and the increasing places of the flipped symbols.
    heap: list[tuple[float, tuple[int, ...]]] = [(margins[names[0]], (0,))] if names else []
    while heap:
        total, places = heappop(heap)
        yield values | {names[place]: not values[names[place]] for place in places}
        after = places[-1] + 1
        if after < len(names):
            more = margins[names[after]]
            heappush(heap, (total + more, (*places, after)))
            heappush(heap, (total + more - margins[names[places[-1]]], (*places[:-1], after)))


class ConstantAnswer(FormulaControl):
    """A fixed answer: the first symbol has this value, the second symbol that value, and so on.

    The answers are the fixed answers that are right most often in the training split. Symbols are
    counted in order of first occurrence, so renaming a problem renames its answer. A symbol beyond
    the fixed values is true. If the training split has unsatisfiable problems, `unsat` is one of
    the fixed answers.
    """

    name = "constant"
    about = "the fixed values, by order of first occurrence, that are right most often in training"

    # The number of training problems on which fixed answers are compared.
    COMPARED = 300
    # The number of fixed answers that are compared: the most frequent stored answers.
    CANDIDATES = 30

    def __init__(self) -> None:
        self._patterns: list[Pattern] = [(), (False,) * 100]

    def fit(self, solved: Sequence[Shot]) -> None:
        seen: dict[Pattern, int] = dict.fromkeys(self._patterns, 0)
        for problem, answer in solved:
            pattern = self._pattern(problem, answer)
            seen[pattern] = seen.get(pattern, 0) + 1
        frequent = sorted(seen, key=lambda pattern: -seen[pattern])[: self.CANDIDATES]
        candidates = [*dict.fromkeys([*self._patterns, *frequent])]
        problems = [self.task.decode_problem(problem) for problem, _ in solved[: self.COMPARED]]
        right = {
            pattern: sum(
                self.task.check(each, self._answer(each, pattern)).is_right for each in problems
            )
            for pattern in candidates
        }
        self._patterns = sorted(candidates, key=lambda pattern: -right[pattern])

    def candidates(self, formula: Formula) -> Iterator[Any]:
        for pattern in self._patterns:
            yield self._answer(formula, pattern)

    @abstractmethod
    def answer(self, values: Values) -> Any:
        """Return the answer with these values."""

    @abstractmethod
    def values(self, answer: str) -> Values:
        """Return the first value that an answer gives to each symbol."""

    def _pattern(self, problem: str, answer: str) -> Pattern:
        """Return the values of an answer, in order of first occurrence in the problem.

        A symbol that the answer does not mention counts as true.
        """
        if self.task.decode_answer(answer) == self.task.refutation:
            return None
        values = self.values(answer)
        return tuple(values.get(name, True) for name in symbols_of(problem))

    def _answer(self, formula: Formula, pattern: Pattern) -> Any:
        """Return the answer with the values of a pattern."""
        if pattern is None:
            return self.task.refutation
        rest = (True,) * len(formula.symbols)
        return self.answer(dict(zip(formula.symbols, pattern + rest, strict=False)))
