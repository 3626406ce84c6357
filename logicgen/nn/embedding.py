"""Embeddings for a vocabulary that can grow: one matrix for inputs and outputs.

An embedding makes one matrix (F + symbols, width) for each forward pass. The matrix has a row for
each of F fixed tokens (such as operators), then a row for each symbol (such as a variable). The
Transformer uses the matrix for encoder inputs, decoder inputs and the output projection (weight
tying). The methods differ only in the rows of symbols:

    method            rows of symbols
    learned           one trained row for each; symbols beyond the maximum get untrained rows
    alpha-renaming    trained rows for a fixed maximum, shuffled at each call
    interchangeable   a shared trained part and a random part, which distinguishes symbols
    symbol-invariant  two trained rows, "this one" and "some other one": `symbol_invariant.py`

`matrix` is a pure function of the weights and the generator. Training calls it at each forward
pass, for one matrix or for one matrix per sequence of the batch. Inference calls it once for each
embedding seed.

Rows have a norm of about 1, also without normalization. The Transformer scales its inputs.

Random parts must differ between symbols. Each function that draws them makes `sets` independent
sets of `count` vectors, one set for each matrix, and never repeats a vector in a set. It returns a
float tensor (sets, count, width) on the CPU, where a `torch.Generator` gives the same numbers on
every machine.

Source of all random parts except `orthogonal_corners`: Işık, Cinbiş, Aydın Göl, "Interchangeable
Token Embeddings for Extendable Vocabulary and Alpha-Equivalence" (ICML 2025).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from logicgen.errors import LogicgenError

# The number of digits in base 2 and in base 3 that fit into an int64. The first columns of a
# vector, up to this number, are the digits of one random integer. The integers of a set are all
# different, so its vectors are different, too. Further columns are drawn independently. So vectors
# that differ only in further columns never occur together. If all columns were independent, the
# probability of such vectors would be below count^2 / 2^61.
_DIGITS = {2: 61, 3: 39}


def normal(sets: int, count: int, width: int, generator: Generator | None = None) -> Tensor:
    """Draw sets of `count` different vectors from N(0, 1); return (sets, count, width)."""
    parts = torch.randn(sets, count, width, generator=generator)
    # Equal float32 vectors occur in practice only at width 1 or 2, so it is enough to compare the
    # first two numbers.
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
    """Draw sets of `count` different nonzero points of {-1, 0, 1}^width.

    Raises LogicgenError if `count` is more than 3^width - 1.
    """
    _enough_points("neighbouring-points", count, 3**width - 1, width)
    digits = _distinct_digits(sets, count, width, 3, 1, generator)  # 0 is the zero vector
    return torch.where(digits == 2, -1, digits).float()  # (sets, count, width)


def hypercube(sets: int, count: int, width: int, generator: Generator | None = None) -> Tensor:
    """Draw sets of `count` different vertices of {-1, 1}^width.

    Raises LogicgenError if `count` is more than 2^width.
    """
    _enough_points("hypercube", count, 2**width, width)
    return (2 * _distinct_digits(sets, count, width, 2, 0, generator) - 1).float()


def orthogonal_corners(
    sets: int, count: int, width: int, generator: Generator | None = None
) -> Tensor:
    """Draw sets of `count` different vertices of {-1, 1}^width, which are far apart.

    This makes symbols as different as possible. The rows of a Hadamard matrix are orthogonal. In
    Sylvester's construction they are a group under the elementwise product. Its cosets partition
    the vertices into groups of `width` orthogonal vertices. The function draws one coset after
    another, and the vertices of each coset in a random order. Finally it permutes the columns, so
    that all orthogonal pairs are equally likely.

    width: a power of two.

    Raises LogicgenError if `count` is more than 2^width.
    """
    _enough_points("orthogonal-corners", count, 2**width, width)
    cosets = -(-count // width)
    # In columns 1, 2, 4, ... of the Hadamard matrix, each combination of signs occurs in exactly
    # one row. So each coset of the rows has exactly one vertex with +1 in these columns. The signs
    # of this vertex in the other columns identify the coset.
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
            f"{count} symbols need {count} different random parts, but {name} of random_width"
            f" {width} has only {points}: raise random_width in [embedding] and train again"
        )


def _distinct_digits(
    sets: int, count: int, width: int, base: int, lowest: int, generator: Generator | None
) -> Tensor:
    """Draw sets of `count` different numbers >= `lowest`; return their `width` digits in a base.

    The shape of the result is (sets, count, width).
    """
    leading = min(width, _DIGITS[base])
    numbers = lowest + _distinct_integers(sets, count, base**leading - lowest, generator)
    places = torch.tensor([base**place for place in range(leading)])
    digits = numbers[..., None] // places % base  # (sets, count, leading)
    free = torch.randint(base, (sets, count, width - leading), generator=generator)
    return torch.cat([digits, free], dim=-1)  # (sets, count, width)


def _distinct_integers(sets: int, count: int, total: int, generator: Generator | None) -> Tensor:
    """Draw different integers from 0..total-1 uniformly for each set; return (sets, count)."""
    if total <= 2 * count:
        return torch.rand(sets, total, generator=generator).argsort(dim=1)[:, :count]
    # At most half of the integers are taken, so each draw is new with probability at least 1/2. By
    # symmetry, all sequences of different integers are equally likely.
    drawn = torch.randint(total, (sets, count), generator=generator)
    while missing := int((repeated := _repeated(drawn)).sum()):
        drawn[repeated] = torch.randint(total, (missing,), generator=generator)
    return drawn


def _repeated(numbers: Tensor) -> Tensor:
    """Mark each number of (rows, columns) that also occurs further left in its row."""
    order = numbers.argsort(dim=1, stable=True)
    ordered = numbers.gather(1, order)
    again = F.pad(ordered[:, 1:] == ordered[:, :-1], (min(1, numbers.shape[1]), 0))
    return torch.zeros_like(again).scatter_(1, order, again)


class Embedding(nn.Module, ABC):
    """The base class of all embedding methods. A method defines `fixed` and `symbol_rows`."""

    # The number of trained rows of symbols. None means that the method can make rows for any number
    # of symbols
    max_symbols: int | None = None
    random: bool = True  # whether the rows of the training symbols depend on the generator
    normalize_rows: bool
    fixed: nn.Parameter  # the trained rows of the fixed tokens

    def fixed_rows(self) -> Tensor:
        """Return the rows of the F fixed tokens (all tokens except symbols), (F, width)."""
        return self.fixed

    @abstractmethod
    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return several matrices with a row for each symbol, (draws, symbols, width).

        Random rows are drawn independently for each matrix.
        """

    def matrix(
        self, symbols: int, generator: torch.Generator | None = None, sequences: int | None = None
    ) -> Tensor:
        """Return the embedding matrix: rows of F fixed tokens, then of symbols.

        The shape is (F + symbols, width).

        generator: a CPU generator for random rows; torch's global generator if not given.
        sequences: if given, return one matrix for each sequence, (sequences, F + symbols, width).
        """
        draws = 1 if sequences is None else sequences
        fixed = self.fixed_rows().expand(draws, -1, -1)
        rows = torch.cat([fixed, self.symbol_rows(draws, symbols, generator)], dim=1)
        if self.normalize_rows:
            rows = F.normalize(rows, dim=-1)
        return rows[0] if sequences is None else rows


def reseeded(generator: torch.Generator | None) -> torch.Generator:
    """Return a generator with a seed that `generator` draws.

    Weights are drawn with a small seed. A generator with the same seed would repeat them as random
    rows.
    """
    return torch.Generator().manual_seed(int(torch.randint(2**32, (), generator=generator)))


class Learned(Embedding):
    """The baseline: trained rows for `max_symbols` symbols, untrained rows for further symbols."""

    max_symbols: int
    random = False

    def __init__(self, fixed: int, width: int, *, max_symbols: int, normalize_rows: bool) -> None:
        super().__init__()
        self.max_symbols = max_symbols
        self.normalize_rows = normalize_rows
        self.fixed = nn.Parameter(_initial(fixed, width))
        self.symbols = nn.Parameter(_initial(max_symbols, width))

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return the trained rows, then untrained rows for further symbols.

        The shape is (draws, symbols, width), with `draws` matrices.
        """
        rows = self.symbols[:symbols].expand(draws, -1, -1)
        if symbols > self.max_symbols:
            size = draws, symbols - self.max_symbols, rows.shape[-1]
            further = torch.randn(size, generator=reseeded(generator)) * size[-1] ** -0.5
            rows = torch.cat([rows, further.to(rows, non_blocking=True)], dim=1)
        return rows


class AlphaRenaming(Learned):
    """Trained rows that each call assigns to the symbols in a new random order."""

    random = True

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return shuffled trained rows. Raises LogicgenError for more symbols than rows."""
        if symbols > self.max_symbols:
            raise LogicgenError(
                f"{symbols} symbols, but this alpha-renaming embedding has {self.max_symbols} rows:"
                " raise max_symbols in [embedding] and train again"
            )
        order = torch.rand(draws, self.max_symbols, generator=generator).argsort(dim=1)[:, :symbols]
        # Without non_blocking, a copy to a GPU waits for all work in the GPU's queue.
        return F.embedding(order.to(self.symbols.device, non_blocking=True), self.symbols)


class Interchangeable(Embedding):
    """Rows of symbols with shared trained columns and random columns.

    In the rows of fixed tokens the random columns are 0.

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
        """Return rows that consist of a shared trained part and a random part.

        The shape is (draws, symbols, width): random parts are drawn for each matrix.
        """
        draw = RANDOM_PARTS[self.random_part]
        random = draw(draws, symbols, self.random_width, generator)
        random = random.to(self.shared, non_blocking=True)  # a copy that need not wait for the GPU
        shared = self.shared.expand(draws, symbols, -1)
        if self.normalize_parts:
            random, shared = F.normalize(random, dim=-1), F.normalize(shared, dim=-1)
        else:  # scale both parts like initial trained rows
            random = random * (shared.shape[-1] + self.random_width) ** -0.5
        return torch.cat([shared, random], dim=-1)


class SymbolInvariant(Embedding):
    """The symbol rows of a `SymbolInvariantTransformer` (Işık, Li, ICML 2026).

    The matrix has the row "this one" for each symbol, then a last row "some other one".
    """

    random = False

    def __init__(self, fixed: int, width: int, *, normalize_rows: bool) -> None:
        super().__init__()
        self.normalize_rows = normalize_rows
        self.fixed = nn.Parameter(_initial(fixed, width))
        self.this = nn.Parameter(_initial(1, width))
        self.other = nn.Parameter(_initial(1, width))

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        """Return the row "this one" for each symbol, then a single row "some other one".

        The shape is (draws, symbols + 1, width).
        """
        rows: Tensor = torch.cat([self.this.expand(symbols, -1), self.other])
        return rows.expand(draws, -1, -1)


def _initial(rows: int, width: int) -> Tensor:
    """Draw rows from N(0, 1/width), with norms of about 1."""
    scale: float = max(width, 1) ** -0.5
    return torch.randn(rows, width) * scale
