"""Values of the literals of an LTL formula on a lasso, found by propagation without search.

The formula is unrolled over the positions of a lasso that repeats its last position. Each
subformula at each position becomes a gate of two operands. The formula has to be true at the first
position. Values are propagated through the gates in both directions. If a gate has to be false and
both operands are open, the operand that fixes fewer symbols is made false. Choices are never taken
back.

A literal is a number: `2 * v` is the variable v, `2 * v + 1` its negation. Variable 0 is true.
"""

from __future__ import annotations

from logicgen.solvers.ltl_graph import AND, NEXT, SYMBOL, XOR, Graph

TRUE, FALSE = 0, 1


class Gates:
    """A network of gates `y = a & b` over literals, and the values of its variables."""

    def __init__(self) -> None:
        self.gates: list[tuple[int, int, int]] = []  # (y, a, b), operands before results
        self.values: list[bool | None] = [True]  # by variable
        self._users: list[list[int]] = [[]]  # by variable, the gates that contain it
        self._known: dict[tuple[int, int], int] = {}

    def variable(self) -> int:
        """Return the positive literal of a new variable."""
        self.values.append(None)
        self._users.append([])
        return 2 * len(self.values) - 2

    def conjunction(self, a: int, b: int) -> int:
        """Return the literal of `a & b`; equal conjunctions share a gate."""
        a, b = sorted((a, b))
        if a in (TRUE, b):
            return b
        if a == FALSE or a ^ b == 1:
            return FALSE
        if (a, b) not in self._known:
            y = self._known[a, b] = self.variable()
            for variable in {y >> 1, a >> 1, b >> 1}:
                self._users[variable].append(len(self.gates))
            self.gates.append((y, a, b))
        return self._known[a, b]

    def value(self, literal: int) -> bool | None:
        """Return the value of a literal; None if it is open."""
        value = self.values[literal >> 1]
        return value if value is None else value ^ bool(literal & 1)

    def make_true(self, literal: int) -> tuple[list[int], bool]:
        """Make a literal true, and all literals that follow.

        Returns the variables that got a value, and whether no value was contradicted.
        """
        changed: list[int] = []
        todo = [literal]
        while todo:
            literal = todo.pop()
            value = self.value(literal)
            if value is None:
                self.values[literal >> 1] = not literal & 1
                changed.append(literal >> 1)
                for gate in self._users[literal >> 1]:
                    todo += self._following(*self.gates[gate])
            elif not value:
                return changed, False
        return changed, True

    def _following(self, y: int, a: int, b: int) -> list[int]:
        """Return the literals that a gate makes true."""
        result, left, right = self.value(y), self.value(a), self.value(b)
        if result:
            return [a, b]
        if left is False or right is False:
            return [y ^ 1]
        if left and right:
            return [y]
        if result is False and left:
            return [b ^ 1]
        return [a ^ 1] if result is False and right else []

    def forget(self, variables: list[int]) -> None:
        """Make variables open again."""
        for variable in variables:
            self.values[variable] = None


class LassoGates:
    """An LTL formula on a lasso with `positions` positions, of which the last repeats.

    Attributes:
        fits: whether no value was contradicted. Then the literals satisfy the formula.
    """

    def __init__(self, graph: Graph, root: int, positions: int) -> None:
        self.graph, self.positions = graph, positions
        self.gates = Gates()
        self._at: dict[tuple[int, int], int] = {}  # literal by node and position
        for node in graph.reachable(root):
            for position in reversed(range(positions)):
                self._at[node, position] = self._literal(node, position)
        self._symbols = {
            literal >> 1: (graph.symbols[graph.left[node]], position)
            for (node, position), literal in self._at.items()
            if graph.kind[node] == SYMBOL
        }
        self.fits = self.gates.make_true(self._edge(root, 0))[1]
        while self.fits and self._decide():
            pass

    def letters(self) -> list[dict[str, bool]]:
        """Return the literals of each position, by name of the symbol, without open symbols."""
        found: list[dict[str, bool]] = [{} for _ in range(self.positions)]
        for variable, (name, position) in self._symbols.items():
            if (value := self.gates.values[variable]) is not None:
                found[position][name] = value
        return found

    def _edge(self, edge: int, position: int) -> int:
        return edge if edge <= 1 else self._at[edge >> 1, position] ^ edge & 1

    def _literal(self, node: int, position: int) -> int:
        """Return the literal of a node at a position. Later positions come first."""
        gates, last = self.gates, self.positions - 1
        kind, left, right = self.graph.kind[node], self.graph.left[node], self.graph.right[node]
        if kind == SYMBOL:
            return gates.variable()
        if kind == NEXT:
            return self._edge(left, min(position + 1, last))
        a, b = self._edge(left, position), self._edge(right, position)
        if kind == AND:
            return gates.conjunction(a, b)
        if kind == XOR:
            both, neither = gates.conjunction(a, b), gates.conjunction(a ^ 1, b ^ 1)
            return gates.conjunction(both ^ 1, neither ^ 1)
        if position == last:
            return b
        wait = gates.conjunction(a, self._at[node, position + 1])
        return gates.conjunction(b ^ 1, wait ^ 1) ^ 1

    def _decide(self) -> bool:
        """Decide the last open gate that has to be false; return whether a gate was decided."""
        gates = self.gates
        for y, a, b in reversed(gates.gates):
            if gates.value(y) is False and gates.value(a) is None and gates.value(b) is None:
                break
        else:
            return False
        fixed = {}
        for literal in (a ^ 1, b ^ 1):
            changed, possible = gates.make_true(literal)
            if possible:
                symbols = sum(variable in self._symbols for variable in changed)
                fixed[literal] = symbols, len(changed)
            gates.forget(changed)
        if fixed:
            gates.make_true(min(fixed, key=lambda literal: fixed[literal]))
        self.fits = bool(fixed)
        return self.fits
