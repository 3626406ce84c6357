"""What Lightning needs to know of a language model; `fit.py` does the rest."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from logicgen.data.sequences import TokenBatch
from logicgen.model.language_model import Language, LanguageData
from logicgen.model.language_recipe import LanguageTraining
from logicgen.model.ngram import NGram
from logicgen.train.steps import Steps, Stream, step_seeds


class LanguageFitting(Steps):
    """The loss of a batch, and the batches."""

    def __init__(self, model: Language, data: LanguageData, first_step: int) -> None:
        assert model.recipe.training is not None
        super().__init__(model, model.recipe.training)
        self.table: LanguageTraining = model.recipe.training
        assert not isinstance(model.network, NGram)
        self.network = model.network
        self.data = data
        self.first_step = first_step

    def train_dataloader(self) -> Stream:
        table = self.table
        return Stream(
            lambda step: self.data.train.batches(table.batch_size, table.context, table.seed, step),
            self.first_step,
        )

    def val_dataloader(self) -> DataLoader[TokenBatch]:
        """Always the same sequences."""
        assert self.data.validation is not None
        batches = self.data.validation.fixed(
            self.table.validation_examples, self.table.context, self.table.batch_size
        )
        return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]

    def training_step(self, batch: TokenBatch, batch_idx: int) -> Tensor:
        rows_seed, dropout_seed = step_seeds(self.table.seed, batch.step)
        torch.manual_seed(dropout_seed)
        generator = torch.Generator().manual_seed(rows_seed)
        loss = self.network.loss(batch.tokens, generator, batch.targets)
        if (batch.step + 1) % self.table.log_every == 0:
            self.log("loss", loss)
        return loss

    def validation_step(self, batch: TokenBatch, batch_idx: int) -> None:
        loss = self.network.loss(batch.tokens, torch.Generator().manual_seed(0), batch.targets)
        self.log("validation_loss", loss, batch_size=len(batch.tokens))
