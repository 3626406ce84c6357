"""The symbol-invariant Transformer: one stream of features for each symbol of the problem.

Source: Işık, Li, "Symbol-Invariant Transformer for Open-Vocabulary Learning" (ICML 2026). All
streams share their weights. In the stream of a symbol, its own occurrences have the row "this one"
and all other symbols the row "some other one". The fused view combines the streams: at an
occurrence of a symbol it has the features of that symbol's stream, elsewhere the mean of all
streams. Logits of fixed tokens are of the mean of the streams, that of a symbol of its own.

No parameter belongs to a symbol, and streams come in the order in which their symbols first occur.
So renaming a problem gives the very same tensors and renames the logits, exactly.

A symbol without a stream cannot be predicted: its logit is -inf. `reserved` streams stand for
symbols that the problem does not contain.

Shapes: B problems, R hypotheses (R = B, or K for each problem), N streams, S problem tokens,
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

from logicgen.nn.layers import Attention, DecoderLayer, EncoderLayer, Positions
from logicgen.nn.memory import KeysValues, Memory, select_rows
from logicgen.nn.position import Rotation
from logicgen.nn.streams import PackedStreams, Streams, fuse
from logicgen.nn.transformer import Transformer


@dataclass
class StreamMemory(Memory):
    """A memory of streams, whose keys and values are (B, N, H, tokens, D).

    For aggregated cross-attention those of problems are of the fused view, (B, H, S, D).
    """

    streams: Streams = field(kw_only=True)
    fused: list[KeysValues] = field(default_factory=list)  # (B, H, tokens, D), one per layer

    def keep(self, problems: Tensor) -> None:
        super().keep(problems)
        self.streams = self.streams.select(problems)
        self.fused = [select_rows(pair, problems) for pair in self.fused]


@dataclass(frozen=True)
class StreamOptions:
    """The choice of attentions, and how many streams are computed at a time."""

    decoder_own_attention: bool = True  # whether the decoder's streams attend to themselves
    # Whether streams attend to the fused view
    aggregated_attention: bool = True
    decoder_aggregated_attention: bool | None = None  # the same of the decoder, if it differs
    # `streams`, from each stream to the problem's same one, or `aggregated`, to its fused view
    cross_attention: str = "streams"
    reserved: int = 0  # number of streams for symbols that the problem does not contain
    # Streams computed at a time; in training each chunk is computed again in the backward pass, so
    # that only one vector per stream, token and layer is stored
    chunk: int | None = None

    @property
    def decoder_aggregates(self) -> bool:
        """Return whether the decoder's streams attend to their fused view."""
        own = self.decoder_aggregated_attention
        return self.aggregated_attention if own is None else own

    def each(self, function: Callable[..., Tensor], x: Tensor, *others: Tensor) -> Tensor:
        """Apply a function in chunks of streams, dimension 1 of all tensors."""
        if self.chunk is None or x.shape[1] <= self.chunk:
            return function(x, *others)
        chunks = zip(*(torch.split(part, self.chunk, 1) for part in (x, *others)), strict=True)
        if torch.is_grad_enabled():
            return torch.cat([checkpoint(function, *c, use_reentrant=False) for c in chunks], dim=1)
        return torch.cat([function(*c) for c in chunks], dim=1)


class StreamEncoderLayer(EncoderLayer):
    """A layer of attention within each stream, attention to the fused view, then feed-forward."""

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
        """Return the features of inputs x, (B, N, S, width) each; weights: (B, S, N), of fusing."""

        def own(x: Tensor) -> Tensor:
            y = self.norm_attention(x).flatten(0, 1)
            keys_values = self.attention.keys_values(y, at.rotation)
            mask = at.mask
            if mask is not None and len(mask) > 1:  # one for each problem
                mask = mask.repeat_interleave(x.shape[1], dim=0)
            y = self.attention(y, keys_values, at.rotation, mask)
            return self.add(x, torch.unflatten(y, 0, x.shape[:2]))

        x = self.options.each(own, x)
        fused: KeysValues | None = None
        if self.options.aggregated_attention:
            view = self.norm_fused(fuse(x, weights))
            fused = self.fused_attention.keys_values(view, at.rotation)

        def rest(x: Tensor) -> Tensor:
            if fused is not None:
                x = self.add(x, _to_fused(self.fused_attention, self.norm_fused(x), fused, at))
            return self.finish(x)

        return self.options.each(rest, x)

    def of_packed(self, x: Tensor, at: PackedStreams) -> Tensor:
        """Return what `forward` does, of packed tokens (P, width)."""
        y, own = self.norm_attention(x), at.own
        keys_values = self.attention.keys_values(y, own.rotation, own.packing)
        x = self.add(x, self.attention(y, keys_values, own.rotation, own.mask, packing=own.packing))
        if self.options.aggregated_attention:
            fused = self.fused_attention.keys_values(
                self.norm_fused(at.fuse(x)), at.view.rotation, at.view.packing
            )
            x = self.add(x, at.attend_fused(self.fused_attention, self.norm_fused(x), fused))
        return self.finish(x)


class StreamDecoderLayer(DecoderLayer):
    """A layer like the encoder's, but causal and with attention of each stream to the problem."""

    def __init__(
        self, width: int, heads: int, hidden: int, dropout: float, options: StreamOptions
    ) -> None:
        super().__init__(width, heads, hidden, dropout)
        self.options = options
        if not options.decoder_own_attention:
            del self.norm_answer, self.answer_attention
        if options.decoder_aggregates:
            self.norm_fused = nn.LayerNorm(width)
            self.fused_attention = Attention(width, heads, dropout)

    def forward(  # type: ignore[override]
        self, x: Tensor, weights: Tensor, memory: StreamMemory, layer: int, at: Positions
    ) -> Tensor:
        """Return the features of inputs x, (R, N, T, width) each, and add x to the memory.

        weights: (R, T, N), of fusing. at.mask: causal or None.
        """
        options = self.options
        if options.decoder_own_attention:
            y = self.norm_answer(x).flatten(0, 1)
            new = self.answer_attention.keys_values(y, at.rotation)
            keys, values = (torch.unflatten(part, 0, x.shape[:2]) for part in new)
            keys, values = memory.remember(memory.answers, layer, (keys, values))

            def own(x: Tensor, *past: Tensor) -> Tensor:
                y = self.norm_answer(x)
                return self.add(x, _to_own(self.answer_attention, y, past, at.rotation, at.mask))

            x = options.each(own, x, keys, values)
        fused: KeysValues | None = None
        if options.decoder_aggregates:
            view = self.norm_fused(fuse(x, weights))
            new = self.fused_attention.keys_values(view, at.rotation)
            fused = memory.remember(memory.fused, layer, new)
        of_streams = options.cross_attention == "streams"
        problem = memory.problems[layer]

        def rest(x: Tensor, *problem_of_streams: Tensor) -> Tensor:
            if fused is not None:
                x = self.add(x, _to_fused(self.fused_attention, self.norm_fused(x), fused, at))
            y = self.norm_problem(x)
            if of_streams:
                y = _to_own(
                    self.problem_attention, y, problem_of_streams, at.problem_rotation, memory.mask
                )
            else:
                y = y.flatten(0, 1)
                y = self.problem_attention(y, problem, at.problem_rotation, memory.mask)
                y = torch.unflatten(y, 0, x.shape[:2])
            return self.finish(self.add(x, y))

        return options.each(rest, x, *(problem if of_streams else ()))

    def of_packed(self, x: Tensor, problem: KeysValues, mask: Tensor, at: PackedStreams) -> Tensor:
        """Return what `forward` does, of packed tokens (P, width) of whole answers.

        problem: keys and values (C, H, S, D) of the C streams, or of their fused view. mask: True
        where these have a token.
        """
        options, own = self.options, at.own
        if options.decoder_own_attention:
            y = self.norm_answer(x)
            new = self.answer_attention.keys_values(y, own.rotation, own.packing)
            y = self.answer_attention(y, new, own.rotation, own.mask, packing=own.packing)
            x = self.add(x, y)
        if options.decoder_aggregates:
            new = self.fused_attention.keys_values(
                self.norm_fused(at.fuse(x)), at.view.rotation, at.view.packing
            )
            x = self.add(x, at.attend_fused(self.fused_attention, self.norm_fused(x), new))
        packing = own.packing if options.cross_attention == "streams" else at.beside
        y, rotation = self.norm_problem(x), own.problem_rotation
        y = self.problem_attention(y, problem, rotation, mask, packing=packing)
        return self.finish(self.add(x, y))


def _to_own(
    attention: Attention,
    x: Tensor,
    keys_values: tuple[Tensor, ...],
    rotation: Rotation | None,
    mask: Tensor | None,
) -> Tensor:
    """Attend from streams (R, N, T, width) to their own keys and values (B, N, H, tokens, D)."""
    keys, values = keys_values
    batch, streams = keys.shape[:2]
    # Order the rows by problem, then stream, then hypothesis.
    y = torch.unflatten(x, 0, (batch, -1)).transpose(1, 2).flatten(0, 2)  # (B N K, T, width)
    if mask is not None and len(mask) > 1:
        mask = mask.repeat_interleave(streams, dim=0)
    y = attention(y, (keys.flatten(0, 1), values.flatten(0, 1)), rotation, mask)
    return torch.unflatten(y, 0, (batch, streams, -1)).transpose(1, 2).flatten(0, 1)


def _to_fused(attention: Attention, x: Tensor, fused: KeysValues, at: Positions) -> Tensor:
    mask = at.mask
    if mask is not None and mask.shape[2] > 1:
        streams, tokens = x.shape[1:3]
        # Queries are sorted by stream, then token; if of one token, by hypothesis, then stream.
        if tokens > 1:
            mask = mask.repeat(1, 1, streams, 1)
        else:
            mask = mask.repeat_interleave(streams, dim=2)
    return torch.unflatten(attention(x.flatten(0, 1), fused, at.rotation, mask), 0, x.shape[:2])


class SymbolInvariantTransformer(Transformer):
    """A Transformer of streams, with `fixed` fixed tokens and the attentions of `options`."""

    def __init__(self, *, fixed: int, options: StreamOptions, **arguments: Any) -> None:
        self.encoder_layer = partial(StreamEncoderLayer, options=options)
        self.decoder_layer = partial(StreamDecoderLayer, options=options)
        super().__init__(**arguments)
        self.fixed = fixed
        self.options = options

    def encode(self, matrix: Tensor, problems: Tensor) -> StreamMemory:
        """Read padded problems (B, S) and return their memory."""
        streams = self._streams(matrix, problems)
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
            keys_values = [
                (torch.unflatten(k, 0, sizes), torch.unflatten(v, 0, sizes)) for k, v in keys_values
            ]
        return StreamMemory(mask, keys_values, positions=at.of_answers, streams=streams)

    def decode(
        self, matrix: Tensor, answers: Tensor, memory: Memory, places: Tensor | None = None
    ) -> Tensor:
        """Return the features (R, N, T, width) after `answers` (R, T); `places` is not used."""
        assert isinstance(memory, StreamMemory)
        streams = _of_answers(memory, answers)
        at = self._causal(self.answer_positions(memory, answers), answers)
        x = self._stream_inputs(matrix, answers, streams, at)
        weights = streams.fusing(answers)
        for number, layer in enumerate(self._decoder_layers()):
            x = layer(x, weights, memory, number, at)
        x = self.norm_decoder(x)
        return F.normalize(x, dim=-1) if self.normalize_features else x

    def forward(
        self, matrix: Tensor, problems: Tensor, answers: Tensor, places: Tensor | None = None
    ) -> Tensor:
        """Return the logits (B, T, V) after each token of `answers` (B, T) to problems (B, S)."""
        if places is None or problems.device.type != "cpu" or self.options.chunk is not None:
            return super().forward(matrix, problems, answers)
        streams = self._streams(matrix, problems)
        mask = self.present(problems)
        at = self.problem_positions(problems, mask)
        packed = PackedStreams.of(problems, mask[:, 0, 0], streams, at)
        x = self._packed_inputs(matrix, problems, streams, packed, at)
        for layer in cast(list[StreamEncoderLayer], self.encoder):
            x = layer.of_packed(x, packed)
        x = self.norm_encoder(x)  # (P, width)
        of = packed.own
        if self.options.cross_attention == "aggregated":
            x, of = packed.fuse(x), packed.view
        elif len(mask) > 1:
            mask = mask[packed.problem]
        memory = StreamMemory(self.present(problems), [], positions=at.of_answers, streams=streams)
        at = self._causal(self.answer_positions(memory, answers), answers)
        there = answers != self.pad
        answered = PackedStreams.of(answers, there, streams, at)
        y = self._packed_inputs(matrix, answers, streams, answered, at)
        for block in self._decoder_layers():
            problem = block.keys_values(x, of.problem_rotation, of.packing)
            y = block.of_packed(y, problem, mask, answered)
        y = self.norm_decoder(y)
        y = F.normalize(y, dim=-1) if self.normalize_features else y
        y = torch.unflatten(answered.beside.pad(y), 1, (-1, answers.shape[1]))  # (B, N, T, width)
        return self.logits(matrix, y, memory)

    def logits(self, matrix: Tensor, features: Tensor, memory: Memory | None = None) -> Tensor:
        """Return the logits (R, T, F + symbols) of features (R, N, T, width)."""
        assert isinstance(memory, StreamMemory)
        streams = _of_answers(memory, features)
        symbols = matrix.shape[-2] - self.fixed - 1
        with torch.autocast(features.device.type, enabled=False):
            features, matrix = features.float(), matrix.float()
            mean = torch.einsum("bn,bntw->btw", streams.shares(), features)
            fixed = mean @ matrix[: self.fixed].T  # (R, T, F)
            own = (features @ matrix[self.fixed]).transpose(1, 2)  # (R, T, N)
        column = torch.where(streams.ids < 0, symbols, streams.ids - self.fixed)  # (R, N)
        logits = own.new_full((*own.shape[:2], symbols + 1), -math.inf)
        logits = logits.scatter(2, column[:, None].expand_as(own), own)
        return torch.cat([fixed, logits[..., :symbols]], dim=-1)

    def _streams(self, matrix: Tensor, problems: Tensor) -> Streams:
        symbols = matrix.shape[-2] - self.fixed - 1
        most = symbols
        if not (self.training and problems.is_cuda):  # there counting would make the GPU wait
            most = min(most, _most_symbols(problems, self.fixed))
        return Streams.of(problems, self.fixed, symbols, self.options.reserved, max(most, 1))

    def _causal(self, at: Positions, answers: Tensor) -> Positions:
        if at.mask is not None or answers.shape[1] == 1:
            return at
        ones = answers.new_ones(1, 1, answers.shape[1], answers.shape[1], dtype=torch.bool)
        return replace(at, mask=ones.tril())

    def _rows(self, matrix: Tensor, ids: Tensor, streams: Streams) -> Tensor:
        """Return which row of the matrix each stream has for ids (R, T): (R, N, T)."""
        this, other = self.fixed, matrix.shape[-2] - 1
        symbol = torch.where(streams.owned(ids), this, other)
        return torch.where((ids < self.fixed)[:, None], ids[:, None], symbol)

    def _packed_inputs(
        self, matrix: Tensor, ids: Tensor, streams: Streams, packed: PackedStreams, at: Positions
    ) -> Tensor:
        rows = packed.beside.pack(self._rows(matrix, ids, streams).flatten(1))  # (P,)
        x = F.embedding(rows, matrix) * self.input_scale
        if at.vectors is not None:
            vectors = at.vectors.expand(len(ids), -1, -1)
            packing = packed.view.packing
            assert packing is not None
            x = x + F.pad(packing.pack(vectors), (0, 0, 0, 1))[packed.place]
        inputs: Tensor = self.dropout(x)
        return inputs

    def _stream_inputs(
        self, matrix: Tensor, ids: Tensor, streams: Streams, at: Positions
    ) -> Tensor:
        x = F.embedding(self._rows(matrix, ids, streams), matrix) * self.input_scale
        if at.vectors is not None:
            x = x + (at.vectors if at.vectors.dim() == 2 else at.vectors[:, None])
        inputs: Tensor = self.dropout(x)
        return inputs

    def _decoder_layers(self) -> list[StreamDecoderLayer]:
        return cast(list[StreamDecoderLayer], self.decoder)


def _of_answers(memory: StreamMemory, answers: Tensor) -> Streams:
    ids = memory.streams.ids
    return Streams(ids.repeat_interleave(len(answers) // len(ids), dim=0))


def _most_symbols(problems: Tensor, fixed: int) -> int:
    symbols = problems.masked_fill(problems < fixed, -1).sort(dim=1).values  # (B, S)
    new = (symbols[:, 1:] != symbols[:, :-1]) & (symbols[:, 1:] >= 0)
    return int((new.sum(dim=1) + (symbols[:, 0] >= 0)).max())
