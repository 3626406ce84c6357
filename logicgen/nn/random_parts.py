"""Random vectors that tell symbols apart: generators that never repeat a vector.

Source of three: Işık, Cinbiş, Aydın Göl, "Interchangeable Token Embeddings for Extendable
Vocabulary and Alpha-Equivalence" (ICML 2025); `orthogonal_corners` is ours. Every generator is
called as `(sets, count, width, generator)` and returns a float tensor (sets, count, width) on the
CPU, where a `torch.Generator` gives the same numbers on every machine. The vectors within a set are
all different; sets are independent.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

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
