"""One step of an LTL tableau as a propositional problem, whose models a SAT solver finds.

A state is a position of a lasso of letters and a set of formulas that must hold from there on. One
step unfolds every formula into what it asks of the letter now and of the next state:

    a U b  =  b | a & X(a U b)        !(a U b)  =  !b & (!a | X !(a U b))

So a state is a propositional problem over the symbols and the atoms "f must hold next". Its steps
are the models with inclusion-minimal sets of atoms: a state with more obligations accepts no more
words, so the others add nothing. No disjunction is ever multiplied out.

Sources: Gerth, Peled, Vardi, Wolper (PSTV 1995) for the unfolding; Li, Zhu, Pu, Zhang, Vardi,
SAT-based explicit LTL reasoning and its application to satisfiability checking (FMSD 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from logicgen.solvers.ltl_graph import AND, FALSE, NEXT, SYMBOL, TRUE, UNTIL, XOR, Graph
from logicgen.solvers.sat_engine import Effort, SatEngine, first_model

State = tuple[int, int]
"""A position, and a set of formulas as bits."""

Letter = list[bool]
"""Truth values by symbol of the graph."""


@dataclass(frozen=True)
class Step:
    """A way to meet the obligations of a state now."""

    target: State  # the state after it
    met: int  # the untils that it does not postpone, as bits
    atoms: tuple[int, ...]  # the atoms chosen, as variables


class Unfolding:
    """The steps from state to state of a lasso of letters and a formula.

    Use as a context manager: it holds a SAT solver.

    Args:
        graph: holds the formula and the positions.
        root: edge of the formula.
        positions: edges of propositional formulas, each satisfiable; `[TRUE]` for all words.
        loop: the position after the last one.
        effort: what the SAT solver spends; no limit if None.
    """

    def __init__(
        self,
        graph: Graph,
        root: int,
        positions: Sequence[int] = (TRUE,),
        loop: int = 0,
        effort: Effort | None = None,
    ) -> None:
        self._graph = graph
        self._count = len(positions)
        self._loop = loop
        self._clauses: list[list[int]] = []
        self._last = len(graph.symbols)  # symbol number i is variable i + 1
        self._literal: dict[int, int] = {}
        self._pending: list[int] = []
        self._element: dict[int, int] = {}  # edge -> its bit in sets of formulas
        self._asked: list[int] = []  # by element: the variable that it must hold next
        self._now: list[int] = []  # by element: the literal that it holds now
        self._next: dict[int, int] = {}  # edge -> atom "it must hold next"
        self.atoms: dict[int, tuple[int, int]] = {}  # atom -> elements, postponed untils
        self._untils = 0
        self._at = [self._new() for _ in positions]
        for at, position in zip(self._at, positions, strict=True):
            self._clauses.append([-at, self._now_literal(position)])
        # The first state, None if the formula is false.
        self.start = (0, self._elements(root)) if root != FALSE else None
        while self._pending:
            self._unfold(self._pending.pop())
        self.untils = (1 << self._untils) - 1  # all untils that can be postponed
        self._engine = SatEngine(self._clauses, effort=effort)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.delete()

    def _new(self) -> int:
        self._last += 1
        return self._last

    def _now_literal(self, edge: int) -> int:
        literal = self._literal.get(edge)
        if literal is None:
            node = edge >> 1
            if edge <= 1:
                literal = self._new()
                self._clauses.append([literal])
                self._literal[TRUE], self._literal[FALSE] = literal, -literal
                return self._literal[edge]
            if self._graph.kind[node] == SYMBOL:
                literal = self._graph.left[node] + 1
                literal = -literal if edge & 1 else literal
            else:
                literal = self._new()
                self._pending.append(edge)
            self._literal[edge] = literal
        return literal

    def _unfold(self, edge: int) -> None:
        """Add the clauses of an edge's literal, in one direction, since it is only assumed."""
        graph, clauses, holds = self._graph, self._clauses, self._now_literal
        node, negated = edge >> 1, edge & 1
        now, kind = self._literal[edge], graph.kind[node]
        a, b = graph.left[node], graph.right[node]
        if kind == NEXT:
            clauses.append([-now, self._next_atom(a ^ negated)])
        elif kind == UNTIL and negated:
            clauses += [-now, holds(b ^ 1)], [-now, holds(a ^ 1), self._next_atom(edge)]
        elif kind == UNTIL:
            mark = 1 << self._untils
            self._untils += 1
            postponed = self._atom(self._elements(edge), mark)
            clauses += [-now, holds(b), holds(a)], [-now, holds(b), postponed]
        else:
            clauses += gate(kind, negated, now, a, b, holds)

    def _next_atom(self, edge: int) -> int:
        atom = self._next.get(edge)
        if atom is None:
            atom = self._next[edge] = self._atom(self._elements(edge), 0)
        return atom

    def _atom(self, elements: int, mark: int) -> int:
        atom = self._new()
        self.atoms[atom] = elements, mark
        self._clauses += [[-atom, self._asked[number]] for number in _members(elements)]
        return atom

    def _elements(self, edge: int) -> int:
        """Return the set of formulas that stands for one: its conjuncts."""
        graph = self._graph
        found = 0
        todo = [edge]
        while todo:
            part = todo.pop()
            node = part >> 1
            if part == TRUE:
                continue
            if graph.kind[node] == AND and not part & 1:
                todo += [graph.right[node], graph.left[node]]
                continue
            number = self._element.get(part)
            if number is None:
                number = self._element[part] = len(self._asked)
                self._asked.append(self._new())
                self._now.append(self._now_literal(part))
            found |= 1 << number
        return found

    def _after(self, position: int) -> int:
        return position + 1 if position + 1 < self._count else self._loop

    def _assumed(self, state: State) -> list[int]:
        position, formulas = state
        return [self._at[position], *(self._now[number] for number in _members(formulas))]

    def steps(self, state: State, order: list[int]) -> Iterator[Step]:
        """Yield the minimal steps, in lexicographic order of their atoms (absent before present).

        They are defined by meaning alone, not by the engine's heuristics. `order` holds all atoms.
        """
        engine, atoms = self._engine, self.atoms
        here = self._new()  # switches on what excludes steps already given
        assumed = [*self._assumed(state), here]
        target = self._after(state[0])
        _, implied = engine.propagate(assumed)
        forced = set(implied)
        while engine.solve(assumed):
            true = engine.get_model().__getitem__
            fixed = list(assumed)
            chosen = []
            for atom in order:
                if true(atom - 1) < 0:
                    fixed.append(-atom)
                elif atom not in forced and engine.solve([*fixed, -atom]):
                    true = engine.get_model().__getitem__
                    fixed.append(-atom)
                else:
                    fixed.append(atom)
                    chosen.append(atom)
            formulas = postponed = 0
            for atom in chosen:
                formulas |= atoms[atom][0]
                postponed |= atoms[atom][1]
            yield Step((target, formulas), self.untils & ~postponed, tuple(chosen))
            if not chosen:
                return
            engine.add_clause([-here, *(-atom for atom in chosen)])

    def exclude(self, state: State) -> None:
        """Exclude steps to a state, or to one with more obligations, from now on."""
        position, formulas = state
        asked = [-self._asked[number] for number in _members(formulas)]
        for before in {position - 1, self._count - 1}:
            if before >= 0 and self._after(before) == position:
                self._engine.add_clause([-self._at[before], *asked])

    def letter(self, state: State, step: Step) -> Letter:
        """Return the first letter, true before false, that allows a step."""
        chosen = set(step.atoms)
        fixed = self._assumed(state)
        fixed += [atom if atom in chosen else -atom for atom in self.atoms]
        model = first_model(self._engine, len(self._graph.symbols), fixed)
        assert model is not None
        return [literal > 0 for literal in model]


def gate(
    kind: int, negated: int, now: int, a: int, b: int, holds: Callable[[int], int]
) -> list[list[int]]:
    """Return the clauses with which the literal `now` asks for an AND or XOR of two edges."""
    if kind == AND and negated:
        return [[-now, holds(a ^ 1), holds(b ^ 1)]]
    if kind == AND:
        return [[-now, holds(a)], [-now, holds(b)]]
    assert kind == XOR
    return [[-now, holds(a), holds(b ^ negated)], [-now, holds(a ^ 1), holds(b ^ 1 ^ negated)]]


def _members(formulas: int) -> Iterator[int]:
    while formulas:
        lowest = formulas & -formulas
        yield lowest.bit_length() - 1
        formulas ^= lowest
