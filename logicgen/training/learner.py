"""Learners, which the training loop trains: weights, batches, a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from logicgen.model.batches import Rank
from logicgen.model.model import AnyData, Model
from logicgen.model.recipe_tables import TrainingTable
from logicgen.training.optimizer import Schedule, make_optimizer


class Learner(ABC):
    """Everything that the training loop needs to know of what it trains.

    Attributes:
        module: whose weights are trained.
        seed: of all that is drawn in a step beside the batch.
        gradient_clip: largest norm of a gradient; None for no limit.
        log_every: steps between two that are logged.
        ahead: whether batches may be made before the steps that come first are done.
    """

    module: nn.Module
    schedule: Schedule
    seed: int
    gradient_clip: float | None = None
    log_every: int
    ahead: bool = False

    @abstractmethod
    def optimizer(self) -> torch.optim.Optimizer:
        """Return a new optimizer of the weights."""

    @abstractmethod
    def batches(self, step: int) -> Iterator[Any]:
        """Yield the batches from a step on, without end."""

    def shared(self, batch: Any, rank: Rank) -> Any:
        """Return what one of several devices learns from a batch, as its `share` says.

        Raises NotImplementedError of a learner that needs all of it.
        """
        raise NotImplementedError

    @abstractmethod
    def loss(
        self, batch: Any, generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch and, where it is measured, what is logged."""

    def validation_batches(self) -> list[Any]:
        """Return the held-out batches; none where nothing is held out."""
        return []

    def validate(self, batch: Any) -> dict[str, Tensor]:
        """Return what is logged of a held-out batch."""
        return {}


class ModelLearner(Learner):
    """A model with its training data, which are stored examples."""

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
        return make_optimizer(self.model, self.table)

    def batches(self, step: int) -> Iterator[Any]:
        return self.model.batches(self.data, step)

    def shared(self, batch: Any, rank: Rank) -> Any:
        return self.model.shared(batch, rank)

    def loss(
        self, batch: Any, generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        return self.model.training_loss(batch, generator, measured)

    def validation_batches(self) -> list[Any]:
        return [] if self.data.validation is None else self.model.validation_batches(self.data)

    def validate(self, batch: Any) -> dict[str, Tensor]:
        return self.model.validate(batch, self.data)
