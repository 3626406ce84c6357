"""The one schedule of the learning rate: warm-up, then constant, cosine or inverse square root."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LRScheduler

from logicgen.model.recipe import TrainingTable


@dataclass(frozen=True)
class Schedule:
    """The learning rate as a function of the step.

    Attributes:
        steps: number of all steps.
        peak: learning rate after the warm-up.
        warmup: steps of a linear warm-up.
        final: learning rate that a cosine falls to.
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


class ScheduledRate(LRScheduler):
    """A PyTorch scheduler that sets the learning rate of a `Schedule`, in every group alike."""

    def __init__(self, optimizer: torch.optim.Optimizer, schedule: Schedule) -> None:
        self.schedule = schedule
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:  # type: ignore[override]
        """Return the learning rate of each group at the current step."""
        return [self.schedule.learning_rate(self.last_epoch)] * len(self.optimizer.param_groups)

    def state_dict(self) -> dict[str, Any]:
        """Return the step: everything else follows from the recipe."""
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to a step."""
        self.last_epoch = state_dict["last_epoch"]
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate
        self._last_lr = list(self.get_lr())
