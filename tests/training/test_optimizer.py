import copy

import pytest
import torch
from torch import nn

from logicgen.training.optimizer import BatchedMuon, orthogonal

PUBLISHED = (3.4445, -4.7750, 2.0315)  # coefficients of the iteration
SHAPES = [(16, 16), (32, 16), (16, 16), (8, 24), (16, 32), (32, 16)]
OPTIONS = {"lr": 0.02, "weight_decay": 0.1}


NEW_PYTORCH = pytest.mark.skipif(
    not hasattr(torch.optim, "Muon"), reason="PyTorch has Muon since 2.9"
)


def pytorch_muon(weights: list[nn.Parameter]) -> torch.optim.Muon:
    return torch.optim.Muon(weights, **OPTIONS, adjust_lr_fn="match_rms_adamw")


def ours(weights: list[nn.Parameter]) -> BatchedMuon:
    return BatchedMuon(weights, **OPTIONS)


def matrices(seed: int) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(*shape, generator=generator)) for shape in SHAPES]


def give_gradients(weights: list[nn.Parameter], seed: int) -> None:
    for weight, drawn in zip(weights, matrices(seed), strict=True):
        weight.grad = drawn.data.clone()


@pytest.mark.parametrize("shape", [(12, 12), (40, 12), (12, 40), (1, 5)])
def test_singular_values_end_near_one(shape):
    torch.manual_seed(0)
    found = orthogonal(torch.randn(5, *shape), PUBLISHED, 5)
    assert found.shape == (5, *shape)
    values = torch.linalg.svdvals(found.float())
    assert 0.3 < values.min() <= values.max() < 1.3


def test_directions_stay():
    """Compare with U V' of the singular value decomposition, for gradients that are not small."""
    torch.manual_seed(0)
    matrix = torch.randn(3, 20, 8)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    found = orthogonal(matrix, PUBLISHED, 5).float()
    # The product with U V' is symmetric and positive: stretched along V, and not turned.
    stretched = (u @ v).mT @ found
    torch.testing.assert_close(stretched, stretched.mT, atol=0.03, rtol=0)
    assert torch.linalg.eigvalsh(stretched).min() > 0.3


def test_a_gradient_of_zeros_stays_so():
    assert not orthogonal(torch.zeros(2, 4, 3), PUBLISHED, 5).any()


@NEW_PYTORCH
def test_steps_are_those_of_pytorch():
    """One large step: later ones start from weights that rounding has parted."""
    own, theirs = matrices(0), matrices(0)
    begun = [weight.detach().clone() for weight in own]
    for seed in (1, 2, 3):
        for weights, kind in ((own, ours), (theirs, pytorch_muon)):
            for weight, start in zip(weights, begun, strict=True):
                weight.data.copy_(start)
            give_gradients(weights, seed)
            kind(weights).step()
        for mine, other, start in zip(own, theirs, begun, strict=True):
            moved = (other - start).norm()
            assert (mine - other).norm() < 0.03 * moved


@NEW_PYTORCH
def test_momentum_is_that_of_pytorch_and_its_state_is_shared():
    own, theirs = matrices(0), matrices(0)
    batched, other = ours(own), pytorch_muon(theirs)
    for seed in (1, 2, 3):
        give_gradients(own, seed)
        give_gradients(theirs, seed)
        batched.step()
        other.step()
    for mine, his in zip(own, theirs, strict=True):
        torch.testing.assert_close(
            batched.state[mine]["momentum_buffer"], other.state[his]["momentum_buffer"]
        )
    resumed = ours(theirs)
    resumed.load_state_dict(copy.deepcopy(other.state_dict()))
    give_gradients(theirs, 4)
    resumed.step()
    assert resumed.state_dict().keys() == batched.state_dict().keys()


def test_weights_without_a_gradient_stay():
    weights = matrices(0)
    before = [weight.detach().clone() for weight in weights]
    give_gradients(weights, 1)
    weights[1].grad = None
    assert ours(weights).step(lambda: 7) == 7
    same = [torch.equal(a, b) for a, b in zip(weights, before, strict=True)]
    assert same == [False, True, False, False, False, False]
