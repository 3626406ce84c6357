"""LTL formulas as graphs, which are simplified while they are built.

A node is a symbol or an operator `&`, `^`, `X` or `U`. All other operators are expressed by these
and by negation. An edge is a number that denotes a formula: `2 * node` for the formula of a
node, `2 * node + 1` for its negation. So `edge ^ 1` is the negation of an edge. Node 0 is the
constant true.

Equal subformulas share a node. If a simple law shows that a subformula is constant, or equal to
another subformula, it gets no node of its own. This alone decides most unsatisfiable formulas of
random data sets. Nodes are numbered in order of first occurrence, operands before operators.
"""

from __future__ import annotations

from logicgen.errors import LogicgenError
from logicgen.syntax.formula import Formula

SYMBOL, AND, XOR, NEXT, UNTIL = range(5)
TRUE, FALSE = 0, 1

# The deepest recursion of laws that move an operator out of its operands. One of these laws: `Xa &
# Xb` is `X(a & b)`.
DEPTH = 50


class Graph:
    """A graph of nodes, which any number of formulas can share."""

    def __init__(self) -> None:
        self.kind = [SYMBOL]  # by node: SYMBOL, AND, XOR, NEXT or UNTIL
        # By node: the edges to its two operands. For NEXT both are the same edge. For a symbol both
        # are the symbol's number.
        self.left, self.right = [-1], [-1]
        self.symbols: list[str] = []  # names by number, in order of first occurrence
        self._nodes: dict[tuple[int, int, int], int] = {}
        self._symbol: dict[str, int] = {}

    def _node(self, kind: int, left: int, right: int) -> int:
        key = (kind, left, right)
        edge = self._nodes.get(key)
        if edge is None:
            edge = self._nodes[key] = 2 * len(self.kind)
            self.kind.append(kind)
            self.left.append(left)
            self.right.append(right)
        return edge

    def symbol(self, name: str) -> int:
        """Return the edge of a symbol."""
        edge = self._symbol.get(name)
        if edge is None:
            number = len(self.symbols)
            edge = self._symbol[name] = 2 * len(self.kind)
            self.kind.append(SYMBOL)
            self.left.append(number)
            self.right.append(number)
            self.symbols.append(name)
        return edge

    def conjunction(self, a: int, b: int, depth: int = DEPTH) -> int:
        """Return the edge of `a & b` for two edges. depth: the deepest recursion of laws."""
        if a > b:
            a, b = b, a
        if a <= 1:  # a constant
            return b if a == TRUE else FALSE
        if a ^ b <= 1:
            return a if a == b else FALSE
        if self.implies(a, b):
            return a
        if self.implies(b, a):
            return b
        if self.implies(a, b ^ 1) or self.implies(b, a ^ 1):
            return FALSE
        if depth and self.kind[a >> 1] == self.kind[b >> 1]:
            return self._joined(a, b, depth - 1)
        return self._node(AND, a, b)

    def _joined(self, a: int, b: int, depth: int) -> int:
        """Return the edge of `a & b` for two nodes of the same kind. If a law fits, apply it."""
        kind, left, right = self.kind[a >> 1], self.left, self.right
        if kind == NEXT:  # Xa & Xb is X(a & b)
            x, y = left[a >> 1] ^ (a & 1), left[b >> 1] ^ (b & 1)
            return self.next(self.conjunction(x, y, depth))
        if kind == UNTIL and a & b & 1 and left[a >> 1] == left[b >> 1]:
            # !(a U b) & !(a U c) is !(a U (b | c)); so Ga & Gb is G(a & b)
            either = self.conjunction(right[a >> 1] ^ 1, right[b >> 1] ^ 1, depth) ^ 1
            return self.until(left[a >> 1], either) ^ 1
        return self._node(AND, a, b)

    def implies(self, a: int, b: int) -> bool:
        """Return whether a simple law shows that edge `a` implies edge `b`."""
        node = a >> 1
        kind = self.kind[node]
        if kind == AND:
            if not a & 1 and (self.left[node] == b or self.right[node] == b):
                return True  # x & y implies x
        elif kind == UNTIL and a & 1 and self.right[node] == b ^ 1:
            return True  # !(x U y) implies !y
        node = b >> 1
        kind = self.kind[node]
        if kind == AND:
            return bool(b & 1) and (self.left[node] == a ^ 1 or self.right[node] == a ^ 1)
        return kind == UNTIL and not b & 1 and self.right[node] == a  # y implies x U y

    def exclusive(self, a: int, b: int, depth: int = DEPTH) -> int:
        """Return the edge of `a ^ b` for two edges. depth: as in `conjunction`."""
        sign = (a ^ b) & 1
        a, b = a & -2, b & -2
        if a > b:
            a, b = b, a
        if a == TRUE:
            return b ^ 1 ^ sign
        if a == b:
            return FALSE ^ sign
        if depth and self.kind[a >> 1] == self.kind[b >> 1] == NEXT:
            x, y = self.left[a >> 1], self.left[b >> 1]
            return self.next(self.exclusive(x, y, depth - 1)) ^ sign
        return self._node(XOR, a, b) ^ sign

    def next(self, a: int) -> int:
        """Return the edge of `X a` for an edge."""
        if a <= 1:
            return a
        return self._node(NEXT, a & -2, a & -2) ^ (a & 1)

    def until(self, a: int, b: int, depth: int = DEPTH) -> int:
        """Return the edge of `a U b` for two edges. depth: as in `conjunction`."""
        if a == b ^ 1:
            a = TRUE
        if a == TRUE:
            b = self._last_goal(b)
        if b <= 1 or a in (FALSE, b) or self._absorbs(a, b):
            return b
        if a != TRUE:
            if self._ends_with(a, b):
                return a
            if self.implies(a, b):
                return b
        if depth and self.kind[b >> 1] == NEXT and (a == TRUE or self.kind[a >> 1] == NEXT):
            x = TRUE if a == TRUE else self.left[a >> 1] ^ (a & 1)  # Xa U Xb is X(a U b)
            return self.next(self.until(x, self.left[b >> 1] ^ (b & 1), depth - 1))
        return self._node(UNTIL, a, b)

    def _last_goal(self, b: int) -> int:
        """While `b` is `c U d`, replace it by `d`, because F(c U d) is F d. Return the result."""
        while self.kind[b >> 1] == UNTIL and not b & 1 and self.left[b >> 1] != TRUE:
            b = self.right[b >> 1]
        return b

    def _ends_with(self, a: int, b: int) -> bool:
        """Return whether `a` has the form `c U b`. In this case `a U b` is `a`."""
        return self.kind[a >> 1] == UNTIL and not a & 1 and self.right[a >> 1] == b

    def _absorbs(self, a: int, b: int) -> bool:
        """Return whether a law about the form of `b` shows that `a U b` is `b`."""
        kind, left, after = self.kind, self.left, b >> 1
        if kind[after] != UNTIL:
            return False
        if not b & 1:
            return left[after] == a  # a U (a U c) is a U c
        if a != TRUE or left[after] != TRUE:
            return False
        c = self.right[after]  # here b is G !c; if !c is F d, then F b = F G F d = G F d = b
        return bool(c & 1) and kind[c >> 1] == UNTIL and left[c >> 1] == TRUE

    def add(self, formula: Formula) -> int:
        """Return the edge of a formula. Raises LogicgenError if it is not an LTL formula."""
        if not formula.operands:
            return self._leaf(formula.token)
        done: dict[Formula, int] = {}
        todo = [formula]
        while todo:
            node = todo[-1]
            operands = node.operands
            # Most operands are leaves (symbols and constants). Add them here, without `todo`.
            first = operands[0]
            a = done.get(first)
            if a is None:
                if first.operands:
                    todo.append(first)
                    continue
                a = done[first] = self._leaf(first.token)
            token = node.token
            if len(operands) == 2:
                last = operands[1]
                b = done.get(last)
                if b is None:
                    if last.operands:
                        todo.append(last)
                        continue
                    b = done[last] = self._leaf(last.token)
                if token == "&":
                    done[node] = self.conjunction(a, b)
                elif token == "U":
                    done[node] = self.until(a, b)
                else:
                    done[node] = self._binary(token, a, b)
            elif token == "!":
                done[node] = a ^ 1
            else:
                done[node] = self._unary(token, a)
            todo.pop()
        return done[formula]

    def _leaf(self, token: str) -> int:
        edge = self._symbol.get(token)
        if edge is not None:
            return edge
        if token[0].islower():
            return self.symbol(token)
        if token == "1" or token == "0":
            return TRUE if token == "1" else FALSE
        raise LogicgenError(f"{token} is not a constant of LTL")

    def _unary(self, token: str, a: int) -> int:
        match token:
            case "X":
                return self.next(a)
            case "F":
                return self.until(TRUE, a)
            case "G":
                return self.until(TRUE, a ^ 1) ^ 1
        raise LogicgenError(f"{token} is not an operator of LTL with one operand")

    def _binary(self, token: str, a: int, b: int) -> int:
        match token:
            case "|":
                return self.conjunction(a ^ 1, b ^ 1) ^ 1
            case "->":
                return self.conjunction(a, b ^ 1) ^ 1
            case "^":
                return self.exclusive(a, b)
            case "<->":
                return self.exclusive(a, b) ^ 1
            case "R":
                return self.until(a ^ 1, b ^ 1) ^ 1
            case "W":  # b R (a | b)
                return self.until(b ^ 1, self.conjunction(a ^ 1, b ^ 1)) ^ 1
            case "M":  # b U (a & b)
                return self.until(b, self.conjunction(a, b))
        raise LogicgenError(f"{token} is not an operator of LTL with two operands")

    def reachable(self, edge: int) -> list[int]:
        """Return the nodes that an edge depends on, operands before operators, without node 0."""
        kind, left, right = self.kind, self.left, self.right
        found = {edge >> 1}
        todo = [edge >> 1]
        while todo:
            node = todo.pop()
            if kind[node] != SYMBOL:
                for operand in (left[node] >> 1, right[node] >> 1):
                    if operand not in found:
                        found.add(operand)
                        todo.append(operand)
        found.discard(0)
        return sorted(found)
