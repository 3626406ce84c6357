"""Linear layers whose matrix products a CPU may compute in bfloat16.

With AVX-512 BF16 or AMX such a product of float32 matrices, rounded to bfloat16 and summed in
float32, takes less than half the time. The kernel is made for each new shape, which takes longer
than one product, so the number of rows has to be one of few (`Packing`); and products of many small
matrices, as attention has, gain nothing. So it is a property of these layers, not autocast.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_rounded = False


@contextmanager
def bfloat16_products() -> Iterator[None]:
    """Compute the products of all `Linear` layers in bfloat16, forward and backward, on a CPU."""
    global _rounded
    before, _rounded = _rounded, True
    try:
        yield
    finally:
        _rounded = before


def fast_in_bfloat16(device: torch.device) -> bool:
    """Return whether a device has instructions for products of matrices in bfloat16."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if not hasattr(torch.cpu, "get_capabilities"):  # PyTorch before 2.11
        return bool(torch.cpu._is_avx512_bf16_supported())
    able = torch.cpu.get_capabilities()
    return any(able.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


class Linear(nn.Linear):
    """A linear layer, (..., in) to (..., out); see the module."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output."""
        if not _rounded or x.is_cuda:
            return super().forward(x)
        y: Tensor = _Rounded.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return y


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        with _medium():
            return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        rows = gradient.flatten(0, -2)
        with _medium():
            return gradient @ weight, rows.T @ x.flatten(0, -2), rows.sum(0)


@contextmanager
def _medium() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
