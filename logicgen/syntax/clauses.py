"""Sets of clauses as formulas, that is conjunctions of disjunctions of literals, and back.

A clause is a list of literals as SAT solvers and DIMACS files write them: variable number `v` (from
1) or its negation `-v`. Chains of `&` and of `|` associate to the left, as the infix notation reads
them, so that `(a | !b) & c & (b | c)` is the formula of `[[1, -2], [3], [2, 3]]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from logicgen.errors import LogicgenError
from logicgen.syntax.formula import Formula

Clause = list[int]


def formula_of(clauses: Iterable[Sequence[int]], name: Callable[[int], str]) -> Formula:
    """Return the formula of clauses (`0` for an empty one, `1` for none) with variables named."""

    def literal(number: int) -> Formula:
        symbol = Formula(name(abs(number)))
        return ~symbol if number < 0 else symbol

    def chain(token: str, parts: list[Formula]) -> Formula:
        return reduce(lambda left, right: Formula(token, (left, right)), parts)

    disjunctions = [
        chain("|", [literal(number) for number in clause]) if clause else Formula("0")
        for clause in clauses
    ]
    return chain("&", disjunctions) if disjunctions else Formula("1")


def clauses_of(formula: Formula, number: Callable[[str], int]) -> list[Clause]:
    """Return the clauses of a formula in conjunctive normal form; LogicgenError for any other."""

    def literal(node: Formula) -> int:
        atom = node.operands[0] if node.token == "!" else node
        if not atom.is_symbol:
            raise LogicgenError(
                f"not a conjunction of clauses: {atom.token} stands where a literal is expected"
            )
        return number(atom.token) * (-1 if node.token == "!" else 1)

    if formula.token == "1":
        return []
    return [
        [] if part.token == "0" else [literal(node) for node in operands_of("|", part)]
        for part in operands_of("&", formula)
    ]


def operands_of(token: str, formula: Formula) -> list[Formula]:
    """Return the operands of a chain of one operator, however it is nested, from left to right."""
    parts: list[Formula] = []
    todo = [formula]
    while todo:
        node = todo.pop()
        if node.token == token:
            todo.extend(reversed(node.operands))
        else:
            parts.append(node)
    return parts
