"""The one protocol of a model: what training, saving, scoring and decoding need of any kind.

Each kind of network (`recipe.py`) has one class that implements it:

    encoder-decoder     encoder_decoder.py
    symbol-invariant    symbol_invariant.py
    language-model      language_model.py
    inductive           inductive.py
    n-gram              ngrams.py
    text-n-gram         ngrams.py

Nothing outside asks which class a model has: what a kind cannot do, its method refuses in a
sentence for people.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.model.batches import Rank
from logicgen.model.recipe import ModelRecipe
from logicgen.model.sequences import FOLLOWING, TrainingData, TrainingRegion
from logicgen.nn.decoding import GREEDY, Decoding, GrammarMask

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.productions import Grammar
    from logicgen.tokens import Vocabulary

AnyData = TrainingData[Any, Any]


class Loss(NamedTuple):
    """The loss of a training batch, and what is logged of the batch, by name."""

    value: Tensor
    measures: dict[str, Tensor]


class Answer(NamedTuple):
    """Ids without markers, and the score that decoding gave them (`Decoded`)."""

    ids: list[int]
    score: float


@dataclass(frozen=True)
class Request:
    """Problems, and how they are to be answered.

    Attributes:
        problems: ids of each.
        symbols: symbol rows to make; more than the problems' highest symbol number.
        embedding_seed: of whatever the embedding draws at random, once for the whole request.
        max_length: tokens an answer may have. An answer that did not end by then has one more.
        grammar: the mask under which answers parse; any token may follow any if None.
        decoding: how answers are found, and how many.
        ensemble: average the probabilities of so many draws of the embedding. Those of different
            embedding seeds have none in common.
        batch_size: most problems that an encoder-decoder reads at a time.
    """

    problems: Sequence[Sequence[int]]
    symbols: int
    embedding_seed: int
    max_length: int
    grammar: GrammarMask | None = None
    decoding: Decoding = GREEDY
    ensemble: int = 1
    batch_size: int = 256


class Answerer(Protocol):
    """A model that answers the problems of a data set.

    Attributes:
        alphabet: symbols in its training problems.
        canonical: whether renamings of one problem are answered as one.
        votes: answers drawn to a problem, of which the most frequent is given.
        trained_on_task: whether it was trained on problems of this task.
    """

    task_name: str
    vocabulary: Vocabulary
    alphabet: int

    @property
    def region(self) -> TrainingRegion: ...

    @property
    def canonical(self) -> bool: ...

    @property
    def votes(self) -> int: ...

    @property
    def trained_on_task(self) -> bool: ...

    def check(self, symbols: int, ensemble: int = 1) -> None:
        """Raise LogicgenError where it cannot answer problems with so many symbols."""

    def predict(self, request: Request) -> list[list[Answer]]:
        """Return at most `decoding.answers` different answers to each problem, in order."""


class Model(nn.Module, ABC):
    """A model made from a recipe. New weights come from torch's global generator.

    Attributes:
        noun: what a model of this kind is called in messages.
        region: problems it was trained on; None where it was trained on no problems.
        several_devices: whether it can be trained on more than one at once.
        precision: in which it was trained (`ModelCard.precision`); None if this is not known.
    """

    noun: ClassVar[str]
    several_devices: ClassVar[bool] = False
    precision: str | None = None
    recipe: ModelRecipe
    task_name: str
    region: TrainingRegion | None

    # -- made ---------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def training_data(cls, recipe: ModelRecipe, data: Dataset | Corpus) -> AnyData:
        """Return the training part of data as such a model wants it.

        Raises LogicgenError where there is none, and for data it cannot be trained on.
        """

    @classmethod
    @abstractmethod
    def new(cls, recipe: ModelRecipe, data: AnyData) -> Self:
        """Return a model with new weights. Raises LogicgenError where the data do not fit."""

    @classmethod
    @abstractmethod
    def of_card(cls, recipe: ModelRecipe, card: dict[str, Any]) -> Self:
        """Return a model with new weights, as a checkpoint's card says."""

    def card(self) -> dict[str, Any]:
        """Return what a checkpoint says of the model, as JSON has it."""
        return {
            "recipe": self.recipe.model_dump(exclude_none=True),
            "task": self.task_name,
            "region": None if self.region is None else asdict(self.region),
        }

    def identity(self) -> dict[str, Any]:
        """Return the part of the card that must not change when a training is resumed."""
        return {key: value for key, value in self.card().items() if key not in FOLLOWING}

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return next(iter([*self.parameters(), *self.buffers()])).device

    # -- trained ------------------------------------------------------------------------------

    @abstractmethod
    def batches(self, data: AnyData, step: int) -> Iterator[Any]:
        """Yield the training batches from a step on, without end."""

    @abstractmethod
    def validation_batches(self, data: AnyData) -> list[Any]:
        """Return the same held-out batches every time."""

    def shared(self, batch: Any, rank: Rank) -> Any:
        """Return what one of several devices learns from a training batch.

        Only of a model with `several_devices`.
        """
        raise NotImplementedError

    @abstractmethod
    def training_loss(self, batch: Any, generator: torch.Generator, measured: bool) -> Loss:
        """Return the loss of a training batch.

        generator: of random rows of the embedding, on the CPU.
        measured: whether the batch is logged.
        """

    @abstractmethod
    def validate(self, batch: Any, data: AnyData) -> dict[str, Tensor]:
        """Return what is logged of a held-out batch."""

    @abstractmethod
    def start_from(self, trained: Any, name: str) -> None:
        """Take over the weights of a trained model, which is called `name` in messages.

        trained: a model that is used alike: one that answers problems, or a language model.
        Raises LogicgenError, naming a key or a weight, where the two do not fit together.
        """

    def learn_once(self, pieces: Iterable[Any]) -> None:
        """Learn from all training data at once, where a recipe has no training steps."""
        raise TypeError(f"{self.noun} is trained in steps")

    # -- used ---------------------------------------------------------------------------------

    def trained_rows(self, data: AnyData, called: str) -> tuple[Tensor, np.ndarray]:
        """Return the trained rows of symbols, (R, width), to read or to change in place.

        With them bool (R,): which symbols occur in the training part of data. Raises LogicgenError
        where no trained row belongs to one symbol.
        """
        raise LogicgenError(
            f"{called}: no trained row belongs to one symbol; give a model whose embedding.method"
            " is learned, partial-rows or partial-names"
        )

    @abstractmethod
    def answerer(self, data: Dataset, called: str, votes: int | None = None) -> Answerer:
        """Return what answers the problems of a data set.

        votes: answers drawn to a problem by a language model, of which the most frequent counts.
        Raises LogicgenError where the model cannot read the problems, or cannot vote.
        """

    def grammar(self, called: str) -> Grammar:
        """Return the grammar that the weights are. Raises LogicgenError where they are none."""
        raise LogicgenError(f"{called}: not an inductive Transformer: its weights are no grammar")


def find_device(name: str) -> torch.device:
    """Return the device that `auto`, `cpu` or `cuda` means here.

    Raises LogicgenError where there is none.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise LogicgenError(f"no device is called {name!r}: use auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise LogicgenError(
            "there is no CUDA device that this PyTorch can use: use --device cpu, or install a CUDA"
            " build of PyTorch (https://pytorch.org/get-started) on a machine with an NVIDIA GPU"
        )
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def check_same_keys(trained: object, new: object, keys: Sequence[str], name: str) -> None:
    """Raise LogicgenError where two networks differ in keys that no weight shows.

    trained, new: the `[network]` tables. name: what the trained model is called.
    """
    for key in keys:
        theirs, ours = (getattr(table, key, None) for table in (trained, new))
        if theirs != ours:
            raise LogicgenError(
                f"{name}: was trained with {key} {theirs}, and this recipe has {ours}: give both"
                " the same"
            )


@torch.no_grad()
def load_start(
    model: nn.Module, weights: dict[str, Tensor], name: str, without: Sequence[str] = ()
) -> None:
    """Load weights into a new model, once their names and sizes are those of its own.

    without: names that are not taken over.
    Raises LogicgenError, naming a weight, where they differ.
    """
    weights = {key: value for key, value in weights.items() if key not in without}
    wanted = {key: value for key, value in model.state_dict().items() if key not in without}
    for key in sorted(weights.keys() ^ wanted.keys()):
        raise LogicgenError(
            f"{name}: {'lacks' if key in wanted else 'has'} {key}, so its recipe is another kind of"
            " model: start from one with the same embedding, positions and layers"
        )
    for key, value in wanted.items():
        if weights[key].shape != value.shape:
            raise LogicgenError(
                f"{name}: {key} is {_size(weights[key])}, and this recipe wants {_size(value)}:"
                " give both the same sizes"
            )
    model.load_state_dict(weights, strict=False)


def _size(tensor: Tensor) -> str:
    return " x ".join(map(str, tensor.shape))
