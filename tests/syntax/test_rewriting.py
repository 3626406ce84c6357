"""Translations of formulas: into the core operators, to Unicode, LaTeX and SymPy."""

from __future__ import annotations

from random import Random

import pytest
import sympy
from hypothesis import given

from logicgen.errors import LogicgenError
from logicgen.solvers import Status, load_solver
from logicgen.solvers.truth_table import TruthTableSolver
from logicgen.syntax import Formula, propositional
from logicgen.syntax.formula_language import ltl
from logicgen.syntax.rewriting import (
    CORE,
    from_sympy,
    latex,
    plain,
    spaced,
    to_core,
    to_sympy,
    unicode,
    within,
)
from logicgen.syntax.sampling import FormulaSampler
from tests.syntax.test_formula import formulas

EVERY = dict.fromkeys(ltl().arity, 1.0)


def test_the_core_formula_is_equivalent_and_over_the_core() -> None:
    solve = load_solver("embedded", "ltl").solve
    sampler = FormulaSampler(ltl(), EVERY, "tree", 3)
    rng = Random(1)
    for _ in range(500):
        formula = sampler.formula(sampler.pattern(rng, rng.randint(1, 14), None), ["a", "b", "c"])
        core = to_core(formula)
        assert {node.token for node in core.preorder() if not node.is_symbol} <= CORE
        assert solve(formula ^ core).status is Status.UNSAT, formula
        assert to_core(core) is core or "! !" in core.prefix
        assert set(core.symbols) == set(formula.symbols)


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("Fa", "U 1 a"),
        ("Ga", "! U 1 ! a"),
        ("G!a", "! U 1 a"),
        ("a | b", "! & ! a ! b"),
        ("!(a | b)", "& ! a ! b"),
        ("(a U b) W c", "! U ! c & ! U a b ! c"),
        ("a W (b U c)", "! & ! U a U b c U 1 ! a"),
        ("!!a", "! ! a"),
        ("0", "0"),
    ],
)
def test_examples(text: str, core: str) -> None:
    assert to_core(ltl().read(text)).prefix == core


def test_depth_does_not_matter() -> None:
    deep = Formula("a")
    for _ in range(20_000):
        deep = Formula("G", (deep,))
    assert to_core(deep).token == "!"


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("a -> b", "! | &", "! & a ! b"),
        ("a | (b -> c)", "! & |", "| a ! & b ! c"),
        ("Fa & Gb", "! & X U", "& U ! & a ! a a ! U ! & a ! a ! b"),
        ("F(0)", "! & X U", "U ! & a ! a & a ! a"),
        ("GXa", "G X", "G X a"),
    ],
)
def test_within_fewer_operators(text: str, tokens: str, expected: str) -> None:
    formula = ltl().read(text)
    found = within(formula, tokens.split())
    assert found.prefix == expected
    assert load_solver("embedded", "ltl").solve(formula ^ found).status is Status.UNSAT


def test_what_cannot_be_said_is_named() -> None:
    with pytest.raises(LogicgenError, match="X cannot be expressed with ! & alone"):
        within(ltl().read("a & Xb"), ["!", "&"])


def test_latex():
    assert latex("(a -> !p12) & req_x") == (r"( a \rightarrow \lnot p_{12} ) \land \mathit{req\_x}")
    assert latex("1 <-> 0") == r"\top \leftrightarrow \bot"
    assert latex("GFa M Xb") == r"\mathsf{G} \mathsf{F} a \mathbin{\mathsf{M}} \mathsf{X} b"
    assert latex("a ; {!b}") == r"a ; \{ \lnot b \}"


def test_unicode():
    assert unicode("G(a1 -> X F grant10) ^ 1 & 0 | !b") == "□(a1 → ○ ◇ grant10) ⊕ ⊤ ∧ ⊥ ∨ ¬b"
    assert plain("a U b") == "a U b"
    assert plain("a⊤") == "a 1"  # two tokens, not the symbol a1
    assert plain("□◇a○b") == "GFa Xb"


@given(formulas())
def test_what_is_written_in_unicode_reads_back(formula):
    language = propositional()
    assert language.read(plain(unicode(language.write(formula)))) == formula


def test_temporal_operators_read_back():
    language = ltl()
    formula = language.read("G(a -> XFb U (c R !d)) W X(0) M F(1)")
    for text in (language.write(formula), spaced(language.write(formula))):
        assert language.read(plain(unicode(text))) == formula
        assert language.read(text) == formula


def test_a_symbol_does_not_touch_the_operator_before_it():
    assert spaced("GFgrant & Xa U aX") == "GF grant & X a U aX"


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
    with pytest.raises(LogicgenError, match="two different symbols are called 'a'"):
        from_sympy(sympy.Dummy("a") & ~sympy.Dummy("a"))
    for wrong in (True, 1, None, "a & b"):
        with pytest.raises(LogicgenError, match="is no expression of SymPy"):
            from_sympy(wrong)
    with pytest.raises(LogicgenError, match="U is not an operator"):
        to_sympy(Formula("U", (Formula("a"), Formula("b"))))
