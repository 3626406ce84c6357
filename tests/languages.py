"""Tiny language models for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from logicgen.model.kinds import MODELS
from logicgen.model.language_model import LanguageModel
from logicgen.model.ngrams import NGram
from logicgen.model.recipe import ModelRecipe
from logicgen.tokens import Tokens

TRANSFORMER = {"kind": "language-model", "width": 16, "heads": 2, "layers": 1, "feed_forward": 16}
TRAINING = {
    "context": 12,
    "steps": 3,
    "batch_size": 4,
    "learning_rate": 1e-3,
    "warmup_steps": 1,
    "schedule": "constant",
    "log_every": 1,
    "checkpoint_every": 2,
    "validate_every": 2,
}


def recipe(
    method: str = "lexinvariant", network: dict[str, Any] | None = None, **embedding: Any
) -> ModelRecipe:
    return ModelRecipe.model_validate(
        {
            "network": network or TRANSFORMER,
            "embedding": {"method": method, **embedding},
            "training": TRAINING,
        }
    )


def ngram_recipe(order: int) -> ModelRecipe:
    return ModelRecipe.model_validate({"network": {"kind": "n-gram", "order": order}})


def language_model(recipe: ModelRecipe, *arguments: Any) -> LanguageModel:
    """A new language model of the class of its kind."""
    model = MODELS[recipe.kind](recipe, *arguments)
    assert isinstance(model, LanguageModel)
    return model


def untrained(tokens: Tokens, task: str = "text", method: str = "lexinvariant") -> LanguageModel:
    torch.manual_seed(0)
    return language_model(recipe(method), tokens, task).eval()


def counted(tokens: Tokens, texts: list[str], order: int, task: str = "text") -> LanguageModel:
    """An n-gram model that has seen some texts, each with its end."""
    made = language_model(ngram_recipe(order), tokens, task)
    assert isinstance(made.network, NGram)
    for text in texts:
        ids = np.concatenate([tokens.encode(text), [tokens.end]])
        made.network.count(torch.from_numpy(ids)[None])
    return made.eval()


def characters(texts: list[str], most: int = 100) -> Tokens:
    joined = "".join(texts)
    return Tokens.of_characters({each: joined.count(each) for each in joined}, most)
