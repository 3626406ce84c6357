"""The tokens of all streams of a batch without padding, as training computes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor

from logicgen.nn.layers import Attention, Positions
from logicgen.nn.memory import KeysValues
from logicgen.nn.packing import Packing
from logicgen.nn.streams import Streams


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
