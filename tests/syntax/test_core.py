"""The translation into the core operators keeps the meaning and leaves the core alone."""

from __future__ import annotations

from random import Random

import pytest

from logicgen.errors import LogicgenError
from logicgen.solvers import Status, load_solver
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import ltl
from logicgen.syntax.rewriting import CORE, to_core, within
from logicgen.syntax.sampling import FormulaSampler

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
    with pytest.raises(LogicgenError, match="X cannot be said with ! & alone"):
        within(ltl().read("a & Xb"), ["!", "&"])
