"""Language models, which predict the next token of a sequence, with any kind of network.

Shapes: B sequences, T tokens of a sequence, V tokens of the vocabulary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.solved import SolvedProblems
from logicgen.errors import LogicgenError
from logicgen.model.batches import Rank
from logicgen.model.few_shot import FewShotModel
from logicgen.model.model import Loss, Model
from logicgen.model.prompted import PromptedModel
from logicgen.model.recipe import ModelRecipe
from logicgen.model.sequence_tables import LanguageModelTable, TransformerTable
from logicgen.model.sequences import TokenBatch
from logicgen.model.start import check_same_keys, load_start
from logicgen.model.training_data import SequenceData, TrainingRegion, sequence_data
from logicgen.nn.embedding import reseeded
from logicgen.nn.generation import Reader
from logicgen.nn.language_model import CausalLM, CausalTransformer, Elman, NeuralNGram
from logicgen.nn.token_rows import TokenRows
from logicgen.tasks import Task
from logicgen.tasks.string_task import DeterminedTask
from logicgen.tokens import Tokens, symbol_index


class LanguageModel(Model):
    """A language model: the network of a recipe, for one vocabulary of tokens."""

    noun = "a language model"
    network: Any

    def __init__(
        self,
        recipe: ModelRecipe,
        tokens: Tokens,
        task_name: str,
        region: TrainingRegion | None = None,
    ) -> None:
        super().__init__()
        self.recipe, self.tokens = recipe, tokens
        self.task_name, self.region = task_name, region
        self.network = self._network()

    @abstractmethod
    def _network(self) -> nn.Module:
        """Return the network, with new weights."""

    @property
    def random(self) -> bool:
        """Return whether predictions depend on random embedding rows of each sequence."""
        return False

    @property
    def any_tokens(self) -> bool:
        """Return whether the model accepts any number of tokens: no weight belongs to a token."""
        return False

    # -- construction -------------------------------------------------------------------------

    @classmethod
    def training_data(
        cls, recipe: ModelRecipe, data: Dataset | Corpus, *others: Dataset | Corpus
    ) -> SequenceData:
        if others:
            raise LogicgenError(f"--data: {cls.noun} learns from one data set; give only one")
        if recipe.training is None:
            return sequence_data(data)
        table = recipe.training
        return sequence_data(data, table.learn == "everything", table.context, table.shots or 0)

    @classmethod
    def new(cls, recipe: ModelRecipe, data: SequenceData) -> Self:
        return cls(recipe, data.vocabulary, data.task_name, data.region)

    @classmethod
    def of_card(cls, recipe: ModelRecipe, card: dict[str, Any]) -> Self:
        region = None
        if card["region"] is not None:
            region = TrainingRegion(**{name: tuple(each) for name, each in card["region"].items()})
        return cls(recipe, Tokens(**card["tokens"]), card["task"], region)

    def card(self) -> dict[str, Any]:
        card = super().card()
        return {"recipe": card.pop("recipe"), "tokens": self.tokens.as_dict(), **card}

    # -- training -----------------------------------------------------------------------------

    @property
    def context(self) -> int:
        """Return the number of tokens of a training sequence (256 if the recipe has no context)."""
        table = self.recipe.training
        return 256 if table is None or table.context is None else table.context

    def batches(self, data: SequenceData, step: int) -> Iterator[TokenBatch]:
        assert self.recipe.training is not None
        table = self.recipe.training
        return data.train.batches(table.batch_size, self.context, table.seed, step)

    def validation_batches(self, data: SequenceData) -> list[TokenBatch]:
        assert data.validation is not None
        assert self.recipe.training is not None
        table = self.recipe.training
        return data.validation.fixed(table.validation_examples, self.context, table.batch_size)

    def sequence_loss(self, batch: TokenBatch, generator: torch.Generator) -> Tensor:
        """Return the mean cross-entropy, in nats, of a batch's targets."""
        raise TypeError("n-grams are counted, not trained in steps")

    def training_loss(self, batch: TokenBatch, generator: torch.Generator, measured: bool) -> Loss:
        loss = self.sequence_loss(batch, generator)
        return Loss(loss, {"loss": loss} if measured else {})

    def validate(self, batch: TokenBatch, data: SequenceData) -> dict[str, Tensor]:
        generator = reseeded(torch.Generator().manual_seed(0))
        return {"validation_loss": self.sequence_loss(batch, generator)}

    def start_from(self, trained: LanguageModel, name: str) -> None:
        """Load the weights of a trained language model. Random rows fit any tokens."""
        fixed = len(self.tokens) if not self.any_tokens else self._fixed_tokens()
        if trained.tokens.texts[:fixed] != self.tokens.texts[:fixed] or (
            not self.any_tokens and trained.tokens != self.tokens
        ):
            raise LogicgenError(
                f"{name}: was trained with other tokens, for which it has rows: start from a model"
                " of the same tokens, or from a lexinvariant model"
            )
        check_same_keys(trained.recipe.network, self.recipe.network, ("heads", "positions"), name)
        load_start(self, dict(trained.state_dict()), name)

    # -- use ----------------------------------------------------------------------------------

    def answerer(
        self,
        task: Task,
        called: str,
        votes: int | None = None,
        shots: int | None = None,
        data: Dataset | None = None,
    ) -> PromptedModel | FewShotModel:
        """Return an answerer that uses the problems of a task as prompts."""
        if isinstance(task, DeterminedTask):
            if shots is not None:
                raise LogicgenError(
                    f"--shots: problems of {task.name} show their own examples: leave it out"
                )
            return PromptedModel(self, task, votes or 1)
        if shots is None and self.recipe.training is not None:
            shots = self.recipe.training.shots
        solved = SolvedProblems(data, shots) if data is not None and shots else None
        return FewShotModel(self, task, called, votes or 1, solved)

    def _fixed_tokens(self) -> int:
        """Return the number of first tokens with stable rows, if other tokens have random rows."""
        return 0

    def check(self, count: int) -> None:
        """Raise LogicgenError if the model cannot be used with a vocabulary of `count` tokens."""
        if count != len(self.tokens) and not self.any_tokens:
            embedding = self.recipe.embedding
            method = embedding.method if embedding else self.recipe.kind
            raise LogicgenError(
                f"{count} tokens are asked for, symbols included, but the model knows"
                f" {len(self.tokens)} and is {method}: only a lexinvariant model takes any number;"
                " give problems with fewer symbols"
            )

    def check_same_tokens(self, corpus: Corpus, called: str) -> None:
        """Raise LogicgenError if a corpus has other tokens.

        called: the model's name in messages.
        """
        if self.tokens != corpus.tokens:
            raise LogicgenError(
                f"the {len(self.tokens)} tokens of {called} ({self.task_name}) are not the"
                f" {len(corpus.tokens)} of {corpus.folder}, or in another order: give a corpus of"
                " the same recipe (for ciphers: the same [corpus.text])"
            )

    def log_probabilities(
        self, tokens: Tensor, seeds: Sequence[int] | None = None, count: int | None = None
    ) -> Tensor:
        """Return the log-probabilities of the token after each of (B, T) tokens, (B, T, V).

        seeds: the seed of each sequence's random rows; 0 to B - 1 if not given.
        count: V, if it differs from training. If the embedding rows are trained, LogicgenError is
            raised.
        """
        self.check(count or len(self.tokens))
        found: Tensor = self.network.log_probabilities(tokens.to(self.device))
        return found

    def cache_share(self, tokens: Tensor, seeds: Sequence[int]) -> Tensor | None:
        """Return the cache's share (B, T) of each prediction; None for a model without a cache.

        seeds: the seed of each sequence's random rows.
        """
        return None

    @abstractmethod
    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader:
        """Return a function that reads texts in parts, one text for each seed.

        seeds, count: see `log_probabilities`.
        """

    def check_hidden(self, layer: int | None, called: str) -> None:
        """Raise LogicgenError if the model has no hidden states after this layer."""
        raise LogicgenError(
            f"{called} is {self.noun}, which has no hidden states to probe: give a Transformer or a"
            " recurrent network"
        )

    def hidden_shape(self) -> tuple[int, int]:
        """Return the number of layers with hidden states, and their width."""
        raise TypeError(f"{self.noun} has no hidden states")

    def hidden_states(self, tokens: np.ndarray, seeds: Sequence[int]) -> list[Tensor]:
        """Return the hidden states after each layer, (B, T, width) each, for (B, T) tokens.

        seeds: the seed of each sequence's random rows.
        """
        raise TypeError(f"{self.noun} has no hidden states")


class NeuralLanguageModel(LanguageModel):
    """A Transformer, a simple recurrent network or a neural n-gram model with token embeddings."""

    network: CausalLM
    several_devices = True

    def _network(self) -> CausalLM:
        table, embedding = self.recipe.network, self.recipe.embedding
        assert embedding is not None
        self.table: LanguageModelTable = table  # type: ignore[assignment]
        options = self.table.model_dump(
            exclude={"kind", "architecture", "cache"}, exclude_none=True
        )
        made = {"transformer": CausalTransformer, "elman": Elman, "neural-n-gram": NeuralNGram}[
            self.table.architecture
        ]
        width = self.table.width
        given = embedding.model_dump(exclude={"method", "random_tokens"}, exclude_none=True)
        fixed = self._fixed_tokens()
        rows = TokenRows(embedding.method, len(self.tokens), width, fixed=fixed, **given)
        cached = isinstance(self.table, TransformerTable) and self.table.cache
        return CausalLM(rows, made(**options), width, cached)

    def _fixed_tokens(self) -> int:
        if getattr(self.recipe.embedding, "random_tokens", None) != "symbols":
            return 0
        if self.region is None:
            raise LogicgenError(
                f"embedding.random_tokens: 'symbols' are tokens of problems, and {self.task_name}"
                " has none: leave it out, or train on problems"
            )
        return sum(symbol_index(text) is None for text in self.tokens.texts)

    @property
    def random(self) -> bool:
        return self.network.rows.random

    @property
    def any_tokens(self) -> bool:
        return self.network.rows.trained is None

    def shared(self, batch: TokenBatch, rank: Rank) -> TokenBatch:
        return batch.shared(rank)

    def sequence_loss(self, batch: TokenBatch, generator: torch.Generator) -> Tensor:
        rows_of = None if batch.share is None else (batch.share.rows, batch.share.whole)
        return self.network.loss(batch.tokens, generator, batch.targets, rows_of)

    @torch.no_grad()
    def log_probabilities(
        self, tokens: Tensor, seeds: Sequence[int] | None = None, count: int | None = None
    ) -> Tensor:
        self.check(count or len(self.tokens))
        rows = self.network.rows.seeded(seeds or range(len(tokens)), count)
        return self.network.log_probabilities(tokens.to(self.device), rows)

    @torch.no_grad()
    def cache_share(self, tokens: Tensor, seeds: Sequence[int]) -> Tensor | None:
        if self.network.cache is None:
            return None
        features = self.network.features(self.network.rows.seeded(seeds), tokens.to(self.device))
        log_share: Tensor = self.network.cache(features)[1]
        return log_share.exp()

    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader:
        self.check(count or len(self.tokens))
        return self.network.reader(self.network.rows.seeded(seeds, count), len(seeds))

    def trained_rows(self, data: SequenceData, called: str) -> tuple[Tensor, np.ndarray]:
        """Return the trained rows as `Model.trained_rows` does.

        All tokens count as symbols, except the tokens with stable rows (`random_tokens`).
        """
        rows = self.network.rows
        if rows.trained is None or rows.random:
            return super().trained_rows(data, called)
        seen = np.zeros(len(self.tokens), dtype=bool)
        for tokens in data.train.once(256, self.context):
            seen[np.unique(tokens[tokens >= 0])] = True
        return rows.trained.symbols.data, seen[rows.fixed :]

    def check_hidden(self, layer: int | None, called: str) -> None:
        if layer is None:
            return
        if self.table.architecture != "transformer":
            elman = self.table.architecture == "elman"
            network = "recurrent" if elman else "a neural n-gram model"
            raise LogicgenError(
                f"layer {layer}: {called} is {network}: leave it out, the last is used"
            )
        if layer not in range(1, self.table.layers + 1):
            raise LogicgenError(f"layer {layer}: {called} has layers 1 to {self.table.layers}")

    def hidden_shape(self) -> tuple[int, int]:
        layers = self.table.layers if self.table.architecture == "transformer" else 1
        return layers, len(self.network.scale)

    @torch.no_grad()
    def hidden_states(self, tokens: np.ndarray, seeds: Sequence[int]) -> list[Tensor]:
        ids = torch.from_numpy(tokens).to(self.device)
        return self.network.each_layer(self.network.rows.seeded(seeds), ids)
