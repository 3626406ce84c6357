"""A language model made from a recipe: its tokens, its network, and what they are for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.sequences import (
    ExampleSequences,
    Sequences,
    corpus_sequences,
    example_tokens,
    longest_example,
)
from logicgen.errors import LogicgenError
from logicgen.model.inductive import InductiveLanguage
from logicgen.model.language_recipe import (
    ElmanTable,
    InductiveTable,
    LanguageRecipe,
    NGramTable,
    TransformerTable,
)
from logicgen.model.ngram import NGram
from logicgen.model.training_data import FOLLOWING, TrainingRegion
from logicgen.nn.language_model import CausalTransformer, Elman, LanguageModel
from logicgen.nn.token_rows import TokenRows
from logicgen.tasks.determined import Determined
from logicgen.tokens import Tokens


@dataclass(frozen=True)
class LanguageData:
    """Training and validation sequences; `fingerprint` is of all bytes of the data."""

    train: Sequences
    validation: Sequences | None
    tokens: Tokens
    task_name: str
    fingerprint: str
    region: TrainingRegion | None = None  # where the sequences are a task's examples


def language_data(
    data: Corpus | Dataset, everything: bool = False, context: int | None = None
) -> LanguageData:
    """What a language model is trained on. LogicgenError where there is nothing to train on.

    everything: of a task's examples, not the answers alone.
    context: tokens that a sequence may have; examples have to fit.
    """
    if not data.splits.get("train"):
        raise LogicgenError(f"{data.folder}: has no training part: nothing to train on")
    held_out = bool(data.splits.get("validation"))
    if isinstance(data, Corpus):
        return LanguageData(
            corpus_sequences(data, "train"),
            corpus_sequences(data, "validation") if held_out else None,
            data.tokens,
            data.recipe.task,
            data.fingerprint,
        )
    if not isinstance(data.task, Determined):
        raise LogicgenError(
            f"{data.folder}: holds problems of {data.task.name}; language models are trained on a"
            " corpus, or on problems of lookup or permutation"
        )
    train, region = data.encoded("train"), data.recipe.region
    if context is not None and (longest := longest_example(train)) > context:
        raise LogicgenError(
            f"training.context: {context} tokens, but problems with their answers have up to"
            f" {longest}: raise it"
        )
    return LanguageData(
        ExampleSequences(train, everything),
        ExampleSequences(data.encoded("validation"), everything) if held_out else None,
        example_tokens(data.vocabulary, max(train.alphabet, region.symbols[1])),
        data.task.name,
        data.fingerprint,
        TrainingRegion(region.symbols, region.length),
    )


class Language(nn.Module):
    """A recipe's network for one list of tokens. New weights come from torch's global generator.

    Attributes:
        task_name: of the data it is trained on.
        region: of the problems it is trained on, where they are a task's examples.
    """

    def __init__(
        self,
        recipe: LanguageRecipe,
        tokens: Tokens,
        task_name: str,
        region: TrainingRegion | None = None,
    ) -> None:
        super().__init__()
        self.region = region
        self.recipe, self.tokens, self.task_name = recipe, tokens, task_name
        self.network: LanguageModel | InductiveLanguage | NGram
        table = recipe.network
        if isinstance(table, NGramTable):
            self.network = NGram(table.order, len(tokens))
            return
        if isinstance(table, InductiveTable):
            self.network = InductiveLanguage(table, tokens)
            return
        assert recipe.embedding is not None
        rows = TokenRows(
            recipe.embedding.method, len(tokens), table.width, recipe.embedding.share or 0.0
        )
        options = table.model_dump(exclude={"kind", "cache"})
        made = Elman(**options) if isinstance(table, ElmanTable) else CausalTransformer(**options)
        cache = isinstance(table, TransformerTable) and table.cache
        self.network = LanguageModel(rows, made, table.width, cache)

    @property
    def random(self) -> bool:
        """Whether what it predicts depends on rows that are drawn."""
        return isinstance(self.network, LanguageModel) and self.network.rows.random

    @property
    def device(self) -> torch.device:
        return next(iter([*self.parameters(), *self.buffers()])).device

    def check(self, count: int) -> None:
        """Raise LogicgenError where it cannot be used with so many tokens."""
        if count != len(self.tokens) and not self.random:
            embedding, kind = self.recipe.embedding, self.recipe.network.kind
            method = embedding.method if embedding else kind
            raise LogicgenError(
                f"{count} tokens are asked for, but the model knows {len(self.tokens)} and is"
                f" {method}: only a lexinvariant one takes any number"
            )

    @torch.no_grad()
    def log_probabilities(
        self, tokens: Tensor, seeds: Sequence[int] | None = None, count: int | None = None
    ) -> Tensor:
        """Of the token after each of (B, T), in nats: (B, T, V).

        seeds: of the rows of each sequence, where they are drawn; 0 to B - 1 if not given.
        count: V, where it is not that of training. Raises LogicgenError where rows are trained.
        """
        self.check(count or len(self.tokens))
        tokens = tokens.to(self.device)
        if not isinstance(self.network, LanguageModel):
            return self.network.log_probabilities(tokens)
        rows = self.network.rows.seeded(seeds or range(len(tokens)), count)
        return self.network.log_probabilities(tokens, rows)

    def card(self) -> dict[str, Any]:
        """What its checkpoint says of it, as JSON has it."""
        return {
            "kind": "language-model",
            "recipe": self.recipe.model_dump(exclude_none=True),
            "tokens": self.tokens.as_dict(),
            "task": self.task_name,
            "region": None if self.region is None else asdict(self.region),
        }

    def identity(self) -> dict[str, Any]:
        """What of its card has to be the same when a training is resumed; the rest follows."""
        return {key: value for key, value in self.card().items() if key not in FOLLOWING}

    @staticmethod
    def of_card(card: dict[str, Any]) -> Language:
        """A model as `card` says, with new weights."""
        recipe = LanguageRecipe.model_validate(card["recipe"])
        region = None
        if card["region"] is not None:
            region = TrainingRegion(**{name: tuple(each) for name, each in card["region"].items()})
        return Language(recipe, Tokens(**card["tokens"]), card["task"], region)
