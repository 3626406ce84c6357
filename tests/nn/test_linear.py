import pytest
import torch

from logicgen.nn import linear
from logicgen.nn.linear import Linear, bfloat16_products, faster_in_bfloat16


@pytest.mark.parametrize("amx", [True, False])
def test_products_in_bfloat16_are_close_and_only_where_asked_for(
    amx: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "_has_amx", lambda: amx)
    torch.manual_seed(0)
    layer = Linear(64, 48)
    x = torch.randn(7, 256, 64, requires_grad=True)

    def run() -> tuple[torch.Tensor, ...]:
        y = layer(x)
        return y, *torch.autograd.grad((y**2).sum(), (x, layer.weight, layer.bias))

    exact = run()
    before = torch.get_float32_matmul_precision()
    with bfloat16_products():
        rounded = run()
    assert torch.get_float32_matmul_precision() == before
    for one, other in zip(exact, rounded, strict=True):
        assert one.shape == other.shape
        assert other.dtype == torch.float32
        assert (one - other).norm() < 0.01 * one.norm()
    with bfloat16_products(), bfloat16_products(enabled=False):
        inside = run()
    for again in (run(), inside):
        assert all(map(torch.equal, exact, again))


@pytest.mark.parametrize(
    ("instructions", "share", "faster"),
    [({}, None, False), ({"avx512_bf16": True}, 0.5, True), ({"amx_bf16": True}, 0.95, False)],
)
def test_bfloat16_is_faster_only_if_a_measurement_shows_it(
    instructions: dict[str, bool],
    share: float | None,
    faster: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linear, "_capabilities", lambda: instructions)
    # Without the instructions nothing is measured: None cannot be compared with a number.
    monkeypatch.setattr(linear, "_share_of_time", lambda: share)
    assert faster_in_bfloat16(torch.device("cpu")) == faster


def test_the_measurement_leaves_random_numbers_alone() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert linear._share_of_time.__wrapped__() > 0
    assert torch.equal(torch.get_rng_state(), before)
