import math

import pytest
import torch
from torch import nn

from logicgen.nn.loss import AdaCos, CrossEntropy


def test_adacos_against_the_formulas_computed_by_hand() -> None:
    cosines = torch.tensor([[[0.9, 0.1, -0.2, 0.3], [0.2, 0.5, 0.4, -0.6], [0.1, 0.0, 0.3, 0.8]]])
    targets = torch.tensor([[1, 2, 3]])
    loss = AdaCos(rows=4)
    before = math.sqrt(2) * math.log(3)
    assert loss.scale.item() == pytest.approx(before)
    value = loss(cosines, targets).item()

    total = 0.0
    for row, target in zip(cosines[0].tolist(), [1, 2, 3], strict=True):
        total += sum(math.exp(before * c) for k, c in enumerate(row) if k != target)
    median = math.acos(0.4)  # of acos(0.1), acos(0.4), acos(0.8)
    scale = math.log(total / 3) / math.cos(min(math.pi / 4, median))
    assert loss.scale.item() == pytest.approx(scale, rel=1e-5)
    expected = 0.0
    for row, target in zip(cosines[0].tolist(), [1, 2, 3], strict=True):
        expected -= scale * row[target] - math.log(sum(math.exp(scale * c) for c in row))
    assert value == pytest.approx(expected / 3, rel=1e-5)


@pytest.mark.parametrize("make", [lambda: AdaCos(rows=9), CrossEntropy])
def test_padding_changes_nothing(make: type[nn.Module]) -> None:
    torch.manual_seed(0)
    cosines = torch.rand(3, 5, 9) * 2 - 1
    targets = torch.randint(1, 9, (3, 5))
    padded = torch.cat([cosines, torch.rand(3, 4, 9)], dim=1)
    padding = torch.cat([targets, torch.zeros(3, 4, dtype=torch.int64)], dim=1)
    one, other = make(), make()
    assert one(cosines, targets).item() == pytest.approx(other(padded, padding).item(), rel=1e-6)
    if isinstance(one, AdaCos):
        assert one.scale.item() == pytest.approx(other.scale.item(), rel=1e-6)


def test_the_scale_is_saved_moves_in_training_only_and_is_clipped() -> None:
    loss = AdaCos(rows=50)
    assert "scale" in loss.state_dict()
    cosines, targets = torch.full((2, 3, 50), 0.99), torch.ones(2, 3, dtype=torch.int64)
    before = loss.scale.item()
    loss.eval()(cosines, targets)
    assert loss.scale.item() == before
    loss.train()
    for _ in range(200):
        loss(cosines, targets)
    assert loss.scale.item() == 100


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_handful_of_rows_and_a_batch_of_padding_stay_finite(rows: int) -> None:
    loss = AdaCos(rows=rows)
    cosines = torch.full((2, 2, rows), -1.0, requires_grad=True)
    for targets in (torch.zeros(2, 2, dtype=torch.int64), torch.full((2, 2), rows - 1)):
        value = loss(cosines, targets)
        value.backward()
        assert math.isfinite(value.item())
        assert math.isfinite(loss.scale.item())
        assert cosines.grad is not None
        assert cosines.grad.isfinite().all()


def test_rows_that_are_never_targets_are_left_out() -> None:
    """As if there were no such columns."""
    torch.manual_seed(0)
    cosines, targets = torch.rand(2, 7, 9) * 2 - 1, torch.randint(2, 9, (2, 7))
    with_all, without = AdaCos(rows=9, never=(0, 1)), AdaCos(rows=7, pad=-1)
    assert with_all.scale.item() == without.scale.item()
    value = with_all(cosines, targets)
    assert value.item() == pytest.approx(without(cosines[..., 2:], targets - 2).item(), rel=1e-6)
    assert with_all.scale.item() == pytest.approx(without.scale.item(), rel=1e-6)


def test_the_scale_has_a_floor() -> None:
    loss = AdaCos(rows=5, least=12)
    assert loss.scale.item() == 12
    loss(torch.full((2, 3, 5), -0.9), torch.ones(2, 3, dtype=torch.int64))
    assert loss.scale.item() == 12
