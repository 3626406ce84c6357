"""The continuous cache: a proper mixture, with the parts computed by hand."""

from __future__ import annotations

import math

import pytest
import torch

from logicgen.nn.cache import Cache
from logicgen.nn.generation import generate
from logicgen.nn.language_model import CausalLM, CausalTransformer
from logicgen.nn.token_rows import Rows, TokenRows
from logicgen.tokens import NOTHING

WIDTH, TOKENS = 16, 7


def made(method: str = "lexinvariant") -> CausalLM:
    torch.manual_seed(0)
    network = CausalTransformer(width=WIDTH, heads=2, layers=2, feed_forward=32)
    model = CausalLM(TokenRows(method, TOKENS, WIDTH), network, WIDTH, cache=True)
    assert model.cache is not None
    torch.nn.init.normal_(model.cache.query.weight)  # far from even weights
    return model.eval()


def ids(count: int = 3, length: int = 12) -> torch.Tensor:
    return torch.randint(TOKENS, (count, length), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_by_hand() -> None:
    """Every probability follows the formula, position by position."""
    torch.manual_seed(3)
    cache, features = Cache(WIDTH), torch.randn(1, 5, WIDTH)
    next_ = torch.tensor([[2, 0, 2, 1, NOTHING]])
    logs = torch.randn(1, 5, TOKENS).log_softmax(-1)
    found = cache.log_probabilities(logs, features, next_)[0].exp()
    for t in range(5):
        query = cache.query(features[0, t])
        scores = [float(query @ cache.key(features[0, i])) / math.sqrt(WIDTH) for i in range(t)]
        weights = [math.exp(score) / sum(map(math.exp, scores)) for score in scores]
        share = float(cache.share(features[0, t]).sigmoid()) if t else 0.0
        for w in range(TOKENS):
            copied = sum(a for i, a in enumerate(weights) if next_[0, i] == w)
            expected = (1 - share) * float(logs[0, t, w].exp()) + share * copied
            assert float(found[t, w]) == pytest.approx(expected, rel=1e-5)


def test_probabilities_sum_to_one_and_the_loss_is_theirs() -> None:
    model, tokens = made(), ids()
    rows = model.rows(3, torch.Generator().manual_seed(2))
    logs = model.log_probabilities(tokens, rows)
    torch.testing.assert_close(logs.exp().sum(-1), torch.ones(3, 12))
    targets = tokens[:, 1:].clone()
    targets[0, 5:] = NOTHING
    lost = -logs[:, :-1].gather(2, tokens[:, 1:, None])[..., 0]
    there = targets != NOTHING
    found = model.loss(tokens, torch.Generator().manual_seed(2), targets)
    torch.testing.assert_close(found, lost[there].mean())


def test_what_stands_behind_does_not_count() -> None:
    model, tokens = made(), ids()
    rows = model.rows(3, torch.Generator().manual_seed(2))
    other = tokens.clone()
    other[:, 8:] = (other[:, 8:] + 1) % TOKENS
    before, after = model.log_probabilities(tokens, rows), model.log_probabilities(other, rows)
    torch.testing.assert_close(before[:, :8], after[:, :8])


def test_renaming_tokens_and_their_rows_renames_what_is_predicted() -> None:
    model, tokens = made(), ids()
    rows = model.rows(3, torch.Generator().manual_seed(2))
    name = torch.randperm(TOKENS, generator=torch.Generator().manual_seed(4))
    matrix = torch.empty_like(rows.matrix)
    matrix[:, name] = rows.matrix
    before = model.log_probabilities(tokens, rows)
    after = model.log_probabilities(name[tokens], Rows(matrix))
    torch.testing.assert_close(after[..., name], before)


def test_gradients_reach_all_parts_even_of_one_token() -> None:
    model = made()
    model.train()
    model.loss(ids(2, 6)).backward()
    assert model.cache is not None
    for weights in model.cache.parameters():
        assert weights.grad is not None
        assert weights.grad.isfinite().all()
    short = made()
    short.loss(ids(2, 2)).backward()  # the only place has nothing before it
    assert all(w.grad is None or w.grad.isfinite().all() for w in short.parameters())


def test_generation_reads_as_the_model_does() -> None:
    model, tokens = made(), ids(2, 5)
    rows = model.rows(2, torch.Generator().manual_seed(5))
    found = generate(model.reader(rows, 2), tokens, 4, end=TOKENS).tokens
    text = tokens
    for _ in range(4):
        chosen = model.log_probabilities(text, rows)[:, -1].argmax(-1)
        text = torch.cat([text, chosen[:, None]], dim=1)
    assert (found == text[:, 5:]).all()
