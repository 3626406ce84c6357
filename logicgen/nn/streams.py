"""Streams of features, one for each symbol of a problem, and the fused view of all streams.

A stream is a separate computation of the features of all tokens, from the point of view of one
symbol (`symbol_invariant.py`). The fused view is a weighted sum of the streams. At an occurrence of
a symbol that has a stream, the view has the features of this stream. At other tokens it has the
mean of the streams.

In the mean of many streams, the few informative streams have little weight. With more streams than
in training, the mean can therefore be moved away from the median (`stretched`).

Layers work with two arrangements of the tokens of streams. `PaddedStreams` computes tokens and
padding, optionally in chunks. `PackedStreams`, for training, computes only tokens.

Shapes: B problems, R sequences (problems, or hypotheses: K unfinished answers for each problem),
N streams, S problem tokens, T tokens of a sequence, H heads, D = width / H.

Source: Işık, Li, "Symbol-Invariant Transformer for Open-Vocabulary Learning" (ICML 2026).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from logicgen.nn.layers import Attention, Packing, Positions
from logicgen.nn.memory import KeysValues


@dataclass(frozen=True)
class Streams:
    """The symbols of up to N streams for each of B problems: ids (B, N), -1 for no stream."""

    ids: Tensor

    @staticmethod
    def of(problems: Tensor, fixed: int, symbols: int, reserved: int, most: int) -> Streams:
        """Assign streams to the symbols of (B, S) ids, up to `most`, in order of first occurrence.

        fixed: the number of fixed tokens; larger ids are symbols.
        symbols: the number of symbols of the vocabulary.
        reserved: the number of additional streams, for symbols that do not occur, lowest ids first.
        """
        nowhere = most + reserved  # an extra column, which is removed afterwards
        occurs = problems >= fixed  # (problems, tokens)
        equal = problems[:, :, None] == problems[:, None, :]  # (problems, tokens, tokens)
        first = occurs & ~equal.tril(-1).any(dim=2)  # (problems, tokens)
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
        """Return the streams of the problems in `rows`."""
        return Streams(self.ids[rows])

    def shares(self) -> Tensor:
        """Return the weight (B, N) of each stream in the mean of its problem's streams."""
        there = self.ids >= 0
        # A problem without symbols has one stream, which belongs to no symbol.
        there = torch.cat([there[:, :1] | ~there.any(dim=1, keepdim=True), there[:, 1:]], dim=1)
        return there / there.sum(dim=1, keepdim=True)

    def owned(self, tokens: Tensor) -> Tensor:
        """Mark the occurrences of each stream's symbol in (B, T) ids: bool (B, N, T)."""
        return tokens[:, None, :] == self.ids[..., None]

    def fusing(self, tokens: Tensor) -> Tensor:
        """Return the weight of each stream in the fused view of (B, T) ids: (B, T, N)."""
        owned = self.owned(tokens).transpose(1, 2)  # (problems, tokens, streams)
        return torch.where(owned.any(dim=2, keepdim=True), owned, self.shares()[:, None, :])


def fuse(x: Tensor, weights: Tensor) -> Tensor:
    """Return the fused view of the streams, (B, T, width).

    x: (B, N, T, width). weights: (B, T, N), the result of `Streams.fusing`.
    """
    return torch.einsum("btn,bntw->btw", weights.to(x.dtype), x)


def stretched(mean: Tensor, x: Tensor, exist: Tensor, most: int | None) -> Tensor:
    """Move the mean of n > `most` streams away from their median: n / most times as far.

    If more than half of the streams have equal features, all other streams then have the weight
    that they have among `most` streams. If no problem has more streams, `mean` itself is returned.

    mean: (B, T, width). x: (B, N, T, width). exist: (B, N), whether each stream exists.
    """
    if most is None or x.shape[1] <= most:
        return mean
    farther = (exist.sum(1) / most - 1).clamp(min=0)[:, None, None]
    with torch.autocast(x.device.type, enabled=False):
        there = x.float().masked_fill(~exist[:, :, None, None], math.nan)
        median = there.nanmedian(1).values
        return torch.where(farther > 0, mean + farther * (mean - median), mean).to(mean.dtype)


def shared(weights: Tensor) -> Tensor:
    """Return whether tokens have the mean of several streams: (B, T, N) to (B, T, 1)."""
    return (weights > 0).sum(2, keepdim=True) > 1


@dataclass(frozen=True)
class PaddedStreams:
    """The tokens (R, N, T) of all streams, with padding.

    Attributes:
        at: the positions of the tokens.
        weights: (R, T, N), the weights of streams in the fused view.
        exist: (R, N), whether each stream exists.
        chunk: number of streams computed at a time without gradients; None means all streams.
        most: the mean of more streams is `stretched`; None means that no mean is stretched.
    """

    at: Positions
    weights: Tensor
    exist: Tensor
    chunk: int | None = None
    most: int | None = None

    @property
    def vectors(self) -> Tensor | None:
        """Return the position vectors that are added to inputs, or None."""
        vectors = self.at.vectors
        return vectors if vectors is None or vectors.dim() == 2 else vectors[:, None]

    def pack(self, rows: Tensor) -> Tensor:
        """Return the row numbers (R, N, T) unchanged; `PackedStreams.pack` removes padding."""
        return rows

    def pad(self, x: Tensor) -> Tensor:
        """Return the features (R, N, T, width) unchanged; `PackedStreams.pad` adds padding."""
        return x

    def each(self, function: Callable[..., Tensor], x: Tensor, *others: Tensor) -> Tensor:
        """Apply a function to one chunk of streams at a time; join the results.

        With gradients, apply it to all streams: training divides batches instead (`Batch.pieces`).
        Streams are dimension 1 of all tensors.
        """
        if self.chunk is None or x.shape[1] <= self.chunk or torch.is_grad_enabled():
            return function(x, *others)
        chunks = zip(*(torch.split(part, self.chunk, 1) for part in (x, *others)), strict=True)
        return torch.cat([function(*c) for c in chunks], dim=1)

    def fuse(self, x: Tensor) -> Tensor:
        """Return the fused view of the streams: (R, N, T, width) to (R, T, width).

        At each token, the fused view is the sum of the streams' features, weighted by `weights`.
        """
        view = fuse(x, self.weights)
        mean = stretched(view, x, self.exist, self.most)
        return view if mean is view else torch.where(shared(self.weights), mean, view)

    def maximum(self, x: Tensor) -> Tensor:
        """Return the largest of the streams' features: (R, N, T, width) to (R, T, width)."""
        return x.masked_fill(~self.exist[:, :, None, None], -math.inf).amax(1)

    def keys_values(
        self, make: Callable[..., KeysValues], x: Tensor, of_view: bool, crossing: bool = False
    ) -> KeysValues:
        """Return the keys and values that `make` computes from features and a rotation.

        of_view: whether x is the fused view. Otherwise x has the features of all streams.
        crossing: whether the tokens of answers will attend to these keys and values.
        """
        rotation = self.at.problem_rotation if crossing else self.at.rotation
        sharpness = self.at.sharpness
        if of_view:
            # (sequences, heads, tokens, features of a head) each
            return make(x, rotation, None, sharpness)
        if sharpness is not None:
            sharpness = sharpness.repeat_interleave(x.shape[1])
        keys, values = make(x.flatten(0, 1), rotation, None, sharpness)
        sizes = x.shape[:2]
        return torch.unflatten(keys, 0, sizes), torch.unflatten(values, 0, sizes)

    def by_problem(self, x: Tensor) -> Tensor:
        """Return x (R, N, ...) unchanged; `PackedStreams.by_problem` adds streams of padding."""
        return x

    def problem_mask(self, mask: Tensor, of_view: bool) -> Tensor:
        """Return the mask of problem tokens (B, 1, 1, S) unchanged.

        The method of `PackedStreams` repeats the mask for each stream, unless `of_view` is true.
        """
        return mask

    def attend(
        self,
        attention: Attention,
        x: Tensor,
        keys_values: tuple[Tensor, ...],
        of_view: bool,
        problem_mask: Tensor | None = None,
    ) -> Tensor:
        """Attend from each stream to its own keys and values, or to the fused view.

        problem_mask: the mask of the problem's tokens; only given for cross-attention.
        """
        rotation, mask = self.at.rotation, self.at.mask
        if problem_mask is not None:
            rotation, mask = self.at.problem_rotation, problem_mask
        keys, values = keys_values
        if of_view:
            # Queries are sorted by stream, then token. The mask is the same for all streams.
            y = attention(x.flatten(0, 1), (keys, values), rotation, mask)
            return torch.unflatten(y, 0, x.shape[:2])
        batch, streams = keys.shape[:2]
        # Order the rows by problem, then stream, then hypothesis.
        # (problems * streams * hypotheses, tokens, width)
        y = torch.unflatten(x, 0, (batch, -1)).transpose(1, 2).flatten(0, 2)
        y = attention(y, (keys.flatten(0, 1), values.flatten(0, 1)), rotation, mask)
        return torch.unflatten(y, 0, (batch, streams, -1)).transpose(1, 2).flatten(0, 1)


@dataclass(frozen=True)
class PackedStreams:
    """The P tokens of all streams of a batch, without padding.

    They are sorted by problem, stream and place. P is usually a third to a half of B x N x T, the
    number with padding. The methods are the methods of `PaddedStreams`, for packed features
    (P, width).

    Attributes:
        problem: (C,), the problem of each of the C streams in the batch.
        own: positions and (C, T) packing of the tokens, for attention within streams.
        beside: (B, N T) packing of the tokens, for attention to the fused view. All streams of a
            problem are in one row.
        view: positions and (B, T) packing of the tokens of the fused view.
        place: (P,), the index of each token in `view`; for fillers, the number of tokens in `view`.
        weight: (P, 1), the weight of each token in the fused view.
        exist: (B, N), whether each stream exists.
        shared: (B, T, 1), whether tokens have the mean of several streams; None if no mean is
            stretched.
        most: see `PaddedStreams`.
        vectors: (P, width), position vectors that are added to inputs.
    """

    problem: Tensor
    own: Positions
    beside: Packing
    view: Positions
    place: Tensor
    weight: Tensor
    vectors: Tensor | None
    exist: Tensor
    shared: Tensor | None = None
    most: int | None = None

    @staticmethod
    def of(
        ids: Tensor, there: Tensor, streams: Streams, at: Positions, most: int | None = None
    ) -> PackedStreams:
        """Return the packed tokens of ids (B, T). `there` (B, T) is False for padding."""
        batch, length = ids.shape
        exist = streams.shares() > 0  # (problems, streams)
        size = batch, exist.shape[1] * length
        tokens = exist[:, :, None] & there[:, None, :]  # (problems, streams, tokens)
        places = tokens.flatten().nonzero()[:, 0]
        problem = exist.nonzero()[:, 0]  # (streams of all problems,), the problem of each stream
        number = exist.flatten().cumsum(0) - 1  # numbers of streams, counted through all problems
        beside = Packing.of(places, size)
        stream, time = places // length, places % length
        own = Packing.of(number[stream] * length + time, (len(problem), length))
        seen = there.flatten().nonzero()[:, 0]
        view = Packing.of(seen, (batch, length))
        where = there.flatten().cumsum(0) - 1
        fillers = 0, len(beside.places) - len(places)
        place = F.pad(where[places // size[1] * length + time], fillers, value=len(view.places))
        weights = streams.fusing(ids)
        weight = weights.transpose(1, 2).flatten()[places]
        vectors, mask = at.vectors, at.mask
        if vectors is not None:
            vectors = view.pack(vectors.expand(batch, -1, -1))
            vectors = F.pad(vectors, (0, 0, 0, 1))[place]
        if mask is not None and len(mask) > 1:
            mask = mask[problem]
        sharpness = None if at.sharpness is None else at.sharpness[problem]
        return PackedStreams(
            problem,
            replace(at, mask=mask, sharpness=sharpness).packed(own),
            beside,
            at.packed(view),
            place,
            F.pad(weight, fillers)[:, None],
            vectors,
            exist,
            shared(weights) if most is not None and exist.shape[1] > most else None,
            most,
        )

    def pack(self, rows: Tensor) -> Tensor:
        return self.beside.pack(rows.flatten(1))

    def pad(self, x: Tensor) -> Tensor:
        return torch.unflatten(self.beside.pad(x), 1, (-1, self.own.packing.shape[1]))  # type: ignore[union-attr]

    def each(self, function: Callable[..., Tensor], x: Tensor, *others: Tensor) -> Tensor:
        return function(x, *others)

    def fuse(self, x: Tensor) -> Tensor:
        view = x.new_zeros(len(self.view.packing.places) + 1, x.shape[1])  # type: ignore[union-attr]
        view = view.index_add(0, self.place, x * self.weight)[:-1]
        if self.shared is None:
            return view
        packing, streams = self.view.packing, self.exist.shape[1]
        padded = packing.pad(view)  # type: ignore[union-attr]
        each = torch.unflatten(self.beside.pad(x), 1, (streams, -1))
        mean = stretched(padded, each, self.exist, self.most)
        return packing.pack(torch.where(self.shared, mean, padded))  # type: ignore[union-attr]

    def maximum(self, x: Tensor) -> Tensor:
        view = x.new_full((len(self.view.packing.places) + 1, x.shape[1]), -math.inf)  # type: ignore[union-attr]
        view = view.scatter_reduce(0, self.place[:, None].expand_as(x), x, "amax")[:-1]
        return view.masked_fill(view == -math.inf, 0.0)  # fillers

    def keys_values(
        self, make: Callable[..., KeysValues], x: Tensor, of_view: bool, crossing: bool = False
    ) -> KeysValues:
        at = self.view if of_view else self.own
        rotation = at.problem_rotation if crossing else at.rotation
        return make(x, rotation, at.packing, at.sharpness)

    def by_problem(self, x: Tensor) -> Tensor:
        """Return features (C, ...) of streams by problem: (B, N, ...), 0 for no stream."""
        return x.new_zeros(*self.exist.shape, *x.shape[1:]).index_put((self.exist,), x)

    def problem_mask(self, mask: Tensor, of_view: bool) -> Tensor:
        return mask if of_view or len(mask) == 1 else mask[self.problem]

    def attend(
        self,
        attention: Attention,
        x: Tensor,
        keys_values: tuple[Tensor, ...],
        of_view: bool,
        problem_mask: Tensor | None = None,
    ) -> Tensor:
        at, packing = self.own, self.beside if of_view else self.own.packing
        rotation, mask = at.rotation, self.view.mask if of_view else at.mask
        if problem_mask is not None:
            rotation, mask = at.problem_rotation, problem_mask
        y: Tensor = attention(x, keys_values, rotation, mask, packing=packing)
        return y


ArrangedStreams = PaddedStreams | PackedStreams
