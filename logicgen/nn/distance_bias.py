"""Position encodings that change attention scores by the distance of two tokens.

    relative   a learned number for each bucket of distances and head (Raffel et al. 2020)
    alibi      a fixed penalty that grows with the distance (Press et al. 2022)
    fire       a learned function of the distance, relative to the position (Li et al. 2024)

A plugin of the group `logicgen.positions` adds a scheme. It is a class with the interface of
`RelativeBias`.

Shapes: H heads.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.extras import load_plugin, plugins
from logicgen.nn.position import TREE_SCHEMES


class DistanceBias(nn.Module, ABC):
    """A number for each head and distance, added to attention scores.

    If causal, later tokens are masked out. All layers of a stack may share one bias.
    """

    causal: bool

    def forward(self, start: int, queries: int, keys: int) -> Tensor:
        """Return the bias of queries at `start..` and keys at `0..`, (1, H, queries, keys)."""
        device = next(self.buffers()).device
        positions = torch.arange(start, start + queries, device=device)
        ahead = torch.arange(keys, device=device) - positions[:, None]  # (queries, keys)
        bias = self.of(ahead, positions)  # (queries, keys, heads)
        if self.causal:
            bias = bias.masked_fill((ahead > 0)[..., None], -math.inf)
        return bias.permute(2, 0, 1)[None].contiguous()

    @abstractmethod
    def of(self, ahead: Tensor, positions: Tensor) -> Tensor:
        """Return the bias of keys that are `ahead` (queries, keys) of the queries at `positions`.

        The shape is (queries, keys, H).
        """


class RelativeBias(DistanceBias):
    """A learned bias for each head and distance, added to attention scores.

    Source: Raffel et al., "Exploring the Limits of Transfer Learning" (T5, 2020). Half of the
    buckets hold one distance each. The other buckets grow geometrically up to `furthest`, and all
    larger distances share the last bucket. If not causal, half of all buckets are for later tokens.

    gain: factor of the learned numbers. A head that attends to the previous token needs a bias of
        about 5. Adam changes a parameter by about the learning rate per step, so without a gain
        this takes thousands of steps.
    """

    beginnings: Tensor

    all_buckets, furthest = 32, 128

    def __init__(self, width: int, heads: int, *, causal: bool, gain: float = 1.0) -> None:
        super().__init__()
        self.causal, self.gain = causal, gain
        self.bias = nn.Parameter(torch.randn(self.all_buckets, heads) * width**-0.5)
        # The number of buckets for each direction
        self.buckets = self.all_buckets if causal else self.all_buckets // 2
        # The distance at which each bucket except the first begins. Bucket exact + k begins at the
        # least d with log(d / exact) / log(furthest / exact) * rest >= k, computed in integers.
        exact, rest = self.buckets // 2, self.buckets - self.buckets // 2
        beginnings = [*range(1, exact + 1)]
        for k in range(1, rest):
            least = self.furthest**k * exact ** (rest - k)  # lower bound of d ** rest
            later = range(exact, self.furthest + 1)
            beginnings.append(next(d for d in later if d**rest >= least))
        self.register_buffer("beginnings", torch.tensor(beginnings), persistent=False)

    def of(self, ahead: Tensor, positions: Tensor) -> Tensor:
        bucket = torch.bucketize(ahead.abs(), self.beginnings, right=True)  # (queries, keys)
        if not self.causal:
            bucket = bucket + (ahead > 0) * self.buckets
        return F.embedding(bucket, self.bias * self.gain)


class LinearBias(DistanceBias):
    """A penalty that grows with the distance, by another fixed slope for each head (ALiBi).

    Source: Press, Smith, Lewis, "Train Short, Test Long" (ICLR 2022).
    """

    slopes: Tensor

    def __init__(self, width: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slopes", slopes, persistent=False)

    def of(self, ahead: Tensor, positions: Tensor) -> Tensor:
        return -ahead.abs()[..., None] * self.slopes


class FunctionalBias(DistanceBias):
    """A learned function of the distance, relative to the query's position (FIRE).

    The bias at distance d from position i is f(log(c d + 1) / log(c max(L, i) + 1)). The network f
    has a hidden layer; c and L are learned. So longer texts than in training give no new inputs of
    f. Source: Li et al., "Functional Interpolation for Relative Positions Improves Long Context
    Transformers" (ICLR 2024).

    gain: factor of the last layer, as in `RelativeBias`.
    """

    hidden, gain = 32, 16.0
    least: Tensor

    def __init__(self, width: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.steepness = nn.Parameter(torch.tensor(0.1))
        self.threshold = nn.Parameter(torch.tensor(1.0))  # L in units of `least`
        self.register_buffer("least", torch.tensor(64.0), persistent=False)
        self.inner, self.outer = nn.Linear(1, self.hidden), nn.Linear(self.hidden, heads)

    def of(self, ahead: Tensor, positions: Tensor) -> Tensor:
        steep = self.steepness.abs() + 1e-3
        longest = torch.maximum(positions, (self.threshold * self.least).abs())
        share = torch.log1p(steep * ahead.abs()) / torch.log1p(steep * longest)[:, None]
        bias: Tensor = self.outer(self.inner(share[..., None]).relu()) * self.gain
        return bias


BIASES: dict[str, type[DistanceBias]] = {
    "relative": RelativeBias,
    "alibi": LinearBias,
    "fire": FunctionalBias,
}

SCHEMES = ("sinusoidal", "randomized", *TREE_SCHEMES, "rotary", "none")
"""The schemes without a bias for distances."""


def distance_bias(scheme: str, width: int, heads: int, *, causal: bool) -> nn.Module | None:
    """Return a module that computes the scheme's bias, like `RelativeBias`.

    Returns None for a scheme without a bias for distances.
    """
    if scheme in SCHEMES:
        return None
    made = BIASES.get(scheme) or load_plugin(plugins("logicgen.positions")[scheme])
    bias: nn.Module = made(width, heads, causal=causal)
    return bias
