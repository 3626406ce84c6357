"""Values of the symbols of a propositional formula, by linear equations and without search.

Every symbol is a variable over the field of two elements. `^`, `<->` and `!` are linear. Every
conjunction of two operands is a further variable y with the gate `y = a & b`. So a formula is one
linear equation and some gates. Gaussian elimination solves the equations. Where an operand of a
gate is known, the gate becomes a linear equation, too. If a gate stays open, its first operand is
set to false. Choices are never taken back.

A linear expression is an integer: bit 0 is the constant 1, bit v the variable v.
"""

from __future__ import annotations

from logicgen.solvers.ltl_graph import AND, SYMBOL, Graph

ONE = 1


class LinearSystem:
    """Linear equations in reduced form, and open gates.

    Attributes:
        fits: whether no equation was contradicted.
    """

    def __init__(self, graph: Graph, root: int) -> None:
        self.fits = True
        self._rows: dict[int, int] = {}  # by the leading variable, an expression that is 0
        self._gates: list[tuple[int, int, int]] = []  # (y, a, b): y = a & b
        self._variables = 0
        self._symbols: dict[str, int] = {}
        self._zero(self._expression(graph, root) ^ ONE)
        self._propagate()
        while self._gates and self.fits:
            smallest = min(self._gates, key=lambda gate: sum(each.bit_count() for each in gate))
            self._zero(smallest[1])
            self._propagate()

    def values(self) -> dict[str, bool]:
        """Return a value for each symbol. Symbols that stay free are false."""
        return {
            name: bool(self._rows.get(variable, 0) & ONE)
            for name, variable in self._symbols.items()
        }

    def _variable(self) -> int:
        self._variables += 1
        return self._variables

    def _expression(self, graph: Graph, root: int) -> int:
        """Return the linear expression of an edge, and add its gates."""
        found = {0: ONE, 1: 0}
        for node in graph.reachable(root):
            left, right = graph.left[node], graph.right[node]
            if graph.kind[node] == SYMBOL:
                variable = self._symbols[graph.symbols[left]] = self._variable()
                expression = 1 << variable
            elif graph.kind[node] == AND:
                expression = 1 << self._variable()
                self._gates.append((expression, found[left], found[right]))
            else:
                expression = found[left] ^ found[right]
            found[2 * node], found[2 * node + 1] = expression, expression ^ ONE
        return found[root]

    def _reduced(self, expression: int) -> int:
        """Return an equal expression without leading variables of equations."""
        for variable, row in self._rows.items():
            if expression >> variable & 1:
                expression ^= row
        return expression

    def _zero(self, expression: int) -> bool:
        """Make an expression 0; return whether this is a new equation."""
        expression = self._reduced(expression)
        if expression <= ONE:
            self.fits &= expression == 0
            return False
        leading = expression.bit_length() - 1
        for variable, row in self._rows.items():
            if row >> leading & 1:
                self._rows[variable] = row ^ expression
        self._rows[leading] = expression
        return True

    def _propagate(self) -> None:
        """Replace gates by equations, as long as operands or results of gates are known."""
        changed = True
        while changed and self.fits:
            changed, gates, self._gates = False, self._gates, []
            for gate in gates:
                y, a, b = map(self._reduced, gate)
                equations = _equations(y, a, b)
                if equations is None:
                    self._gates.append((y, a, b))
                for equation in equations or ():
                    changed |= self._zero(equation)


def _equations(y: int, a: int, b: int) -> list[int] | None:
    """Return linear expressions that are 0 if and only if `y = a & b`.

    Returns None if the gate cannot be expressed by linear expressions.
    """
    if a == 0 or b == 0 or a ^ b == ONE:
        return [y]
    if a == ONE:
        return [y ^ b]
    if b == ONE or a == b:
        return [y ^ a]
    if y == ONE:
        return [a ^ ONE, b ^ ONE]
    if y ^ a == ONE:
        return [a ^ ONE, b]
    if y ^ b == ONE:
        return [b ^ ONE, a]
    return [a, b] if y == a ^ b else None
