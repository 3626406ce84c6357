"""Model recipes: a TOML file that, together with a data set, fully determines a model.

`network.kind` selects the class of `[network]`, and `embedding.method` the class of `[embedding]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from logicgen import recipes
from logicgen.errors import nearest
from logicgen.model.network_tables import (
    EncoderDecoderTable,
    NetworkTable,
    SymbolInvariantTable,
    given_keys,
)
from logicgen.model.recipe_tables import Embedding, Form, LossTable, RewardTable, TrainingTable
from logicgen.model.sequence_tables import (
    ElmanTable,
    InductiveTable,
    LanguageModelTable,
    NeuralNGramTable,
    NGramTable,
    TextNGramTable,
    TransformerTable,
)
from logicgen.recipes import Table, changed, read_toml, validate

Network = Annotated[
    EncoderDecoderTable
    | SymbolInvariantTable
    | Annotated[
        TransformerTable | ElmanTable | NeuralNGramTable, Field(discriminator="architecture")
    ]
    | InductiveTable
    | NGramTable
    | TextNGramTable,
    Field(discriminator="kind"),
]

NETWORKS: dict[str, type[NetworkTable]] = {
    "encoder-decoder": EncoderDecoderTable,
    "symbol-invariant": SymbolInvariantTable,
    "language-model": LanguageModelTable,
    "inductive": InductiveTable,
    "n-gram": NGramTable,
    "text-n-gram": TextNGramTable,
}


class ModelRecipe(Table):
    """All settings that determine a model, except its data.

    Attributes:
        canonical: whether symbols are renamed in order of first occurrence before the network reads
            a problem, and renamed back in its answer.
        answer_form: the form in which a model writes an answer (`answer_form.py`); as stored if not
            given.
    """

    description: str = ""
    canonical: bool = False
    answer_form: Form | None = None
    network: Network
    embedding: Embedding | None = None
    loss: LossTable | None = None
    training: TrainingTable | None = None
    reward: RewardTable | None = None

    @property
    def kind(self) -> str:
        """Return the kind of the model (`network.kind`)."""
        return self.network.kind

    @property
    def learns(self) -> str:
        """Return the value of `training.learn`, the target of the training."""
        return (self.training and self.training.learn) or "answers"

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, tables: Any) -> Any:
        """Check `network.kind`, and add the defaults that depend on other keys."""
        if not isinstance(tables, Mapping):
            return tables
        network, training = (
            table if isinstance(table := tables.get(name), Mapping) else {}
            for name in ("network", "training")
        )
        kind, embedding, new = network.get("kind"), tables.get("embedding"), dict(tables)
        if isinstance(kind, str) and kind not in NETWORKS:
            raise ValueError(f"network.kind: {kind!r} is unknown; {nearest(kind, list(NETWORKS))}")
        if kind == "language-model":
            new["network"] = {"architecture": "transformer", **given_keys(network)}
        if kind in ("language-model", "inductive") and training:
            new["training"] = {"learn": "answers", **training}
        if training.get("learn") == "accepted":
            new.setdefault("reward", {})
        if kind == "symbol-invariant" and isinstance(embedding, Mapping):
            embedding = {"method": "symbol-invariant", **embedding}
        if not isinstance(kind, str):
            new.pop("embedding", None)  # report the error of the network first
        elif embedding is not None:
            new["embedding"] = NETWORKS[kind].read_embedding(kind, embedding)
        return new

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self.network.check(self)
        return self

    def learning(self, learn: str, changes: Mapping[str, Any] | None = None) -> ModelRecipe:
        """Return the recipe with another `training.learn`, and with further changes, by dotted key.

        Raises LogicgenError if the kind of model does not support it.
        """
        tables = self.model_dump(exclude_none=True)
        tables["training"] = {**tables.get("training", {}), "learn": learn}
        if learn != "right":
            tables["training"].pop("right_answers", None)
        if learn != "accepted":
            tables.pop("reward", None)
        tables = changed(tables, changes or {}, "--learn")
        return validate(ModelRecipe, tables, "--learn", "recipe")

    def with_steps(self, steps: int) -> ModelRecipe:
        """Return the recipe with another number of steps; unchanged for n-gram models."""
        if self.training is None:
            return self
        training = self.training.model_copy(update={"steps": steps})
        return self.model_copy(update={"training": training})


def read_model_recipe(name: str, changes: Mapping[str, Any] | None = None) -> ModelRecipe:
    """Read a model recipe.

    name: the name of a shipped recipe, or the path of a TOML file.
    changes: values that replace the file's values, by dotted key.

    Raises LogicgenError with one line that names the file, the key and the allowed values.
    """
    path = recipes.find("models", ".toml", name)
    return validate(ModelRecipe, changed(read_toml(path), changes or {}, str(path)), str(path))


def is_trained_in_steps(name: str) -> bool:
    """Return whether a recipe's model is trained in steps. N-gram models count data instead."""
    network = read_toml(recipes.find("models", ".toml", name)).get("network")
    kind = network.get("kind") if isinstance(network, Mapping) else None
    return kind not in ("n-gram", "text-n-gram")
