"""Partial assignments in their three notations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import FormatError
from logicgen.syntax import Assignment
from logicgen.tasks import load_task

names = st.from_regex(r"[a-z][A-Za-z0-9_]{0,3}", fullmatch=True)
assignments = st.lists(st.tuples(names, st.booleans()), max_size=6).map(
    lambda pairs: Assignment(tuple(pairs))
)
TASK = load_task("propositional")


@given(assignments)
def test_write_then_read_is_the_identity(assignment):
    assert Assignment.read_prefix(assignment.prefix) == assignment
    assert Assignment.read(assignment.infix) == assignment
    assert Assignment.read(assignment.conjunction) == assignment
    for text in (assignment.prefix, assignment.infix, assignment.conjunction):
        assert TASK.read_answer(text) == assignment


@given(assignments)
def test_contradictory_means_one_symbol_with_both_values(assignment):
    values = {}
    for name, value in assignment.literals:
        values.setdefault(name, set()).add(value)
    assert assignment.is_contradictory == any(len(v) == 2 for v in values.values())


def test_order_and_repetition_do_not_matter():
    one, other = Assignment.read("a=1, b=0"), Assignment.read("b=0, a=1, a=1")
    assert one.same_as(other)
    assert not other.is_contradictory
    assert not one.same_as(Assignment.read("a=1"))


@pytest.mark.parametrize("text", ["a=2", "a=1 b=0", "a=", "a 1 b", "1 a", "a | b", "a=1,", "A=1"])
def test_bad_texts_are_refused_with_their_place(text):
    with pytest.raises(FormatError, match="line 1, column"):
        TASK.read_answer(text)


def test_people_read_each_literal_once():
    assert TASK.show(Assignment.read("a=1, b=0, a=1")) == "a=1, b=0"
