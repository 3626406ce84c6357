"""Learners: the weights, batches and loss that the training loop uses."""

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
    """The interface between the training loop and a model with its data.

    Attributes:
        module: the module to train.
        seed: seed of all random numbers of a step except the batch.
        gradient_clip: largest norm of a gradient; None for no limit.
        log_every: number of steps between two logged steps.
        ahead: whether batches may be made before earlier steps are done.
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
        """Return one device's part of a batch. `share.weight` of the part scales its loss.

        Raises NotImplementedError if the learner needs the whole batch.
        """
        raise NotImplementedError

    @abstractmethod
    def loss(
        self, batch: Any, generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch, and the logged measures if `measured` is true."""

    def validation_batches(self) -> list[Any]:
        """Return the held-out batches. The list is empty without held-out data."""
        return []

    def validate(self, batch: Any) -> dict[str, Tensor]:
        """Return the logged measures of a held-out batch."""
        return {}


class ModelLearner(Learner):
    """A model that learns from the stored examples of a data set."""

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
