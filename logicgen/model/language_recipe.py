"""Recipes for language models: like those of other models, but with a `[network]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from logicgen import shipped
from logicgen.declaration import changed, read_toml, validate
from logicgen.model.model_recipe import Count, ModelRecipe, TrainingTable


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RowsTable(_Table):
    """Which row stands for which token (`logicgen/nn/token_rows.py`).

    Attributes:
        share: of the tokens that a partial method randomises, on average.
    """

    method: Literal["learned", "lexinvariant", "partial-rows", "partial-names"]
    share: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _has_its_share(self) -> Self:
        if self.method.startswith("partial") != (self.share is not None):
            needs = "needs a share" if self.share is None else "has no share: leave the key out"
            raise ValueError(f"method {self.method!r} {needs}")
        return self


class TransformerTable(_Table):
    """A decoder-only Transformer (`logicgen/nn/language_model.py`)."""

    kind: Literal["transformer"]
    width: Annotated[int, Field(ge=2, multiple_of=2)]
    heads: Count
    layers: Count
    feed_forward: Count  # width of the hidden layer
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    positions: Literal["relative", "rotary", "sinusoidal", "none"] = "relative"
    cache: bool = False  # what followed where features were alike is a prediction, too


class ElmanTable(_Table):
    """A simple recurrent network."""

    kind: Literal["elman"]
    width: Count
    layers: Count = 1
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0


class InductiveTable(_Table):
    """An inductive Transformer, for sentences of a grammar (`logicgen/nn/inductive_transformer.py`).

    Attributes:
        layers: one for each word of a sentence.
        width: units of a layer.
        starts: so many are trained side by side from other random weights; the one with the least
            loss, crispness included, predicts.
        crispness: how much it adds to the loss, per nat, that a word does not tell its unit.
        embedding, dimension, perceptron: as of `InductiveTransformer`.
    """

    kind: Literal["inductive"]
    layers: Count
    width: Count
    starts: Count = 1
    crispness: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    embedding: Literal["indicator", "dense"] = "indicator"
    dimension: Count | None = None
    perceptron: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _has_its_dimension(self) -> Self:
        if (self.embedding == "dense") != (self.dimension is not None):
            raise ValueError("dimension goes with embedding = 'dense', and only with it")
        return self


class NGramTable(_Table):
    """Counts of n tokens, smoothed (`logicgen/model/ngram.py`). It has no other tables."""

    kind: Literal["n-gram"]
    order: Annotated[int, Field(ge=1, le=20)]


class LanguageTraining(TrainingTable):
    """`[training]`.

    Attributes:
        context: tokens of a sequence, at most.
        learn: of a task's examples, the `answers` alone or `everything`: where problems repeat
            themselves, that says more.
    """

    context: Annotated[int, Field(ge=2)]
    learn: Literal["answers", "everything"] = "answers"


class LanguageRecipe(_Table):
    """All of a language model but its tokens, which come from the data."""

    description: str = ""
    network: Annotated[
        TransformerTable | ElmanTable | InductiveTable | NGramTable, Field(discriminator="kind")
    ]
    embedding: RowsTable | None = None
    training: LanguageTraining | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        counted = isinstance(self.network, NGramTable)
        useless = {"embedding": (NGramTable, InductiveTable), "training": (NGramTable,)}
        for key, kinds in useless.items():
            none = isinstance(self.network, kinds)
            if none != (getattr(self, key) is None):
                who = "n-grams" if counted else "an inductive Transformer"
                says = f"is of no use to {who}: leave it out" if none else "is missing"
                raise ValueError(f"[{key}] {says}")
        if isinstance(self.network, InductiveTable) and self.training is not None:
            wanted = self.network.layers + 1
            if self.training.context < wanted:
                raise ValueError(
                    f"training.context: {self.training.context}, but <start> and the words of"
                    f" network.layers = {self.network.layers} are {wanted} tokens"
                )
        linear = isinstance(self.network, TransformerTable)
        if not linear and self.training is not None and self.training.optimizer == "muon":
            raise ValueError(
                "training.optimizer: 'muon' is for the linear layers of a Transformer; use 'adamw'"
            )
        if isinstance(self.network, TransformerTable):
            width, heads = self.network.width, self.network.heads
            if width % heads:
                raise ValueError(f"network.heads: {heads} does not divide network.width, {width}")
            if self.network.positions == "rotary" and width // heads % 2:
                raise ValueError(
                    f"network.heads: rotary positions need an even width per head, not"
                    f" {width}/{heads}"
                )
        return self

    def with_steps(self, steps: int) -> LanguageRecipe:
        """The same recipe with another number of training steps."""
        if self.training is None:
            return self
        training = self.training.model_copy(update={"steps": steps})
        return self.model_copy(update={"training": training})


def read_any_recipe(
    name: str, changes: Mapping[str, Any] | None = None
) -> ModelRecipe | LanguageRecipe:
    """The recipe called `name`, of either kind: that with a `[network]` is for a language model.

    changes: values to use instead of the file's, by dotted key.
    Raises LogicgenError, in one line that names file, key and what is allowed.
    """
    path = shipped.find("models", ".toml", name)
    tables = changed(read_toml(path), changes or {}, str(path))
    if "network" in tables:
        return validate(LanguageRecipe, tables, str(path))
    return validate(ModelRecipe, tables, str(path))


def is_trained_in_steps(name: str) -> bool:
    """Whether the recipe called `name` has a seed to train with: n-grams are counted."""
    tables = read_toml(shipped.find("models", ".toml", name))
    return dict(tables.get("network", {})).get("kind") != "n-gram"
