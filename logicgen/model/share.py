"""The share of a batch from which one of several devices learns.

All devices have the same batches and draw the same random numbers for them, and each learns from
some of the sequences. So the number of devices changes a training by rounding alone.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import torch
from torch import Tensor


class Rank(NamedTuple):
    """One of several devices that train a model together: number `number` of `devices`."""

    number: int
    devices: int


class Share(NamedTuple):
    """Which sequences of a batch a device learns from, and what they count.

    rows: int64 (R,), their numbers in the whole batch; R is the same on every device.
    whole: sequences of the whole batch.
    weight: for the mean loss of the share, so that the mean over all devices is that of the batch.
    """

    rows: Tensor
    whole: int
    weight: float

    @classmethod
    def of(cls, counts: Tensor, rank: Rank) -> tuple[Self, Tensor]:
        """Return the share of a device, and bool (R,): rows that only fill it up.

        counts: int64 (B,), targets of each sequence that count in the loss.
        """
        whole = len(counts)
        size = -(-whole // rank.devices)
        rows = torch.arange(rank.number * size, (rank.number + 1) * size)
        filler = rows >= whole  # of a last batch, which is not full
        rows = rows.masked_fill(filler, 0)
        own = int(counts[rows].masked_fill(filler, 0).sum())
        return cls(rows, whole, rank.devices * own / max(int(counts.sum()), 1)), filler
