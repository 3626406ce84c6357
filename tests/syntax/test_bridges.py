"""SymPy."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given

from logicgen.errors import LogicgenError
from logicgen.solvers.truth_table import TruthTableSolver
from logicgen.syntax import Formula, propositional
from logicgen.syntax.rewriting import from_sympy, to_sympy
from tests.syntax.test_formula import formulas

READ = propositional().read


def equivalent(f, g):
    solve = TruthTableSolver().solve
    return solve(f ^ g).status == "unsat"


@given(formulas(most=6))
def test_sympy_means_the_same(formula):
    expression = to_sympy(formula)
    assert equivalent(from_sympy(expression), formula)
    for values in ({}, {"a": True, "b": False}):
        point = {sympy.Symbol(n): v for n, v in values.items()}
        assert to_sympy(from_sympy(expression.subs(point))) == expression.subs(point)


def test_equivalent_of_three_and_what_has_no_counterpart():
    a, b, c = sympy.symbols("a b c")
    assert equivalent(from_sympy(sympy.Equivalent(a, b, c)), READ("(a <-> b) & (b <-> c)"))
    with pytest.raises(LogicgenError, match="ITE"):
        from_sympy(sympy.ITE(a, b, c))
    with pytest.raises(LogicgenError, match="name must match"):
        from_sympy(sympy.Symbol("A"))
    with pytest.raises(LogicgenError, match="U is not an operator"):
        to_sympy(Formula("U", (Formula("a"), Formula("b"))))
