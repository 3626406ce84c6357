"""n-grams against Witten-Bell written down as it is defined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.model import ngrams
from logicgen.model.ngrams import NGram
from logicgen.tokens import NOTHING

V = 3
TEXTS = st.lists(st.lists(st.integers(0, V - 1), max_size=6), min_size=1, max_size=4)


def padded(texts: Sequence[Sequence[int]]) -> torch.Tensor:
    longest = max(map(len, texts))
    return torch.tensor([[*text, *[NOTHING] * (longest - len(text))] for text in texts]).view(
        len(texts), longest
    )


def brute_force(texts: Sequence[Sequence[int]], context: tuple[int, ...]) -> list[float]:
    """p(. | context), by the recursion."""
    counts: Counter[int] = Counter()
    for text in texts:
        for place in range(len(context), len(text)):
            if tuple(text[place - len(context) : place]) == context:
                counts[text[place]] += 1
    lower = brute_force(texts, context[1:]) if context else [1 / V] * V
    total = counts.total() + len(counts)
    if not total:
        return lower
    return [(counts[w] + len(counts) * lower[w]) / total for w in range(V)]


@given(TEXTS, st.integers(1, 4), st.lists(st.integers(0, V - 1), min_size=1, max_size=6))
def test_probabilities_are_witten_bells(
    texts: list[list[int]], order: int, read: list[int]
) -> None:
    model = NGram(order, V)
    model.count(padded(texts))
    found = model.log_probabilities(torch.tensor([read])).exp()[0]
    torch.testing.assert_close(found.sum(-1), torch.ones(len(read)))
    for place in range(len(read)):
        context = tuple(read[max(0, place + 2 - order) : place + 1]) if order > 1 else ()
        expected = torch.tensor(brute_force(texts, context))
        torch.testing.assert_close(found[place], expected, rtol=1e-5, atol=1e-6)


def test_counting_in_pieces_is_counting_at_once() -> None:
    texts = torch.randint(V, (6, 9), generator=torch.Generator().manual_seed(0))
    texts[2, 4:] = NOTHING
    whole, parts = NGram(3, V), NGram(3, V)
    whole.count(texts)
    for part in texts.split(2):
        parts.count(part)
    for n in (1, 2, 3):
        assert torch.equal(whole.get_buffer(f"counts_{n}"), parts.get_buffer(f"counts_{n}"))
    assert whole.counts_1.sum() == (texts != NOTHING).sum()


def test_what_was_never_seen_is_uniform() -> None:
    found = NGram(3, V).log_probabilities(torch.zeros(2, 5, dtype=torch.int64)).exp()
    torch.testing.assert_close(found, torch.full((2, 5, V), 1 / V))


def test_sequences_of_a_batch_do_not_mix() -> None:
    model = NGram(3, V)
    model.count(torch.randint(V, (6, 9), generator=torch.Generator().manual_seed(0)))
    texts = torch.randint(V, (5, 7), generator=torch.Generator().manual_seed(1))
    whole = model.log_probabilities(texts)
    for line in range(5):
        assert torch.equal(model.log_probabilities(texts[line : line + 1])[0], whole[line])


def test_too_large_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LogicgenError, match=r"network.order: .* 6-grams .*lower it to 3"):
        NGram(6, 128)
    monkeypatch.setattr(ngrams, "MOST", 10)
    with pytest.raises(LogicgenError, match="lower it to 2"):
        NGram(3, 3)
    NGram(2, 3)
