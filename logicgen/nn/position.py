"""Where a token stands: sinusoidal positions (added to inputs), rotary positions (in attention)."""

from __future__ import annotations

import torch
from torch import Tensor


def _angles(start: int, length: int, width: int, device: torch.device) -> Tensor:
    """Angle of each position `start..start+length-1` at each of width/2 frequencies."""
    positions = torch.arange(start, start + length, device=device, dtype=torch.float32)
    exponents = torch.arange(0, width, 2, device=device, dtype=torch.float32) / width
    return positions[:, None] * 10_000.0**-exponents  # (length, width / 2)


def sinusoidal(start: int, length: int, width: int, device: torch.device) -> Tensor:
    """Vectors to add to the inputs (Vaswani et al. 2017); sines, then cosines; (length, width)."""
    angles = _angles(start, length, width, device)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)  # (length, width)


def rotate(x: Tensor, start: int) -> Tensor:
    """Turn queries or keys by their position (Su et al. 2021): products see differences only.

    x: (B, H, T, D), D even, its first token at position `start`; returns the same shape.
    """
    angles = _angles(start, x.shape[-2], x.shape[-1], x.device)  # (T, D / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    left, right = x.chunk(2, dim=-1)  # 2 x (B, H, T, D / 2)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)
