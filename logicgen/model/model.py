"""The interface of all models, for training, saving, scoring and decoding.

Each kind of network (`recipe.py`) has a class that implements it:

    encoder-decoder     encoder_decoder.py
    symbol-invariant    symbol_invariant.py
    language-model      language_model.py
    inductive           inductive.py
    n-gram              ngrams.py
    text-n-gram         ngrams.py

Other packages do not ask for the class of a model. If a kind does not support a method, the method
raises LogicgenError with an explanation for users.
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
from logicgen.model.training_data import FOLLOWING, TrainingData, TrainingRegion
from logicgen.nn.decoding import GREEDY, DecodedAnswers, Decoding, GrammarMask

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.productions import Grammar
    from logicgen.tasks import Task
    from logicgen.tokens import Vocabulary

AnyData = TrainingData[Any, Any]


class Loss(NamedTuple):
    """The loss of a training batch, and measures for the logs, by name."""

    value: Tensor
    measures: dict[str, Tensor]


class Answer(NamedTuple):
    """The ids of an answer without `<start>` and `<end>`, and its score as in `DecodedAnswers`."""

    ids: list[int]
    score: float


@dataclass(frozen=True)
class Request:
    """Problems to answer, and the settings of decoding.

    Attributes:
        problems: the ids of each problem.
        symbols: number of symbol rows; it must exceed the highest symbol number of the problems.
        embedding_seed: seed of the embedding's random rows, which are drawn once for the request.
        max_length: most tokens of an answer. An answer that did not end has one more token.
        grammar: a mask that allows only answers that parse; without it all tokens are allowed.
        decoding: the decoding method, with the number of answers.
        ensemble: number of draws of the embedding over which probabilities are averaged. Different
            embedding seeds use different draws. For an encoder-decoder without random rows, it is
            the least number of `orders`.
        orders: most orders of the operands of a formula that an encoder-decoder answers
            (`orders.py`).
        batch_size: most problems that an encoder-decoder reads at a time.
    """

    problems: Sequence[Sequence[int]]
    symbols: int
    embedding_seed: int
    max_length: int
    grammar: GrammarMask | None = None
    decoding: Decoding = GREEDY
    ensemble: int = 1
    orders: int = 1
    batch_size: int = 256


class Answerer(Protocol):
    """A model that answers the problems of a task.

    Attributes:
        largest: the most symbols and the most tokens of training problems.
        alphabet: number of symbols in the training problems.
        canonical: whether renamings of a problem are decoded only once.
        votes: number of answers drawn for each problem. The most frequent answer is returned.
        shots: number of solved problems that are shown before each problem.
        trained_on_task: whether the model was trained on problems of this task.
        reorders: whether the model answers several orders of a problem's operands if asked to.
    """

    task_name: str
    vocabulary: Vocabulary
    alphabet: int
    reorders: bool

    @property
    def region(self) -> TrainingRegion: ...

    @property
    def largest(self) -> tuple[int, int]: ...

    @property
    def canonical(self) -> bool: ...

    @property
    def votes(self) -> int: ...

    @property
    def shots(self) -> int: ...

    @property
    def trained_on_task(self) -> bool: ...

    def check(self, symbols: int, ensemble: int = 1, tokens: int = 0) -> None:
        """Raise LogicgenError if the model cannot answer a problem of this size.

        symbols: the number of symbols of the problem.
        tokens: the number of its tokens; 0 if its length and the time for an answer do not matter.
        """

    def predict(self, request: Request) -> list[list[Answer]]:
        """Return at most `decoding.answers` different answers to each problem, in order."""


class Model(nn.Module, ABC):
    """A model made from a recipe. New weights are drawn from torch's global generator.

    Attributes:
        noun: the name of this kind of model in messages.
        region: ranges of its training problems; None if it was not trained on problems.
        several_devices: whether it can be trained on several devices at once.
        precision: the precision of its training (`ModelCard.precision`); None if it is unknown.
    """

    noun: ClassVar[str]
    several_devices: ClassVar[bool] = False
    precision: str | None = None
    recipe: ModelRecipe
    task_name: str
    region: TrainingRegion | None

    # -- construction -------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def training_data(
        cls, recipe: ModelRecipe, data: Dataset | Corpus, *others: Dataset | Corpus
    ) -> AnyData:
        """Return the training data for a model of this kind, from one or several data sets.

        Raises LogicgenError if there are no training data, or if the model cannot use them.
        """

    @classmethod
    @abstractmethod
    def new(cls, recipe: ModelRecipe, data: AnyData) -> Self:
        """Return a model with new weights. Raises LogicgenError if the data do not fit."""

    @classmethod
    @abstractmethod
    def of_card(cls, recipe: ModelRecipe, card: dict[str, Any]) -> Self:
        """Return the model that the content of a `model.json` describes, with new weights."""

    def card(self) -> dict[str, Any]:
        """Return the keys of `model.json` that describe the model, without its training."""
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

    # -- training -----------------------------------------------------------------------------

    @abstractmethod
    def batches(self, data: AnyData, step: int) -> Iterator[Any]:
        """Yield the training batches from a step on, without end."""

    @abstractmethod
    def validation_batches(self, data: AnyData) -> list[Any]:
        """Return the held-out batches, which are always the same."""

    def shared(self, batch: Any, rank: Rank) -> Any:
        """Return one device's part of a training batch.

        Only models with `several_devices` implement this.
        """
        raise NotImplementedError

    @abstractmethod
    def training_loss(self, batch: Any, generator: torch.Generator, measured: bool) -> Loss:
        """Return the loss of a training batch.

        generator: a CPU generator for random rows of the embedding.
        measured: whether to return measures for the logs.
        """

    @abstractmethod
    def validate(self, batch: Any, data: AnyData) -> dict[str, Tensor]:
        """Return the logged measures of a held-out batch."""

    @abstractmethod
    def start_from(self, trained: Any, name: str) -> None:
        """Load the weights of a trained model.

        trained: a model with the same purpose: answering problems, or language modeling.
        name: the trained model's name in messages.

        Raises LogicgenError, with the name of a key or weight, if the models do not fit together.
        """

    def learn_once(self, pieces: Iterable[Any]) -> None:
        """Learn from all training data at once, for kinds without training steps."""
        raise TypeError(f"{self.noun} is trained in steps")

    # -- use ----------------------------------------------------------------------------------

    def trained_rows(self, data: AnyData, called: str) -> tuple[Tensor, np.ndarray]:
        """Return the R trained rows of symbols, and whether each symbol occurs in training.

        The results are (R, width) and bool (R,). The rows may be changed in place. Raises
        LogicgenError if the model has no trained row for each symbol.
        """
        raise LogicgenError(
            f"{called}: no trained row belongs to one symbol; give a model whose embedding.method"
            " is learned, partial-rows or partial-names"
        )

    @abstractmethod
    def answerer(
        self,
        task: Task,
        called: str,
        votes: int | None = None,
        shots: int | None = None,
        data: Dataset | None = None,
    ) -> Answerer:
        """Return an object that answers the problems of a task.

        called: the model's name in messages.
        votes: number of answers that a language model draws for a problem. It returns the most
            frequent answer.
        shots: number of solved problems that a language model reads before a problem. The default
            is the recipe's `training.shots`. Without `data`, the model reads no solved problems.
        data: the data set with the solved problems, in its training split.

        Raises LogicgenError if the model cannot read the problems, cannot vote, or takes no shots.
        """

    def grammar(self, called: str) -> Grammar:
        """Return the grammar in the weights of an inductive Transformer.

        Raises LogicgenError for other models.
        """
        raise LogicgenError(f"{called}: not an inductive Transformer: its weights are no grammar")


def read_answers(decoded: DecodedAnswers, vocabulary: Vocabulary) -> list[list[Answer]]:
    """Return the answers to each problem of a decoded batch, without `<end>` and padding."""
    end, pad = vocabulary.end, vocabulary.pad
    return [
        [
            Answer(ids[: ids.index(end)] if end in ids else ids, score)
            for ids, score in zip(answers, scores, strict=True)
            if ids[0] != pad  # padding: fewer answers were found
        ]
        for answers, scores in zip(decoded.ids.tolist(), decoded.scores.tolist(), strict=True)
    ]


def find_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu` or `cuda`. Raises LogicgenError if it is missing."""
    if name not in ("auto", "cpu", "cuda"):
        raise LogicgenError(f"no device is called {name!r}: use auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise LogicgenError(
            "this PyTorch finds no CUDA device: use --device cpu, or install a CUDA build of"
            " PyTorch (https://pytorch.org/get-started) on a machine with an NVIDIA GPU"
        )
    if name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    # cuDNN's attention makes a plan for each new shape, and nearly every batch has a new shape.
    torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device("cuda")
