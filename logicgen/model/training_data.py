"""Training and validation data as a model wants them, and what identifies them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.encoded import EncodedSplit
from logicgen.errors import LogicgenError
from logicgen.model.sequences import Sequences, sequences_of, tokens_of
from logicgen.tokens import Tokens, Vocabulary

# What a model's card says of its data beside their fingerprint.
FOLLOWING = ("alphabet", "region")

Split = TypeVar("Split", EncodedSplit, Sequences)
Known = TypeVar("Known", Vocabulary, Tokens)


@dataclass(frozen=True)
class TrainingRegion:
    """The problems that a model was trained on.

    symbols, length: inclusive ranges.
    tokens: the fixed tokens that occur; not known if empty.
    """

    symbols: tuple[int, int]
    length: tuple[int, int]
    tokens: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingData(Generic[Split, Known]):
    """Training and validation parts of data.

    Attributes:
        vocabulary: the tokens that are known: of problems and answers, or of sequences.
        fingerprint: digest of all bytes of the data.
        region: where problems are from; None where sequences are no problems.
    """

    train: Split
    validation: Split | None
    vocabulary: Known
    task_name: str
    fingerprint: str
    region: TrainingRegion | None = None
    dataset: Dataset | None = None  # whose problems they are; None of sequences
    folder: Path | None = None  # where they are


ProblemData = TrainingData[EncodedSplit, Vocabulary]
SequenceData = TrainingData[Sequences, Tokens]


def problem_data(dataset: Dataset) -> ProblemData:
    """Return the training part of a data set of problems and answers.

    Raises LogicgenError where it has none.
    """
    if not dataset.splits.get("train"):
        raise LogicgenError(f"{dataset.folder}: has no training examples: nothing to train on")
    region = dataset.recipe.region
    train = dataset.encoded("train")
    fixed = dataset.vocabulary.fixed
    tokens = tuple(fixed[number] for number in train.problems.different() if number < len(fixed))
    return TrainingData(
        train=train,
        validation=dataset.encoded("validation") if dataset.splits.get("validation") else None,
        vocabulary=dataset.vocabulary,
        task_name=dataset.task.name,
        fingerprint=dataset.fingerprint,
        region=TrainingRegion(region.symbols, region.length, tokens),
        dataset=dataset,
        folder=dataset.folder,
    )


def sequence_data(
    data: Dataset | Corpus, everything: bool = False, context: int | None = None
) -> SequenceData:
    """Return the training sequences of data. Raises LogicgenError where there are none.

    everything: whether all of a task's examples is learnt, not their answers alone.
    context: most tokens of a sequence; a task's examples have to fit.
    """
    if not data.splits.get("train"):
        raise LogicgenError(f"{data.folder}: has no training part: nothing to train on")
    train = sequences_of(data, "train", everything)
    region = data.region
    if context is not None and region is not None and (longest := train.longest) > context:
        raise LogicgenError(
            f"training.context: {context} tokens, but problems with their answers have up to"
            f" {longest}: raise it"
        )
    held_out = bool(data.splits.get("validation"))
    return TrainingData(
        train,
        sequences_of(data, "validation", everything) if held_out else None,
        tokens_of(data),
        data.task_name,
        data.fingerprint,
        None if region is None else TrainingRegion(region.symbols, region.length),
        folder=data.folder,
    )
