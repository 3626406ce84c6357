"""Random vectors that tell symbols apart: three generators, none of which ever repeats a vector.

Source: Işık, Cinbiş, Aydın Göl, "Interchangeable Token Embeddings for Extendable Vocabulary and
Alpha-Equivalence" (ICML 2025). Every generator is called as `(count, width, generator)` and returns
a float tensor (count, width) on the CPU, where a `torch.Generator` gives the same numbers on every
machine.
"""

from __future__ import annotations

import torch
from torch import Tensor

from logicgen.errors import LogicgenError

# Leading columns that have to tell the vectors apart: as many digits as an int64 holds. A wider
# vector gets free columns after them, so that distinctness stays certain and costs nothing; sharing
# all leading columns by chance, which this forbids, has a probability below count^2 / 2^61.
_DIGITS = {2: 61, 3: 39}


def normal(count: int, width: int, generator: torch.Generator | None = None) -> Tensor:
    """Vectors of N(0, 1), shape (count, width)."""
    parts = torch.randn(count, width, generator=generator)  # (count, width)
    # Two equal float32 vectors are likely only at width 1 or 2, but then they do occur.
    while True:
        first: dict[bytes, int] = {}
        repeated = [
            row
            for row, part in enumerate(parts.numpy())
            if first.setdefault(part.tobytes(), row) != row
        ]
        if not repeated:
            return parts
        parts[repeated] = torch.randn(len(repeated), width, generator=generator)


def neighbouring_points(count: int, width: int, generator: torch.Generator | None = None) -> Tensor:
    """Points of {-1, 0, 1}^width without zero, shape (count, width).

    Raises LogicgenError where `count` is more than the 3^width - 1 points there are.
    """
    _enough_points("neighbouring-points", count, 3**width - 1, width)
    digits = _distinct_digits(count, width, 3, 1, generator)  # 0 is the zero vector: left out
    return torch.where(digits == 2, -1, digits).float()  # (count, width)


def hypercube(count: int, width: int, generator: torch.Generator | None = None) -> Tensor:
    """Vertices {-1, 1}^width, shape (count, width).

    Raises LogicgenError where `count` is more than the 2^width vertices there are.
    """
    _enough_points("hypercube", count, 2**width, width)
    return (2 * _distinct_digits(count, width, 2, 0, generator) - 1).float()  # (count, width)


RANDOM_PARTS = {
    "normal": normal,
    "neighbouring-points": neighbouring_points,
    "hypercube": hypercube,
}


def _enough_points(name: str, count: int, points: int, width: int) -> None:
    if count > points:
        raise LogicgenError(
            f"{count} symbols need as many different random parts, but {name} of random_width"
            f" {width} has only {points}: raise random_width in [embedding] and train again"
        )


def _distinct_digits(
    count: int, width: int, base: int, lowest: int, generator: torch.Generator | None
) -> Tensor:
    """`count` different numbers of `width` digits, none below `lowest`; int64 (count, width)."""
    leading = min(width, _DIGITS[base])
    numbers = lowest + _distinct_integers(count, base**leading - lowest, generator)  # (count,)
    places = torch.tensor([base**place for place in range(leading)])
    digits = numbers[:, None] // places % base  # (count, leading)
    free = torch.randint(base, (count, width - leading), generator=generator)
    return torch.cat([digits, free], dim=1)  # (count, width)


def _distinct_integers(count: int, total: int, generator: torch.Generator | None) -> Tensor:
    """`count` different integers of 0..total-1, every sequence of them equally likely; (count,)."""
    if total <= 2 * count:
        return torch.randperm(total, generator=generator)[:count]
    # At most half of the integers get taken, so each draw is new with a chance of at least a half.
    # Keeping first occurrences is drawing without replacement; a dict keeps them in order.
    drawn: dict[int, None] = {}
    while len(drawn) < count:
        missing = count - len(drawn)
        drawn.update(dict.fromkeys(torch.randint(total, (missing,), generator=generator).tolist()))
    return torch.tensor(list(drawn), dtype=torch.int64)
