"""Streams of features, one for each symbol of a problem, and the fused view of all streams.

Training packs the tokens of all streams of a batch, without padding (`PackedStreams`).

Source: Işık, Li, "Symbol-Invariant Transformer for Open-Vocabulary Learning" (ICML 2026).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from logicgen.nn.layers import Attention, Packing, Positions
from logicgen.nn.memory import KeysValues


@dataclass(frozen=True)
class Streams:
    """The symbol of each stream: ids (B, N), -1 where there is no stream."""

    ids: Tensor

    @staticmethod
    def of(problems: Tensor, fixed: int, symbols: int, reserved: int, most: int) -> Streams:
        """Return the streams of (B, S) ids with up to `most` symbols, in order of first occurrence.

        reserved: how many further streams get the lowest symbols that do not occur.
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
        """Return the streams of some problems."""
        return Streams(self.ids[rows])

    def shares(self) -> Tensor:
        """Return the weight of each stream in their mean, (B, N)."""
        there = self.ids >= 0
        # A problem without symbols has only the first stream, which then stands for no symbol.
        there = torch.cat([there[:, :1] | ~there.any(dim=1, keepdim=True), there[:, 1:]], dim=1)
        return there / there.sum(dim=1, keepdim=True)

    def owned(self, tokens: Tensor) -> Tensor:
        """Return where each stream's own symbol is in (B, T) ids: bool (B, N, T)."""
        return tokens[:, None, :] == self.ids[..., None]

    def fusing(self, tokens: Tensor) -> Tensor:
        """Return the weight of each stream in the fused view of (B, T) ids: (B, T, N)."""
        owned = self.owned(tokens).transpose(1, 2)  # (B, T, N)
        return torch.where(owned.any(dim=2, keepdim=True), owned, self.shares()[:, None, :])


def fuse(x: Tensor, weights: Tensor) -> Tensor:
    """Return the fused view of the streams: (B, N, T, width) and (B, T, N) to (B, T, width)."""
    return torch.einsum("btn,bntw->btw", weights.to(x.dtype), x)


@dataclass(frozen=True)
class PackedStreams:
    """The P tokens that there are in the streams of a batch, ordered by problem, stream and place.

    Training computes only these: in batches of logic a third to a half of B x N x T.

    Attributes:
        problem: of each of the C streams, (C,).
        own: the tokens as those of C streams, (C, T).
        beside: the tokens as those of B problems, their streams side by side, (B, N T).
        view: the tokens of the fused view, (B, T).
        place: of each token in `view`, filled up with its number of tokens.
        weight: of each token in the fused view, (P, 1).
    """

    problem: Tensor
    own: Positions
    beside: Packing
    view: Positions
    place: Tensor
    weight: Tensor

    @staticmethod
    def of(ids: Tensor, there: Tensor, streams: Streams, at: Positions) -> PackedStreams:
        """Return the packing of ids (B, T), which hold tokens where `there` (B, T) says so."""
        batch, length = ids.shape
        exist = streams.shares() > 0  # (B, N)
        size = batch, exist.shape[1] * length
        tokens = exist[:, :, None] & there[:, None, :]  # (B, N, T)
        places = tokens.flatten().nonzero()[:, 0]
        problem = exist.nonzero()[:, 0]  # (C,), of each stream
        number = exist.flatten().cumsum(0) - 1  # of each stream in C
        beside = Packing.of(places, size)
        stream, time = places // length, places % length
        own = Packing.of(number[stream] * length + time, (len(problem), length))
        seen = there.flatten().nonzero()[:, 0]
        view = Packing.of(seen, (batch, length))
        where = there.flatten().cumsum(0) - 1
        place = where[places // size[1] * length + time]
        fillers = 0, len(beside.places) - len(places)
        weight = streams.fusing(ids).transpose(1, 2).flatten()[places]
        mask = at.mask
        if mask is not None and len(mask) > 1:
            mask = mask[problem]
        return PackedStreams(
            problem,
            replace(at, mask=mask).packed(own),
            beside,
            at.packed(view),
            F.pad(place, fillers, value=len(view.places)),
            F.pad(weight, fillers)[:, None],
        )

    def fuse(self, x: Tensor) -> Tensor:
        """Return the fused view (Q, width) of packed tokens (P, width)."""
        view = x.new_zeros(len(self.view.packing.places) + 1, x.shape[1])  # type: ignore[union-attr]
        view = view.index_add(0, self.place, x * self.weight)
        return view[:-1]

    def attend_fused(self, attention: Attention, x: Tensor, fused: KeysValues) -> Tensor:
        """Attend from packed tokens (P, width) to keys and values (B, H, T, D) of the view."""
        mask = self.view.mask
        if mask is not None and mask.shape[2] > 1:
            mask = mask.repeat(1, 1, self.beside.shape[1] // mask.shape[2], 1)
        y: Tensor = attention(x, fused, self.own.rotation, mask, packing=self.beside)
        return y
