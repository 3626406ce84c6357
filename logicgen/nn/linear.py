"""Linear layers that can compute their matrix products in bfloat16 on a CPU.

With AVX-512 BF16, the product of float32 matrices that are rounded to bfloat16 takes less than half
the time. Without AMX (Intel's matrix instructions), sums are rounded, too. A CPU without bfloat16
instructions emulates them, which takes several times as long.

Autocast is not used on a CPU for two reasons. PyTorch compiles a kernel for each new shape, which
takes longer than one product. The number of shapes should be small (`layers.Packing`). Also,
products of many small matrices, as in attention, are not faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from math import inf
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

INSTRUCTIONS = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512 BF16", "bf16": "Arm BF16"}
"""The instructions for products in bfloat16: PyTorch's names, and the names in messages."""

GAIN = 0.9
"""Use bfloat16 if its products take less than this share of the time in float32."""

_rounded = False


@contextmanager
def bfloat16_products(enabled: bool = True) -> Iterator[None]:
    """Compute the products of all `Linear` layers in bfloat16, forward and backward, on a CPU.

    enabled: if false, compute them in float32.
    """
    global _rounded
    before, _rounded = _rounded, enabled
    try:
        yield
    finally:
        _rounded = before


@contextmanager
def float32_products(device: torch.device) -> Iterator[None]:
    """Compute all products on a device in float32, also inside a training step in bfloat16."""
    with torch.autocast(device.type, enabled=False), bfloat16_products(enabled=False):
        yield


def bfloat16_instructions() -> list[str]:
    """Return the names of the instructions that this CPU has for products in bfloat16."""
    able = _capabilities()
    return [called for name, called in INSTRUCTIONS.items() if able.get(name, False)]


def has_bfloat16(device: torch.device) -> bool:
    """Return whether a device has instructions for products of matrices in bfloat16."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(bfloat16_instructions())


def faster_in_bfloat16(device: torch.device) -> bool:
    """Return whether training is faster in bfloat16 than in float32.

    A CPU with bfloat16 instructions is measured once in each process. For a CPU without them the
    result is False.
    """
    return has_bfloat16(device) and (device.type == "cuda" or _share_of_time() < GAIN)


@lru_cache(maxsize=1)
def _share_of_time() -> float:
    """Return a layer's time in bfloat16 divided by its time in float32.

    Each time is the best of four runs. The layer is as narrow as in the narrowest shipped recipe
    with bfloat16, because narrow layers gain least.
    """
    best = [inf, inf]
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        layer, x = Linear(64, 256), torch.randn(1024, 64, requires_grad=True)
        for turn in range(8):
            with bfloat16_products(turn % 2 == 1):
                begun = perf_counter()
                layer(x).sum().backward()
            best[turn % 2] = min(best[turn % 2], perf_counter() - begun)
    return best[1] / best[0]


class Linear(nn.Linear):
    """A linear layer, (..., in) to (..., out), with products in bfloat16 if enabled."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output."""
        if not _rounded or x.is_cuda:
            return super().forward(x)
        y: Tensor = _Rounding.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return y


class _Rounding(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(_rows(x), weight.T, bias).view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        rows = _rows(gradient)
        return _product(rows, weight).view_as(x), _product(rows.T, _rows(x)), rows.sum(0)


def _rows(x: Tensor) -> Tensor:
    return x.reshape(-1, x.shape[-1])


def _product(one: Tensor, other: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the product of two float32 matrices, computed in bfloat16, and a bias if given."""
    if not _has_amx():  # precision "medium" has an effect only with AMX
        product = one.bfloat16() @ other.bfloat16()
        return product.float() if bias is None else product + bias
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        return one @ other if bias is None else torch.addmm(bias, one, other)
    finally:
        torch.set_float32_matmul_precision(before)


@lru_cache(maxsize=1)
def _has_amx() -> bool:
    return bool(_capabilities().get("amx_bf16"))


def _capabilities() -> Mapping[str, Any]:
    """Return a mapping from PyTorch's name of a capability to whether this CPU has it."""
    if hasattr(torch.cpu, "get_capabilities"):
        return dict(torch.cpu.get_capabilities())
    # PyTorch before 2.11 reports only this capability.
    return {"avx512_bf16": torch.cpu._is_avx512_bf16_supported()}
