"""Tokens without the padding between them, as training computes them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

# On a CPU numbers of packed tokens are multiples of this. Kernels of matrix products in bfloat16
# are made anew for each new size, which takes longer than one product.
FILLED = 256


@dataclass(frozen=True)
class Packing:
    """The places (N,) of (B, T) that hold tokens; outside attention only these are computed.

    Batches are made by the length of problems: two thirds of a batch of answers are padding.
    """

    shape: tuple[int, int]  # B, T
    places: Tensor  # (N,) of 0..B*T-1, ascending; then fillers, B*T, which nothing reads

    @staticmethod
    def of(places: Tensor, shape: tuple[int, int]) -> Packing:
        """Return the packing of places, filled up on a CPU."""
        if places.device.type == "cpu":
            places = F.pad(places, (0, -len(places) % FILLED), value=shape[0] * shape[1])
        return Packing(shape, places)

    def pack(self, x: Tensor) -> Tensor:
        """Return the places that hold tokens: (B, T, ...) to (N, ...)."""
        x = x.flatten(0, 1)
        return x.index_select(0, self.places.clamp(max=len(x) - 1))

    def pad(self, x: Tensor) -> Tensor:
        """Return packed features in their places: (N, ...) to (B, T, ...), zero elsewhere."""
        batch, time = self.shape
        zeros = x.new_zeros(batch * time + 1, *x.shape[1:])
        return torch.unflatten(zeros.index_copy(0, self.places, x)[:-1], 0, self.shape)
