"""What a model is fitted to: the encoded splits of a data set, and what identifies them."""

from __future__ import annotations

from dataclasses import dataclass

from logicgen.data.dataset import Dataset
from logicgen.data.encoded import EncodedSplit
from logicgen.errors import LogicgenError
from logicgen.vocabulary import Vocabulary


@dataclass(frozen=True)
class TrainingRegion:
    """Inclusive ranges of symbols and length that training problems come from."""

    symbols: tuple[int, int]
    length: tuple[int, int]


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
    return TrainingData(
        train=dataset.encoded("train"),
        validation=dataset.encoded("validation") if dataset.splits.get("validation") else None,
        vocabulary=dataset.vocabulary,
        task_name=dataset.task.name,
        fingerprint=dataset.fingerprint,
        region=TrainingRegion(region.symbols, region.length),
    )
