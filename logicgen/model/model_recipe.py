"""Model recipes: a TOML file that, with a data set, fully determines a model.

One table, `[network]`, says by its `kind` which of six networks a model has (`network_tables.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import model_validator

from logicgen import recipes
from logicgen.errors import nearest
from logicgen.model.network_tables import Network
from logicgen.model.recipe_tables import EmbeddingTable, LossTable, RewardTable, TrainingTable
from logicgen.recipes import Table, changed, read_toml, validate

KINDS = [
    "encoder-decoder",
    "symbol-invariant",
    "language-model",
    "inductive",
    "n-gram",
    "text-n-gram",
]


class ModelRecipe(Table):
    """Everything that determines a model, but its data.

    Attributes:
        canonical: whether problems are renamed in order of first occurrence, and answers back.
    """

    description: str = ""
    canonical: bool = False
    network: Network
    embedding: EmbeddingTable | None = None
    loss: LossTable | None = None
    training: TrainingTable | None = None
    reward: RewardTable | None = None

    @property
    def kind(self) -> str:
        """Return which of the six kinds of networks the model has."""
        return self.network.kind

    @property
    def learns(self) -> str:
        """Return what the model is trained on (`training.learn`)."""
        return (self.training and self.training.learn) or "answers"

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, tables: Any) -> Any:
        """Check `network.kind`, and add the defaults that depend on other keys."""
        if not isinstance(tables, Mapping):
            return tables
        network, embedding, training = (
            table if isinstance(table := tables.get(name), Mapping) else {}
            for name in ("network", "embedding", "training")
        )
        kind = network.get("kind")
        if isinstance(kind, str) and kind not in KINDS:
            raise ValueError(f"network.kind: {kind!r} is unknown; {nearest(kind, KINDS)}")
        new = dict(tables)
        if training.get("learn") == "accepted":
            new.setdefault("reward", {})
        if kind == "symbol-invariant" and embedding:
            new["embedding"] = {"method": "symbol-invariant", **embedding}
        if kind in ("language-model", "inductive") and training:
            new["training"] = {"learn": "answers", **training}
        return new

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self.network.check(self)
        return self

    def learning(self, learn: str) -> ModelRecipe:
        """Return the recipe with another `training.learn`. Raises LogicgenError if it cannot."""
        tables = self.model_dump(exclude_none=True)
        tables["training"] = {**tables.get("training", {}), "learn": learn}
        if learn != "accepted":
            tables.pop("reward", None)
        return validate(ModelRecipe, tables, "--learn", "recipe")

    def with_steps(self, steps: int) -> ModelRecipe:
        """Return the recipe with another number of training steps, where it has one."""
        if self.training is None:
            return self
        training = self.training.model_copy(update={"steps": steps})
        return self.model_copy(update={"training": training})


def read_model_recipe(name: str, changes: Mapping[str, Any] | None = None) -> ModelRecipe:
    """Return the model recipe called `name`, a shipped one or the path of a TOML file.

    changes: values to use instead of the file's, by dotted key.
    Raises LogicgenError, in one line that names file, key and what is allowed.
    """
    path = recipes.find("models", ".toml", name)
    return validate(ModelRecipe, changed(read_toml(path), changes or {}, str(path)), str(path))


def is_trained_in_steps(name: str) -> bool:
    """Return whether the recipe called `name` has a seed to train with: n-grams are counted."""
    network = read_toml(recipes.find("models", ".toml", name)).get("network")
    kind = network.get("kind") if isinstance(network, Mapping) else None
    return kind not in ("n-gram", "text-n-gram")
