"""Rewrites have the same answers as the problem, up to the names of symbols."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.solvers.truth_table import table_columns, truth_table
from logicgen.syntax.formula import Formula
from logicgen.tasks import load_task
from logicgen.tasks.rewrites import equivalent, padded, reordered, rewrites, swapped
from logicgen.tasks.task import rename, symbols_of

PROPOSITIONAL, LTL = load_task("propositional"), load_task("ltl")

leaves = st.sampled_from([Formula(token) for token in ("a", "b", "c", "0", "1")])


def formulas(binary, unary=("!",)):
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda t, f: Formula(t, (f,)), st.sampled_from(unary), inner),
            st.builds(lambda t, f, g: Formula(t, (f, g)), st.sampled_from(binary), inner, inner),
        ),
        max_leaves=12,
    )


def table(formula):
    columns, full = table_columns(3)
    return truth_table(formula, dict(zip("abc", columns, strict=True)), full)


@pytest.mark.parametrize("form", [reordered, swapped, padded])
@given(formula=formulas(("&", "|", "^", "<->", "->")), seed=st.integers(0, 99))
def test_propositional_forms_have_the_same_truth_table(form, formula, seed):
    assert table(form(formula, Random(seed))) == table(formula)


@given(formula=formulas(("&", "U"), ("!", "X")), seed=st.integers(0, 99))
def test_rewrites_of_ltl_formulas_are_equivalent_up_to_names(formula, seed):
    for text in rewrites(LTL, formula.prefix, Random(seed)):
        other = LTL.decode_problem(text)
        names = symbols_of(formula.prefix)
        assert sorted(symbols_of(text)) == sorted(names)
        assert any(
            equivalent(LTL, formula, other.rename(dict(zip(names, back, strict=True))))
            for back in permutations(names)
        )


def test_a_chain_keeps_its_operands_and_changes_their_order():
    formula = PROPOSITIONAL.read_problem("a & (b & (c & (d & (e | f | g))))")
    found = {reordered(formula, Random(seed)) for seed in range(20)}
    assert len(found) > 10
    assert {each.length for each in found} == {formula.length}
    tokens = Counter(formula.prefix.split())
    assert all(Counter(each.prefix.split()) == tokens for each in found)


def test_padding_makes_a_formula_longer_and_names_no_new_symbol():
    formula = LTL.read_problem("(a U b) & X (!a & c)")
    for seed in range(20):
        other = padded(formula, Random(seed))
        assert other.length > formula.length
        assert {*other.symbols} == {*formula.symbols}
        assert equivalent(LTL, formula, other)


@pytest.mark.parametrize(
    ("formula", "other", "same"),
    [("a U b", "b | a & X (a U b)", True), ("a U b", "b U a", False), ("0", "a & !a", True)],
)
def test_equivalence_is_decided_by_the_solver(formula, other, same):
    assert equivalent(LTL, LTL.read_problem(formula), LTL.read_problem(other)) is same


@pytest.mark.parametrize(
    ("task", "problem"),
    [("copying", "b a b d"), ("lookup", "a -> b c -> d e -> f c ->"), ("copying", "")],
)
def test_other_problems_only_exchange_names(task, problem):
    chosen = load_task(task)
    for seed in range(5):
        for text in rewrites(chosen, problem, Random(seed)):
            names = dict(zip(symbols_of(problem), symbols_of(text), strict=True))
            assert sorted(names) == sorted(names.values())
            assert rename(problem, names) == text
