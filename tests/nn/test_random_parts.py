import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.nn.embedding import (
    RANDOM_PARTS,
    hypercube,
    neighbouring_points,
    normal,
    orthogonal_corners,
)

POINTS = {
    "neighbouring-points": lambda d: 3**d - 1,
    "hypercube": lambda d: 2**d,
    "orthogonal-corners": lambda d: 2**d,
}


def fitting(name: str, width: int) -> int:
    """Return the width, or the next power of two where only these are possible."""
    return 1 << (width - 1).bit_length() if name == "orthogonal-corners" else width


def distinct(sets: torch.Tensor) -> bool:
    return all(len({tuple(part) for part in parts}) == len(parts) for parts in sets.tolist())


@given(
    name=st.sampled_from(sorted(RANDOM_PARTS)),
    width=st.integers(1, 90),
    sets=st.integers(1, 5),
    count=st.integers(0, 400),
    seed=st.integers(0, 2**32),
)
def test_no_vector_comes_twice(name: str, width: int, sets: int, count: int, seed: int) -> None:
    width = fitting(name, width)
    if name in POINTS:
        count = min(count, POINTS[name](width))
    parts = RANDOM_PARTS[name](sets, count, width, torch.Generator().manual_seed(seed))
    assert parts.shape == (sets, count, width)
    assert distinct(parts)
    again = RANDOM_PARTS[name](sets, count, width, torch.Generator().manual_seed(seed))
    assert torch.equal(parts, again)


@given(name=st.sampled_from(sorted(POINTS)), width=st.integers(1, 6), seed=st.integers(0, 99))
def test_all_points_can_be_asked_for(name: str, width: int, seed: int) -> None:
    width = fitting(name, width)
    points = POINTS[name](width)
    parts = RANDOM_PARTS[name](2, points, width, torch.Generator().manual_seed(seed))
    assert distinct(parts)
    assert set(parts.unique().tolist()) <= {-1.0, 0.0, 1.0}
    assert parts.abs().sum(dim=-1).min() > 0  # zero is not a neighbouring point


@pytest.mark.parametrize("name", sorted(POINTS))
def test_more_symbols_than_points_is_an_error_with_the_number(name: str) -> None:
    points = POINTS[name](4)
    with pytest.raises(LogicgenError, match=f"{points + 1} symbols .* only {points}: raise"):
        RANDOM_PARTS[name](1, points + 1, 4, None)


@given(
    bits=st.integers(0, 7),
    sets=st.integers(0, 4),
    count=st.integers(0, 300),
    seed=st.integers(0, 2**32),
)
def test_each_width_corners_in_a_row_are_orthogonal(
    bits: int, sets: int, count: int, seed: int
) -> None:
    width = 2**bits
    count = min(count, 2**width)
    parts = orthogonal_corners(sets, count, width, torch.Generator().manual_seed(seed))
    assert set(parts.unique().tolist()) <= {-1.0, 1.0}
    for start in range(0, count, width):
        block = parts[:, start : start + width]
        products = block @ block.transpose(1, 2)
        assert torch.equal(products, (width * torch.eye(block.shape[1])).expand_as(products))


def test_every_orthogonal_pair_of_corners_is_equally_likely() -> None:
    pairs = orthogonal_corners(24_000, 2, 4, torch.Generator().manual_seed(0)).flatten(1)
    _, counts = pairs.unique(dim=0, return_counts=True)
    assert len(counts) == 16 * 6  # in 2 of 4 entries they differ
    assert counts.min() > 250 * 0.7
    assert counts.max() < 250 * 1.3


def test_values() -> None:
    generator = torch.Generator().manual_seed(0)
    assert set(hypercube(1, 500, 50, generator).unique().tolist()) == {-1.0, 1.0}
    points = neighbouring_points(1, 5_000, 50, generator)
    shares = [(points == value).float().mean().item() for value in (-1, 0, 1)]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.01)
    assert normal(1, 5_000, 50, generator).std().item() == pytest.approx(1, abs=0.02)


def test_every_pair_of_points_is_equally_likely() -> None:
    generator = torch.Generator().manual_seed(0)
    draws = neighbouring_points(2_000, 2, 1, generator)[:, 0]
    assert (draws == 1).float().mean().item() == pytest.approx(0.5, abs=0.05)
    counts: dict[tuple[float, ...], int] = {}
    for corners in hypercube(6_000, 2, 2, generator):  # 4 * 3 ordered pairs of square corners
        pair = tuple(corners.flatten().tolist())
        counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 12
    assert min(counts.values()) > 400
    assert max(counts.values()) < 600


def test_a_repeated_normal_vector_is_drawn_again() -> None:
    # 100,000 float32 numbers hold some hundred equal ones.
    parts = normal(2, 100_000, 1, torch.Generator().manual_seed(0))
    assert distinct(parts)


def test_numbers_that_repeat_are_drawn_again_without_a_bias() -> None:
    # 3 of 8 corners, drawn with repetitions at first: 8 * 7 * 6 ordered triples.
    counts: dict[tuple[float, ...], int] = {}
    for corners in hypercube(67_200, 3, 3, torch.Generator().manual_seed(0)).flatten(1).tolist():
        counts[tuple(corners)] = counts.get(tuple(corners), 0) + 1
    assert len(counts) == 336
    assert min(counts.values()) > 120  # 200 expected, with a deviation of 14
    assert max(counts.values()) < 280
