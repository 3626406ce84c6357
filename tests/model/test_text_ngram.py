"""n-grams of a text itself against their definitions, written down as they stand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from logicgen.model.ngrams import TextNGram
from logicgen.tokens import NOTHING

V = 4
TEXT = st.lists(st.integers(0, V - 1), min_size=1, max_size=12)
ORDER = st.integers(1, 4)


def followers(text: Sequence[int], context: tuple[int, ...]) -> Counter[int]:
    """What followed the context in a text."""
    size = len(context)
    return Counter(
        text[place]
        for place in range(size, len(text))
        if tuple(text[place - size : place]) == context
    )


def fitted(model: TextNGram, text: Sequence[int], size: int) -> list[float]:
    """p(. | the last `size` tokens), by the recursion."""
    if size < 0:
        return [1 / V] * V
    lower = fitted(model, text, size - 1)
    if size > len(text):
        return lower  # no such context
    counts = followers(text, tuple(text[len(text) - size :]))
    a, b = model.discount[size].item(), model.strength[size].item()
    total = counts.total() + b
    return [
        (max(counts[w] - a, 0) + (b + a * len(counts)) * lower[w]) / total if total else lower[w]
        for w in range(V)
    ]


def by_escapes(text: Sequence[int], order: int) -> list[float]:
    found, left, excluded = [0.0] * V, 1.0, set[int]()
    for size in range(min(order - 1, len(text)), -1, -1):
        counts = followers(text, tuple(text[len(text) - size :]))
        new = {w: n for w, n in counts.items() if w not in excluded}
        if new:
            total = sum(new.values())
            for w, n in new.items():
                found[w] += left * (2 * n - 1) / (2 * total)
            left *= len(new) / (2 * total)
            excluded |= set(new)
    for w in set(range(V)) - excluded:
        found[w] += left / (V - len(excluded))
    return [each / sum(found) for each in found]


@given(text=TEXT, order=ORDER, seed=st.integers(0, 99))
def test_fitted_probabilities_are_the_recursion(text: list[int], order: int, seed: int) -> None:
    model = TextNGram(order, "fitted")
    generator = torch.Generator().manual_seed(seed)
    model.strength.copy_(3 * torch.rand(order, generator=generator))
    model.discount.copy_(torch.rand(order, generator=generator))
    found = model.log_probabilities(torch.tensor([text]), V).exp()[0]
    torch.testing.assert_close(found.sum(-1), torch.ones(len(text)))
    for place in range(len(text)):
        expected = torch.tensor(fitted(model, text[: place + 1], order - 1))
        torch.testing.assert_close(found[place], expected, rtol=1e-4, atol=1e-6)


@given(text=TEXT, order=ORDER)
def test_ppm_is_its_escapes(text: list[int], order: int) -> None:
    found = TextNGram(order, "ppm").log_probabilities(torch.tensor([text]), V).exp()[0]
    for place in range(len(text)):
        expected = torch.tensor(by_escapes(text[: place + 1], order))
        torch.testing.assert_close(found[place], expected, rtol=1e-4, atol=1e-6)


@settings(max_examples=30)
@given(
    text=TEXT,
    order=ORDER,
    smoothing=st.sampled_from(["fitted", "ppm"]),
    names=st.permutations(range(V)),
)
def test_names_do_not_matter(text: list[int], order: int, smoothing: str, names: list[int]) -> None:
    model = TextNGram(order, smoothing)
    plain = model.log_probabilities(torch.tensor([text]), V)
    renamed = model.log_probabilities(torch.tensor([[names[w] for w in text]]), V)
    torch.testing.assert_close(renamed[..., torch.tensor(names)], plain)


@pytest.mark.parametrize("smoothing", ["fitted", "ppm"])
def test_texts_of_a_batch_do_not_mix_and_ends_do_not_count(smoothing: str) -> None:
    model = TextNGram(3, smoothing)
    texts = torch.randint(V, (5, 9), generator=torch.Generator().manual_seed(0))
    whole = model.log_probabilities(texts, V)
    for line in range(5):
        assert torch.equal(model.log_probabilities(texts[line : line + 1], V)[0], whole[line])
    shorter = texts.clone()
    shorter[2, 6:] = NOTHING
    again = model.log_probabilities(shorter, V)
    assert torch.equal(again[2, :6], whole[2, :6])
    assert torch.isfinite(again).all()


def strings(rows: int, length: int, strength: float, seed: int) -> torch.Tensor:
    """Texts whose tokens are drawn from shares of their own, by a Dirichlet distribution."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([strength / V] * V, size=rows)
    drawn = [rng.choice(V, size=length, p=row) for row in shares]
    return torch.from_numpy(np.array(drawn))


def cost(model: TextNGram, texts: torch.Tensor) -> float:
    logs = model.log_probabilities(texts, V)[:, :-1]
    return -logs.gather(2, texts[:, 1:, None]).mean().item() / math.log(2)


@pytest.mark.slow
def test_smoothing_is_fitted_to_what_made_the_texts() -> None:
    """Counts and strength / V for each token are the exact posterior mean: nothing is better."""
    for strength in (0.5, 8.0):
        model, best = TextNGram(1, "fitted"), TextNGram(1, "fitted")
        fresh, texts = strings(300, 100, strength, 1), strings(600, 100, strength, 0)
        before = cost(model, fresh)
        model.learn(iter([texts]), V)
        best.strength.fill_(strength)
        assert before > cost(best, fresh) + 0.003
        assert cost(model, fresh) == pytest.approx(cost(best, fresh), abs=0.001)


@pytest.mark.slow
def test_longer_contexts_are_not_trusted_where_they_say_nothing() -> None:
    model, texts = TextNGram(3, "fitted"), strings(400, 100, 2.0, 1)
    model.learn(iter(texts.split(64)), V)
    fresh = strings(100, 100, 2.0, 2)
    short = TextNGram(1, "fitted")
    short.strength.copy_(model.strength[:1])
    short.discount.copy_(model.discount[:1])
    assert cost(model, fresh) == pytest.approx(cost(short, fresh), abs=0.02)


def test_repeated_text_is_foretold() -> None:
    text = torch.tensor([[0, 1, 2, 3, 3, 1] * 10])
    for smoothing in ("fitted", "ppm"):
        found = TextNGram(3, smoothing).log_probabilities(text, V)[0, -2]
        assert found.argmax() == 1
        assert found[1].exp() > 0.7


@given(
    texts=st.lists(
        st.lists(st.integers(0, V - 1), min_size=12, max_size=12), min_size=1, max_size=3
    ),
    ends=st.lists(st.integers(1, 12), min_size=3, max_size=3),
    order=ORDER,
    smoothing=st.sampled_from(["fitted", "ppm"]),
    tokens=st.sampled_from([V, V + 3, 40]),
)
def test_the_probability_of_what_is_there_is_one_of_all(
    texts: list[list[int]], ends: list[int], order: int, smoothing: str, tokens: int
) -> None:
    model = TextNGram(order, smoothing)
    model.strength.copy_(torch.linspace(0.2, 2, order))
    model.discount.copy_(torch.linspace(0.9, 0.1, order))
    read = torch.tensor(texts)
    for line, end in zip(read, ends, strict=False):
        line[end:] = NOTHING
    whole = model.log_probabilities(read, tokens)[:, :-1]
    targets = read[:, 1:]
    expected = whole.gather(2, targets.clamp(min=0)[..., None])[..., 0]
    there = targets != NOTHING
    found = model.chosen(read, tokens)[there]
    torch.testing.assert_close(found, expected[there].double(), rtol=1e-4, atol=1e-5)
