"""What a model is fitted to: the encoded splits of a data set, and what identifies them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from logicgen.data.dataset import Dataset
from logicgen.data.encoded import EncodedSplit
from logicgen.errors import LogicgenError
from logicgen.vocabulary import Vocabulary

# What a model's card says of its data beside their fingerprint.
FOLLOWING = ("alphabet", "region")


@dataclass(frozen=True)
class TrainingRegion:
    """What training problems are like.

    symbols, length: inclusive ranges.
    tokens: the fixed tokens that occur; not known if empty.
    """

    symbols: tuple[int, int]
    length: tuple[int, int]
    tokens: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingData:
    """Training and validation examples; `fingerprint` is of all bytes of the data set."""

    train: EncodedSplit
    validation: EncodedSplit | None
    vocabulary: Vocabulary
    task_name: str
    fingerprint: str
    region: TrainingRegion


def training_data(dataset: Dataset) -> TrainingData:
    """The training part of a data set. Raises LogicgenError where it has none."""
    if not dataset.splits.get("train"):
        raise LogicgenError(f"{dataset.folder}: has no training examples: nothing to train on")
    region = dataset.recipe.region
    train = dataset.encoded("train")
    fixed = dataset.vocabulary.fixed
    occur = np.bincount(train.problems.ids, minlength=len(fixed))
    tokens = tuple(token for number, token in enumerate(fixed) if occur[number])
    return TrainingData(
        train=train,
        validation=dataset.encoded("validation") if dataset.splits.get("validation") else None,
        vocabulary=dataset.vocabulary,
        task_name=dataset.task.name,
        fingerprint=dataset.fingerprint,
        region=TrainingRegion(region.symbols, region.length, tokens),
    )
