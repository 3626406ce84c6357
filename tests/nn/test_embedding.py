import pytest
import torch

from logicgen.errors import LogicgenError
from logicgen.nn.embedding import RANDOM_PARTS, AlphaRenaming, Embedding, Interchangeable, Learned

FIXED, WIDTH = 7, 16


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def interchangeable(**options: bool) -> Interchangeable:
    switches = {"normalize_parts": True, "normalize_rows": True} | options
    return Interchangeable(FIXED, WIDTH, random_part="hypercube", random_width=6, **switches)


@pytest.mark.parametrize(
    "embedding",
    [
        Learned(FIXED, WIDTH, max_symbols=5, normalize_rows=True),
        AlphaRenaming(FIXED, WIDTH, max_symbols=5, normalize_rows=True),
        interchangeable(),
    ],
)
def test_fixed_rows_then_symbol_rows_of_norm_one(embedding: Embedding) -> None:
    matrix = embedding.matrix(4, seeded(0))
    assert matrix.shape == (FIXED + 4, WIDTH)
    assert torch.allclose(matrix.norm(dim=1), torch.ones(FIXED + 4))
    assert torch.equal(matrix, embedding.matrix(4, seeded(0)))  # a function of the generator


def test_learned_symbols_beyond_the_trained_ones_depend_on_the_generator_alone() -> None:
    embedding = Learned(FIXED, WIDTH, max_symbols=5, normalize_rows=False)
    few, many = embedding.matrix(5, seeded(0)), embedding.matrix(50, seeded(0))
    assert torch.equal(many[: FIXED + 5], few)
    assert torch.equal(many, embedding.matrix(50, seeded(0)))
    assert not torch.equal(many[FIXED + 5 :], embedding.matrix(50, seeded(1))[FIXED + 5 :])
    assert many[FIXED:].norm(dim=1).mean().item() == pytest.approx(1, abs=0.1)


def test_alpha_renaming_deals_the_same_rows_in_another_order() -> None:
    embedding = AlphaRenaming(FIXED, WIDTH, max_symbols=30, normalize_rows=False)
    one, other = embedding.matrix(30, seeded(0)), embedding.matrix(30, seeded(1))
    assert torch.equal(one[:FIXED], other[:FIXED])
    assert not torch.equal(one, other)
    assert sorted(one.tolist()) == sorted(other.tolist())


def test_alpha_renaming_has_a_maximum() -> None:
    embedding = AlphaRenaming(FIXED, WIDTH, max_symbols=5, normalize_rows=True)
    with pytest.raises(LogicgenError, match=r"6 symbols, .* 5 rows: raise max_symbols"):
        embedding.matrix(6)


@pytest.mark.parametrize("rows", [True, False])
def test_fixed_tokens_hold_zeros_in_the_random_columns(rows: bool) -> None:
    matrix = interchangeable(normalize_rows=rows).matrix(3, seeded(0))
    assert (matrix[:FIXED, -6:] == 0).all()
    assert (matrix[:FIXED, :-6] != 0).all()
    assert (matrix[FIXED:, -6:] != 0).all()


def test_symbols_share_all_but_the_random_columns() -> None:
    embedding = interchangeable()
    one, other = embedding.matrix(20, seeded(0)), embedding.matrix(20, seeded(1))
    assert torch.allclose(one[FIXED:, :-6], one[FIXED, :-6].expand(20, -1))
    assert torch.allclose(one[FIXED:, :-6], other[FIXED:, :-6])
    assert len({tuple(row) for row in one[FIXED:, -6:].tolist()}) == 20
    assert not torch.equal(one[FIXED:, -6:], other[FIXED:, -6:])


def test_normalised_parts_weigh_the_same() -> None:
    for rows, norm in ((True, 0.5**0.5), (False, 1.0)):
        symbols = interchangeable(normalize_rows=rows).matrix(3, seeded(0))[FIXED:]
        assert torch.allclose(symbols[:, :-6].norm(dim=1), torch.full((3,), norm))
        assert torch.allclose(symbols[:, -6:].norm(dim=1), torch.full((3,), norm))
    raw = interchangeable(normalize_parts=False, normalize_rows=False).matrix(3, seeded(0))[FIXED:]
    assert torch.allclose(raw[:, -6:].abs(), torch.full((3, 6), WIDTH**-0.5))


def test_the_number_of_parameters_does_not_depend_on_the_symbols() -> None:
    embedding = interchangeable()
    assert sum(p.numel() for p in embedding.parameters()) == (FIXED + 1) * (WIDTH - 6)
    assert embedding.matrix(64).shape == (FIXED + 64, WIDTH)
    with pytest.raises(LogicgenError, match="only 64"):
        embedding.matrix(65)


@pytest.mark.parametrize(
    "embedding",
    [
        AlphaRenaming(FIXED, WIDTH, max_symbols=30, normalize_rows=True),
        *(
            Interchangeable(
                FIXED,
                WIDTH,
                random_part=part,
                random_width=8,
                normalize_parts=True,
                normalize_rows=True,
            )
            for part in RANDOM_PARTS
        ),
    ],
)
def test_a_matrix_drawn_for_each_sequence(embedding: Embedding) -> None:
    matrices = embedding.matrix(6, seeded(0), sequences=40)
    assert matrices.shape == (40, FIXED + 6, WIDTH)
    assert torch.equal(matrices, embedding.matrix(6, seeded(0), sequences=40))
    assert not torch.equal(matrices, embedding.matrix(6, seeded(1), sequences=40))
    assert torch.equal(matrices[:, :FIXED], matrices[:1, :FIXED].expand(40, -1, -1))
    assert torch.allclose(matrices.norm(dim=-1), torch.ones(40, FIXED + 6))
    symbols = matrices[:, FIXED:].detach()
    assert len({str(rows.tolist()) for rows in symbols}) == 40  # each sequence has its own
    assert all(len({str(row) for row in rows.tolist()}) == 6 for rows in symbols)
    matrices.sum().backward()
    assert all(parameter.grad is not None for parameter in embedding.parameters())


def test_learned_rows_are_the_same_for_each_sequence_unless_they_are_untrained() -> None:
    embedding = Learned(FIXED, WIDTH, max_symbols=5, normalize_rows=True)
    matrices = embedding.matrix(7, seeded(0), sequences=3)
    assert torch.equal(matrices[0, : FIXED + 5], matrices[2, : FIXED + 5])
    assert not torch.equal(matrices[0, FIXED + 5 :], matrices[2, FIXED + 5 :])
