"""The symbol-invariant Transformer: one stream of features for each symbol of the problem.

Source: Işık, Li, "Symbol-Invariant Transformer for Open-Vocabulary Learning" (ICML 2026). All
streams share their weights. In the stream of a symbol, its own occurrences have the row "this one",
and all other symbols have the row "some other one". The fused view combines the streams. At an
occurrence of a symbol it has the features of this symbol's stream. At fixed tokens it has the mean
of all streams. The logits of fixed tokens are computed from the mean of the streams, and the logit
of a symbol from its own stream.

No parameter belongs to a symbol, and the order of streams is the order in which their symbols first
occur. So renaming a problem gives the same tensors, and renames the logits exactly.

A symbol without a stream cannot be predicted: its logit is -inf. `reserved` streams are for symbols
that the problem does not contain.

Shapes: B problems, R hypotheses (unfinished answers; R = B, or K for each problem), N streams,
S problem tokens, T answer tokens, H heads, D = width / H, F fixed tokens. The embedding matrix is
(F + symbols + 1, width): all rows of symbols are "this one", and the last row is "some other one".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.nn.layers import Attention, DecoderLayer, EncoderLayer, Layer, Positions
from logicgen.nn.linear import Linear
from logicgen.nn.memory import KeysValues, Memory
from logicgen.nn.streams import (
    ArrangedStreams,
    PackedStreams,
    PaddedStreams,
    Streams,
    stretched,
)
from logicgen.nn.transformer import Transformer


@dataclass
class StreamMemory(Memory):
    """A memory with keys and values (rows, streams, heads, tokens, features of a head).

    For aggregated cross-attention, the problems' keys and values belong to the fused view, and have
    no dimension of streams.
    """

    streams: Streams = field(kw_only=True)
    # For each layer, (rows, heads, tokens, features of a head)
    fused: list[KeysValues] = field(default_factory=list)

    @property
    def grown(self) -> list[list[KeysValues]]:
        return [self.answers, self.fused]

    def keep_problems(self, problems: Tensor) -> None:
        super().keep_problems(problems)
        self.streams = self.streams.select(problems)


@dataclass(frozen=True)
class StreamOptions:
    """The attentions of the layers, and the number of streams computed at a time."""

    decoder_own_attention: bool = True  # whether the decoder's streams attend to themselves
    aggregated_attention: bool = True  # whether streams attend to the fused view
    # Whether the decoder's streams attend to the fused view; `aggregated_attention` if not given.
    decoder_aggregated_attention: bool | None = None
    # `streams`: each stream attends to the same stream of the problem. `aggregated`: each stream
    # attends to the fused view of the problem.
    cross_attention: str = "streams"
    # The features of the fused view: the mean of the streams if not given, or `mean-and-maximum`.
    fused_view: str | None = None
    most_symbols: int | None = None  # the mean of more streams is `stretched`
    reserved: int = 0  # number of streams for symbols that the problem does not contain
    chunk: int | None = None  # see `PaddedStreams`

    @property
    def decoder_aggregates(self) -> bool:
        """Return whether the decoder's streams attend to their fused view."""
        own = self.decoder_aggregated_attention
        return self.aggregated_attention if own is None else own

    @property
    def reads_view(self) -> bool:
        """Return whether the decoder's cross-attention reads the problem's fused view."""
        return self.cross_attention == "aggregated"


class FusedLayer(Layer):
    """A layer in which streams attend to their fused view."""

    options: StreamOptions
    norm_fused: nn.LayerNorm
    fused_attention: Attention
    of_maximum: Linear

    def add_fused_attention(self, width: int, heads: int, dropout: float) -> None:
        """Make the modules of the attention to the fused view."""
        self.norm_fused = nn.LayerNorm(width)
        self.fused_attention = Attention(width, heads, dropout)
        if self.options.fused_view == "mean-and-maximum":
            self.of_maximum = Linear(width, width)

    def view(self, x: Tensor, at: ArrangedStreams) -> Tensor:
        """Return the normalized fused view of the streams' features x."""
        view = at.fuse(x)
        if self.options.fused_view == "mean-and-maximum":
            view = view + self.of_maximum(at.maximum(x))
        normalized: Tensor = self.norm_fused(view)
        return normalized


class StreamEncoderLayer(FusedLayer, EncoderLayer):
    """A layer of attention within each stream, attention to the fused view, then feed-forward."""

    def __init__(
        self, width: int, heads: int, hidden: int, dropout: float, options: StreamOptions
    ) -> None:
        super().__init__(width, heads, hidden, dropout)
        self.options = options
        if options.aggregated_attention:
            self.add_fused_attention(width, heads, dropout)

    def forward(self, x: Tensor, at: ArrangedStreams) -> Tensor:  # type: ignore[override]

        def own(x: Tensor) -> Tensor:
            y = self.norm_attention(x)
            keys_values = at.keys_values(self.attention.keys_values, y, False)
            return self.add(x, at.attend(self.attention, y, keys_values, False))

        x = at.each(own, x)
        if not self.options.aggregated_attention:
            return at.each(self.finish, x)
        view = self.view(x, at)
        fused = at.keys_values(self.fused_attention.keys_values, view, True)

        def rest(x: Tensor) -> Tensor:
            y = at.attend(self.fused_attention, self.norm_fused(x), fused, True)
            return self.finish(self.add(x, y))

        return at.each(rest, x)


class StreamDecoderLayer(FusedLayer, DecoderLayer):
    """A causal `StreamEncoderLayer` with cross-attention to the problem."""

    def __init__(
        self, width: int, heads: int, hidden: int, dropout: float, options: StreamOptions
    ) -> None:
        super().__init__(width, heads, hidden, dropout)
        self.options = options
        if not options.decoder_own_attention:
            del self.norm_answer, self.answer_attention
        if options.decoder_aggregates:
            self.add_fused_attention(width, heads, dropout)

    def forward(  # type: ignore[override]
        self, x: Tensor, memory: StreamMemory, layer: int, at: ArrangedStreams
    ) -> Tensor:
        options = self.options
        if options.decoder_own_attention:
            y = self.norm_answer(x)
            new = at.keys_values(self.answer_attention.keys_values, y, False)
            keys, values = memory.remember(memory.answers, layer, new)

            def own(x: Tensor, y: Tensor, *past: Tensor) -> Tensor:
                return self.add(x, at.attend(self.answer_attention, y, past, False))

            x = at.each(own, x, y, keys, values)
        fused: KeysValues | None = None
        if options.decoder_aggregates:
            view = self.view(x, at)
            new = at.keys_values(self.fused_attention.keys_values, view, True)
            fused = memory.remember(memory.fused, layer, new)
        problem, of_view = memory.problems[layer], options.reads_view

        def rest(x: Tensor, *own: Tensor) -> Tensor:
            if fused is not None:
                y = at.attend(self.fused_attention, self.norm_fused(x), fused, True)
                x = self.add(x, y)
            read = problem if of_view else own
            y = self.norm_problem(x)
            y = at.attend(self.problem_attention, y, read, of_view, memory.mask)
            return self.finish(self.add(x, y))

        return at.each(rest, x, *(() if of_view else problem))


class SymbolInvariantTransformer(Transformer):
    """A Transformer of streams, with `fixed` fixed tokens and the attentions of `options`."""

    def __init__(self, *, fixed: int, options: StreamOptions, **arguments: Any) -> None:
        self.encoder_layer = partial(StreamEncoderLayer, options=options)
        self.decoder_layer = partial(StreamDecoderLayer, options=options)
        super().__init__(**arguments)
        self.fixed = fixed
        self.options = options

    def encode(
        self, matrix: Tensor, problems: Tensor, packed: bool = False, several: bool = False
    ) -> StreamMemory:
        """Read padded problems (B, S) and return their memory.

        packed: whether to compute only tokens, not padding.
        several: with `packed`, whether several answers to each problem will be read, by `decode`
            without `places`. Otherwise `decode` needs `places`.
        """
        streams = self._streams(matrix, problems)
        mask = self.present(problems)
        positions = self.problem_positions(problems, mask)
        at = self._arranged(problems, mask[:, 0, 0], streams, positions, packed)
        x = self._stream_inputs(matrix, problems, streams, at)
        x = self.norm_encoder(self.through_encoder(x, at))
        of_view = self.options.reads_view
        read = at.fuse(x) if of_view else x
        keys_values = [
            at.keys_values(layer.keys_values, read, of_view, crossing=True)
            for layer in cast(list[StreamDecoderLayer], self.decoder)
        ]
        if not several:
            mask = at.problem_mask(mask, of_view)
        elif not of_view:
            keys_values = [(at.by_problem(key), at.by_problem(value)) for key, value in keys_values]
        return StreamMemory(mask, keys_values, positions=positions.of_answers, streams=streams)

    def decode(
        self, matrix: Tensor, answers: Tensor, memory: Memory, places: Tensor | None = None
    ) -> Tensor:
        """Return the features (R, N, T, width) that predict the tokens after `answers` (R, T).

        places: if given, compute only tokens, not padding.
        """
        assert isinstance(memory, StreamMemory)
        streams = _of_answers(memory, answers)
        positions = self._causal(self.answer_positions(memory, answers), answers)
        at = self._arranged(answers, answers != self.pad, streams, positions, places is not None)
        x = self._stream_inputs(matrix, answers, streams, at)
        for number, layer in enumerate(self.decoder):
            x = layer(x, memory, number, at)
        x = self.norm_decoder(x)
        return at.pad(F.normalize(x, dim=-1) if self.normalize_features else x)

    def forward(
        self, matrix: Tensor, problems: Tensor, answers: Tensor, places: Tensor | None = None
    ) -> Tensor:
        if problems.device.type != "cpu":
            places = None  # all places are computed
        packed, several = places is not None, len(answers) > len(problems)
        memory = self.encode(matrix, problems, packed, several)
        if several:
            places = None
        return self.logits(matrix, self.decode(matrix, answers, memory, places), memory)

    def logits(self, matrix: Tensor, features: Tensor, memory: Memory | None = None) -> Tensor:
        """Return the logits (R, T, F + symbols) of all tokens, from features (R, N, T, width)."""
        assert isinstance(memory, StreamMemory)
        streams = _of_answers(memory, features)
        symbols = matrix.shape[-2] - self.fixed - 1
        with torch.autocast(features.device.type, enabled=False):
            features, matrix = features.float(), matrix.float()
            shares = streams.shares()
            mean = torch.einsum("bn,bntw->btw", shares, features)
            mean = stretched(mean, features, shares > 0, self.options.most_symbols)
            fixed = mean @ matrix[: self.fixed].T  # (answers, tokens, fixed tokens)
            own = (features @ matrix[self.fixed]).transpose(1, 2)  # (answers, tokens, streams)
        # (answers, streams)
        column = torch.where(streams.ids < 0, symbols, streams.ids - self.fixed)
        logits = own.new_full((*own.shape[:2], symbols + 1), -math.inf)
        logits = logits.scatter(2, column[:, None].expand_as(own), own)
        return torch.cat([fixed, logits[..., :symbols]], dim=-1)

    def _streams(self, matrix: Tensor, problems: Tensor) -> Streams:
        symbols = matrix.shape[-2] - self.fixed - 1
        most = max(int(self.symbols_of(problems).max()), 1)
        return Streams.of(problems, self.fixed, symbols, self.options.reserved, most)

    def symbols_of(self, problems: Tensor) -> Tensor:
        """Return the number of different symbols (B,) of each of B padded problems (B, S)."""
        symbols = problems.masked_fill(problems < self.fixed, -1).sort(dim=1).values
        new = (symbols[:, 1:] != symbols[:, :-1]) & (symbols[:, 1:] >= 0)
        return new.sum(dim=1) + (symbols[:, 0] >= 0)

    def _causal(self, at: Positions, answers: Tensor) -> Positions:
        if at.mask is not None or answers.shape[1] == 1:
            return at
        ones = answers.new_ones(1, 1, answers.shape[1], answers.shape[1], dtype=torch.bool)
        return replace(at, mask=ones.tril())

    def _rows(self, matrix: Tensor, ids: Tensor, streams: Streams) -> Tensor:
        """Return the number of each id's row in each stream: ids (R, T) to (R, N, T)."""
        this, other = self.fixed, matrix.shape[-2] - 1
        symbol = torch.where(streams.owned(ids), this, other)
        return torch.where((ids < self.fixed)[:, None], ids[:, None], symbol)

    def _arranged(
        self, ids: Tensor, there: Tensor, streams: Streams, at: Positions, packed: bool
    ) -> ArrangedStreams:
        """Return the packed or padded streams of ids (R, T). `there` (R, T) is True for tokens."""
        most = self.options.most_symbols
        if packed:
            return PackedStreams.of(ids, there, streams, at, most)
        exist = streams.shares() > 0
        return PaddedStreams(at, streams.fusing(ids), exist, self.options.chunk, most)

    def _stream_inputs(
        self, matrix: Tensor, ids: Tensor, streams: Streams, at: ArrangedStreams
    ) -> Tensor:
        rows = at.pack(self._rows(matrix, ids, streams))
        x = F.embedding(rows, matrix) * self.input_scale
        inputs: Tensor = self.dropout(x if at.vectors is None else x + at.vectors)
        return inputs


def _of_answers(memory: StreamMemory, answers: Tensor) -> Streams:
    ids = memory.streams.ids
    return Streams(ids.repeat_interleave(len(answers) // len(ids), dim=0))
