"""Streams of features, one for each symbol of a problem, and the fused view of all streams.

Source: Işık, Li, "Symbol-Invariant Transformer for Open-Vocabulary Learning" (ICML 2026).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


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
