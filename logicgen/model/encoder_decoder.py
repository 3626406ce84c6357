"""A model: an embedding, a Transformer and a loss, made from a recipe; and what it predicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from logicgen.data.batches import Batch
from logicgen.errors import LogicgenError
from logicgen.model.model_recipe import ModelRecipe, StreamsTable
from logicgen.model.training_data import FOLLOWING, TrainingRegion
from logicgen.nn.canonical import first_occurrence, rename
from logicgen.nn.decoding import GREEDY, Decoding, GrammarMask, decode
from logicgen.nn.embedding import (
    AlphaRenaming,
    Embedding,
    Interchangeable,
    Learned,
    SymbolInvariant,
)
from logicgen.nn.loss import AdaCos, CrossEntropy
from logicgen.nn.symbol_invariant import StreamOptions, SymbolInvariantTransformer
from logicgen.nn.transformer import Transformer
from logicgen.tasks import load_task
from logicgen.vocabulary import Vocabulary


class Answer(NamedTuple):
    """Ids without markers, and the score that decoding gave them (`Decoded`)."""

    ids: list[int]
    score: float


class Model(nn.Module):
    """A recipe's network for one vocabulary.

    `alphabet` is the number of symbols in its training data, `region` what problems were drawn for
    them. It accepts more symbols, as far as its embedding method does. New weights come from the
    global generator of torch.
    """

    def __init__(
        self,
        recipe: ModelRecipe,
        vocabulary: Vocabulary,
        alphabet: int,
        task_name: str,
        region: TrainingRegion,
    ) -> None:
        super().__init__()
        self.recipe = recipe
        self.vocabulary = vocabulary
        self.alphabet = alphabet
        self.task_name = task_name
        self.region = region
        self.embedding = _embedding(recipe, len(vocabulary))
        if self.embedding.max_symbols is not None and self.embedding.max_symbols < alphabet:
            raise LogicgenError(
                f"the training data have {alphabet} symbols, the recipe's embedding has"
                f" {self.embedding.max_symbols} rows: raise max_symbols in [embedding]"
            )
        tree = recipe.model.encoder_positions == "tree"
        arguments = recipe.model.model_dump()
        arguments |= {"pad": vocabulary.pad}
        arguments |= {"arities": _arities(task_name, vocabulary) if tree else None}
        if recipe.embedding.method == "symbol-invariant":
            options = StreamOptions(**(recipe.streams or StreamsTable()).model_dump())
            self.transformer: Transformer = SymbolInvariantTransformer(
                fixed=len(vocabulary), options=options, **arguments
            )
        else:
            self.transformer = Transformer(**arguments)
        if tree and region.length[1] > self.transformer.tree.levels + 1:
            levels = self.transformer.tree.levels
            raise LogicgenError(
                f"the training data have problems of up to {region.length[1]} tokens, but tree"
                f" positions of width {recipe.model.width} tell only {levels} levels apart: raise"
                " model.width, or choose other model.encoder_positions"
            )
        rows = len(vocabulary) + self.training_symbols
        self.loss: CrossEntropy | AdaCos
        if recipe.loss.method == "adacos":
            self.loss = AdaCos(rows, vocabulary.pad)
        else:
            self.loss = CrossEntropy(vocabulary.pad)

    def card(self) -> dict[str, Any]:
        """What its checkpoint says of it, as JSON has it."""
        return {
            "recipe": self.recipe.model_dump(exclude_none=True),
            "vocabulary": list(self.vocabulary.fixed[3:]),
            "task": self.task_name,
            "alphabet": self.alphabet,
            "region": asdict(self.region),
        }

    def identity(self) -> dict[str, Any]:
        """What of its card has to be the same when a training is resumed; the rest follows."""
        return {key: value for key, value in self.card().items() if key not in FOLLOWING}

    @staticmethod
    def of_card(card: dict[str, Any]) -> Model:
        """A model as `card` says, with new weights."""
        region = TrainingRegion(**{name: tuple(value) for name, value in card["region"].items()})
        recipe = ModelRecipe.model_validate(card["recipe"])
        tokens = Vocabulary(card["vocabulary"])
        return Model(recipe, tokens, int(card["alphabet"]), card["task"], region)

    @property
    def training_symbols(self) -> int:
        """Symbol rows of the matrix in training: all that can be trained, else the alphabet's."""
        return self.embedding.max_symbols or self.alphabet

    @property
    def canonical(self) -> bool:
        """Whether problems are renamed in order of first occurrence before they are predicted.

        A network of streams does not mind names; canonical ones make that exact to the last bit.
        """
        return self.recipe.canonical or self.recipe.embedding.method == "symbol-invariant"

    @property
    def resamples_each_sequence(self) -> bool:
        """Whether training draws a matrix for each sequence of a batch, not one for all of it."""
        return self.recipe.embedding.resample == "sequence"

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def predict(
        self,
        problems: Sequence[Sequence[int]],
        symbols: int,
        embedding_seed: int,
        max_length: int,
        grammar: GrammarMask | None = None,
        batch_size: int = 256,
        *,
        decoding: Decoding = GREEDY,
        ensemble: int = 1,
    ) -> list[list[int]]:
        """The answer to each problem, in order: the best of `predict_several`, as ids alone."""
        several = self.predict_several(
            problems,
            symbols,
            embedding_seed,
            max_length,
            grammar,
            batch_size,
            decoding=decoding,
            ensemble=ensemble,
        )
        return [answers[0].ids for answers in several]

    def predict_several(
        self,
        problems: Sequence[Sequence[int]],
        symbols: int,
        embedding_seed: int,
        max_length: int,
        grammar: GrammarMask | None = None,
        batch_size: int = 256,
        *,
        decoding: Decoding = GREEDY,
        ensemble: int = 1,
    ) -> list[list[Answer]]:
        """At most `decoding.answers` answers to each problem, in order, best first.

        symbols: symbol rows to make; more than the problems' highest symbol number.
        embedding_seed: of whatever the embedding draws at random, once for the whole call.
        max_length: tokens an answer may have. One that did not end by then has one token more.
        ensemble: average the probabilities of so many draws of the embedding. Those of different
            embedding seeds have none in common.
        """
        self._check_ensemble(ensemble)
        matrices = [
            self.inference_matrix(symbols, embedding_seed * ensemble + draw)
            for draw in range(ensemble)
        ]

        def decoded(problems: Sequence[Sequence[int]]) -> list[list[Answer]]:
            return self._decoded(
                problems, symbols, matrices, max_length, grammar, batch_size, decoding
            )

        if not (self.canonical and problems):
            return decoded(problems)
        naming = first_occurrence(self._padded(problems, symbols), len(self.vocabulary), symbols)
        numbers, names = naming.number.tolist(), naming.symbol.tolist()
        renamed = [tuple(self._renamed(p, n)) for p, n in zip(problems, numbers, strict=True)]
        # Renamings of one problem are decoded once: then nothing can tell them apart, not even
        # rounding, which depends on what else is in a batch.
        different = list(dict.fromkeys(renamed))
        found = dict(zip(different, decoded(different), strict=True))
        return [
            [Answer(self._renamed(ids, own), score) for ids, score in found[problem]]
            for problem, own in zip(renamed, names, strict=True)
        ]

    def check(self, symbols: int, ensemble: int = 1) -> None:
        """Raise LogicgenError where there are no rows for so many symbols, or none to average."""
        self._check_ensemble(ensemble)
        self.inference_matrix(symbols, 0)

    def _check_ensemble(self, ensemble: int) -> None:
        if ensemble > 1 and not self.embedding.random:
            method = self.recipe.embedding.method
            raise LogicgenError(
                f"an ensemble over a model without a random part: {method!r} draws nothing to"
                " average over; leave the ensemble out, or train a model whose embedding does, such"
                " as alpha-renaming or interchangeable"
            )

    def _renamed(self, ids: Sequence[int], names: Sequence[int]) -> list[int]:
        """Ids in which symbol k is called names[k]."""
        fixed = len(self.vocabulary)
        return [fixed + names[i - fixed] if i >= fixed else i for i in ids]

    def _decoded(
        self,
        problems: Sequence[Sequence[int]],
        symbols: int,
        matrices: Sequence[Tensor],
        max_length: int,
        grammar: GrammarMask | None,
        batch_size: int,
        decoding: Decoding,
    ) -> list[list[Answer]]:
        self.eval()
        several: list[list[Answer]] = [[] for _ in problems]
        order = sorted(range(len(problems)), key=lambda row: len(problems[row]))
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            decoded = decode(
                self.transformer,
                matrices,
                self._padded([problems[row] for row in rows], symbols),
                self.vocabulary,
                max_length,
                grammar,
                decoding,
                self.loss.scale,
            )
            found = zip(rows, decoded.ids.tolist(), decoded.scores.tolist(), strict=True)
            for row, answers, scores in found:
                several[row] = [
                    Answer(self._without_end(ids), score)
                    for ids, score in zip(answers, scores, strict=True)
                    if ids[0] != self.vocabulary.pad  # there was no further answer
                ]
        return several

    def named(self, batch: Batch, symbols: int) -> Batch:
        """A batch over so many symbols as the network is to see it: canonically named, or not."""
        if not self.recipe.canonical:
            return batch
        fixed = len(self.vocabulary)
        names = first_occurrence(batch.problems, fixed, symbols).number
        return batch._replace(
            problems=rename(batch.problems, names, fixed),
            inputs=rename(batch.inputs, names, fixed),
            targets=rename(batch.targets, names, fixed),
        )

    def _without_end(self, ids: list[int]) -> list[int]:
        end = self.vocabulary.end
        return ids[: ids.index(end)] if end in ids else ids

    @torch.no_grad()
    def inference_matrix(self, symbols: int, embedding_seed: int) -> Tensor:
        """The matrix (F + symbols, width) that belongs to an embedding seed."""
        generator = torch.Generator().manual_seed(embedding_seed)
        return self.embedding.matrix(symbols, generator)

    def _padded(self, problems: Sequence[Sequence[int]], symbols: int) -> Tensor:
        """Problems as the encoder reads them: each with `<end>`, padded; (B, S)."""
        rows = len(self.vocabulary) + symbols
        longest = max(len(problem) for problem in problems) + 1
        ids = np.full((len(problems), longest), self.vocabulary.pad, dtype=np.int64)
        for row, problem in enumerate(problems):
            ids[row, : len(problem)] = problem
            ids[row, len(problem)] = self.vocabulary.end
        if ids.max() >= rows:
            needed = int(ids.max()) - len(self.vocabulary) + 1
            raise LogicgenError(
                f"the problems need {needed} symbol rows, but only {symbols} were asked for"
            )
        return torch.from_numpy(ids).to(self.device)


def _arities(task_name: str, vocabulary: Vocabulary) -> Tensor:
    """Operands of each fixed token, then of a symbol, in a task's problems; int64 (F + 1,)."""
    arities = load_task(task_name).problem_arities
    if arities is None:
        raise LogicgenError(
            f"model.encoder_positions: 'tree' needs problems that are formulas; those of task"
            f" {task_name} have no tree: choose 'sinusoidal', 'rotary', 'relative' or 'none'"
        )
    return torch.tensor([*(arities.get(token, 0) for token in vocabulary.fixed), 0])


def _embedding(recipe: ModelRecipe, fixed: int) -> Embedding:
    methods: dict[str, Callable[..., Embedding]] = {
        "learned": Learned,
        "alpha-renaming": AlphaRenaming,
        "interchangeable": Interchangeable,
        "symbol-invariant": SymbolInvariant,
    }
    options = recipe.embedding.model_dump(exclude={"method", "resample"}, exclude_none=True)
    return methods[recipe.embedding.method](fixed, recipe.model.width, **options)


def find_device(name: str) -> torch.device:
    """The device that `auto`, `cpu` or `cuda` means here; LogicgenError where there is none."""
    if name not in ("auto", "cpu", "cuda"):
        raise LogicgenError(f"no device is called {name!r}: use auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise LogicgenError(
            "there is no CUDA device that this PyTorch can use: use --device cpu, or install a CUDA"
            " build of PyTorch (https://pytorch.org/get-started) on a machine with an NVIDIA GPU"
        )
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")
