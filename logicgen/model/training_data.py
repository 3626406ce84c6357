"""The training and validation data of any kind of model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset, EncodedSplit
from logicgen.data.recipe import common_key
from logicgen.errors import LogicgenError
from logicgen.files import text_sha256
from logicgen.model.sequences import Sequences, sequences_of, tokens_of
from logicgen.tokens import Tokens, Vocabulary

# Keys of a model's card that are computed from the data or from rounds of training. Two cards of
# one run may differ in them.
FOLLOWING = ("alphabet", "region", "grown")

Split = TypeVar("Split", EncodedSplit, Sequences)
Known = TypeVar("Known", Vocabulary, Tokens)


@dataclass(frozen=True)
class TrainingRegion:
    """The problems that a model was trained on.

    symbols, length: inclusive ranges.
    tokens: the fixed tokens that occur; empty if they are unknown.
    positions: fewest and most positions of a stored trace; empty for tasks without traces.
    """

    symbols: tuple[int, int]
    length: tuple[int, int]
    tokens: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()

    @property
    def largest(self) -> tuple[int, int]:
        """Return the most symbols and the most tokens of a problem."""
        return self.symbols[1], self.length[1]


@dataclass(frozen=True)
class TrainingData(Generic[Split, Known]):
    """The training and validation splits of data.

    Attributes:
        vocabulary: the tokens of problems and answers, or of sequences.
        fingerprint: digest of all bytes of the data.
        region: ranges of the problems; None for a corpus.
        datasets: the data sets of problems; empty for sequences.
        folders: the folders of the data.
    """

    train: Split
    validation: Split | None
    vocabulary: Known
    task_name: str
    fingerprint: str
    region: TrainingRegion | None = None
    datasets: tuple[Dataset, ...] = ()
    folders: tuple[Path, ...] = ()


ProblemData = TrainingData[EncodedSplit, Vocabulary]
SequenceData = TrainingData[Sequences, Tokens]


def problem_data(dataset: Dataset, *others: Dataset) -> ProblemData:
    """Return the training data of one or several data sets of problems and answers.

    The result has the training examples of all data sets, and the validation examples of the first
    data set. An example is left out if its problem is in a held-out split of another data set.

    Raises LogicgenError if a data set has no training split, or holds problems of another task.
    """
    train = joined_training([dataset, *others])
    regions = [each.recipe.region for each in (dataset, *others)]
    symbols, length = (
        (min(low for low, _ in ranges), max(high for _, high in ranges))
        for ranges in ([each.symbols for each in regions], [each.length for each in regions])
    )
    fixed = dataset.vocabulary.fixed
    tokens = tuple(fixed[number] for number in train.problems.different() if number < len(fixed))
    prints = [each.fingerprint for each in (dataset, *others)]
    return TrainingData(
        train=train,
        validation=dataset.encoded("validation") if dataset.splits.get("validation") else None,
        vocabulary=dataset.vocabulary,
        task_name=dataset.task.name,
        fingerprint=text_sha256("".join(prints))[:16] if others else dataset.fingerprint,
        region=TrainingRegion(symbols, length, tokens, _positions(dataset, train)),
        datasets=(dataset, *others),
        folders=tuple(each.folder for each in (dataset, *others)),
    )


def joined_training(datasets: Sequence[Dataset]) -> EncodedSplit:
    """Return the training examples of data sets, without problems that another one holds out."""
    first = datasets[0]
    key = common_key(each.recipe for each in datasets)
    for dataset in datasets:
        if not dataset.splits.get("train"):
            raise LogicgenError(f"{dataset.folder}: has no training examples: nothing to train on")
        if dataset.task.name != first.task.name:
            raise LogicgenError(
                f"--data {dataset.folder}: holds problems of {dataset.task.name}, and"
                f" {first.folder} holds problems of {first.task.name}: leave one out"
            )
    if len(datasets) == 1:
        return first.encoded("train")
    held = [dataset.held_out(key) for dataset in datasets]
    parts = [
        dataset.encoded("train", key, set[str | int]().union(*held[:place], *held[place + 1 :]))
        for place, dataset in enumerate(datasets)
    ]
    return EncodedSplit.joined(parts, first.vocabulary)


def _positions(dataset: Dataset, train: EncodedSplit) -> tuple[int, ...]:
    """Return the fewest and the most positions of traces in a split; empty if it has no traces."""
    if dataset.task.logic != "ltl":
        return ()
    ids, offsets = train.answers.ids, train.answers.offsets
    ends = np.cumsum(ids == dataset.vocabulary.encode(";")[0], dtype=np.int64)
    before = np.append(0, ends)[offsets]
    counts = np.diff(before)[train.answers.lengths > 0] + 1
    return (int(counts.min()), int(counts.max())) if len(counts) else ()


def sequence_data(
    data: Dataset | Corpus, everything: bool = False, context: int | None = None, shots: int = 0
) -> SequenceData:
    """Return the training sequences of data.

    everything: whether problems are targets, not only answers.
    context: most tokens of a sequence. A task's examples must not be longer.
    shots: most solved problems before a problem.

    Raises LogicgenError if there is no training split, or if examples are too long.
    """
    if not data.splits.get("train"):
        raise LogicgenError(f"{data.folder}: has no training part: nothing to train on")
    train = sequences_of(data, "train", everything, shots)
    region = data.region
    if context is not None and region is not None and (longest := train.longest) > context:
        raise LogicgenError(
            f"training.context: {context} tokens, but"
            f" {f'{shots + 1} problems' if shots else 'problems'} with their answers have up to"
            f" {longest}: raise it{' or lower training.shots' if shots else ''}"
        )
    held_out = bool(data.splits.get("validation"))
    return TrainingData(
        train,
        sequences_of(data, "validation", everything, shots) if held_out else None,
        tokens_of(data),
        data.task_name,
        data.fingerprint,
        None if region is None else TrainingRegion(region.symbols, region.length),
        folders=(data.folder,),
    )
