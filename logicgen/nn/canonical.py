"""Naming symbols in order of first occurrence, so that all renamings of a problem are one tensor.

Whatever network reads such tensors treats alpha-equivalent problems alike, exactly: its answer,
with the names put back, is renamed as the problem is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Naming(NamedTuple):
    """A one-to-one renaming of all symbols for each problem; both (B, symbols) int64.

    number: which number a symbol gets. symbol: which symbol has got a number.
    """

    number: Tensor
    symbol: Tensor


def first_occurrence(problems: Tensor, fixed: int, symbols: int) -> Naming:
    """Numbers 0, 1, 2, ... in order of first occurrence, then for the symbols that do not occur.

    problems: (B, S) ids; symbol k has id `fixed` + k.
    """
    batch, length = problems.shape
    # Fixed tokens go to a column of their own, which is cut off.
    column = torch.where(problems >= fixed, problems - fixed, symbols)
    place = torch.arange(length, device=problems.device).expand(batch, -1)
    first = place.new_full((batch, symbols + 1), length).scatter_reduce(1, column, place, "amin")
    symbol = first[:, :symbols].argsort(dim=1, stable=True)
    return Naming(symbol.argsort(dim=1), symbol)


def alpha_class(ids: Sequence[int], fixed: int) -> tuple[int, ...]:
    """Ids in which symbols are numbered in order of first occurrence: equal for all renamings."""
    numbers: dict[int, int] = {}
    return tuple(
        fixed + numbers.setdefault(token, len(numbers)) if token >= fixed else token
        for token in ids
    )


def rename(ids: Tensor, names: Tensor, fixed: int) -> Tensor:
    """(B, ...) ids in which symbol k of row b is called `names[b, k]`; fixed tokens stay."""
    flat = ids.flatten(1)
    symbol = flat >= fixed
    renamed = names.gather(1, torch.where(symbol, flat - fixed, 0)) if names.shape[1] else flat
    return torch.where(symbol, renamed + fixed, flat).view_as(ids)
