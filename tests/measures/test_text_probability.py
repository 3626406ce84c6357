"""Probabilities of texts: sums over all ways to write them, listed one by one or by recursion."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest
import torch

from logicgen.errors import LogicgenError
from logicgen.measures import text_probability as module
from logicgen.measures.text_probability import magnitude, text_probability
from logicgen.model.language_model import LanguageModel
from logicgen.tokens import Tokens
from tests.languages import characters, counted, untrained

TEXT = "the other, then the heather; "
PAIRS = Tokens.of_byte_pairs([TEXT * 4], 275)


def ways(text: str) -> Iterator[list[int]]:
    """All tokens that may come first, then all ways to write the rest."""
    if not text:
        yield []
    for number in range(1, len(PAIRS)):
        written = PAIRS.decode([number])
        if text.startswith(written):
            for rest in ways(text[len(written) :]):
                yield [number, *rest]


def log2(model: LanguageModel, before: list[int], path: list[int], seed: int = 0) -> float:
    ids = torch.tensor([[*before, *path]])
    logs = model.log_probabilities(ids[:, :-1], [seed << 32])[0, len(before) - 1 :]
    return logs.gather(1, ids[0, len(before) :, None]).double().sum().item() / math.log(2)


MODELS = {
    "n-gram": counted(PAIRS, [TEXT] * 5, 2),
    "learned": untrained(PAIRS, method="learned"),
    "lexinvariant": untrained(PAIRS),
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("after", ["", "the other"])
@pytest.mark.parametrize("name", MODELS)
def test_the_sum_over_all_that_can_be_listed(name: str, after: str, whole: bool) -> None:
    model = MODELS[name]
    before = PAIRS.encode(after).tolist() or [0]
    end = [0] if whole else []
    for text in ("the", " heather", " <end>"):
        each = [log2(model, before, [*path, *end], 2) for path in ways(text)]
        found = text_probability(model, text, after=after, whole=whole, seed=2)
        assert found.tokenizations == len(each)
        assert found.marginal == pytest.approx(math.log2(sum(2**one for one in each)), abs=1e-4)
        canonical = [*PAIRS.encode(text).tolist(), *end]
        assert found.canonical == pytest.approx(log2(model, before, canonical, 2), abs=1e-4)
        assert found.standard_error == 0
        assert (found.canonical < found.marginal) == (len(each) > 1)


def test_tokens_that_do_not_depend_on_each_other() -> None:
    """Compare with a sum by hand: that of token ab, and of token a with token b behind it."""
    tokens = Tokens.of_byte_pairs(["ab ab"], 258)
    assert tokens.texts[-1] == "ab"
    model = counted(tokens, ["ab", "abab", "b"], 1)
    # Read: three ends, three times ab, once b; three different tokens.
    p = {text: (count + 3 / 258) / 10 for text, count in (("ab", 3), ("a", 0), ("b", 1))}
    found = text_probability(model, "ab")
    assert found.tokenizations == 2
    assert found.canonical == pytest.approx(math.log2(p["ab"]), abs=1e-5)
    assert found.marginal == pytest.approx(math.log2(p["ab"] + p["a"] * p["b"]), abs=1e-5)


def forward(model: LanguageModel, text: str) -> float:
    """log2 of the sum for a model of single tokens: prefix by prefix."""
    logs = model.log_probabilities(torch.tensor([[0]]))[0, 0].double().exp().tolist()
    totals = [1.0] + [0.0] * len(text)
    for number in range(1, len(PAIRS)):
        assert len(PAIRS.decode([number])) == 1 or PAIRS.decode([number]) in TEXT * 2
    for place in range(len(text)):
        for number in range(1, len(PAIRS)):
            written = PAIRS.decode([number])
            if text.startswith(written, place):
                totals[place + len(written)] += totals[place] * logs[number]
    return math.log2(totals[-1])


def test_an_estimate_of_more_than_can_be_listed() -> None:
    model, text = counted(PAIRS, [TEXT], 1), (TEXT * 3).strip()
    found = text_probability(model, text, samples=20, seed=1)
    assert found.tokenizations > 10**9
    # Guesses are exact where tokens are independent: each draw says the same.
    assert found.standard_error < 1e-4
    assert found.marginal == pytest.approx(forward(model, text), abs=1e-3)
    assert found.marginal > found.canonical + 0.1


def test_estimates_are_right_on_average_and_know_their_error() -> None:
    model, text = MODELS["learned"], " heather; the other"
    exact = text_probability(model, text)
    assert exact.tokenizations > 30
    found = [text_probability(model, text, samples=30, seed=seed) for seed in range(60)]
    assert min(each.standard_error for each in found) > 0
    assert all(each.marginal > each.canonical for each in found)
    shares = torch.tensor([2 ** (each.marginal - exact.marginal) for each in found])
    error = shares.std() / math.sqrt(len(found))
    assert abs(shares.mean() - 1) < 4 * error
    # The errors that are told are as large as those that are made.
    told = torch.tensor([each.standard_error * math.log(2) for each in found]).mean()
    assert 0.6 < told / shares.std() < 1.6


def test_estimates_with_random_rows_are_of_these_rows() -> None:
    model = MODELS["lexinvariant"]
    text = " heather; the other"
    exact, other = (text_probability(model, text, seed=seed) for seed in (3, 4))
    found = text_probability(model, text, samples=100, seed=3)
    assert 0 < found.standard_error < 0.1
    assert abs(found.marginal - exact.marginal) < 5 * found.standard_error
    assert abs(found.marginal - other.marginal) > 50 * found.standard_error
    # No more terms than samples: they are summed.
    assert text_probability(model, text, samples=exact.tokenizations, seed=3) == exact


def test_groups_of_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = MODELS["learned"], " heather"
    before = text_probability(*asked), text_probability(*asked, samples=9)
    monkeypatch.setattr(module, "AT_A_TIME", 4)
    after = text_probability(*asked), text_probability(*asked, samples=9)
    for one, other in zip(before, after, strict=True):
        assert list(one) == pytest.approx(list(other), abs=1e-4)


@pytest.mark.parametrize("kind", ["characters", "letters", "names"])
def test_one_way_only(kind: str) -> None:
    tokens = {
        "characters": characters(["abc"]),
        "letters": Tokens.of_letters({"a": 3, "b": 2, "c": 1}),
        "names": Tokens("names", ["<end>", "a", "b", "c"]),
    }[kind]
    model = untrained(tokens, method="learned")
    text = "b c a" if kind == "names" else "bca"
    found = text_probability(model, text, after="a", samples=5)
    expected = log2(model, tokens.encode("a").tolist(), tokens.encode(text).tolist())
    assert found == (1, pytest.approx(expected, abs=1e-4), found.canonical, 0.0)


def test_the_limit_of_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    model, text = MODELS["n-gram"], " heather"
    count = text_probability(model, text).tokenizations
    monkeypatch.setattr(module, "MOST", count)
    text_probability(model, text)
    monkeypatch.setattr(module, "MOST", count - 1)
    message = f"the text has {count} tokenizations, and up to {count - 1} are summed: .*--samples"
    with pytest.raises(LogicgenError, match=message):
        text_probability(model, text)


@pytest.mark.parametrize(
    ("text", "after", "samples", "message"),
    [
        ("", "", None, "the text is empty"),
        ("\udcff", "", None, "the text is not UTF-8"),
        ("a", "\udcff", None, "the text before is not UTF-8"),
        (TEXT * 3, "", None, "tokenizations, and up to 10,000 are summed: give --samples 1000"),
        (TEXT * 999, "", None, r"about 10\^\d{4} tokenizations"),
        ("a", "", 1, "samples: 1, but it has to be at least 2"),
    ],
)
def test_refused(text: str, after: str, samples: int | None, message: str) -> None:
    with pytest.raises(LogicgenError, match=message) as caught:
        text_probability(MODELS["n-gram"], text, after=after, samples=samples)
    assert "\n" not in str(caught.value)


def test_how_strings_begin_is_not_predicted() -> None:
    model = untrained(Tokens("names", ["<end>", "a", "b"]), "automaton")
    with pytest.raises(LogicgenError, match="--after: a model of automaton does not predict how"):
        text_probability(model, "a b")


def test_numbers_with_many_digits() -> None:
    assert magnitude(1234567) == "1,234,567"
    assert re.fullmatch(r"about 10\^5000", magnitude(10**5000))


def test_a_blank_between_letters_counts() -> None:
    tokens = Tokens.of_letters({"a": 3, "b": 2, " ": 1})
    model = untrained(tokens, method="learned").eval()
    found = text_probability(model, " ab", after="b")
    a, b, blank = (tokens.id(each) for each in "ab ")
    assert found.canonical == pytest.approx(log2(model, [b], [blank, a, b]), rel=1e-5)
    alone = text_probability(model, " ", after="b")
    assert alone.canonical == pytest.approx(log2(model, [b], [blank]), rel=1e-5)
    again = text_probability(model, "ab", after="b ")
    assert again.canonical == pytest.approx(log2(model, [b, blank], [a, b]), rel=1e-5)
