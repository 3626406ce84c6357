"""Formulas: hash-consing, depth, renaming, and reading back what was written."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import FormatError
from logicgen.syntax import Formula, propositional
from logicgen.syntax.formula import _table

LANGUAGE = propositional()


def formulas(symbols="abcd", most=12, unary=("!",), binary=("&", "|", "^", "->", "<->")):
    """Any formula over some operators and all constants."""
    return st.recursive(
        st.sampled_from([*symbols, "0", "1"]).map(Formula),
        lambda parts: st.one_of(
            st.builds(lambda o, f: Formula(o, (f,)), st.sampled_from(unary), parts),
            st.builds(lambda o, f, g: Formula(o, (f, g)), st.sampled_from(binary), parts, parts),
        ),
        max_leaves=most,
    )


@given(formulas())
def test_infix_then_read_is_the_same_object(formula):
    assert LANGUAGE.read(LANGUAGE.write(formula)) is formula


@given(formulas())
def test_prefix_then_read_is_the_same_object(formula):
    assert LANGUAGE.read_prefix(formula.prefix) is formula
    assert LANGUAGE.language.read(formula.prefix, "prefix").prefix == formula.prefix


@given(formulas())
def test_length_counts_prefix_tokens(formula):
    assert formula.length == len(formula.prefix.split())


@given(formulas())
def test_infix_has_no_removable_parentheses(formula):
    text = LANGUAGE.write(formula)
    for start, character in enumerate(text):
        if character != "(":
            continue
        depth = 0
        for end in range(start, len(text)):
            depth += (text[end] == "(") - (text[end] == ")")
            if depth == 0:
                break
        without = text[:start] + text[start + 1 : end] + text[end + 1 :]
        assert LANGUAGE.read(without) is not formula


@given(formulas(), st.permutations("abcd"))
def test_renaming_is_undone_by_its_inverse(formula, names):
    there = dict(zip("abcd", names, strict=True))
    back = {new: old for old, new in there.items()}
    assert formula.rename(there).rename(back) is formula
    assert formula.rename(there).alpha_canonical() is formula.alpha_canonical()


@given(formulas())
def test_canonical_symbols_come_in_order(formula):
    canonical = formula.alpha_canonical()
    assert list(canonical.symbols) == list("abcd")[: len(formula.symbols)]
    assert canonical.alpha_canonical() is canonical


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("a & b | c", "| & a b c"),
        ("a | b xor c", "| a ^ b c"),  # as in Spot, xor binds tighter than |
        ("a ^ b & c", "^ a & b c"),
        ("a -> b -> c", "-> a -> b c"),
        ("a <-> b -> c", "<-> a -> b c"),
        ("a & b & c", "& & a b c"),
        ("a | b -> c & d", "-> | a b & c d"),
        ("!a & !!b", "& ! a ! ! b"),
        ("true & xorange | false0", "| & 1 xorange false0"),
        ("(((a)))", "a"),
        ("p_1&q2X", "& p_1 q2X"),
    ],
)
def test_precedence_and_associativity(text, prefix):
    assert LANGUAGE.read(text).prefix == prefix


@pytest.mark.parametrize("text", ["true", "& true a", "xor", "! false"])
def test_keywords_are_no_symbols(text):
    with pytest.raises(FormatError):
        LANGUAGE.read_prefix(text)


@pytest.mark.parametrize(
    ("text", "column"),
    [("", 1), ("a &", 4), ("a b", 3), ("(a", 3), ("a)", 2), ("a $ b", 3), ("A", 1), ("& a b", 1)],
)
def test_bad_infix_names_the_column_and_points_there(text, column):
    with pytest.raises(FormatError) as error:
        LANGUAGE.read(text)
    assert (error.value.line, error.value.column) == (1, column)
    assert str(error.value).splitlines()[-1] == " " * (column + 1) + "^"


@pytest.mark.parametrize("text", ["", "&", "& a", "a b", "! ?", "& a b c", "a & b"])
def test_bad_prefix_is_refused(text):
    with pytest.raises(FormatError):
        LANGUAGE.read_prefix(text)


def test_error_names_the_line():
    with pytest.raises(FormatError, match="line 2, column 3"):
        LANGUAGE.read("a &\nb c")


def test_depth_is_no_limit():
    depth = 30_000
    formula = LANGUAGE.read("!" * depth + "a")
    assert formula.length == depth + 1
    assert LANGUAGE.write(formula) == "!" * depth + "a"
    assert LANGUAGE.read_prefix(formula.prefix) is formula
    assert formula == LANGUAGE.read("!" * depth + "a")
    assert len({formula, formula}) == 1
    assert formula.symbols == ("a",)
    assert formula.rename({"a": "b"}).rename({"b": "a"}) is formula
    assert pickle.loads(pickle.dumps(formula)) is formula
    right = LANGUAGE.read("(" * depth + "a" + " & b)" * depth)
    assert LANGUAGE.read(LANGUAGE.write(right)) is right


def test_equal_formulas_are_one_object_and_immutable():
    f = LANGUAGE.read("a & !b")
    assert f is LANGUAGE.read("(a) & (!b)") is Formula("a") & ~Formula("b")
    assert copy.deepcopy(f) is copy.copy(f) is f
    with pytest.raises(AttributeError, match="immutable"):
        f.length = 3
    with pytest.raises(AttributeError, match="immutable"):
        del f.token


def test_dead_formulas_leave_the_table():
    gc.collect()
    before = len(_table)
    formula = LANGUAGE.read(" & ".join(f"unique{i}" for i in range(50)))
    assert len(_table) > before + 90
    del formula
    gc.collect()
    assert len(_table) == before


def test_shared_parts_are_visited_once():
    formula = Formula("a")
    for _ in range(60):  # 2 ** 60 tokens
        formula = formula & formula
    assert formula.length == 2**61 - 1
    assert formula.symbols == ("a",)
    assert formula.rename({"a": "b"}).symbols == ("b",)
