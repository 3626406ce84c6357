"""Texts to ids and back: characters, byte pairs, names, and symbols without an upper bound."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.tokens import Tokens, Vocabulary, symbol_index, symbol_name

CHARACTERS = Tokens.of_characters({"a": 3, "b": 5, "é": 3, "🙂": 1}, 6)
LETTERS = Tokens.of_letters({" ": 3, "E": 1, "e": 2, "T": 2, "7": 9})
PAIRS = Tokens.of_byte_pairs(["the other there", "über 🙂"], 270)
NAMES = Tokens("names", ["<end>", "north", "south", "->"])
ANY = st.text(st.characters(exclude_categories=["Cs"]))


def test_characters_by_frequency_then_by_their_place_in_unicode():
    assert CHARACTERS.texts == ("<end>", "<other>", "b", "a", "é", "🙂")
    assert Tokens.of_characters({"a": 3, "b": 5, "é": 3}, 4).texts[2:] == ("b", "a")
    assert CHARACTERS.encode("aé🙂c\0").tolist() == [3, 4, 5, 1, 1]
    assert CHARACTERS.decode([3, 1, 5, 0, 3]) == "a�🙂"


@given(ANY)
def test_characters_that_are_tokens_come_back(text):
    back = CHARACTERS.decode(CHARACTERS.encode(text))
    assert back == "".join(each if each in "abé🙂" else "�" for each in text)


@given(st.lists(ANY, max_size=3))
def test_letters_are_lower_case_between_single_blanks(texts):
    ids = np.concatenate([LETTERS.encode(text) for text in texts] or [[]])
    back = LETTERS.decode(ids)
    assert len(LETTERS) == 29
    assert set(back) <= {" ", *"abcdefghijklmnopqrstuvwxyz"}
    assert LETTERS.encode(back).tolist() == LETTERS.encode(back.upper()).tolist()
    # Texts cut behind a line follow one another without a second blank.
    lines = [LETTERS.decode(LETTERS.encode(text + "\n")) for text in texts]
    assert "  " not in "".join(lines)


def test_letters_by_frequency():
    assert LETTERS.texts[:5] == ("<end>", "<other>", " ", "e", "t")
    assert LETTERS.texts[5:] == tuple("abcdfghijklmnopqrsuvwxyz")
    assert LETTERS.decode(LETTERS.encode(" It's 2 o'Clock: Größe")) == "it s o clock gr e"
    with pytest.raises(LogicgenError, match="none of the letters a to z: give other text"):
        Tokens.of_letters({"1": 5, "ß": 3, " ": 2})


@given(ANY)
def test_byte_pairs_write_every_text(text):
    ids = PAIRS.encode(text)
    assert ids.dtype == np.int64
    assert (ids > 0).all()
    assert PAIRS.decode(ids) == text
    assert PAIRS.decode([*ids, 0, 5]) == text


def test_byte_pairs_merge_what_is_frequent():
    assert len(PAIRS) == 270
    assert len(PAIRS.encode("the other there")) < 8
    assert len(PAIRS.encode("xyz")) == 3


@given(st.lists(st.sampled_from(["north", "south", "->"])), st.sampled_from([" ", "\n", "  "]))
def test_names_are_separated_by_blanks(names, blank):
    ids = NAMES.encode(blank.join(names))
    assert [NAMES.texts[each] for each in ids] == names
    assert NAMES.decode(ids) == " ".join(names)


def test_unknown_names_are_refused_with_what_is_near():
    with pytest.raises(LogicgenError, match=r"'nort' is not a token: .*north"):
        NAMES.encode("south nort")
    assert NAMES.id("->") == 3


@pytest.mark.parametrize("tokens", [CHARACTERS, PAIRS, NAMES])
def test_as_dict_and_back_through_json(tokens):
    back = Tokens(**json.loads(json.dumps(tokens.as_dict())))
    assert back == tokens
    assert hash(back) == hash(tokens)
    text = "north south" if tokens is NAMES else "ab the"
    assert back.encode(text).tolist() == tokens.encode(text).tolist()
    assert back.texts[Tokens.end] == "<end>"


def test_equality():
    assert Tokens("names", ["<end>", "a"]) != Tokens("names", ["<end>", "b"])
    assert Tokens("names", ["<end>", "<other>", "a"]) != Tokens(
        "characters", ["<end>", "<other>", "a"]
    )
    assert Tokens("names", ["<end>"]) != "names"
    assert Tokens("byte-pairs", PAIRS.texts, "{}") != PAIRS


def test_no_token_twice():
    with pytest.raises(ValueError, match="twice"):
        Tokens("names", ["<end>", "a", "a"])


def test_the_lattice_has_all_ways_to_write_a_text() -> None:
    """Each way decodes to the text, `encode` is one, and no two are alike."""
    tokens = Tokens.of_byte_pairs(["der große Ärger, das Große <end> <end> "] * 3, 290)
    for text in ("große", " <end>", "ÄÄ\n  x", "字 "):
        lattice = tokens.lattice(text)
        assert len(lattice) == len(text.encode())
        ways: list[list[list[int]]] = [[[]], *([] for _ in lattice)]
        for place, steps in enumerate(lattice):
            for token, behind in steps.items():
                ways[behind] += [[*way, token] for way in ways[place]]
        found = ways[-1]
        assert all(tokens.decode(way) == text and tokens.end not in way for way in found)
        assert tokens.encode(text).tolist() in found
        assert len(set(map(tuple, found))) == len(found)
    assert len(ways[-1]) == 1  # of what was never read, only bytes
    assert tokens.lattice("") == []
    assert Tokens("names", ["<end>", "a", "b"]).lattice("b a") == [{2: 1}, {1: 2}]


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
