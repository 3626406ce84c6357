"""Attention against its definition, on every path that computes it."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from logicgen.nn import layers
from logicgen.nn.layers import Attention

WIDTH, HEADS = 12, 3


def defined(attention: Attention, x: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Causal attention, written down query by query."""
    query = attention.query(x).unflatten(-1, (HEADS, -1))
    keys, values = (
        each.unflatten(-1, (HEADS, -1)) for each in attention.key_value(x).chunk(2, dim=-1)
    )
    found = torch.zeros_like(query)
    for place in range(x.shape[1]):
        scores = torch.einsum("bhd,bshd->bhs", query[:, place], keys[:, : place + 1])
        scores = scores / math.sqrt(WIDTH / HEADS)
        if bias is not None:
            scores = scores + bias[0, :, place, : place + 1]
        found[:, place] = torch.einsum("bhs,bshd->bhd", scores.softmax(-1), values[:, : place + 1])
    result: torch.Tensor = attention.output(found.flatten(2))
    return result


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("length", [1, 64, 65, 150, 270])
def test_causal_attention_and_its_gradients(length: int, biased: bool) -> None:
    torch.manual_seed(length)
    attention = Attention(WIDTH, HEADS, dropout=0.0)
    x = torch.randn(2, length, WIDTH, requires_grad=True)
    bias = mask = None
    if biased:
        bias = torch.randn(1, HEADS, length, length, requires_grad=True)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        mask = bias.masked_fill(later, -math.inf)
    weights = [*attention.parameters(), x, *([] if bias is None else [bias])]
    expected = defined(attention, x, bias)
    expected_gradients = torch.autograd.grad(expected.square().sum(), weights)
    found = attention(x, attention.keys_values(x), mask=mask, causal=True)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    gradients = torch.autograd.grad(found.square().sum(), weights)
    for gradient, right in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient, right, rtol=1e-3, atol=1e-4)
    with torch.no_grad():
        used = attention(x, attention.keys_values(x), mask=mask, causal=True)
    torch.testing.assert_close(used, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [20, 270])  # few and many keys
def test_attention_with_a_learned_mask_and_its_gradients(length: int) -> None:
    torch.manual_seed(length)
    query, keys, values = torch.randn(3, 2, HEADS, length, 4, requires_grad=True)
    bias = torch.randn(1, HEADS, length, length, requires_grad=True)
    hidden = torch.rand(length, length) > 0.5
    mask = bias.masked_fill(hidden.fill_diagonal_(False), -math.inf)
    right = functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    found = layers._attend(query, (keys, values), mask, 0.0, False)
    torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-5)
    expected, gradients = (
        torch.autograd.grad(each.square().sum(), [query, keys, values, bias], retain_graph=True)
        for each in (right, found)
    )
    for gradient, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize(("rows", "tokens"), [(1, 1), (3, 5), (6, 10), (3, 1), (6, 5), (1, 10)])
@pytest.mark.parametrize("in_cache", [2**18, 60, 1])
def test_a_mask_is_shared(
    rows: int, tokens: int, numbers: bool, in_cache: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mask for fewer sequences and queries means the same as the mask with all its copies."""
    torch.manual_seed(rows)
    monkeypatch.setattr(layers, "_IN_CACHE", in_cache)
    batch, queries, keys = 6, 10, 7
    attention = Attention(WIDTH, HEADS, dropout=0.0)
    x = torch.randn(batch, queries, WIDTH)
    keys_values = attention.keys_values(torch.randn(batch, keys, WIDTH))
    mask = torch.rand(rows, 1, tokens, keys) > 0.5
    mask[..., 0] = True
    if numbers:
        mask = torch.randn(rows, HEADS, tokens, keys).masked_fill(~mask, -math.inf)
    of_row = torch.arange(batch) // (batch // rows)
    whole = mask[of_row][:, :, torch.arange(queries) % tokens]
    found = attention(x, keys_values, mask=mask)
    torch.testing.assert_close(found, attention(x, keys_values, mask=whole))
    with torch.no_grad():
        torch.testing.assert_close(attention(x, keys_values, mask=mask), found)
    torch.testing.assert_close(layers._whole(mask, x[:, None]).expand_as(whole), whole)
