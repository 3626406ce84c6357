"""Texts that are gone on from: what is read, where they end, what is refused."""

from __future__ import annotations

import pytest

from logicgen.errors import LogicgenError
from logicgen.evaluate.completion import complete
from logicgen.nn.samples import Sampling
from logicgen.tokens import Tokens
from tests.languages import characters, counted, untrained

ABC = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="module")
def alphabet():
    return counted(characters([ABC]), [ABC] * 50, 2)


@pytest.fixture(scope="module")
def pairs():
    text = "der große Ärger, the long answer. " * 4
    tokens = Tokens.of_byte_pairs([text], 300)
    return counted(tokens, [text] * 20, 2)


def test_greedy_to_the_end(alphabet):
    (found,) = complete(alphabet, "x", 10)
    assert found.text == "yz"  # then the document ends
    assert -1 < found.log_probability < 0
    assert complete(alphabet, "c", 3)[0].text == "def"
    assert complete(alphabet, "c", 3)[0].log_probability > complete(alphabet, "c", 9)[0][1]


def test_until(alphabet, pairs):
    assert complete(alphabet, "a", 30, until="fg")[0].text == "bcde"
    assert complete(alphabet, "a", 4, until="fg")[0].text == "bcde"
    assert complete(pairs, "der", 30, until="ger")[0].text == " große Är"
    names = counted(Tokens("names", ["<end>", "a", "a1", "b"]), ["a a1 b a a1 b"] * 9, 2)
    assert complete(names, "a", 5, until="b")[0].text == "a1"
    assert complete(names, "b", 5, until="a1 b")[0].text == "a"


def test_byte_pairs_are_put_together(pairs):
    assert complete(pairs, "der", 12)[0].text.startswith(" große Ärger")


def test_a_continuation_follows_from_its_number():
    model = untrained(characters([ABC]))
    found = complete(model, "abc", 8, sampling=Sampling(seed=4), count=5)
    fewer = complete(model, "abc", 8, sampling=Sampling(seed=4), count=3)
    assert [each.text for each in found[:3]] == [each.text for each in fewer]
    assert [each[1] for each in found[:3]] == pytest.approx([each[1] for each in fewer])
    assert len({each.text for each in found}) == 5
    other = complete(model, "abc", 8, sampling=Sampling(seed=5), count=3)
    assert [each.text for each in other] != [each.text for each in found[:3]]


def test_groups_of_continuations(monkeypatch):
    model = untrained(characters([ABC]))
    whole = complete(model, "abc", 8, sampling=Sampling(), count=5)
    monkeypatch.setattr("logicgen.evaluate.completion.AT_A_TIME", 2)
    parts = complete(model, "abc", 8, sampling=Sampling(), count=5)
    assert [each.text for each in parts] == [each.text for each in whole]
    assert [each[1] for each in parts] == pytest.approx([each[1] for each in whole])


def test_rows_of_a_greedy_lexinvariant_model_are_drawn_by_number():
    model = untrained(characters([ABC]))
    found = complete(model, "abc", 8, count=4)
    logs = [each.log_probability for each in found]
    assert len({round(each, 3) for each in logs}) == 4
    fewer = complete(model, "abc", 8, count=2)
    assert [each[1] for each in fewer] == pytest.approx(logs[:2])
    assert complete(model, "abc", 8, count=1, seed=1)[0][1] != pytest.approx(logs[0])


def test_a_character_that_is_no_token(alphabet):
    assert len(complete(alphabet, "é", 3)[0].text) <= 3


@pytest.mark.parametrize("prompt", ["", "  "])
def test_an_empty_prompt(prompt):
    model = untrained(Tokens("names", ["<end>", "a", "b"]), "automaton")
    with pytest.raises(LogicgenError, match=r"prompt is empty.*at least one"):
        complete(model, prompt, 3)


def test_a_prompt_that_cannot_be_read(alphabet):
    model = untrained(Tokens("names", ["<end>", "north", "south"]), "automaton")
    with pytest.raises(LogicgenError, match=r"'nort' is no token: .*north"):
        complete(model, "north nort", 3)
    with pytest.raises(LogicgenError, match="not UTF-8"):
        complete(alphabet, "a\udcff", 3)


@pytest.mark.parametrize(
    ("until", "message"), [("", "is empty"), ("aé", "cannot write"), ("\udcff", "not UTF-8")]
)
def test_an_until_that_cannot_be(alphabet, until, message):
    with pytest.raises(LogicgenError, match=f"--until: .*{message}"):
        complete(alphabet, "a", 3, until=until)
