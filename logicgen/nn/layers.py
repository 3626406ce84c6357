"""Attention, feed-forward networks, and the layers of encoders and decoders.

Layer normalization comes before each sublayer ("pre-norm"), not after it as in Vaswani et al.
(2017). This allows higher learning rates and needs no delicate warm-up (Xiong et al. 2020), so two
minutes of training on a CPU can be enough.

Shapes: B sequences, S problem tokens, T tokens (of the answer, in a decoder), N packed tokens,
H heads, D = width / H.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.nn.linear import Linear
from logicgen.nn.memory import KeysValues, Memory
from logicgen.nn.position import (
    Rotation,
    rotate,
)

# On a CPU, the number of packed tokens is a multiple of this number. A kernel for matrix products
# in bfloat16 is compiled for each new size, which takes longer than one product.
FILLED = 256


@dataclass(frozen=True)
class Packing:
    """The N places of a padded (B, T) batch that hold tokens, not padding.

    All layers except attention compute only these places. Problems of a batch have similar lengths,
    but two thirds of a batch of answers are padding.
    """

    shape: tuple[int, int]  # B sequences, T tokens of a sequence
    # (N,), ascending indices into the flattened batch, then fillers B*T with unused features
    places: Tensor

    @staticmethod
    def of(places: Tensor, shape: tuple[int, int]) -> Packing:
        """Return a packing of these places of a batch of this shape, (B, T).

        On a CPU, fillers make their number a multiple of `FILLED`.
        """
        if places.device.type == "cpu":
            places = F.pad(places, (0, -len(places) % FILLED), value=shape[0] * shape[1])
        return Packing(shape, places)

    def pack(self, x: Tensor) -> Tensor:
        """Return the features at the N places that hold tokens: (B, T, ...) to (N, ...)."""
        x = x.flatten(0, 1)
        return x.index_select(0, self.places.clamp(max=len(x) - 1))

    def pad(self, x: Tensor) -> Tensor:
        """Return packed features (N, ...) in their places of the batch, (B, T, ...).

        Features of padding are zero.
        """
        batch, time = self.shape
        zeros = x.new_zeros(batch * time + 1, *x.shape[1:])
        return torch.unflatten(zeros.index_copy(0, self.places, x)[:-1], 0, self.shape)


@dataclass(frozen=True)
class Positions:
    """The encoded positions of the tokens of one call, for the inputs and for all layers."""

    vectors: Tensor | None = None  # (T, width) or (B, T, width), added to the inputs
    rotation: Rotation | None = None  # for queries and keys in self-attention
    problem_rotation: Rotation | None = None  # for queries and keys in cross-attention
    # The mask of self-attention: bool, True if a key may be seen, or numbers to add to the scores.
    # None for answers: causal attention without a bias
    mask: Tensor | None = None
    packing: Packing | None = None  # the packing of the tokens, if they are packed
    of_answers: Tensor | None = None  # (sequences, positions), randomized positions of answers
    # The keys of the problem's tokens are multiplied by it: (B,), or (N,) if they are packed
    sharpness: Tensor | None = None

    def packed(self, packing: Packing) -> Positions:
        """Return the positions of packed tokens, without `vectors`: inputs contain them already."""
        place = packing.places % packing.shape[1]
        own, crossing = (
            rotation and (rotation[0][place], rotation[1][place])
            for rotation in (self.rotation, self.problem_rotation)
        )
        sharpness = self.sharpness
        if sharpness is not None:
            rows = packing.places // packing.shape[1]
            sharpness = sharpness[rows.clamp(max=len(sharpness) - 1)]
        return replace(
            self,
            vectors=None,
            rotation=own,
            problem_rotation=crossing,
            packing=packing,
            sharpness=sharpness,
        )


class Attention(nn.Module):
    """Multi-head attention in two steps, so that decoding can store keys and values.

    x is (B, T, width), or packed (N, width); a rotation has T or N rows accordingly.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = Linear(width, width)
        self.key_value = Linear(width, 2 * width)
        self.output = Linear(width, width)

    def keys_values(
        self,
        x: Tensor,
        rotation: Rotation | None = None,
        packing: Packing | None = None,
        sharpness: Tensor | None = None,
    ) -> KeysValues:
        """Return the keys and the values of x, (B, H, T, D) each.

        sharpness: multiplies the keys, and so the scores of attention; (B,), or (N,) if packed.
        """
        keys, values = self.key_value(x).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        if rotation is not None:
            keys = rotate(keys, rotation)
        if sharpness is not None:
            keys = keys * sharpness.to(keys.dtype).view(-1, *[1] * (keys.dim() - 1))
        return _by_head(keys, packing), _by_head(values, packing)

    def forward(
        self,
        x: Tensor,
        keys_values: KeysValues,
        rotation: Rotation | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
        packing: Packing | None = None,
    ) -> Tensor:
        """Return the attended values of queries x, of the same shape as x.

        Several consecutive rows of x (hypotheses of one problem) may share a row of keys and
        values.

        mask: True if a key may be seen, or numbers to add to the scores, (B', 1 or H, T', tokens).
            Each row of the mask is for B / B' consecutive rows of x. The same mask is for the first
            T' tokens of a row, the next T', and so on.
        causal: whether later keys are hidden. A mask of numbers must be -inf for these keys.
        """
        # (sequences, tokens, heads, features of a head)
        query = self.query(x).unflatten(-1, (self.heads, -1))
        if rotation is not None:
            query = rotate(query, rotation)
        query = _by_head(query, packing)  # (sequences, heads, tokens, features of a head)
        # The number of rows of x that share one row of keys.
        readers = len(query) // len(keys_values[0])
        if readers > 1:
            query = torch.unflatten(query, 0, (-1, readers)).transpose(1, 2).flatten(2, 3)
        dropout = self.dropout if self.training else 0.0
        # (sequences, heads, tokens, features of a head)
        mixed = _attend(query, keys_values, mask, dropout, causal)
        if readers > 1:
            mixed = torch.unflatten(mixed, 2, (readers, -1)).transpose(1, 2).flatten(0, 1)
        mixed = mixed.transpose(1, 2).flatten(2)  # (sequences, tokens, width)
        output: Tensor = self.output(packing.pack(mixed) if packing is not None else mixed)
        return output


_FEW = 256  # most keys for which training without a learned mask uses `_attend_few`
_BLOCK = 64  # number of queries that `_attend_before` computes at a time
_IN_CACHE = 2**18  # float32 numbers in a megabyte, which fits into the processor's cache


def _attend(
    query: Tensor,
    keys_values: KeysValues,
    mask: Tensor | None,
    dropout: float,
    causal: bool,
) -> Tensor:
    """Attend with the fastest implementation."""
    few, trained = keys_values[0].shape[-2] <= _FEW, torch.is_grad_enabled()
    if query.device.type == "cpu":
        if causal and trained and (few or mask is not None):
            return _attend_before(query, *keys_values, mask, dropout)
        # PyTorch is slower for few keys. It has no fused kernel for a learned mask.
        if trained and (few or (mask is not None and mask.requires_grad)):
            return _attend_few(query, *keys_values, mask, dropout)
        if not trained and not (causal and mask is None):
            return _attend_in_parts(query, *keys_values, mask, dropout)
    causal = causal and mask is None
    return F.scaled_dot_product_attention(
        query, *keys_values, attn_mask=_whole(mask, query), dropout_p=dropout, is_causal=causal
    )


def _whole(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """Return the mask with a row for each sequence, and for each query."""
    if mask is None:
        return None
    if len(mask) > 1:
        mask = mask.repeat_interleave(len(query) // len(mask), 0)
    return mask if mask.shape[2] == 1 else mask.repeat(1, 1, query.shape[2] // mask.shape[2], 1)


def _attend_few(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Attend by plain matrix products.

    For few keys on a CPU, this is faster than the fused kernel. In bfloat16 it is many times
    faster, because the kernel multiplies small matrices in sequence.
    """
    return F.dropout(_scores(query, keys, mask).softmax(dim=-1), dropout) @ values


def _scores(query: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
    """Return the attention scores (B, H, T, tokens), before the softmax."""
    scores: Tensor = (query * query.shape[-1] ** -0.5) @ keys.transpose(-1, -2)
    if mask is None:
        return scores
    # (rows of the mask, sequences of each, heads, parts of the queries, queries of a part, tokens)
    parts = torch.unflatten(scores, 2, (-1, mask.shape[2]))
    parts, mask = torch.unflatten(parts, 0, (len(mask), -1)), mask[:, None, :, None]
    if mask.dtype == torch.bool:
        return parts.masked_fill_(~mask, -math.inf).view_as(scores)
    return (parts + mask if torch.is_grad_enabled() else parts.add_(mask)).view_as(scores)


def _attend_in_parts(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Attend as `_attend_few` does, but without gradients, with few scores at a time.

    To allocate memory for all scores at once takes longer than to compute them.
    """
    batch, heads, length, _ = query.shape
    same = 1 if mask is None else mask.shape[2]  # queries with different masks
    most = _IN_CACHE // (heads * keys.shape[-2] or 1)  # queries at a time
    rows = max(1, most // (length or 1))
    tokens = max(length, 1) if rows > 1 else max(1, most // same) * same
    found = query.new_empty(*query.shape[:-1], values.shape[-1])
    for first in range(0, batch, rows):
        some = slice(first, first + rows)
        own = mask
        if mask is not None and len(mask) > 1:
            own = mask[torch.arange(batch, device=mask.device)[some] // (batch // len(mask))]
        for start in range(0, length, tokens):
            part = slice(start, start + tokens)
            given = query[some, :, part], keys[some], values[some]
            found[some, :, part] = _attend_few(*given, own, dropout)
    return found


def _attend_before(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Attend causally, as `_attend_few` does, for `_BLOCK` queries at a time.

    For many queries this skips nearly half of the scores, and needs less memory.
    """
    length = query.shape[-2]
    found = []
    for first in range(0, length, _BLOCK):
        last = min(first + _BLOCK, length)
        if mask is None:
            seen = query.new_ones(1, 1, last - first, last, dtype=torch.bool).tril(first)
        else:
            seen = mask[..., first:last, :last]
        some = query[..., first:last, :], keys[..., :last, :], values[..., :last, :]
        found.append(_attend_few(*some, seen, dropout))
    return torch.cat(found, dim=-2)


def _by_head(x: Tensor, packing: Packing | None) -> Tensor:
    """Move heads before tokens: (B, T, H, D), or packed (N, H, D), to (B, H, T, D)."""
    return (packing.pad(x) if packing is not None else x).transpose(1, 2)


class FeedForward(nn.Sequential):
    """Two linear layers with a GELU between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(Linear(width, hidden), nn.GELU(), Linear(hidden, width))
        self.at_a_time = max(1, _IN_CACHE // hidden)  # tokens

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed features, (..., width) to the same shape."""
        apply: Callable[[Tensor], Tensor] = super().forward
        if x.device.type != "cpu" or torch.is_grad_enabled() or x[..., 0].numel() <= self.at_a_time:
            return apply(x)
        # Allocating memory for all hidden features at once takes longer than computing them.
        parts = torch.split(x.flatten(0, -2), self.at_a_time)
        return torch.cat([apply(part) for part in parts]).view_as(x)


class Layer(nn.Module):
    """The common part of all layers: residual connections and a feed-forward sublayer."""

    def add_feed_forward(self, width: int, hidden: int, dropout: float) -> None:
        """Make the feed-forward sublayer. Call this last: the order affects initial weights."""
        self.norm_feed_forward = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x plus the output y of a sublayer, with dropout."""
        return torch.add(x, self.dropout(y))

    def finish(self, x: Tensor) -> Tensor:
        """Apply the feed-forward sublayer to the output x of the attention sublayers."""
        return self.add(x, self.feed_forward(self.norm_feed_forward(x)))


class EncoderLayer(Layer):
    """A layer of self-attention, then feed-forward."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.add_feed_forward(width, hidden, dropout)

    def forward(self, x: Tensor, at: Positions) -> Tensor:
        """Return the features of inputs x, (B, S, width) each, or packed."""
        y = self.norm_attention(x)
        keys_values = self.attention.keys_values(y, at.rotation, at.packing, at.sharpness)
        y = self.attention(y, keys_values, at.rotation, at.mask, packing=at.packing)
        return self.finish(self.add(x, y))


class DecoderLayer(Layer):
    """A layer of causal self-attention, attention to the problem, then feed-forward."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm_answer = nn.LayerNorm(width)
        self.answer_attention = Attention(width, heads, dropout)
        self.norm_problem = nn.LayerNorm(width)
        self.problem_attention = Attention(width, heads, dropout)
        self.add_feed_forward(width, hidden, dropout)

    def keys_values(
        self,
        encoded: Tensor,
        rotation: Rotation | None = None,
        packing: Packing | None = None,
        sharpness: Tensor | None = None,
    ) -> KeysValues:
        """Return keys and values of the encoded problem, (B, S, width), once for all tokens."""
        keys, values = self.problem_attention.keys_values(encoded, rotation, packing, sharpness)
        if torch.is_grad_enabled():
            return keys, values
        # Without contiguous memory, the attention of each answer token would copy keys and values.
        return keys.contiguous(), values.contiguous()

    def forward(self, x: Tensor, memory: Memory, layer: int, at: Positions) -> Tensor:
        """Return the features after this layer, of the same shape as its inputs x.

        The keys and values of x are added to the memory.
        """
        y = self.norm_answer(x)
        new = self.answer_attention.keys_values(y, at.rotation, at.packing)
        past = memory.remember(memory.answers, layer, new)
        causal = at.mask is None and past is new  # for one further token, all keys are visible
        x = self.add(x, self.answer_attention(y, past, at.rotation, at.mask, causal, at.packing))
        y, problem = self.norm_problem(x), memory.problems[layer]
        y = self.problem_attention(y, problem, at.problem_rotation, memory.mask, packing=at.packing)
        return self.finish(self.add(x, y))
