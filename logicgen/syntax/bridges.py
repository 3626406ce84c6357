"""Conversions of propositional formulas to and from SymPy."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import and_
from typing import TYPE_CHECKING, Any

from logicgen.errors import LogicgenError
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import propositional

if TYPE_CHECKING:
    from sympy.logic.boolalg import Boolean


def to_sympy(formula: Formula) -> Boolean:
    """Return a SymPy expression, simplified as SymPy does; raise LogicgenError for X, U, ..."""
    import sympy
    from sympy.logic import boolalg

    propositional().check_operators(formula)
    build: dict[str, Any] = {
        "!": boolalg.Not,
        "&": boolalg.And,
        "|": boolalg.Or,
        "^": boolalg.Xor,
        "->": boolalg.Implies,
        "<->": boolalg.Equivalent,
    }

    def convert(node: Formula, operands: list[Any]) -> Any:
        if operands:
            return build[node.token](*operands)
        return sympy.Symbol(node.token) if node.is_symbol else sympy.sympify(node.token == "1")

    return formula.fold(convert)


def from_sympy(expression: Boolean) -> Formula:
    """Return the formula of a SymPy expression; operands associate to the left.

    Raises LogicgenError for a part that is none of `& | ^ ~ >> Equivalent`, a symbol or a constant.
    """
    from sympy.core.symbol import Symbol
    from sympy.logic import boolalg

    chains = {boolalg.And: "&", boolalg.Or: "|", boolalg.Xor: "^"}

    def convert(node: Any, operands: list[Formula]) -> Formula:
        if isinstance(node, Symbol):
            if propositional().language.symbol_pattern.fullmatch(node.name):
                return Formula(node.name)
            raise LogicgenError(
                f"symbol {node.name!r}: a name must match [a-z][A-Za-z0-9_]* and be no keyword"
            )
        if node in (boolalg.true, boolalg.false):
            return Formula("1" if node == boolalg.true else "0")
        if node.func in chains:
            return reduce(lambda left, right: Formula(chains[node.func], (left, right)), operands)
        if node.func is boolalg.Not:
            return ~operands[0]
        if node.func is boolalg.Implies:
            return operands[0] >> operands[1]
        if node.func is boolalg.Equivalent:
            # All operands are equal exactly if each equals the next.
            return reduce(and_, (Formula("<->", pair) for pair in pairwise(operands)))
        raise LogicgenError(f"{node.func.__name__} has no counterpart in propositional logic")

    results: dict[Any, Formula] = {}
    stack = [expression]
    while stack:
        node = stack[-1]
        missing = [part for part in node.args if part not in results]
        if missing and not isinstance(node, Symbol):
            stack.extend(missing)
            continue
        results[node] = convert(node, [results[part] for part in node.args])
        stack.pop()
    return results[expression]
