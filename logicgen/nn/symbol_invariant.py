"""The symbol-invariant Transformer: one stream of features for each symbol of the problem.

Source: Işık, Li, "Symbol-Invariant Transformer for Open-Vocabulary Learning" (ICML 2026). All
streams have the same weights. In the stream of a symbol, its own places hold the row "this one" and
those of all other symbols the row "some other one". Streams meet in one fused view: their mean, but
at the place of a symbol the features of its own stream. Scores of fixed tokens are read from the
mean of the streams, the score of a symbol from its own.

No parameter belongs to a symbol, and streams come in the order in which their symbols first occur.
So renaming a problem gives the very same tensors and renames the scores, exactly.

A symbol without a stream cannot be written: its score is -inf. `reserved` streams stand for symbols
that the problem does not contain.

Shapes: B problems, R answers under way (R = B, or K for each problem), N streams, S problem tokens,
T answer tokens, H heads, D = width / H, F fixed tokens. The matrix is (F + symbols + 1, width): all
symbol rows are "this one", the last row is "some other one".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from logicgen.nn.position import Rotation
from logicgen.nn.transformer import (
    Attention,
    DecoderLayer,
    EncoderLayer,
    KeysValues,
    Memory,
    Positions,
    Transformer,
)


@dataclass(frozen=True)
class Streams:
    """Which symbol each stream stands for: ids (B, N), -1 where there is no stream."""

    ids: Tensor

    @staticmethod
    def of(problems: Tensor, fixed: int, symbols: int, reserved: int, most: int) -> Streams:
        """In order of first occurrence in (B, S) ids; then the lowest symbols that do not occur.

        most: how many different symbols a problem may have.
        """
        nowhere = most + reserved  # a column that is cut off
        occurs = problems >= fixed  # (B, S)
        equal = problems[:, :, None] == problems[:, None, :]  # (B, S, S)
        first = occurs & ~equal.tril(-1).any(dim=2)  # (B, S)
        ids = problems.new_full((len(problems), nowhere + 1), -1)
        ids.scatter_(1, torch.where(first, first.cumsum(1) - 1, nowhere), problems)
        if reserved:
            present = problems.new_zeros(len(problems), symbols + 1)
            present.scatter_(1, torch.where(occurs, problems - fixed, symbols), 1)
            taken, symbol = present[:, :symbols].sort(dim=1, stable=True)
            taken, symbol = taken[:, :reserved], symbol[:, :reserved]
            place = torch.arange(taken.shape[1], device=ids.device) + first.sum(1, keepdim=True)
            ids.scatter_(1, torch.where(taken == 0, place, nowhere), symbol + fixed)
        return Streams(ids[:, :nowhere])

    def select(self, rows: Tensor) -> Streams:
        """The streams of some problems."""
        return Streams(self.ids[rows])

    def shares(self) -> Tensor:
        """How much each stream counts in their mean, (B, N)."""
        there = self.ids >= 0
        # Without any symbol the first stream, which then stands for none, is all there is.
        there = torch.cat([there[:, :1] | ~there.any(dim=1, keepdim=True), there[:, 1:]], dim=1)
        return there / there.sum(dim=1, keepdim=True)

    def owned(self, tokens: Tensor) -> Tensor:
        """Where each stream finds its own symbol in (B, T) ids: bool (B, N, T)."""
        return tokens[:, None, :] == self.ids[..., None]

    def fusing(self, tokens: Tensor) -> Tensor:
        """How much each stream counts in the fused view of (B, T) ids: (B, T, N)."""
        owned = self.owned(tokens).transpose(1, 2)  # (B, T, N)
        return torch.where(owned.any(dim=2, keepdim=True), owned, self.shares()[:, None, :])


def fuse(x: Tensor, weights: Tensor) -> Tensor:
    """The fused view of the streams: (B, N, T, width) and (B, T, N) to (B, T, width)."""
    return torch.einsum("btn,bntw->btw", weights.to(x.dtype), x)


@dataclass
class StreamMemory(Memory):
    """As `Memory`; keys and values of streams are (B or R, N, H, tokens, D).

    problems: of the streams, or, for aggregated cross-attention, of the fused view (B, H, S, D).
    answers: of the streams; empty where the decoder's streams do not attend to themselves.
    """

    streams: Streams = field(kw_only=True)
    fused: list[KeysValues] = field(default_factory=list)  # (R, H, T, D), one per decoder layer

    @property
    def rows(self) -> int:
        """R, after the first step."""
        return len((self.answers or self.fused)[0][0])

    def select(self, rows: Tensor) -> None:
        """Go on from the answers in `rows` (B', K), each line some of one problem's.

        Problems stay in order; those without a line are dropped.
        """
        if len(rows) < len(self.mask):
            kept = rows[:, 0] // (self.rows // len(self.mask))
            self.mask, self.streams = self.mask[kept], self.streams.select(kept)
            self.problems = [(keys[kept], values[kept]) for keys, values in self.problems]
        rows = rows.flatten()
        self.answers = [(keys[rows], values[rows]) for keys, values in self.answers]
        self.fused = [(keys[rows], values[rows]) for keys, values in self.fused]


@dataclass(frozen=True)
class StreamOptions:
    """Which attentions there are, and how many streams are computed at a time.

    decoder_own_attention: whether the decoder's streams attend to themselves.
    aggregated_attention: whether streams attend to the fused view, in encoder and decoder.
    cross_attention: `streams`, from each stream to the same one of the problem, or `aggregated`, to
        the problem's fused view.
    reserved: streams for symbols that the problem does not contain.
    chunk: streams computed at a time; in training each chunk is computed again going backward, so
        that what is kept is one vector for each stream, token and layer.
    """

    decoder_own_attention: bool = True
    aggregated_attention: bool = True
    cross_attention: str = "streams"
    reserved: int = 0
    chunk: int | None = None

    def each(self, function: Callable[..., Tensor], x: Tensor, *others: Tensor) -> Tensor:
        """function(x, ...) chunk by chunk along the streams, dimension 1 of all tensors."""
        if self.chunk is None or x.shape[1] <= self.chunk:
            return function(x, *others)
        chunks = zip(*(part.split(self.chunk, dim=1) for part in (x, *others)), strict=True)
        if torch.is_grad_enabled():
            return torch.cat([checkpoint(function, *c, use_reentrant=False) for c in chunks], dim=1)
        return torch.cat([function(*c) for c in chunks], dim=1)


class StreamEncoderLayer(EncoderLayer):
    def __init__(
        self, width: int, heads: int, hidden: int, dropout: float, options: StreamOptions
    ) -> None:
        super().__init__(width, heads, hidden, dropout)
        self.options = options
        if options.aggregated_attention:
            self.norm_fused = nn.LayerNorm(width)
            self.fused_attention = Attention(width, heads, dropout)

    def forward(  # type: ignore[override]
        self, x: Tensor, weights: Tensor, mask: Tensor, rotation: Rotation | None = None
    ) -> Tensor:
        """x: (B, N, S, width); weights: (B, S, N) of the fused view; mask as of `Attention`."""

        def own(x: Tensor) -> Tensor:
            y = self.norm_attention(x).flatten(0, 1)
            keys_values = self.attention.keys_values(y, rotation)
            seen = _for_each_stream(mask, x.shape[1])
            y = self.attention(y, keys_values, rotation, seen).unflatten(0, x.shape[:2])
            return x + self.dropout(y)

        x = self.options.each(own, x)
        fused = None
        if self.options.aggregated_attention:
            view = self.norm_fused(fuse(x, weights))
            fused = self.fused_attention.keys_values(view, rotation)

        def rest(x: Tensor) -> Tensor:
            if fused is not None:
                x = x + self.dropout(self._look(x, fused, rotation, mask))
            return x + self.dropout(self.feed_forward(self.norm_feed_forward(x)))

        return self.options.each(rest, x)  # (B, N, S, width)

    def _look(
        self, x: Tensor, fused: KeysValues, rotation: Rotation | None, mask: Tensor | None
    ) -> Tensor:
        y = self.norm_fused(x).flatten(0, 1)
        seen = _for_queries_of_each_stream(mask, x.shape[1])
        return self.fused_attention(y, fused, rotation, seen).unflatten(0, x.shape[:2])


class StreamDecoderLayer(DecoderLayer):
    def __init__(
        self, width: int, heads: int, hidden: int, dropout: float, options: StreamOptions
    ) -> None:
        super().__init__(width, heads, hidden, dropout)
        self.options = options
        if not options.decoder_own_attention:
            del self.norm_answer, self.answer_attention
        if options.aggregated_attention:
            self.norm_fused = nn.LayerNorm(width)
            self.fused_attention = Attention(width, heads, dropout)

    def forward(  # type: ignore[override]
        self, x: Tensor, memory: StreamMemory, layer: int, at: Positions, weights: Tensor
    ) -> Tensor:
        """x: (R, N, T, width); weights: (R, T, N) of the fused view."""
        options, time = self.options, x.shape[2]
        # Several queries at once are causal; a single later token sees all keys.
        mask = at.bias
        if mask is None and time > 1:
            mask = x.new_ones(1, 1, time, time, dtype=torch.bool).tril()

        if options.decoder_own_attention:
            y = self.norm_answer(x).flatten(0, 1)
            keys, values = (
                part.unflatten(0, x.shape[:2])
                for part in self.answer_attention.keys_values(y, at.rotation)
            )
            keys, values = _remember(memory.answers, layer, (keys, values))

            def own(x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
                y = self.norm_answer(x).flatten(0, 1)
                keys_values = keys.flatten(0, 1), values.flatten(0, 1)
                y = self.answer_attention(y, keys_values, at.rotation, mask)
                return x + self.dropout(y.unflatten(0, x.shape[:2]))

            x = options.each(own, x, keys, values)

        fused = None
        if options.aggregated_attention:
            view = self.norm_fused(fuse(x, weights))
            fused = self.fused_attention.keys_values(view, at.rotation)
            fused = _remember(memory.fused, layer, fused)
        problem = memory.problems[layer]
        by_stream = options.cross_attention == "streams"

        def rest(x: Tensor, *problem_streams: Tensor) -> Tensor:
            if fused is not None:
                y = self.norm_fused(x).flatten(0, 1)
                seen = _for_queries_of_each_stream(mask, x.shape[1])
                y = self.fused_attention(y, fused, at.rotation, seen)
                x = x + self.dropout(y.unflatten(0, x.shape[:2]))
            y = self.norm_problem(x)
            if by_stream:
                keys, values = (part.transpose(0, 1).flatten(0, 1) for part in problem_streams)
                y = y.transpose(0, 1).flatten(0, 1)  # (N R, T, width): answers of a problem in line
                seen = memory.mask.repeat(x.shape[1], 1, 1, 1)
                y = self.problem_attention(y, (keys, values), at.problem_rotation, seen)
                y = y.unflatten(0, (x.shape[1], -1)).transpose(0, 1)
            else:
                y = self.problem_attention(y.flatten(0, 1), problem, at.problem_rotation, memory.mask)
                y = y.unflatten(0, x.shape[:2])
            x = x + self.dropout(y)
            return x + self.dropout(self.feed_forward(self.norm_feed_forward(x)))

        return options.each(rest, x, *(problem if by_stream else ()))  # (R, N, T, width)


def _remember(past: list[KeysValues], layer: int, new: KeysValues) -> KeysValues:
    """Keys and values of all answer tokens so far."""
    if layer == len(past):
        past.append(new)
    else:
        past[layer] = tuple(torch.cat(pair, dim=-2) for pair in zip(past[layer], new, strict=True))  # type: ignore[assignment]
    return past[layer]


def _for_each_stream(mask: Tensor, streams: int) -> Tensor:
    """A mask of problems for as many rows as they have streams."""
    return mask if mask.shape[0] == 1 else mask.repeat_interleave(streams, dim=0)


def _for_queries_of_each_stream(mask: Tensor | None, streams: int) -> Tensor | None:
    """A mask of problems whose streams all look at one view: (.., T, S) to (.., N T, S)."""
    return mask if mask is None or mask.shape[2] == 1 else mask.repeat(1, 1, streams, 1)


class SymbolInvariantTransformer(Transformer):
    """A Transformer of streams. Arguments are those of `Transformer`, and:

    fixed: number of fixed tokens.
    options: which attentions there are, and how many streams at a time.
    """

    def __init__(self, *, fixed: int, options: StreamOptions, **arguments: Any) -> None:
        self.fixed = fixed  # before the layers are made
        self.options = options
        super().__init__(**arguments)

    def _encoder_layer(self, *arguments: Any) -> StreamEncoderLayer:
        return StreamEncoderLayer(*arguments, self.options)

    def _decoder_layer(self, *arguments: Any) -> StreamDecoderLayer:
        return StreamDecoderLayer(*arguments, self.options)

    def encode(self, matrix: Tensor, problems: Tensor) -> StreamMemory:
        """problems: (B, S) ids, padded."""
        symbols = matrix.shape[-2] - self.fixed - 1
        most = symbols
        if not (self.training and problems.is_cuda):  # where counting would wait for the GPU
            most = min(most, _most_symbols(problems, self.fixed))
        streams = Streams.of(problems, self.fixed, symbols, self.options.reserved, max(most, 1))
        mask = self._present(problems)
        added, at, crossing = self._problem_positions(problems, mask)
        x = self._stream_inputs(matrix, problems, streams)
        x = self.dropout(x if added is None else x + added[:, None])
        weights = streams.fusing(problems)
        for layer in self.encoder:
            x = layer(x, weights, *at)
        x = self.norm_encoder(x)  # (B, N, S, width)
        if self.options.cross_attention == "aggregated":
            x = fuse(x, weights)
        else:
            x = x.flatten(0, 1)
        both = [layer.keys_values(x, crossing) for layer in self.decoder]
        if self.options.cross_attention == "streams":
            number = streams.ids.shape
            both = [(keys.unflatten(0, number), values.unflatten(0, number)) for keys, values in both]
        return StreamMemory(mask, both, streams=streams)

    def decode(self, matrix: Tensor, answers: Tensor, memory: Memory, places: Any = None) -> Tensor:
        """Features of all streams from which the token after each of `answers` is read,
        (R, N, T, width).

        answers: (R, T) ids, as for `Transformer`. `places` is not used.
        """
        assert isinstance(memory, StreamMemory)
        start, length = memory.length, answers.shape[1]
        if start and length > 1:
            raise ValueError("after the first call, decode takes one token at a time")
        streams = self._streams_of(answers, memory)
        added, at = self._answer_positions(start, length, answers.device)
        x = self._stream_inputs(matrix, answers, streams)
        x = self.dropout(x if added is None else x + added)
        weights = streams.fusing(answers)
        for number, layer in enumerate(self.decoder):
            x = layer(x, memory, number, at, weights)
        memory.length += length
        x = self.norm_decoder(x)
        return F.normalize(x, dim=-1) if self.normalize_features else x

    def read(self, matrix: Tensor, features: Tensor, streams: Streams) -> Tensor:
        """One score for each fixed token and symbol, (R, T, F + symbols).

        features: (R, N, T, width). A symbol without a stream has the score -inf.
        """
        symbols = matrix.shape[-2] - self.fixed - 1
        with torch.autocast(features.device.type, enabled=False):
            features, matrix = features.float(), matrix.float()
            mean = torch.einsum("bn,bntw->btw", streams.shares(), features)
            fixed = mean @ matrix[: self.fixed].T  # (R, T, F)
            own = (features @ matrix[self.fixed]).transpose(1, 2)  # (R, T, N)
        scores = own.new_full((*fixed.shape[:2], symbols + 1), -math.inf)
        column = torch.where(streams.ids < 0, symbols, streams.ids - self.fixed)  # (R, N)
        scores = scores.scatter(2, column[:, None, :].expand_as(own), own)
        return torch.cat([fixed, scores[..., :symbols]], dim=-1)

    def step(self, matrix: Tensor, tokens: Tensor, memory: Memory) -> Tensor:
        """Scores of the token after each of `tokens` (R, 1), which memory grows by; (R, V)."""
        assert isinstance(memory, StreamMemory)
        features = self.decode(matrix, tokens, memory)
        return self.read(matrix, features, self._streams_of(tokens, memory))[:, 0]

    def forward(
        self, matrix: Tensor, problems: Tensor, answers: Tensor, places: Tensor | None = None
    ) -> Tensor:
        """Scores of the token after each of `answers`; (B, S) and (B, T) to (B, T, V)."""
        memory = self.encode(matrix, problems)
        return self.read(matrix, self.decode(matrix, answers, memory), memory.streams)

    def _stream_inputs(self, matrix: Tensor, ids: Tensor, streams: Streams) -> Tensor:
        """(R, T) ids to (R, N, T, width)."""
        this, other = self.fixed, matrix.shape[-2] - 1
        symbol = torch.where(streams.owned(ids), this, other)  # (R, N, T)
        rows = torch.where((ids < self.fixed)[:, None], ids[:, None], symbol)
        return F.embedding(rows, matrix) * self.input_scale

    @staticmethod
    def _streams_of(answers: Tensor, memory: StreamMemory) -> Streams:
        """The streams of the problem of each answer."""
        ids = memory.streams.ids
        return Streams(ids.repeat_interleave(len(answers) // len(ids), dim=0))


def _most_symbols(problems: Tensor, fixed: int) -> int:
    """The largest number of different symbols of a problem."""
    symbols = problems.masked_fill(problems < fixed, -1).sort(dim=1).values  # (B, S)
    new = (symbols[:, 1:] != symbols[:, :-1]) & (symbols[:, 1:] >= 0)
    return int((new.sum(dim=1) + (symbols[:, 0] >= 0)).max())
