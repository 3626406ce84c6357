"""Strings as numbers and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.automata import Strings, encode
from logicgen.errors import LogicgenError


@given(st.lists(st.text("abc", max_size=5)))
def test_there_and_back(strings):
    batch = encode(("a", "b", "c"), strings)
    assert ["".join(string) for string in batch.written("abc")] == strings
    assert encode(("a", "b", "c"), batch) is batch
    assert batch.inside.sum() == sum(map(len, strings))


def test_names_of_several_characters():
    batch = encode(("the", "cat"), [["the", "cat"], []])
    assert batch.written(["the", "cat"]) == [("the", "cat"), ()]


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        (["ab", "abz"], "string 2, place 3: 'z' is not a symbol; known: a, b"),
        (Strings(np.array([[0, 2]]), np.array([2])), "symbol number 2 is not one of 0 to 1"),
    ],
)
def test_refused(strings, message):
    with pytest.raises(LogicgenError, match=message):
        encode(("a", "b"), strings)


def test_what_is_beyond_the_end_does_not_matter():
    encode(("a", "b"), Strings(np.array([[0, -7]]), np.array([1])))


def test_lengths_that_do_not_fit():
    with pytest.raises(LogicgenError, match="do not fit"):
        Strings(np.zeros((1, 2), dtype=int), np.array([3]))
