"""Text to ids and back, without an upper bound on symbols."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.tokens import Vocabulary, symbol_index, symbol_name

VOCABULARY = Vocabulary(("&", "0", "1"))


@given(st.integers(0, 10**6))
def test_symbol_names_are_numbers(index):
    assert symbol_index(symbol_name(index)) == index
    assert VOCABULARY.id(symbol_name(index)) == len(VOCABULARY) + index


def test_names_that_are_no_symbols():
    assert [symbol_index(n) for n in ("a0", "a01", "A", "ab", "", "1", "a\n")] == [None] * 7
    assert symbol_name(5000) == "i192"


@given(st.lists(st.one_of(st.sampled_from("&01"), st.integers(0, 100).map(symbol_name))))
def test_encode_then_decode_is_the_identity(tokens):
    text = " ".join(tokens)
    ids = VOCABULARY.encode(text)
    assert VOCABULARY.decode(ids) == text
    assert VOCABULARY.decode([VOCABULARY.start, *ids, VOCABULARY.end, 4, 4]) == text


def test_unknown_tokens_are_refused():
    with pytest.raises(KeyError, match="U"):
        VOCABULARY.encode("U a b")
    with pytest.raises(ValueError, match="twice"):
        Vocabulary(("&", "&"))


def test_a_number_that_no_id_has_room_for_is_no_symbol():
    assert symbol_index("a" + "9" * 17) == 26 * (10**17 - 1)
    assert symbol_index("a" + "9" * 18) is None
    assert symbol_index("a" + "1" * 5000) is None
