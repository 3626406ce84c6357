"""Decide whether some word of a trace satisfies an LTL formula: an exact tableau, built on the fly.

A trace has a propositional formula at each position; position `loop` follows the last position. A
word has a letter (truth values of all symbols) at each position; the letter satisfies the formula
of the position.

A state is a position of the trace and a set of formulas that must hold from there on. A step
unfolds every formula into conditions on the present letter and on the next state:

    a U b  =  b | a & X(a U b)        !(a U b)  =  !b & (!a | X !(a U b))

So a state is a propositional problem over the symbols and the atoms "f must hold next". A SAT
solver finds its models. The steps are the models with inclusion-minimal sets of atoms, because a
state with more formulas accepts no more words.

An until is a formula `a U b`. A step postpones the until if it requires `X(a U b)` instead of `b`.
A run (a sequence of steps) is accepting if it postpones no until for ever. This is a generalized
Büchi condition. A component is a set of strongly connected states. A depth-first search stops at
the first component with an accepting run. If a state accepts no word, a clause excludes the state,
and all states at its position that contain its formulas.

Sources:
- Couvreur, On-the-fly verification of linear temporal logic (FM 1999).
- Gerth, Peled, Vardi, Wolper (PSTV 1995) for the unfolding.
- Li, Zhu, Pu, Zhang, Vardi, SAT-based explicit LTL reasoning (FMSD 2019).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from logicgen.solvers.ltl_graph import AND, FALSE, NEXT, SYMBOL, TRUE, UNTIL, XOR, Graph
from logicgen.solvers.sat_engine import Effort, SatEngine, first_model

State = tuple[int, int]
"""A position, and a set of formulas as bits."""

Letter = list[bool]
"""The truth value of each symbol of the graph."""


@dataclass(frozen=True)
class Step:
    """A step from one state to the next."""

    target: State  # the state after the step
    met: int  # the untils (`U` formulas) that the step does not postpone, as bits
    atoms: tuple[int, ...]  # the chosen atoms "f must hold next", as SAT variables


class Unfolding:
    """The steps between the states of a formula on a trace.

    Use it as a context manager, because it holds a SAT solver.

    Args:
        graph: contains the formula and the formulas of the positions. An edge of the graph denotes
            a formula.
        root: the edge of the formula.
        positions: the edges of the formulas at the positions of the trace. Each formula is
            satisfiable. `[TRUE]` allows all words.
        loop: the position that follows the last position.
        effort: the effort of the SAT solver. None means no limit.
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
        # An edge of the graph denotes a formula. A set of formulas is an int: bit i is 1 if the
        # formula with the number i is in the set.
        self._literal: dict[int, int] = {}  # edge -> the SAT literal "the formula holds now"
        self._pending: list[int] = []  # edges that still need clauses
        self._element: dict[int, int] = {}  # edge -> the number of the formula
        self._asked: list[int] = []  # number of a formula -> the SAT variable "it must hold next"
        self._now: list[int] = []  # number of a formula -> the SAT literal "it holds now"
        # edge -> its atom: if this SAT variable is true, the formula must hold in the next state
        self._next: dict[int, int] = {}
        # atom -> the set of formulas that it requires in the next state, and the set of untils that
        # it postpones
        self.atoms: dict[int, tuple[int, int]] = {}
        self._untils = 0
        self._at = [self._new() for _ in positions]
        for at, position in zip(self._at, positions, strict=True):
            self._clauses.append([-at, self._now_literal(position)])
        # The first state, or None if the formula is false.
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
        """Add clauses that make the formula of an edge hold now if the literal of the edge is true.

        The converse needs no clauses, because no other clause contains the negated literal.
        """
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
        """Split the formula of an edge into conjuncts, and return them as a set (bits)."""
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
        """Yield the minimal steps from a state, in lexicographic order of their atoms.

        An absent atom comes before a present atom. The steps depend on the meaning of the formula
        alone, not on the heuristics of the SAT engine.

        order: all atoms.
        """
        engine, atoms = self._engine, self.atoms
        here = self._new()  # if this literal is true, clauses exclude the steps found before
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
        """Exclude all steps to this state from the results of `steps`.

        Also exclude steps to states at the same position that contain all formulas of this state.
        If this state accepts no word, these states accept no word either.
        """
        position, formulas = state
        asked = [-self._asked[number] for number in _members(formulas)]
        for before in {position - 1, self._count - 1}:
            if before >= 0 and self._after(before) == position:
                self._engine.add_clause([-self._at[before], *asked])

    def letter(self, state: State, step: Step) -> Letter:
        """Return the lexicographically first letter (true before false) that allows a step."""
        chosen = set(step.atoms)
        fixed = self._assumed(state)
        fixed += [atom if atom in chosen else -atom for atom in self.atoms]
        model = first_model(self._engine, len(self._graph.symbols), fixed)
        assert model is not None
        return [literal > 0 for literal in model]


def gate(
    kind: int, negated: int, now: int, a: int, b: int, holds: Callable[[int], int]
) -> list[list[int]]:
    """Return clauses that require an AND or XOR of the edges `a` and `b` if `now` is true.

    now: a literal. negated: 1 if the AND or XOR must be false. holds: returns an edge's literal.
    """
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


@dataclass
class _Visit:
    number: int
    order: list[int]  # all atoms, in the order for `Unfolding.steps`
    steps: list[Step] = field(default_factory=list)


class Tableau(Unfolding):
    """A search for a word of a trace that satisfies a formula."""

    def is_empty(self) -> bool:
        """Return whether no word of the trace satisfies the formula."""
        return self._search() is None

    def word(self) -> tuple[list[Letter], list[Letter]] | None:
        """Return a word of the trace that satisfies the formula; None if there is no such word.

        The word is given as the letters of its stem and the letters of its period.
        """
        found = self._search()
        if found is None:
            return None
        visits, root, component = found
        assert self.start is not None
        stem = [] if self.start == root else _way(visits, self.start, visits, root)
        state = root
        period: list[tuple[State, Step]] = []
        missing = self.untils
        while missing:
            part = _way(visits, state, component, missing=missing)
            period += part
            for _, step in part:
                missing &= ~step.met
            state = part[-1][1].target
        if state != root or not period:
            period += _way(visits, state, component, root)
        letters = [self.letter(*place) for place in stem + period]
        return letters[: len(stem)], letters[len(stem) :]

    def _search(self) -> tuple[dict[State, _Visit], State, set[State]] | None:
        """Return (visits, root, states) of an accepting component; None if no component accepts."""
        if self.start is None:
            return None
        visits: dict[State, _Visit] = {}
        dead: set[State] = set()
        open_states: list[State] = []  # visited states that are not dead.
        # Three numbers for each component of open states. The first is the number of its first
        # state. The second is the untils that some step inside it does not postpone, as bits. The
        # third is the untils that the step into it does not postpone, as bits.
        roots: list[list[int]] = []
        path: list[tuple[State, Iterator[Step]]] = []

        def enter(state: State, met: int, order: list[int]) -> None:
            visits[state] = _Visit(len(visits), order)
            open_states.append(state)
            roots.append([visits[state].number, 0, met])
            path.append((state, self.steps(state, order)))

        enter(self.start, 0, list(self.atoms))
        while path:
            state, steps = path[-1]
            step = next(steps, None)
            if step is None:
                path.pop()
                if roots[-1][0] == visits[state].number:
                    roots.pop()
                    self._close(state, open_states, dead)
                continue
            target = step.target
            if target in dead:
                continue
            visits[state].steps.append(step)
            seen = visits.get(target)
            if seen is None:
                order = self._urgent_first(visits[state].order, self.untils & ~step.met)
                enter(target, step.met, order)
                continue
            met = step.met
            while roots[-1][0] > seen.number:
                _, inside, into = roots.pop()
                met |= inside | into
            roots[-1][1] |= met
            if roots[-1][1] == self.untils:
                first = roots[-1][0]
                component = {s for s in open_states if visits[s].number >= first}
                root = next(s for s in open_states if visits[s].number == first)
                return visits, root, component
        return None

    def _close(self, root: State, open_states: list[State], dead: set[State]) -> None:
        """Move the last component, which accepts no word, from `open_states` to `dead`."""
        closed = None
        while closed != root:
            closed = open_states.pop()
            dead.add(closed)
            self.exclude(closed)

    def _urgent_first(self, order: list[int], postponed: int) -> list[int]:
        """Move atoms that postpone the given untils to the front of the order.

        `steps` then tries first to make these atoms false.
        """
        late = [atom for atom in order if self.atoms[atom][1] & postponed]
        return late + [atom for atom in order if not self.atoms[atom][1] & postponed]


def _way(
    visits: dict[State, _Visit],
    start: State,
    allowed: Collection[State],
    goal: State | None = None,
    missing: int = 0,
) -> list[tuple[State, Step]]:
    """Return the shortest path from `start`, as pairs of a state and the step from it.

    The path ends with a step to `goal`, or with a step that does not postpone one of the untils in
    `missing` (bits). It visits only `allowed` states.
    """
    came: dict[State, tuple[State, Step]] = {}
    queue = deque([start])
    seen = {start}
    while queue:
        state = queue.popleft()
        for step in visits[state].steps:
            if step.target not in allowed:
                continue
            if step.target == goal or step.met & missing:
                way = [(state, step)]
                while state != start:
                    way.append(came[state])
                    state = came[state][0]
                return way[::-1]
            if step.target not in seen:
                seen.add(step.target)
                came[step.target] = state, step
                queue.append(step.target)
    raise AssertionError("a component is connected")
