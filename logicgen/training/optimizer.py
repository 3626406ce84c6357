"""The optimizers of training recipes, and the schedule of their learning rate.

    adamw        Loshchilov and Hutter (2019)
    adafactor    Shazeer and Stern (2018), as in Huang et al. (2023)
    muon         Jordan et al. (2024): each update of a matrix is made orthogonal

A model without stable embeddings must learn, in every layer, matrices that preserve any vector:
these are close to multiples of orthogonal matrices. Muon's updates are orthogonal, and in our
trials it needed fewer steps than AdamW. Muon updates the matrices of linear layers only. AdamW
updates all other weights, at the same learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from logicgen.model.recipe_tables import TrainingTable


@dataclass(frozen=True)
class Schedule:
    """The learning rate as a function of the step.

    Attributes:
        steps: number of steps of the training.
        peak: learning rate after the warm-up.
        warmup: steps of a linear warm-up.
        final: final learning rate of a cosine schedule.
    """

    steps: int
    peak: float
    shape: Literal["constant", "cosine", "inverse-sqrt"] = "cosine"
    warmup: int = 0
    final: float = 0.0

    @staticmethod
    def of(table: TrainingTable) -> Schedule:
        """Return the schedule of a recipe."""
        return Schedule(
            table.steps, table.learning_rate, table.schedule, table.warmup_steps, table.final_rate
        )

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        if self.shape == "cosine":
            progress = (step - self.warmup) / max(1, self.steps - self.warmup)
            falling = (1 + math.cos(math.pi * min(1.0, progress))) / 2
            return self.final + (self.peak - self.final) * falling
        if self.shape == "inverse-sqrt":
            return self.peak * math.sqrt(max(1, self.warmup) / (step + 1))
        return self.peak

    def set_rate(self, optimizer: torch.optim.Optimizer, step: int) -> float:
        """Set the learning rate of a step in every group of an optimizer, and return it."""
        rate = self.learning_rate(step)
        for group in optimizer.param_groups:
            group["lr"] = rate
        return rate


def make_optimizer(model: nn.Module, table: TrainingTable) -> torch.optim.Optimizer:
    """Return the optimizer of a recipe for all weights of a model."""
    rate, decay = table.learning_rate, table.weight_decay
    if table.optimizer == "adafactor":
        # Adafactor divides by the number of elements, which is 0 for an empty tensor.
        weights = [each for each in model.parameters() if each.numel()]
        return torch.optim.Adafactor(weights, lr=rate, weight_decay=decay)
    if table.optimizer == "muon":
        return Muon(model, rate, decay, table.betas)
    return torch.optim.AdamW(
        model.parameters(), lr=rate, betas=table.betas, weight_decay=decay, fused=True
    )


class Muon(torch.optim.Optimizer):
    """Muon for the weights of linear layers, AdamW for all other weights, as one optimizer."""

    def __init__(
        self, model: nn.Module, rate: float, decay: float, betas: tuple[float, float]
    ) -> None:
        layers = [each for each in model.modules() if isinstance(each, nn.Linear)]
        matrices = [each.weight for each in layers]
        known = {id(each) for each in matrices}
        others = [each for each in model.parameters() if id(each) not in known and each.numel()]
        self.parts: tuple[torch.optim.Optimizer, ...] = (
            BatchedMuon(matrices, lr=rate, weight_decay=decay),
            torch.optim.AdamW(others, lr=rate, betas=betas, weight_decay=decay, fused=True),
        )
        super().__init__([*matrices, *others], {"lr": rate})
        # Schedules set the learning rate in the groups of both parts.
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step of both optimizers."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Return the state of both optimizers."""
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of both optimizers."""
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self.param_groups = [group for part in self.parts for group in part.param_groups]


class BatchedMuon(torch.optim.Optimizer):
    """PyTorch's Muon with the scale of AdamW's updates, so that both can share a learning rate.

    A step makes the update of each matrix orthogonal by fifteen products of small matrices. PyTorch
    processes one matrix at a time. This class processes all matrices of one shape as one batch. On
    one core a step takes two thirds of the time at width 128, and one third at width 64. The
    updates differ only by rounding in bfloat16.
    """

    def __init__(self, matrices: Iterable[Tensor], lr: float, weight_decay: float) -> None:
        published = {"ns_coefficients": (3.4445, -4.7750, 2.0315), "ns_steps": 5}
        super().__init__(
            matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": 0.95, **published}
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step for all matrices that have a gradient."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            for shape, weights in self._by_shape(group["params"]).items():
                updates = torch.stack([self._update(each, momentum) for each in weights])
                updates = orthogonal(updates, group["ns_coefficients"], group["ns_steps"])
                scaled = updates.float().mul_(-0.2 * rate * max(shape) ** 0.5)
                for weight, update in zip(weights, scaled, strict=True):
                    weight.mul_(1 - rate * group["weight_decay"]).add_(update)
        return loss

    def _update(self, weight: Tensor, momentum: float) -> Tensor:
        """Return the Nesterov update of a matrix, and update its momentum."""
        assert weight.grad is not None
        state = self.state[weight]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(weight.grad)
        mean = state["momentum_buffer"].lerp_(weight.grad, 1 - momentum)
        return weight.grad.lerp(mean, momentum)

    @staticmethod
    def _by_shape(weights: list[Tensor]) -> dict[torch.Size, list[Tensor]]:
        found: dict[torch.Size, list[Tensor]] = {}
        for weight in weights:
            if weight.grad is not None:
                found.setdefault(weight.shape, []).append(weight)
        return found


def orthogonal(matrices: Tensor, coefficients: tuple[float, float, float], steps: int) -> Tensor:
    """Return matrices (n, rows, columns) with all singular values near 1, in bfloat16.

    This is the Newton-Schulz iteration x -> a x + b x (x' x) + c x (x' x)^2, where x' is x
    transposed and a, b, c are the coefficients. With the published coefficients, all singular
    values end between about 0.7 and 1.2 (Jordan et al. 2024). A zero matrix stays zero.
    """
    if matrices.shape[1] < matrices.shape[2]:  # after transposing, x' x is smaller
        return orthogonal(matrices.mT.contiguous(), coefficients, steps).mT
    a, b, c = coefficients
    x = matrices.bfloat16()
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        gram = x.mT @ x  # (n, columns, columns)
        x = torch.baddbmm(x, x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), beta=a)
    return x
