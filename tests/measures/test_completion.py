"""Texts that are gone on from: what is read, where they end, what is refused."""

from __future__ import annotations

import pytest
import torch

from logicgen.errors import LogicgenError
from logicgen.measures.completion import complete, most_probable
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
    letters = counted(Tokens.of_letters(dict.fromkeys(ABC, 1)), [ABC] * 50, 2)
    assert complete(letters, "A", 30, until="FG")[0].text == "bcde"
    with pytest.raises(LogicgenError, match="--until: is empty"):
        complete(letters, "a", 3, until="")
    words = counted(Tokens.of_letters(dict.fromkeys("abc ", 1)), ["ab abc ab"] * 50, 2)
    for until in (" ", "..."):  # such a model reads both as a blank
        assert complete(words, "a", 9, until=until)[0].text == "b"


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
    monkeypatch.setattr("logicgen.measures.completion.AT_A_TIME", 2)
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
    with pytest.raises(LogicgenError, match=r"'nort' is not a token: .*north"):
        complete(model, "north nort", 3)
    with pytest.raises(LogicgenError, match="not UTF-8"):
        complete(alphabet, "a\udcff", 3)


@pytest.mark.parametrize(
    ("until", "message"), [("", "is empty"), ("aé", "cannot write"), ("\udcff", "not UTF-8")]
)
def test_an_until_that_cannot_be(alphabet, until, message):
    with pytest.raises(LogicgenError, match=f"--until: .*{message}"):
        complete(alphabet, "a", 3, until=until)


def test_the_most_probable(alphabet, pairs):
    greedy = complete(alphabet, "x", 10)
    assert most_probable(alphabet, "x", 10, beams=1)[0] == pytest.approx(greedy[0])
    best = most_probable(alphabet, "a", 6, beams=20, count=3)
    assert best[0].text == "bcdefg"
    assert [each[1] for each in best] == sorted((each[1] for each in best), reverse=True)
    assert len({each.text for each in best}) == 3
    assert most_probable(alphabet, "a", 30, beams=4, until="fg")[0].text == "bcde"
    assert most_probable(pairs, "der", 12, beams=3)[0].text.startswith(" große Ärger")


def test_more_beams_find_what_is_more_probable():
    """After c comes a more often than b, but b is always the end, and after a comes anything."""
    model = counted(characters(["abcxyz"]), ["cb"] * 9 + ["cax", "cay", "caz", "cac"] * 3, 3)
    assert complete(model, "c", 9)[0].text[0] == "a"
    assert most_probable(model, "c", 9, beams=5)[0].text == "b"


def test_beams_of_a_lexinvariant_model_share_rows():
    """What comes out first is the text whose probability it is, under the rows of the seed."""
    model = untrained(characters([ABC]))
    (greedy,) = complete(model, "abc", 8, seed=3)
    assert most_probable(model, "abc", 8, beams=1, seed=3)[0] == pytest.approx(greedy)
    best = most_probable(model, "abc", 4, beams=6, count=6, seed=3)
    ids = torch.from_numpy(model.tokens.encode("abc" + best[0].text))[None]
    logs = model.log_probabilities(ids[:, :-1], [3 << 32])[0, 2:]
    own = logs.gather(1, ids[0, 3:, None]).sum().item()
    assert best[0].log_probability == pytest.approx(own, abs=1e-4)
    assert best[0].log_probability >= complete(model, "abc", 4, seed=3)[0].log_probability - 1e-4


def test_more_texts_than_beams(alphabet):
    with pytest.raises(LogicgenError, match=r"--count 3: 2 beams find 2 .*--beams 3"):
        most_probable(alphabet, "a", 5, beams=2, count=3)
