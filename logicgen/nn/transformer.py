"""The encoder-decoder Transformer, to be read from top to bottom.

It owns no embedding: every method takes the matrix of the moment (see `embedding.py`), so it has no
parameter that knows the size of the vocabulary, and permuting the symbol rows of the matrix, with
the ids of its inputs, permutes its logits. A matrix is (V, width), or (B, V, width) where each
sequence has its own.

Layer normalisation stands before each sublayer ("pre-norm"), not after it as in Vaswani et al.
(2017): it trains at higher learning rates and without a delicate warm-up (Xiong et al. 2020), which
is what makes two minutes on a CPU enough.

Shapes: B sequences, S problem tokens, T answer tokens, H heads, D = width / H, V rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.nn.position import rotate, sinusoidal

KeysValues = tuple[Tensor, Tensor]  # each (B, H, tokens, D)


@dataclass
class Memory:
    """What the decoder reads: the encoded problems, and the answer tokens it has seen so far.

    Each problem may have several answers under way, side by side; they share its keys and values.
    """

    mask: Tensor  # (B, 1, 1, S), True where a problem has a token
    problems: list[KeysValues]  # one per decoder layer, made once
    answers: list[KeysValues] = field(default_factory=list)  # one per decoder layer, growing
    length: int = 0  # answer tokens seen

    def select(self, rows: Tensor) -> None:
        """Go on from the answers in `rows` (B', K), each line some of one problem's.

        Problems stay in order; those without a line are dropped.
        """
        if len(rows) < len(self.mask):
            answers = len(self.answers[0][0]) // len(self.mask)  # of each problem
            kept = rows[:, 0] // answers
            self.mask = self.mask[kept]
            self.problems = [_of_rows(pair, kept) for pair in self.problems]
        self.answers = [_of_rows(pair, rows.flatten()) for pair in self.answers]


def _of_rows(keys_values: KeysValues, rows: Tensor) -> KeysValues:
    keys, values = keys_values
    return keys.index_select(0, rows), values.index_select(0, rows)  # five times as fast as [rows]


class Attention(nn.Module):
    """Multi-head attention, in two steps so that keys and values can be kept while decoding."""

    def __init__(self, width: int, heads: int, dropout: float, rotary: bool) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.rotary = rotary
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.output = nn.Linear(width, width)

    def keys_values(self, x: Tensor, start: int = 0) -> KeysValues:
        """x: (B, S, width), its first token at position `start`."""
        batch, time, _ = x.shape
        both = self.key_value(x).view(batch, time, 2 * self.heads, -1).transpose(1, 2)
        keys, values = both.chunk(2, dim=1)  # 2 x (B, H, S, D)
        return (rotate(keys, start) if self.rotary else keys), values

    def forward(
        self,
        x: Tensor,
        keys_values: KeysValues,
        start: int = 0,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        batch, time, width = x.shape
        query = self.query(x).view(batch, time, self.heads, -1).transpose(1, 2)  # (B, H, T, D)
        if self.rotary:
            query = rotate(query, start)
        keys, values = keys_values
        answers = batch // len(keys)  # that read the same problem: to its keys, so many more tokens
        if answers > 1:
            query = query.unflatten(0, (-1, answers)).transpose(1, 2).flatten(2, 3)
        mixed = F.scaled_dot_product_attention(
            query,
            keys,
            values,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=causal,
        )  # (B, H, T, D)
        if answers > 1:
            mixed = mixed.unflatten(2, (answers, -1)).transpose(1, 2).flatten(0, 1)
        return self.output(mixed.transpose(1, 2).reshape(batch, time, width))  # (B, T, width)


class FeedForward(nn.Sequential):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int, dropout: float, rotary: bool) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout, rotary)
        self.norm_feed_forward = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = self.norm_attention(x)
        x = x + self.dropout(self.attention(y, self.attention.keys_values(y), mask=mask))
        return x + self.dropout(self.feed_forward(self.norm_feed_forward(x)))  # (B, S, width)


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int, dropout: float, rotary: bool) -> None:
        super().__init__()
        self.norm_answer = nn.LayerNorm(width)
        self.answer_attention = Attention(width, heads, dropout, rotary)
        self.norm_problem = nn.LayerNorm(width)
        # Positions of problem and answer are not comparable: no rotation between them.
        self.problem_attention = Attention(width, heads, dropout, rotary=False)
        self.norm_feed_forward = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, hidden)
        self.dropout = nn.Dropout(dropout)

    def keys_values(self, encoded: Tensor) -> KeysValues:
        """Of the problem, (B, S, width); made once however many tokens are decoded."""
        return self.problem_attention.keys_values(encoded)

    def forward(self, x: Tensor, memory: Memory, layer: int) -> Tensor:
        y = self.norm_answer(x)
        keys, values = self.answer_attention.keys_values(y, memory.length)
        if memory.length:
            past_keys, past_values = memory.answers[layer]
            keys, values = torch.cat([past_keys, keys], 2), torch.cat([past_values, values], 2)
            memory.answers[layer] = (keys, values)
        else:
            memory.answers.append((keys, values))
        causal = x.shape[1] > 1
        x = x + self.dropout(
            self.answer_attention(y, (keys, values), start=memory.length, causal=causal)
        )
        y = self.norm_problem(x)
        x = x + self.dropout(self.problem_attention(y, memory.problems[layer], mask=memory.mask))
        return x + self.dropout(self.feed_forward(self.norm_feed_forward(x)))  # (B, T, width)


class Transformer(nn.Module):
    """Encoder and decoder of one width.

    `encoder_positions` and `decoder_positions` are "sinusoidal", "rotary" or "none". With
    `normalize_features` the decoder's last features have norm 1, and where the rows of the matrix
    have norm 1 as well, logits are cosines.
    """

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
        pad: int = 0,
    ) -> None:
        super().__init__()
        self.pad = pad
        self.encoder_positions = encoder_positions
        self.decoder_positions = decoder_positions
        self.normalize_features = normalize_features
        self.dropout = nn.Dropout(dropout)
        rotary = encoder_positions == "rotary"
        self.encoder = nn.ModuleList(
            EncoderLayer(width, heads, feed_forward, dropout, rotary) for _ in range(encoder_layers)
        )
        self.norm_encoder = nn.LayerNorm(width)
        rotary = decoder_positions == "rotary"
        self.decoder = nn.ModuleList(
            DecoderLayer(width, heads, feed_forward, dropout, rotary) for _ in range(decoder_layers)
        )
        self.norm_decoder = nn.LayerNorm(width)

    def encode(self, matrix: Tensor, problems: Tensor) -> Memory:
        """problems: (B, S) ids, padded."""
        present = problems != self.pad  # (B, S)
        # A softmax over no key at all is NaN: a problem without tokens attends to padding.
        present[:, 0] |= ~present.any(dim=1)
        mask = present[:, None, None, :]  # (B, 1, 1, S)
        x = self._inputs(matrix, problems, self.encoder_positions, 0)
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.norm_encoder(x)  # (B, S, width)
        decoder = cast(list[DecoderLayer], self.decoder)
        return Memory(mask, [layer.keys_values(x) for layer in decoder])

    def decode(self, matrix: Tensor, answers: Tensor, memory: Memory) -> Tensor:
        """Features from which the token after each of `answers` is read, (B, T, width).

        answers: (B, T) ids, the next T tokens: all of an answer at once with a fresh memory, or one
        token at a time. The memory grows by them.
        """
        if memory.length and answers.shape[1] > 1:
            raise ValueError("after the first call, decode takes one token at a time")
        x = self._inputs(matrix, answers, self.decoder_positions, memory.length)
        for number, layer in enumerate(self.decoder):
            x = layer(x, memory, number)
        memory.length += answers.shape[1]
        x = self.norm_decoder(x)
        return F.normalize(x, dim=-1) if self.normalize_features else x  # (B, T, width)

    def logits(self, matrix: Tensor, features: Tensor) -> Tensor:
        """One score for each row of the matrix, (B, T, V)."""
        # Always in float32: AdaCos multiplies cosines by up to 100, and bfloat16 has 8 bits.
        with torch.autocast(features.device.type, enabled=False):
            return features.float() @ matrix.float().transpose(-1, -2)

    def step(self, matrix: Tensor, tokens: Tensor, memory: Memory) -> Tensor:
        """Logits of the token after each of `tokens` (R, 1), which memory grows by; (R, V)."""
        return self.logits(matrix, self.decode(matrix, tokens, memory))[:, 0]

    def forward(self, matrix: Tensor, problems: Tensor, answers: Tensor) -> Tensor:
        """Logits of the token after each of `answers`; (B, S) and (B, T) to (B, T, V)."""
        return self.logits(matrix, self.decode(matrix, answers, self.encode(matrix, problems)))

    def _inputs(self, matrix: Tensor, ids: Tensor, positions: str, start: int) -> Tensor:
        if matrix.dim() == 2:
            x = F.embedding(ids, matrix)  # (B, T, width)
        else:
            x = matrix.gather(1, ids[..., None].expand(-1, -1, matrix.shape[-1]))
        x = x * matrix.shape[-1] ** 0.5  # rows have norm 1, inputs entries of about 1
        if positions == "sinusoidal":
            x = x + sinusoidal(start, x.shape[1], x.shape[2], x.device)
        return self.dropout(x)  # (B, T, width)
