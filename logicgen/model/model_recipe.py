"""Model recipes: a TOML file that, with a data set, fully determines a model.

One table, `[network]`, says by its `kind` which of six networks a model has (`network_tables.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import model_validator

from logicgen import recipes
from logicgen.model.network_tables import Network
from logicgen.model.recipe_tables import EmbeddingTable, LossTable, RewardTable, TrainingTable
from logicgen.model.upgrade import upgraded
from logicgen.recipes import Table, changed, read_toml, validate


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
    def _upgraded(cls, tables: Any) -> Any:
        if not isinstance(tables, Mapping):
            return tables
        tables, training = upgraded(tables), tables.get("training")
        if isinstance(training, Mapping) and training.get("learn") == "accepted":
            tables = {"reward": {}, **tables}
        return tables

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

    @property
    def as_compared(self) -> ModelRecipe:
        """Return the recipe as it is compared with stored recipes: `auto` becomes `bf16`.

        Shipped recipes contained `bf16` where they now contain `auto`. Runs and records with either
        belong to the same recipe.
        """
        if self.training is None or self.training.precision != "auto":
            return self
        training = self.training.model_copy(update={"precision": "bf16"})
        return self.model_copy(update={"training": training})

    def with_steps(self, steps: int) -> ModelRecipe:
        """Return the recipe with another number of training steps, where it has one."""
        if self.training is None:
            return self
        training = self.training.model_copy(update={"steps": steps})
        return self.model_copy(update={"training": training})


def read_model_recipe(name: str, changes: Mapping[str, Any] | None = None) -> ModelRecipe:
    """Return the model recipe called `name`, a shipped one or the path of a TOML file.

    changes: values to use instead of the file's, by dotted key. `model.` and `streams.`, tables of
        earlier versions, mean `network.`.
    Raises LogicgenError, in one line that names file, key and what is allowed.
    """
    path = recipes.find("models", ".toml", name)
    tables = _tables(path)
    renamed = {
        f"network.{key.partition('.')[2]}" if key.startswith(("model.", "streams.")) else key: value
        for key, value in (changes or {}).items()
    }
    return validate(ModelRecipe, changed(tables, renamed, str(path)), str(path))


def is_trained_in_steps(name: str) -> bool:
    """Return whether the recipe called `name` has a seed to train with: n-grams are counted."""
    network = dict(_tables(recipes.find("models", ".toml", name)).get("network", {}))
    return network.get("kind") not in ("n-gram", "text-n-gram")


def _tables(path: Path) -> dict[str, Any]:
    """Return a file's tables as this version writes them, so that dotted keys have one meaning."""
    tables = read_toml(path)
    try:
        return upgraded(tables)
    except (ValueError, TypeError):
        return tables  # what is wrong is said when it is validated
