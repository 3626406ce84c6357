"""A tiny copying task made in memory, and a recipe that learns it in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from logicgen.data.dataset import Dataset, EncodedSplit, Ragged
from logicgen.data.opening import load_dataset
from logicgen.model.recipe import ModelRecipe
from logicgen.model.training_data import TrainingData, TrainingRegion
from logicgen.tokens import Vocabulary
from logicgen.training.fit import fit, training_data
from tests.data.data_sets import make


def copying(count: int, symbols: int, length: int, seed: int) -> EncodedSplit:
    """Strings of 1..length tokens over at most `symbols` symbols, answered by themselves."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, length + 1, count)
    ids = rng.integers(0, symbols, int(lengths.sum())).astype(np.int32) + 3
    strings = Ragged(ids, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    return EncodedSplit(
        Vocabulary([]), strings, strings, lengths, lengths.astype(np.int32), alphabet=symbols
    )


REGION = TrainingRegion((1, 5), (1, 6))


def made(train: EncodedSplit, validation: EncodedSplit | None) -> TrainingData:
    return TrainingData(train, validation, train.vocabulary, "copying", "0123456789abcdef", REGION)


@pytest.fixture
def data() -> TrainingData:
    return made(copying(400, 5, 6, 0), copying(40, 5, 6, 1))


TABLES = {
    "embedding": {
        "method": "interchangeable",
        "random_part": "neighbouring-points",
        "random_width": 16,
        "normalize_parts": True,
        "normalize_rows": True,
    },
    "network": {
        "kind": "encoder-decoder",
        "width": 32,
        "heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "feed_forward": 32,
        "dropout": 0.1,
        "encoder_positions": "sinusoidal",
        "decoder_positions": "rotary",
        "normalize_features": True,
    },
    "loss": {"method": "adacos"},
    "training": {
        "steps": 30,
        "batch_size": 16,
        "learning_rate": 3e-3,
        "warmup_steps": 5,
        "schedule": "cosine",
        "log_every": 1,
        "checkpoint_every": 7,
        "validate_every": 10,
    },
}


def recipe_with(**changes: Any) -> ModelRecipe:
    """The recipe above with some keys of some tables changed, and other keys of its own."""
    tables = {name: {**table, **changes.pop(name, {})} for name, table in TABLES.items()}
    if tables["embedding"]["method"] == "symbol-invariant":
        tables["network"]["kind"] = "symbol-invariant"
    return ModelRecipe.model_validate({**tables, **changes})


class Learnt(NamedTuple):
    """A data set, and the run of a model that has learnt a little from it."""

    data: Dataset
    run: Path


SIZES = {
    "sizes": {"train": 1200, "validation": 60, "test": 60},
    "grid": {"symbols": [1, 5], "length": [1, 12], "per_cell": 6},
}


@pytest.fixture(scope="session")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Learnt:
    """Train a small model on formulas of up to three symbols; it is sometimes right."""
    folder = tmp_path_factory.mktemp("learnt")
    make(folder / "data", SIZES)
    data = load_dataset(folder / "data")
    training = {"steps": 120, "batch_size": 32, "validate_every": 200, "checkpoint_every": 200}
    recipe = recipe_with(training=training)
    return Learnt(data, fit(recipe, training_data(recipe, data), folder / "run", quiet=True))
