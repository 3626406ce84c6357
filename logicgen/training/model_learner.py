"""A model that learns from stored examples, as the loop wants it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from logicgen.model.batches import Rank
from logicgen.model.model import AnyData, Model
from logicgen.model.recipe import TrainingTable
from logicgen.training.learner import Learner
from logicgen.training.optimizer import make_optimizer
from logicgen.training.schedule import Schedule


class ModelLearner(Learner):
    """A model with its training data, as the loop wants them."""

    ahead = True

    def __init__(self, model: Model, data: AnyData) -> None:
        assert model.recipe.training is not None
        self.module, self.model, self.data = model, model, data
        self.table: TrainingTable = model.recipe.training
        self.schedule = Schedule.of(self.table)
        self.seed = self.table.seed
        self.gradient_clip = self.table.gradient_clip
        self.log_every = self.table.log_every

    def optimizer(self) -> torch.optim.Optimizer:
        """Return a new optimizer of the weights."""
        return make_optimizer(self.model, self.table)

    def batches(self, step: int) -> Iterator[Any]:
        """Yield the batches from a step on, without end."""
        return self.model.batches(self.data, step)

    def shared(self, batch: Any, rank: Rank) -> Any:
        """Return what one of several devices learns from a batch."""
        return self.model.shared(batch, rank)

    def loss(
        self, batch: Any, generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch and, where it is measured, what is logged."""
        return self.model.training_loss(batch, generator, measured)

    def validation_batches(self) -> list[Any]:
        """Return the held-out batches; none where nothing is held out."""
        return [] if self.data.validation is None else self.model.validation_batches(self.data)

    def validate(self, batch: Any) -> dict[str, Tensor]:
        """Return what is logged of a held-out batch."""
        return self.model.validate(batch, self.data)
