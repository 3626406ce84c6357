"""The encoder-decoder Transformer, to be read from top to bottom.

It owns no embedding: every method takes the embedding matrix as an argument (see `embedding.py`).
So no parameter depends on the size of the vocabulary, and permuting the symbol rows of the matrix
together with the ids of the inputs permutes the logits. A matrix is (V, width), or (B, V, width) if
each sequence has its own.

Layer normalisation comes before each sublayer ("pre-norm"), not after it as in Vaswani et al.
(2017): this trains at higher learning rates and without a delicate warm-up (Xiong et al. 2020), so
that two minutes on a CPU can be enough.

Shapes: B sequences, S problem tokens, T answer tokens, H heads, D = width / H, V rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.nn.linear import Linear
from logicgen.nn.memory import KeysValues, Memory
from logicgen.nn.packing import Packing
from logicgen.nn.position import (
    RelativeBias,
    Rotation,
    TreePositions,
    TreeRelativeBias,
    random_positions,
    rotate,
    rotations,
    sinusoidal,
)


@dataclass(frozen=True)
class Positions:
    """The positions of the tokens of one call, as inputs and all layers use them."""

    vectors: Tensor | None = None  # (T, width) or (B, T, width), added to the inputs
    rotation: Rotation | None = None  # of queries and keys in self-attention
    # Of queries and keys in cross-attention to the problem
    problem_rotation: Rotation | None = None
    # Of self-attention: bool, True where a key may be seen, or numbers to add to the attention
    # scores. None for answers: causal without a bias
    mask: Tensor | None = None
    packing: Packing | None = None  # of the tokens; None if all of (B, T) is computed
    # Of a problem's positions: randomized ones of its answers (B, positions)
    of_answers: Tensor | None = None

    def packed(self, packing: Packing) -> Positions:
        """Return the positions of packed tokens; `vectors` has been added to their inputs."""
        place = packing.places % packing.shape[1]
        own, crossing = (
            rotation and (rotation[0][place], rotation[1][place])
            for rotation in (self.rotation, self.problem_rotation)
        )
        return replace(self, vectors=None, rotation=own, problem_rotation=crossing, packing=packing)


class Attention(nn.Module):
    """Multi-head attention, in two steps so that keys and values can be kept while decoding.

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
        self, x: Tensor, rotation: Rotation | None = None, packing: Packing | None = None
    ) -> KeysValues:
        """Return the keys and the values of x, (B, H, T, D) each."""
        keys, values = self.key_value(x).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        if rotation is not None:
            keys = rotate(keys, rotation)
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

        mask: True where a key may be seen, or numbers to add to the scores. Each row of keys and
        values may serve several consecutive rows of x.
        """
        query = self.query(x).unflatten(-1, (self.heads, -1))  # (B, T, H, D)
        if rotation is not None:
            query = rotate(query, rotation)
        query = _by_head(query, packing)  # (B, H, T, D)
        readers = len(query) // len(keys_values[0])  # rows of x that share one row of keys
        if readers > 1:
            query = torch.unflatten(query, 0, (-1, readers)).transpose(1, 2).flatten(2, 3)
        few = keys_values[0].shape[-2] <= _FEW
        if query.device.type == "cpu" and few and (readers > 1 or torch.is_grad_enabled()):
            if causal:
                mask = query.new_ones(query.shape[-2], query.shape[-2], dtype=torch.bool).tril()
            dropout = self.dropout if self.training else 0.0
            mixed = _attend_few(query, *keys_values, mask, dropout)
        else:
            mixed = F.scaled_dot_product_attention(
                query,
                *keys_values,
                attn_mask=mask,
                dropout_p=self.dropout if self.training else 0.0,
                is_causal=causal,
            )  # (B, H, T, D)
        if readers > 1:
            mixed = torch.unflatten(mixed, 2, (readers, -1)).transpose(1, 2).flatten(0, 1)
        mixed = mixed.transpose(1, 2).flatten(2)  # (B, T, width)
        output: Tensor = self.output(packing.pack(mixed) if packing is not None else mixed)
        return output


_FEW = 256  # keys


def _attend_few(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Attend by plain matrix products: on a CPU faster than the fused kernel for few keys.

    In bfloat16, many times: the kernel multiplies matrices of a few rows, one after the other.
    """
    scores: Tensor = (query * query.shape[-1] ** -0.5) @ keys.transpose(-1, -2)  # (B, H, T, tokens)
    if mask is not None:
        seen = mask.dtype == torch.bool
        scores = scores.masked_fill_(~mask, -math.inf) if seen else scores + mask
    return F.dropout(scores.softmax(dim=-1), dropout) @ values  # (B, H, T, D)


def _by_head(x: Tensor, packing: Packing | None) -> Tensor:
    """Return (B, T, H, D), or packed (N, H, D), as (B, H, T, D)."""
    return (packing.pad(x) if packing is not None else x).transpose(1, 2)


_IN_CACHE = 2**18  # numbers; a megabyte


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
        # Allocating memory for so many hidden features takes longer than computing them.
        parts = torch.split(x.flatten(0, -2), self.at_a_time)
        return torch.cat([apply(part) for part in parts]).view_as(x)


class Layer(nn.Module):
    """The residual connections and the last sublayer, feed-forward, of every layer."""

    def add_feed_forward(self, width: int, hidden: int, dropout: float) -> None:
        """Make the last sublayer; after the others, so that seeds give the same weights."""
        self.norm_feed_forward = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x plus the output y of a sublayer, with dropout."""
        return torch.add(x, self.dropout(y))

    def finish(self, x: Tensor) -> Tensor:
        """Return the output of the layer, from the output x of its attentions."""
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
        keys_values = self.attention.keys_values(y, at.rotation, at.packing)
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
        self, encoded: Tensor, rotation: Rotation | None = None, packing: Packing | None = None
    ) -> KeysValues:
        """Return keys and values of the encoded problem, (B, S, width), once for all tokens."""
        keys, values = self.problem_attention.keys_values(encoded, rotation, packing)
        if torch.is_grad_enabled():
            return keys, values
        return keys.contiguous(), values.contiguous()  # products would copy them for each token

    def forward(self, x: Tensor, memory: Memory, layer: int, at: Positions) -> Tensor:
        """Return the features of inputs x, of the same shape, and add x to the memory."""
        y = self.norm_answer(x)
        new = self.answer_attention.keys_values(y, at.rotation, at.packing)
        past = memory.remember(memory.answers, layer, new)
        causal = at.mask is None and past is new  # a single later token sees all keys
        x = self.add(x, self.answer_attention(y, past, at.rotation, at.mask, causal, at.packing))
        y, problem = self.norm_problem(x), memory.problems[layer]
        y = self.problem_attention(y, problem, at.problem_rotation, memory.mask, packing=at.packing)
        return self.finish(self.add(x, y))


class Transformer(nn.Module):
    """An encoder and a decoder of the same width.

    encoder_positions, decoder_positions: "sinusoidal", "randomized", "rotary", "relative" or
        "none"; for the encoder also "tree" and "tree-relative", which need `arities`.
    position_range: number of positions that randomized ones are drawn from.
    shared_positions: whether tokens of an answer have the positions of the problem's tokens.
    arities: int64 (F + 1,), the number of operands of each fixed token, then of a symbol; 0 for
        tokens outside the tree.
    rotary_cross_attention: whether queries and keys are rotated in cross-attention, too.
    normalize_features: whether the decoder's last features have norm 1. If the rows of the matrix
        have norm 1 as well, logits are cosines.
    input_scale: the factor from rows to inputs: "sqrt-width", or "learned", starting there.
    """

    arities: Tensor | None
    encoder_bias: nn.Module  # of relative and tree-relative positions
    encoder_layer: Callable[..., EncoderLayer] = EncoderLayer
    decoder_layer: Callable[..., DecoderLayer] = DecoderLayer

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        encoder_layers: int,
        decoder_layers: int,
        feed_forward: int,
        dropout: float,
        encoder_positions: str,
        decoder_positions: str,
        normalize_features: bool,
        rotary_cross_attention: bool = False,
        input_scale: str = "sqrt-width",
        position_range: int | None = None,
        shared_positions: bool = False,
        pad: int = 0,
        arities: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.pad, self.width, self.heads = pad, width, heads
        self.encoder_positions, self.decoder_positions = encoder_positions, decoder_positions
        self.rotary_cross_attention = rotary_cross_attention
        self.normalize_features = normalize_features
        self.position_range, self.shared_positions = position_range, shared_positions
        self.dropout = nn.Dropout(dropout)
        # Rows have norm 1, inputs entries of about 1.
        scale = width**0.5
        self.input_scale = nn.Parameter(torch.tensor(scale)) if input_scale == "learned" else scale
        sizes = width, heads, feed_forward, dropout
        self.encoder = nn.ModuleList(self.encoder_layer(*sizes) for _ in range(encoder_layers))
        self.norm_encoder = nn.LayerNorm(width)
        self.decoder = nn.ModuleList(self.decoder_layer(*sizes) for _ in range(decoder_layers))
        self.norm_decoder = nn.LayerNorm(width)
        if encoder_positions == "relative":
            self.encoder_bias = RelativeBias(width, heads, causal=False)
        if decoder_positions == "relative":
            self.decoder_bias = RelativeBias(width, heads, causal=True)
        if encoder_positions in ("tree", "tree-relative"):
            if arities is None:
                raise ValueError("tree positions need arities")
            if encoder_positions == "tree":
                self.tree = TreePositions(width)
            else:
                self.encoder_bias = TreeRelativeBias(width, heads)
        # Not saved with the weights: whoever knows the vocabulary knows them.
        self.register_buffer("arities", arities, persistent=False)

    def encode(self, matrix: Tensor, problems: Tensor) -> Memory:
        """Read padded problems (B, S) and return their memory."""
        mask = self.present(problems)
        at = self.problem_positions(problems, mask)
        x = self._inputs(matrix, problems, at)
        if torch.is_grad_enabled() and problems.device.type == "cpu":  # a GPU would wait
            places = mask.flatten().nonzero()[:, 0]
            at = at.packed(Packing.of(places, (problems.shape[0], problems.shape[1])))
            x = at.packing.pack(x)  # type: ignore[union-attr]
        x = self.dropout(x)
        for layer in self.encoder:
            x = layer(x, at)
        x = self.norm_encoder(x)  # (B, S, width)
        decoder = cast(list[DecoderLayer], self.decoder)
        rotation, packing = at.problem_rotation, at.packing
        keys_values = [layer.keys_values(x, rotation, packing) for layer in decoder]
        return Memory(mask, keys_values, positions=at.of_answers)

    def decode(
        self, matrix: Tensor, answers: Tensor, memory: Memory, places: Tensor | None = None
    ) -> Tensor:
        """Return the features (B, T, width) that predict the token after each of `answers`.

        answers: (B, T) ids, added to the memory: all of an answer with a fresh one, or one at a
        time. places: where `answers.flatten()` holds tokens; features elsewhere are zero.
        """
        at = self.answer_positions(memory, answers)
        x = self._inputs(matrix, answers, at)
        if places is not None:
            at = at.packed(Packing.of(places, (answers.shape[0], answers.shape[1])))
            x = at.packing.pack(x)  # type: ignore[union-attr]
        x = self.dropout(x)
        for number, layer in enumerate(self.decoder):
            x = layer(x, memory, number, at)
        x = self.norm_decoder(x)
        if self.normalize_features:
            x = F.normalize(x, dim=-1)
        return at.packing.pad(x) if at.packing is not None else x  # (B, T, width)

    def present(self, problems: Tensor) -> Tensor:
        """Return where (B, S) ids hold a token: bool (B, 1, 1, S)."""
        present = problems != self.pad  # (B, S)
        # A softmax over no keys is NaN: a problem without tokens attends to padding.
        present[:, 0] |= ~present.any(dim=1)
        return present[:, None, None, :]

    def problem_positions(self, problems: Tensor, mask: Tensor) -> Positions:
        """Return the positions of problem tokens (B, S); mask: where there are tokens."""
        length, device = problems.shape[1], problems.device
        vectors, places, of_answers = None, None, None
        if "randomized" in (self.encoder_positions, self.decoder_positions):
            assert self.position_range is not None
            lengths = (problems != self.pad).sum(1)
            places = random_positions(lengths, self.position_range, self.training)
            of_answers = places
            if not self.shared_positions:
                # How long an answer will be is not known: gaps of all sizes, from 1 on.
                most = self.position_range
                parts = torch.full_like(lengths, most // 2)
                if self.training:
                    parts = (torch.rand(len(lengths), device=device) * most).long() + 1
                of_answers = random_positions(parts, most, self.training)
        if self.encoder_positions == "sinusoidal":
            vectors = sinusoidal(0, length, self.width, device)
        elif self.encoder_positions == "randomized":
            assert places is not None
            vectors = self._at_random(places[:, :length])
        elif self.encoder_positions == "tree":
            vectors = self.tree(self._arities(problems))
        elif self.encoder_positions == "tree-relative":
            mask = self.encoder_bias(self._arities(problems)).masked_fill(~mask, -math.inf)
        elif self.encoder_positions == "relative":
            mask = self.encoder_bias(0, length, length).masked_fill(~mask, -math.inf)
        rotation, crossing = self._rotations(self.encoder_positions, 0, length, device)
        return Positions(vectors, rotation, crossing, mask, of_answers=of_answers)

    def _at_random(self, positions: Tensor) -> Tensor:
        """Return the vectors (..., width) at positions below `position_range`."""
        assert self.position_range is not None
        return F.embedding(
            positions, sinusoidal(0, self.position_range, self.width, positions.device)
        )

    def _arities(self, problems: Tensor) -> Tensor:
        assert self.arities is not None
        return self.arities[problems.clamp(max=len(self.arities) - 1)]  # symbols share the last one

    def answer_positions(self, memory: Memory, answers: Tensor) -> Positions:
        """Return the positions of the next answer tokens (R, T), and reserve memory for them."""
        start, length, device = memory.length, answers.shape[1], answers.device
        if start and length > 1:
            raise ValueError("after the first call, decode takes one token at a time")
        memory.begin(length)
        vectors, mask = None, None if memory.sees is None else memory.sees[:, None]
        if self.decoder_positions == "sinusoidal":
            vectors = sinusoidal(start, length, self.width, device)
        elif self.decoder_positions == "randomized":
            assert memory.positions is not None
            place = torch.arange(start, start + length, device=device)
            place = place.clamp(max=memory.positions.shape[1] - 1)
            vectors = self._at_random(memory.positions[:, place])  # (B, T, width)
            vectors = vectors.repeat_interleave(len(answers) // len(vectors), dim=0)
        elif self.decoder_positions == "relative":
            bias = self.decoder_bias(start, length, start + length)  # (1, H, T, start + T)
            if mask is not None:
                bias = bias[..., memory.depth].masked_fill(~mask, -math.inf)  # (B, H, K, slots)
            mask = bias
        rotation, crossing = self._rotations(self.decoder_positions, start, length, device)
        return Positions(vectors, rotation, crossing, mask)

    def _rotations(
        self, scheme: str, start: int, length: int, device: torch.device
    ) -> tuple[Rotation | None, Rotation | None]:
        rotation = None
        if scheme == "rotary" or self.rotary_cross_attention:
            rotation = rotations(start, length, self.width // self.heads, device)
        return (
            rotation if scheme == "rotary" else None,
            rotation if self.rotary_cross_attention else None,
        )

    def logits(self, matrix: Tensor, features: Tensor, memory: Memory | None = None) -> Tensor:
        """Return one logit for each row of the matrix, (B, T, V), from features (B, T, width)."""
        # Always in float32: AdaCos multiplies cosines by up to 100, and bfloat16 has only 8 bits.
        with torch.autocast(features.device.type, enabled=False):
            return features.float() @ matrix.float().transpose(-1, -2)

    def step(self, matrix: Tensor, tokens: Tensor, memory: Memory) -> Tensor:
        """Return the logits (R, V) after `tokens` (R, 1), and add these to the memory."""
        return self.logits(matrix, self.decode(matrix, tokens, memory), memory)[:, 0]

    def forward(
        self, matrix: Tensor, problems: Tensor, answers: Tensor, places: Tensor | None = None
    ) -> Tensor:
        """Return the logits (B, T, V) after each token of `answers` (B, T) to problems (B, S)."""
        memory = self.encode(matrix, problems)
        return self.logits(matrix, self.decode(matrix, answers, memory, places), memory)

    def _inputs(self, matrix: Tensor, ids: Tensor, at: Positions) -> Tensor:
        if matrix.dim() == 2:
            x = F.embedding(ids, matrix)  # (B, T, width)
        else:
            x = matrix.gather(1, ids[..., None].expand(-1, -1, matrix.shape[-1]))
        x = x * self.input_scale
        return x if at.vectors is None else x + at.vectors
