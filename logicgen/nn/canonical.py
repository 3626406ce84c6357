"""Canonical naming: number the symbols of each problem in order of first occurrence.

All renamings of a problem become the same tensor, so any network gives alpha-equivalent problems
the same answer. Afterwards the original names are restored in the answer. So renaming a problem
renames the answer in the same way.

Shapes: B problems, S tokens of a problem. Ids below `fixed` are fixed tokens, such as operators; id
`fixed` + k is symbol k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Naming(NamedTuple):
    """A one-to-one renaming of all symbols for each problem."""

    number: Tensor  # (problems, symbols) int64, the new number of each symbol
    # (problems, symbols) int64, the symbol that has each new number: the inverse of `number`
    symbol: Tensor

    def old_ids(self, fixed: int) -> Tensor:
        """Return the old id of each new id, (problems, fixed + symbols); fixed tokens stay."""
        tokens = torch.arange(fixed, device=self.symbol.device).expand(len(self.symbol), -1)
        return torch.cat([tokens, self.symbol + fixed], dim=1)


def first_occurrence(problems: Tensor, fixed: int, symbols: int) -> Naming:
    """Number the symbols of each problem by first occurrence in its ids (B, S).

    Symbols that do not occur get the last numbers.
    """
    batch, length = problems.shape
    # Fixed tokens use an extra last column, which is removed afterwards.
    column = torch.where(problems >= fixed, problems - fixed, symbols)
    place = torch.arange(length, device=problems.device).expand(batch, -1)
    first = place.new_full((batch, symbols + 1), length).scatter_reduce(1, column, place, "amin")
    symbol = first[:, :symbols].argsort(dim=1, stable=True)
    return Naming(symbol.argsort(dim=1), symbol)


def alpha_class(ids: Sequence[int], fixed: int) -> tuple[int, ...]:
    """Number the symbols of one problem's ids in order of first occurrence.

    All renamings of a problem give the same result. Ids from `fixed` on are symbols.
    """
    numbers: dict[int, int] = {}
    return tuple(
        fixed + numbers.setdefault(token, len(numbers)) if token >= fixed else token
        for token in ids
    )


def rename(ids: Tensor, names: Tensor, fixed: int) -> Tensor:
    """Rename the symbols in ids (B, ...) of B problems; fixed tokens stay.

    Symbol k of problem b becomes symbol `names[b, k]`.
    """
    flat = ids.flatten(1)
    symbol = flat >= fixed
    renamed = names.gather(1, torch.where(symbol, flat - fixed, 0)) if names.shape[1] else flat
    return torch.where(symbol, renamed + fixed, flat).view_as(ids)
