"""Embeddings for a vocabulary that can grow: one matrix, used three times.

Every method makes one matrix (F + symbols, width) for one forward pass: a row for each fixed token,
then a row for each symbol. The Transformer looks up encoder inputs and decoder inputs in it and
reads its outputs against it, so the three are tied by construction. The methods differ only in how
symbol rows are made:

    method            symbol rows
    learned           one trained row each; further symbols get untrained rows
    alpha-renaming    trained rows for a fixed maximum, shuffled at each call
    interchangeable   one shared trained part, then a random part that tells symbols apart
    symbol-invariant  two trained rows for all, "this one" and "some other": `symbol_invariant.py`

`matrix` is a pure function of the weights and the generator. *When* rows are drawn anew is thus the
caller's affair: training asks for a matrix at each forward pass, or for as many as there are
sequences in the batch; inference asks once per embedding seed.

Rows have a norm of about 1 whether they are normalised or not; the Transformer scales its inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.nn.random_parts import RANDOM_PARTS


class Embedding(nn.Module, ABC):
    """What all methods share. A method defines `fixed_rows` and `symbol_rows`.

    `max_symbols` is the number of symbol rows that training has to ask for, where the method has a
    fixed number of trained rows; None where it does not. `random` says whether the rows of symbols
    seen in training depend on the generator.
    """

    max_symbols: int | None = None
    random: bool = True
    normalize_rows: bool

    @abstractmethod
    def fixed_rows(self) -> Tensor:
        """Rows of the fixed tokens, (F, width)."""

    @abstractmethod
    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """So many independent draws of the rows of so many symbols, (draws, symbols, width)."""

    def matrix(
        self, symbols: int, generator: torch.Generator | None = None, sequences: int | None = None
    ) -> Tensor:
        """All rows of a vocabulary with this many symbols, (F + symbols, width).

        Whatever is random is drawn from `generator` (a CPU generator; None: torch's global one).
        For a number of sequences, a matrix drawn for each: (sequences, F + symbols, width).
        """
        draws = 1 if sequences is None else sequences
        fixed = self.fixed_rows().expand(draws, -1, -1)
        rows = torch.cat([fixed, self.symbol_rows(draws, symbols, generator)], dim=1)
        if self.normalize_rows:
            rows = F.normalize(rows, dim=-1)
        return rows[0] if sequences is None else rows


class Learned(Embedding):
    """One trained row for each of `max_symbols` symbols: the baseline.

    Symbols beyond them get rows from the initial distribution, which no training has seen.
    """

    max_symbols: int
    random = False

    def __init__(self, fixed: int, width: int, *, max_symbols: int, normalize_rows: bool) -> None:
        super().__init__()
        self.max_symbols = max_symbols
        self.normalize_rows = normalize_rows
        self.fixed = nn.Parameter(_initial(fixed, width))
        self.symbols = nn.Parameter(_initial(max_symbols, width))

    def fixed_rows(self) -> Tensor:
        return self.fixed  # (F, width)

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        rows = self.symbols[:symbols].expand(draws, -1, -1)
        if symbols > self.max_symbols:
            size = draws, symbols - self.max_symbols, rows.shape[-1]
            further = torch.randn(size, generator=generator) * size[-1] ** -0.5
            rows = torch.cat([rows, further.to(rows, non_blocking=True)], dim=1)
        return rows  # (draws, symbols, width)


class AlphaRenaming(Learned):
    """Trained rows that no symbol owns: each call deals them out to the symbols anew.

    Shuffling the rows of the matrix renames the symbols of every example of the batch at random.
    """

    random = True

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        if symbols > self.max_symbols:
            raise LogicgenError(
                f"{symbols} symbols, but this alpha-renaming embedding has {self.max_symbols} rows:"
                " raise max_symbols in [embedding] and train again"
            )
        dealt = torch.rand(draws, self.max_symbols, generator=generator).argsort(dim=1)[:, :symbols]
        # Without non_blocking a copy to a GPU waits for all that is under way there.
        return F.embedding(dealt.to(self.symbols.device, non_blocking=True), self.symbols)


class Interchangeable(Embedding):
    """All symbols share their trained columns and differ in their random columns alone.

    Fixed tokens hold zeros in the random columns. Source: Işık, Cinbiş, Aydın Göl (ICML 2025).
    """

    def __init__(
        self,
        fixed: int,
        width: int,
        *,
        random_part: str,
        random_width: int,
        normalize_parts: bool,
        normalize_rows: bool,
    ) -> None:
        super().__init__()
        self.random_part = random_part
        self.random_width = random_width
        self.normalize_parts = normalize_parts
        self.normalize_rows = normalize_rows
        self.fixed = nn.Parameter(_initial(fixed, width - random_width))
        self.shared = nn.Parameter(_initial(1, width - random_width))

    def fixed_rows(self) -> Tensor:
        return F.pad(self.fixed, (0, self.random_width))  # (F, width)

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        draw = RANDOM_PARTS[self.random_part]
        random = draw(draws, symbols, self.random_width, generator)
        random = random.to(self.shared, non_blocking=True)  # as above
        shared = self.shared.expand(draws, symbols, -1)
        if self.normalize_parts:
            random, shared = F.normalize(random, dim=-1), F.normalize(shared, dim=-1)
        else:  # both parts on the scale that trained rows start with
            random = random * (shared.shape[-1] + self.random_width) ** -0.5
        return torch.cat([shared, random], dim=-1)  # (draws, symbols, width)


class SymbolInvariant(Embedding):
    """Two trained rows: "this one", for every symbol, and "some other one", a further last row.

    For `SymbolInvariantTransformer`. Source: Işık, Li (ICML 2026).
    """

    random = False

    def __init__(self, fixed: int, width: int, *, normalize_rows: bool) -> None:
        super().__init__()
        self.normalize_rows = normalize_rows
        self.fixed = nn.Parameter(_initial(fixed, width))
        self.this = nn.Parameter(_initial(1, width))
        self.other = nn.Parameter(_initial(1, width))

    def fixed_rows(self) -> Tensor:
        return self.fixed  # (F, width)

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        rows = torch.cat([self.this.expand(symbols, -1), self.other])
        return rows.expand(draws, -1, -1)  # (draws, symbols + 1, width)


def _initial(rows: int, width: int) -> Tensor:
    """N(0, 1/width), so that a row of the whole width has a norm of about 1; (rows, width)."""
    return torch.randn(rows, width) * max(width, 1) ** -0.5
