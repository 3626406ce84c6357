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
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from logicgen.nn.memory import KeysValues, Memory, of_rows
from logicgen.nn.position import Rotation
from logicgen.nn.streams import Streams, fuse
from logicgen.nn.transformer import Attention, DecoderLayer, EncoderLayer, Positions, Transformer


@dataclass
class StreamMemory(Memory):
    """As `Memory`; keys and values of streams are (B, N, H, tokens, D).

    problems: of the streams, or, for aggregated cross-attention, of the fused view (B, H, S, D).
    answers: of the streams; empty where the decoder's streams do not attend to themselves.
    """

    streams: Streams = field(kw_only=True)
    fused: list[KeysValues] = field(default_factory=list)  # (B, H, tokens, D), one per layer

    def keep(self, problems: Tensor) -> None:
        super().keep(problems)
        self.streams = self.streams.select(problems)
        self.fused = [of_rows(pair, problems) for pair in self.fused]


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
    """Attention within each stream, then of each stream to the fused view, then feed-forward."""

    def __init__(
        self, width: int, heads: int, hidden: int, dropout: float, options: StreamOptions
    ) -> None:
        super().__init__(width, heads, hidden, dropout)
        self.options = options
        if options.aggregated_attention:
            self.norm_fused = nn.LayerNorm(width)
            self.fused_attention = Attention(width, heads, dropout)

    def forward(  # type: ignore[override]
        self, x: Tensor, weights: Tensor, at: Positions
    ) -> Tensor:
        """x: (B, N, S, width); weights: (B, S, N) of the fused view."""

        def own(x: Tensor) -> Tensor:
            y = self.norm_attention(x).flatten(0, 1)
            keys_values = self.attention.keys_values(y, at.rotation)
            mask = at.mask
            if mask is not None and len(mask) > 1:  # one for each problem
                mask = mask.repeat_interleave(x.shape[1], dim=0)
            y = self.attention(y, keys_values, at.rotation, mask)
            return x + self.dropout(y.unflatten(0, x.shape[:2]))

        x = self.options.each(own, x)
        fused: KeysValues | None = None
        if self.options.aggregated_attention:
            view = self.norm_fused(fuse(x, weights))
            fused = self.fused_attention.keys_values(view, at.rotation)

        def rest(x: Tensor) -> Tensor:
            if fused is not None:
                y = _look(self.fused_attention, self.norm_fused(x), fused, at)
                x = x + self.dropout(y)
            return x + self.dropout(self.feed_forward(self.norm_feed_forward(x)))

        return self.options.each(rest, x)  # (B, N, S, width)


class StreamDecoderLayer(DecoderLayer):
    """As the encoder's, causal, and with attention of each stream to the problem."""

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
        self, x: Tensor, weights: Tensor, memory: StreamMemory, layer: int, at: Positions
    ) -> Tensor:
        """x: (R, N, T, width); weights: (R, T, N) of the fused view; at.mask causal or None."""
        options = self.options
        if options.decoder_own_attention:
            y = self.norm_answer(x).flatten(0, 1)
            new = self.answer_attention.keys_values(y, at.rotation)
            keys, values = (part.unflatten(0, x.shape[:2]) for part in new)
            keys, values = memory.remember(memory.answers, layer, (keys, values))

            def own(x: Tensor, *past: Tensor) -> Tensor:
                y = self.norm_answer(x)
                return x + self.dropout(
                    _to_own(self.answer_attention, y, past, at.rotation, at.mask)
                )

            x = options.each(own, x, keys, values)
        fused: KeysValues | None = None
        if options.aggregated_attention:
            view = self.norm_fused(fuse(x, weights))
            new = self.fused_attention.keys_values(view, at.rotation)
            fused = memory.remember(memory.fused, layer, new)
        of_streams = options.cross_attention == "streams"
        problem = memory.problems[layer]

        def rest(x: Tensor, *problem_of_streams: Tensor) -> Tensor:
            if fused is not None:
                y = _look(self.fused_attention, self.norm_fused(x), fused, at)
                x = x + self.dropout(y)
            y = self.norm_problem(x)
            if of_streams:
                y = _to_own(
                    self.problem_attention, y, problem_of_streams, at.problem_rotation, memory.mask
                )
            else:
                y = self.problem_attention(
                    y.flatten(0, 1), problem, at.problem_rotation, memory.mask
                ).unflatten(0, x.shape[:2])
            x = x + self.dropout(y)
            return x + self.dropout(self.feed_forward(self.norm_feed_forward(x)))

        return options.each(rest, x, *(problem if of_streams else ()))  # (R, N, T, width)


def _to_own(
    attention: Attention,
    x: Tensor,
    keys_values: tuple[Tensor, ...],
    rotation: Rotation | None,
    mask: Tensor | None,
) -> Tensor:
    """From streams (R, N, T, width) each to its own keys and values, (B, N, H, tokens, D) each.

    mask: for each problem, or for all.
    """
    keys, values = keys_values
    batch, streams = keys.shape[:2]
    # The answers of a problem stand one after the other, stream by stream.
    y = x.unflatten(0, (batch, -1)).transpose(1, 2).flatten(0, 2)  # (B N K, T, width)
    if mask is not None and len(mask) > 1:
        mask = mask.repeat_interleave(streams, dim=0)
    y = attention(y, (keys.flatten(0, 1), values.flatten(0, 1)), rotation, mask)
    return y.unflatten(0, (batch, streams, -1)).transpose(1, 2).flatten(0, 1)


def _look(attention: Attention, x: Tensor, fused: KeysValues, at: Positions) -> Tensor:
    """From streams (R, N, T, width) to the fused view that all streams of a row share."""
    mask = at.mask
    if mask is not None and mask.shape[2] > 1:
        streams, tokens = x.shape[1:3]
        # For the queries of one stream after the other, or of all streams of one answer.
        if tokens > 1:
            mask = mask.repeat(1, 1, streams, 1)
        else:
            mask = mask.repeat_interleave(streams, dim=2)
    return attention(x.flatten(0, 1), fused, at.rotation, mask).unflatten(0, x.shape[:2])


class SymbolInvariantTransformer(Transformer):
    """A Transformer of streams. Takes the arguments of `Transformer`, and:

    fixed: number of fixed tokens.
    options: which attentions there are, and how many streams are computed at a time.
    """

    def __init__(self, *, fixed: int, options: StreamOptions, **arguments: Any) -> None:
        self.encoder_layer = partial(StreamEncoderLayer, options=options)
        self.decoder_layer = partial(StreamDecoderLayer, options=options)
        super().__init__(**arguments)
        self.fixed = fixed
        self.options = options

    def encode(self, matrix: Tensor, problems: Tensor) -> StreamMemory:
        """problems: (B, S) ids, padded."""
        symbols = matrix.shape[-2] - self.fixed - 1
        most = symbols
        if not (self.training and problems.is_cuda):  # where counting would make the GPU wait
            most = min(most, _most_symbols(problems, self.fixed))
        streams = Streams.of(problems, self.fixed, symbols, self.options.reserved, max(most, 1))
        mask = self.present(problems)
        at = self.problem_positions(problems, mask)
        x = self._stream_inputs(matrix, problems, streams, at)
        weights = streams.fusing(problems)
        for layer in self.encoder:
            x = layer(x, weights, at)
        x = self.norm_encoder(x)  # (B, N, S, width)
        by_stream = self.options.cross_attention == "streams"
        x = x.flatten(0, 1) if by_stream else fuse(x, weights)
        keys_values = [
            layer.keys_values(x, at.problem_rotation) for layer in self._decoder_layers()
        ]
        if by_stream:
            sizes = streams.ids.shape
            keys_values = [(k.unflatten(0, sizes), v.unflatten(0, sizes)) for k, v in keys_values]
        return StreamMemory(mask, keys_values, streams=streams)

    def decode(
        self, matrix: Tensor, answers: Tensor, memory: Memory, places: Tensor | None = None
    ) -> Tensor:
        """Features of all streams from which the token after each of `answers` is read,
        (R, N, T, width).

        answers: (R, T) ids, as for `Transformer`. Nothing is packed: `places` is not used.
        """
        assert isinstance(memory, StreamMemory)
        streams = _of_answers(memory, answers)
        at = self.answer_positions(memory, answers)
        if at.mask is None and answers.shape[1] > 1:
            ones = answers.new_ones(1, 1, answers.shape[1], answers.shape[1], dtype=torch.bool)
            at = replace(at, mask=ones.tril())
        x = self._stream_inputs(matrix, answers, streams, at)
        weights = streams.fusing(answers)
        for number, layer in enumerate(self._decoder_layers()):
            x = layer(x, weights, memory, number, at)
        x = self.norm_decoder(x)
        return F.normalize(x, dim=-1) if self.normalize_features else x

    def scores(self, matrix: Tensor, features: Tensor, streams: Streams) -> Tensor:
        """One score for each fixed token and symbol, (R, T, F + symbols).

        features: (R, N, T, width). A symbol without a stream has the score -inf.
        """
        symbols = matrix.shape[-2] - self.fixed - 1
        with torch.autocast(features.device.type, enabled=False):
            features, matrix = features.float(), matrix.float()
            mean = torch.einsum("bn,bntw->btw", streams.shares(), features)
            fixed = mean @ matrix[: self.fixed].T  # (R, T, F)
            own = (features @ matrix[self.fixed]).transpose(1, 2)  # (R, T, N)
        column = torch.where(streams.ids < 0, symbols, streams.ids - self.fixed)  # (R, N)
        scores = own.new_full((*own.shape[:2], symbols + 1), -math.inf)
        scores = scores.scatter(2, column[:, None].expand_as(own), own)
        return torch.cat([fixed, scores[..., :symbols]], dim=-1)

    def step(self, matrix: Tensor, tokens: Tensor, memory: Memory) -> Tensor:
        """Scores of the token after each of `tokens` (R, 1), which memory grows by; (R, V)."""
        assert isinstance(memory, StreamMemory)
        features = self.decode(matrix, tokens, memory)
        return self.scores(matrix, features, _of_answers(memory, tokens))[:, 0]

    def forward(
        self, matrix: Tensor, problems: Tensor, answers: Tensor, places: Tensor | None = None
    ) -> Tensor:
        """Scores of the token after each of `answers`; (B, S) and (B, T) to (B, T, V)."""
        memory = self.encode(matrix, problems)
        return self.scores(matrix, self.decode(matrix, answers, memory), memory.streams)

    def _stream_inputs(
        self, matrix: Tensor, ids: Tensor, streams: Streams, at: Positions
    ) -> Tensor:
        """(R, T) ids to (R, N, T, width)."""
        this, other = self.fixed, matrix.shape[-2] - 1
        symbol = torch.where(streams.owned(ids), this, other)  # (R, N, T)
        rows = torch.where((ids < self.fixed)[:, None], ids[:, None], symbol)
        x = F.embedding(rows, matrix) * self.input_scale
        if at.vectors is not None:
            x = x + (at.vectors if at.vectors.dim() == 2 else at.vectors[:, None])
        return self.dropout(x)

    def _decoder_layers(self) -> list[StreamDecoderLayer]:
        return cast(list[StreamDecoderLayer], self.decoder)


def _of_answers(memory: StreamMemory, answers: Tensor) -> Streams:
    """The streams of the problem of each answer."""
    ids = memory.streams.ids
    return Streams(ids.repeat_interleave(len(answers) // len(ids), dim=0))


def _most_symbols(problems: Tensor, fixed: int) -> int:
    """The largest number of different symbols of a problem."""
    symbols = problems.masked_fill(problems < fixed, -1).sort(dim=1).values  # (B, S)
    new = (symbols[:, 1:] != symbols[:, :-1]) & (symbols[:, 1:] >= 0)
    return int((new.sum(dim=1) + (symbols[:, 0] >= 0)).max())
