"""Embeddings for a vocabulary that can grow: one matrix, used three times.

Every method makes one matrix (F + symbols, width) for one forward pass: a row for each fixed token,
then a row for each symbol. The Transformer uses it for encoder inputs, decoder inputs and as output
projection, so the three are tied by construction. The methods differ only in symbol rows:

    method            symbol rows
    learned           one trained row each; further symbols get untrained rows
    alpha-renaming    trained rows for a fixed maximum, shuffled at each call
    interchangeable   one shared trained part, then a random part that tells symbols apart
    symbol-invariant  two trained rows for all, "this one" and "some other": `symbol_invariant.py`

`matrix` is a pure function of the weights and the generator; the caller decides when rows are drawn
anew. Training calls it at each forward pass, for one matrix or for one per sequence of the batch;
inference calls it once per embedding seed.

Rows have a norm of about 1 whether they are normalised or not; the Transformer scales its inputs.

The random parts tell symbols apart: their generators never repeat a vector. Every generator is
called as `(sets, count, width, generator)` and returns a float tensor (sets, count, width) on the
CPU, where a `torch.Generator` gives the same numbers on every machine. The vectors within a set are
all different; sets are independent. `orthogonal_corners` is ours.

Source of the other three: Işık, Cinbiş, Aydın Göl, "Interchangeable Token Embeddings for Extendable
Vocabulary and Alpha-Equivalence" (ICML 2025).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from logicgen.errors import LogicgenError

# Leading columns that are made distinct: as many digits as an int64 holds. Further columns of a
# wider vector are independent. This keeps distinctness certain and cheap; it excludes vectors that
# agree in all leading columns only, which have a probability below count^2 / 2^61.
_DIGITS = {2: 61, 3: 39}


def normal(sets: int, count: int, width: int, generator: Generator | None = None) -> Tensor:
    """Draw vectors from N(0, 1), shape (sets, count, width)."""
    parts = torch.randn(sets, count, width, generator=generator)
    # Equal float32 vectors are likely only at width 1 or 2, but then they do occur, so it is enough
    # to compare the first two numbers.
    while True:
        leading = torch.zeros(sets, count, 2)
        leading[..., :width] = parts[..., :2]
        repeated = _repeated(leading.view(torch.int64)[..., 0])  # (sets, count)
        missing = int(repeated.sum())
        if not missing:
            return parts
        parts[repeated] = torch.randn(missing, width, generator=generator)


def neighbouring_points(
    sets: int, count: int, width: int, generator: Generator | None = None
) -> Tensor:
    """Draw points of {-1, 0, 1}^width but 0; raise LogicgenError for more than 3^width - 1."""
    _enough_points("neighbouring-points", count, 3**width - 1, width)
    digits = _distinct_digits(sets, count, width, 3, 1, generator)  # 0 is the zero vector
    return torch.where(digits == 2, -1, digits).float()  # (sets, count, width)


def hypercube(sets: int, count: int, width: int, generator: Generator | None = None) -> Tensor:
    """Draw vertices of {-1, 1}^width; raise LogicgenError for more than 2^width."""
    _enough_points("hypercube", count, 2**width, width)
    return (2 * _distinct_digits(sets, count, width, 2, 0, generator) - 1).float()


def orthogonal_corners(
    sets: int, count: int, width: int, generator: Generator | None = None
) -> Tensor:
    """Draw vertices of {-1, 1}^width, each `width` of which, from the first on, are orthogonal.

    So symbols are as far apart as they can be. Rows of a Hadamard matrix are orthogonal and (in
    Sylvester's construction) a group under products by entry, whose cosets partition the vertices.
    One coset after another is drawn, and its vertices in a random order; at last columns are
    exchanged, so that all orthogonal pairs are equally likely. width: a power of two. Raises
    LogicgenError for more than 2^width.
    """
    _enough_points("orthogonal-corners", count, 2**width, width)
    cosets = -(-count // width)
    # In columns 1, 2, 4, ... rows differ in all ways, so the signs in other columns tell a coset.
    other = [column for column in range(width) if column == 0 or column & (column - 1)]
    signs = torch.ones(sets, cosets, width)
    signs[..., other] = 2.0 * _distinct_digits(sets, cosets, len(other), 2, 0, generator) - 1
    order = torch.rand(sets, cosets, width, generator=generator).argsort(dim=-1)
    vertices = (signs[:, :, None] * _hadamard(width)[order]).flatten(1, 2)[:, :count]
    columns = torch.rand(sets, 1, width, generator=generator).argsort(dim=-1)
    return vertices.gather(2, columns.expand_as(vertices))


def _hadamard(width: int) -> Tensor:
    """Return Sylvester's matrix of {-1, 1} with orthogonal rows, (width, width)."""
    matrix = torch.ones(1, 1)
    while len(matrix) < width:
        matrix = torch.kron(torch.tensor([[1.0, 1.0], [1.0, -1.0]]), matrix)
    return matrix


RANDOM_PARTS = {
    "normal": normal,
    "neighbouring-points": neighbouring_points,
    "hypercube": hypercube,
    "orthogonal-corners": orthogonal_corners,
}


def _enough_points(name: str, count: int, points: int, width: int) -> None:
    if count > points:
        raise LogicgenError(
            f"{count} symbols need as many different random parts, but {name} of random_width"
            f" {width} has only {points}: raise random_width in [embedding] and train again"
        )


def _distinct_digits(
    sets: int, count: int, width: int, base: int, lowest: int, generator: Generator | None
) -> Tensor:
    """Draw different numbers of `width` digits, at least `lowest`; int64 (sets, count, width)."""
    leading = min(width, _DIGITS[base])
    numbers = lowest + _distinct_integers(sets, count, base**leading - lowest, generator)
    places = torch.tensor([base**place for place in range(leading)])
    digits = numbers[..., None] // places % base  # (sets, count, leading)
    free = torch.randint(base, (sets, count, width - leading), generator=generator)
    return torch.cat([digits, free], dim=-1)  # (sets, count, width)


def _distinct_integers(sets: int, count: int, total: int, generator: Generator | None) -> Tensor:
    """Draw different integers of 0..total-1 for each set, uniformly; (sets, count)."""
    if total <= 2 * count:
        return torch.rand(sets, total, generator=generator).argsort(dim=1)[:, :count]
    # At most half of the integers get taken, so each draw is new with probability at least 1/2. All
    # integers are treated alike, so every sequence of different ones is equally likely.
    drawn = torch.randint(total, (sets, count), generator=generator)
    while missing := int((repeated := _repeated(drawn)).sum()):
        drawn[repeated] = torch.randint(total, (missing,), generator=generator)
    return drawn


def _repeated(numbers: Tensor) -> Tensor:
    """Return which numbers of each row also occur further left in it; (rows, columns) to bool."""
    order = numbers.argsort(dim=1, stable=True)
    ordered = numbers.gather(1, order)
    again = F.pad(ordered[:, 1:] == ordered[:, :-1], (min(1, numbers.shape[1]), 0))
    return torch.zeros_like(again).scatter_(1, order, again)


class Embedding(nn.Module, ABC):
    """The base class of all methods, which define `fixed` and `symbol_rows`."""

    # The number of symbol rows to ask for in training, if a fixed number is trained, or None
    max_symbols: int | None = None
    random: bool = True  # whether the rows of symbols seen in training depend on the generator
    normalize_rows: bool
    fixed: nn.Parameter  # the trained rows of the fixed tokens

    def fixed_rows(self) -> Tensor:
        """Return the rows of the fixed tokens, (F, width)."""
        return self.fixed

    @abstractmethod
    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return independent draws of the rows of all symbols, (draws, symbols, width)."""

    def matrix(
        self, symbols: int, generator: torch.Generator | None = None, sequences: int | None = None
    ) -> Tensor:
        """Return all rows, (F + symbols, width), or one matrix for each of so many sequences.

        generator: a CPU generator for random rows; None: torch's global one.
        """
        draws = 1 if sequences is None else sequences
        fixed = self.fixed_rows().expand(draws, -1, -1)
        rows = torch.cat([fixed, self.symbol_rows(draws, symbols, generator)], dim=1)
        if self.normalize_rows:
            rows = F.normalize(rows, dim=-1)
        return rows[0] if sequences is None else rows


class Learned(Embedding):
    """The baseline: trained rows for `max_symbols` symbols, and untrained rows for further ones."""

    max_symbols: int
    random = False

    def __init__(self, fixed: int, width: int, *, max_symbols: int, normalize_rows: bool) -> None:
        super().__init__()
        self.max_symbols = max_symbols
        self.normalize_rows = normalize_rows
        self.fixed = nn.Parameter(_initial(fixed, width))
        self.symbols = nn.Parameter(_initial(max_symbols, width))

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return the trained rows, then random ones, (draws, symbols, width)."""
        rows = self.symbols[:symbols].expand(draws, -1, -1)
        if symbols > self.max_symbols:
            size = draws, symbols - self.max_symbols, rows.shape[-1]
            further = torch.randn(size, generator=generator) * size[-1] ** -0.5
            rows = torch.cat([rows, further.to(rows, non_blocking=True)], dim=1)
        return rows


class AlphaRenaming(Learned):
    """Trained rows that each call assigns to the symbols in a new random order, renaming them."""

    random = True

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return shuffled trained rows; raise LogicgenError for more symbols than these."""
        if symbols > self.max_symbols:
            raise LogicgenError(
                f"{symbols} symbols, but this alpha-renaming embedding has {self.max_symbols} rows:"
                " raise max_symbols in [embedding] and train again"
            )
        order = torch.rand(draws, self.max_symbols, generator=generator).argsort(dim=1)[:, :symbols]
        # Without non_blocking a copy to a GPU waits for all work queued there.
        return F.embedding(order.to(self.symbols.device, non_blocking=True), self.symbols)


class Interchangeable(Embedding):
    """Symbol rows with shared trained columns and random ones, which fixed tokens have zero.

    Source: Işık, Cinbiş, Aydın Göl (ICML 2025).
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
        self.random_part, self.random_width = random_part, random_width
        self.normalize_parts, self.normalize_rows = normalize_parts, normalize_rows
        self.fixed = nn.Parameter(_initial(fixed, width - random_width))
        self.shared = nn.Parameter(_initial(1, width - random_width))

    def fixed_rows(self) -> Tensor:
        return F.pad(self.fixed, (0, self.random_width))

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return the shared trained columns, then random ones, (draws, symbols, width)."""
        draw = RANDOM_PARTS[self.random_part]
        random = draw(draws, symbols, self.random_width, generator)
        random = random.to(self.shared, non_blocking=True)  # as above
        shared = self.shared.expand(draws, symbols, -1)
        if self.normalize_parts:
            random, shared = F.normalize(random, dim=-1), F.normalize(shared, dim=-1)
        else:  # both parts on the scale of initial trained rows
            random = random * (shared.shape[-1] + self.random_width) ** -0.5
        return torch.cat([shared, random], dim=-1)


class SymbolInvariant(Embedding):
    """The symbol rows of a `SymbolInvariantTransformer` (Işık, Li, ICML 2026).

    "this one" is the row of every symbol; "some other one" is one more row at the end.
    """

    random = False

    def __init__(self, fixed: int, width: int, *, normalize_rows: bool) -> None:
        super().__init__()
        self.normalize_rows = normalize_rows
        self.fixed = nn.Parameter(_initial(fixed, width))
        self.this = nn.Parameter(_initial(1, width))
        self.other = nn.Parameter(_initial(1, width))

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return "this one" for each symbol, then "some other one", (draws, symbols + 1, width)."""
        rows: Tensor = torch.cat([self.this.expand(symbols, -1), self.other])
        return rows.expand(draws, -1, -1)


def _initial(rows: int, width: int) -> Tensor:
    """Draw rows from N(0, 1/width), so that each has a norm of about 1."""
    scale: float = max(width, 1) ** -0.5
    return torch.randn(rows, width) * scale
