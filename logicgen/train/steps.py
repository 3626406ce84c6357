"""What the fitting of every kind of model has in common: optimizer, learning rate, seeds of a step.

A step is a pure function of its number: so is everything here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from torch import nn

from logicgen.model.model_recipe import TrainingTable
from logicgen.train.optimizer import make_optimizer


class Steps(pl.LightningModule):
    """Gradient steps on a model, at the rate and with the optimizer of its recipe."""

    def __init__(self, model: nn.Module, table: TrainingTable) -> None:
        super().__init__()
        self.model = model
        self.training_table = table

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return make_optimizer(self.model, self.training_table)

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Lightning's own refuses a fused optimizer in bf16, for the sake of fp16's scaler."""
        torch.nn.utils.clip_grad_norm_(self.parameters(), self.training_table.gradient_clip)

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        rate = learning_rate(self.training_table, batch.step)
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = rate


class Stream:
    """Batches from a step on, as the iterable without length that Lightning calls a loader."""

    def __init__(self, starting_at: Callable[[int], Iterator[Any]], first_step: int) -> None:
        self.starting_at = starting_at
        self.first_step = first_step

    def __iter__(self) -> Iterator[Any]:
        return self.starting_at(self.first_step)


def step_seeds(seed: int, step: int) -> tuple[int, int]:
    """Two unrelated seeds for a step: of the embedding's rows, and of dropout."""
    rows, dropout = np.random.SeedSequence((seed, step)).generate_state(2, np.uint64) >> 1
    return int(rows), int(dropout)


def learning_rate(table: TrainingTable, step: int) -> float:
    """The rate at step `step` (from 0)."""
    warmup = table.warmup_steps
    if step < warmup:
        return table.learning_rate * (step + 1) / warmup
    if table.schedule == "cosine":
        progress = (step - warmup) / max(1, table.steps - warmup)
        falling = (1 + math.cos(math.pi * min(1.0, progress))) / 2
        return table.final_rate + (table.learning_rate - table.final_rate) * falling
    if table.schedule == "inverse-sqrt":
        return table.learning_rate * math.sqrt(max(1, warmup) / (step + 1))
    return table.learning_rate
