"""Encoder-decoders, which answer problems: embedding, Transformer, loss and predictions.

Shapes: B problems, R answers, S tokens of a problem, T tokens of an answer, F fixed tokens (all
tokens except symbols), V = F + symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor

from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.opening import as_dataset
from logicgen.errors import LogicgenError
from logicgen.model import capacity
from logicgen.model.answer_form import AnswerForm, check_complete, grammar_mask
from logicgen.model.batches import Batch, BatchStream, Rank, make_batch, padded_problems
from logicgen.model.canonical_answers import canonical_answers
from logicgen.model.construction import arities_of, new_embedding
from logicgen.model.model import (
    Answer,
    Loss,
    Model,
    Request,
    read_answers,
)
from logicgen.model.network_tables import EncoderDecoderTable
from logicgen.model.orders import answers_in_orders
from logicgen.model.recipe import ModelRecipe
from logicgen.model.start import check_encoder_decoder, check_same_keys, deeper, load_start
from logicgen.model.training_data import ProblemData, TrainingRegion, problem_data
from logicgen.nn.canonical import first_occurrence, rename
from logicgen.nn.decoding import BeamSearch, decode
from logicgen.nn.embedding import Learned
from logicgen.nn.loss import AdaCos, CrossEntropy
from logicgen.nn.position import TREE_SCHEMES
from logicgen.nn.transformer import Transformer, mode
from logicgen.tasks import Task, load_task
from logicgen.tokens import Vocabulary


class EncoderDecoder(Model):
    """The encoder-decoder of a recipe, for one vocabulary.

    It accepts more symbols than in training if its embedding method has rows for them.

    Attributes:
        alphabet: number of symbols in the training data.
        region: the ranges of symbols and lengths of the training data sets.
    """

    noun = "an encoder-decoder"
    votes, shots = 1, 0
    trained_on_task = reorders = True
    several_devices = True
    region: TrainingRegion

    def __init__(
        self,
        recipe: ModelRecipe,
        vocabulary: Vocabulary,
        alphabet: int,
        task_name: str,
        region: TrainingRegion,
    ) -> None:
        super().__init__()
        assert recipe.embedding is not None
        assert recipe.loss is not None
        self.recipe, self.rows = recipe, recipe.embedding
        self.network: EncoderDecoderTable = recipe.network  # type: ignore[assignment]
        self.vocabulary = vocabulary
        self.alphabet = alphabet
        self.task_name = task_name
        self.region = region
        # The most symbols and tokens of new problems, if their ranges have grown (`reward.grow`).
        self.grown: tuple[int, int] | None = None
        self.form: AnswerForm | None = None
        self.complete = recipe.answer_form == "complete"
        if self.complete:
            check_complete(load_task(task_name))
        elif recipe.answer_form is not None:
            self.form = AnswerForm(recipe.answer_form, load_task(task_name))
        self.embedding = new_embedding(self.rows, len(vocabulary), self.network.width, alphabet)
        if self.embedding.max_symbols is not None and self.embedding.max_symbols < alphabet:
            raise LogicgenError(
                f"the training data have {alphabet} symbols, the recipe's embedding has"
                f" {self.embedding.max_symbols} rows: raise max_symbols in [embedding]"
            )
        tree = self.network.encoder_positions in TREE_SCHEMES
        self.transformer = self._transformer(
            **self.network.model_dump(include=set(EncoderDecoderTable.model_fields) - {"kind"}),
            pad=vocabulary.pad,
            arities=arities_of(load_task(task_name), vocabulary, self.network) if tree else None,
        )
        self._check_lengths()
        self.loss: CrossEntropy | AdaCos = CrossEntropy(vocabulary.pad)
        if recipe.loss.method == "adacos":
            rows = len(vocabulary) + self.training_symbols
            never = vocabulary.pad, vocabulary.start
            least = recipe.loss.least_scale or AdaCos.lowest
            self.loss = AdaCos(rows, vocabulary.pad, never, least)

    def _check_lengths(self) -> None:
        """Raise LogicgenError if training problems are too long for the position encodings."""
        tree, (_, longest) = self.network.encoder_positions == "tree", self.largest
        if tree and longest > (levels := self.transformer.tree.levels) + 1:
            raise LogicgenError(
                f"training has problems of up to {longest} tokens, but tree"
                f" positions of width {self.network.width} distinguish only {levels} levels: raise"
                " network.width, or choose other network.encoder_positions"
            )
        self._check_range(longest)

    def _transformer(self, **arguments: Any) -> Transformer:
        """Return the network, with new weights."""
        return Transformer(**arguments)

    # -- construction -------------------------------------------------------------------------

    @classmethod
    def training_data(
        cls, recipe: ModelRecipe, data: Dataset | Corpus, *others: Dataset | Corpus
    ) -> ProblemData:
        return problem_data(as_dataset(data), *map(as_dataset, others))

    @classmethod
    def new(cls, recipe: ModelRecipe, data: ProblemData) -> Self:
        assert data.region is not None
        model = cls(recipe, data.vocabulary, data.train.alphabet, data.task_name, data.region)
        # Fail now if there are too few rows, or too few different random parts.
        model.embedding.matrix(model.training_symbols, torch.Generator())
        return model

    @classmethod
    def of_card(cls, recipe: ModelRecipe, card: dict[str, Any]) -> Self:
        region = TrainingRegion(**{name: tuple(value) for name, value in card["region"].items()})
        tokens = Vocabulary(card["vocabulary"])
        model = cls(recipe, tokens, int(card["alphabet"]), card["task"], region)
        model.grown = tuple(card["grown"]) if card.get("grown") else None
        return model

    def card(self) -> dict[str, Any]:
        card = super().card()
        return {
            "recipe": card.pop("recipe"),
            "vocabulary": list(self.vocabulary.fixed[3:]),
            "alphabet": self.alphabet,
            **({} if self.grown is None else {"grown": list(self.grown)}),
            **card,
        }

    # -- training -----------------------------------------------------------------------------

    @property
    def largest(self) -> tuple[int, int]:
        """Return the most symbols and the most tokens of training problems, stored or new."""
        region, reward = self.region, self.recipe.reward
        symbols = (reward and reward.symbols) or region.symbols
        length = (reward and reward.length) or region.length
        most = self.grown or (symbols[1], length[1])
        return max(most[0], region.symbols[1]), max(most[1], region.length[1])

    @property
    def training_symbols(self) -> int:
        """Return the number of rows of symbols in training.

        If the embedding has a fixed number of trained rows, return this number. Otherwise return
        the number of symbols in the training data. A model that learns from verdicts may have new
        problems with more symbols; then return their number.
        """
        reward = self.recipe.reward
        fresh = 0 if reward is None else (reward.symbols or self.region.symbols)[1]
        return self.embedding.max_symbols or max(self.alphabet, fresh)

    def batches(self, data: ProblemData, step: int) -> Iterator[Batch]:
        assert self.recipe.training is not None
        table = self.recipe.training
        return BatchStream(data.train, table.batch_size, table.seed).starting_at(step)

    def shared(self, batch: Batch, rank: Rank) -> Batch:
        # AdaCos needs answers with the same padded length on all devices.
        return self._written(batch).shared(rank, self.vocabulary.pad)

    def validation_batches(self, data: ProblemData) -> list[Batch]:
        """Return the first validation examples, in batches of problems of similar length."""
        assert self.recipe.training is not None
        split, table = data.validation, self.recipe.training
        assert split is not None
        rows = np.arange(min(len(split), table.validation_examples))
        rows = rows[np.argsort(split.problems.lengths_of(rows), kind="stable")]
        starts = range(0, len(rows), table.batch_size)
        return [make_batch(split, rows[start : start + table.batch_size]) for start in starts]

    def training_loss(self, batch: Batch, generator: torch.Generator, measured: bool) -> Loss:
        """Return the loss of a training batch, and the accuracy of single tokens if `measured`."""
        batch, logits = self._logits(batch, generator)
        loss: Tensor = self.loss(logits, batch.targets)
        if not measured:
            return Loss(loss, {})
        real = batch.targets != self.vocabulary.pad
        accuracy = ((logits.argmax(-1) == batch.targets) & real).sum() / real.sum().clamp(min=1)
        return Loss(loss, {"loss": loss, "token_accuracy": accuracy})

    def right_loss(
        self,
        batch: Batch,
        right: Callable[[Tensor], Tensor],
        generator: torch.Generator,
        measured: bool,
    ) -> Loss:
        """Return the loss of a batch in which several tokens may be right at each position.

        right: a function of the probabilities of all tokens (R, T, V), which returns whether each
            token is right, bool (R, T, V). Symbols are numbered as in the batch, and V is the
            number of tokens in training.
        measured: whether to add the share of positions at which the likeliest token is right.
        """
        problems = batch.problems
        batch, logits = self._logits(batch, generator)
        known = (self.loss.scale * logits.detach()).softmax(-1)
        if self.recipe.canonical:  # the network has read renamed symbols
            fixed = len(self.vocabulary)
            old = first_occurrence(problems, fixed, self.training_symbols).old_ids(fixed)
            old = old.repeat_interleave(batch.answers, 0)[:, None].expand(known.shape)
            mask = right(torch.zeros_like(known).scatter(2, old, known)).gather(2, old)
        else:
            mask = right(known)
        loss: Tensor = self.loss.any_of(logits, mask)
        if not measured:
            return Loss(loss, {})
        real = mask.any(-1)
        hit = mask.gather(2, logits.argmax(-1, keepdim=True))[..., 0]
        return Loss(loss, {"loss": loss, "token_accuracy": hit[real].float().mean()})

    def log_probabilities(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """Return the log-probability of each token of the answers (B, T), 0 for padding.

        The probabilities are computed as in decoding: without dropout, with one draw of the
        embedding's random rows.
        """
        with mode(self, False):
            batch, logits = self._logits(batch, generator)
            return self.loss.log_probabilities(logits, batch.targets)

    def _logits(self, batch: Batch, generator: torch.Generator) -> tuple[Batch, Tensor]:
        """Return the batch that the network reads, and the logits (R, T, V) of its answers."""
        batch = self.named(batch, self.training_symbols)
        anew = self.training and self.rows.drawn_by_sequence
        share = batch.share
        sequences = (len(batch.problems) if share is None else share.whole) if anew else None
        matrix = self.embedding.matrix(self.training_symbols, generator, sequences)
        if anew and share is not None:
            matrix = matrix[share.rows]
        pieces, recompute = self.pieces(batch)
        if len(pieces) == 1 and not recompute:
            return batch, self.transformer(matrix, batch.problems, batch.inputs, batch.places)
        pad = self.vocabulary.pad
        return batch, batch.read_in_pieces(self.transformer, matrix, pad, pieces, recompute)

    def pieces(self, batch: Batch) -> tuple[list[Tensor], bool]:
        """Return the rows of each piece of a batch that the network reads at a time.

        The second value is true if the batch is too large for the memory. Then the network reads
        each piece again in the backward pass.
        """
        most = capacity.kept_tokens(self.features(batch.problems), batch.problems.device)
        if len(batch.problems) * max(batch.problems.shape[1], batch.inputs.shape[1]) <= most:
            return [torch.arange(len(batch.problems), device=batch.problems.device)], False
        return batch.pieces(self.vocabulary.pad, int(most * capacity.PIECE_SHARE)), True

    def validate(self, batch: Batch, data: ProblemData) -> dict[str, Tensor]:
        """Return the loss of a held-out batch, and the share of exact greedy answers."""
        assert data.validation is not None
        symbols = max(self.training_symbols, data.validation.alphabet)
        batch = self.named(batch, symbols)
        matrix = self.inference_matrix(symbols, embedding_seed=0)
        logits = self.transformer(matrix, batch.problems, batch.inputs)
        longest = batch.targets.shape[1] - 1
        answers = decode(self.transformer, [matrix], batch.problems, self.vocabulary, longest)
        exact = (answers.ids[:, 0] == batch.targets).all(dim=1)
        return {
            "validation_loss": self.loss(logits, batch.targets),
            "validation_exact": exact.float().mean(),
        }

    def start_from(self, trained: EncoderDecoder, name: str) -> None:
        if trained.vocabulary != self.vocabulary:
            raise LogicgenError(
                f"{name}: was trained for {trained.task_name} with another vocabulary: start from a"
                f" model of task {self.task_name}"
            )
        check_encoder_decoder(trained.recipe, self.recipe, name)
        if self.recipe.learns == "accepted":  # the model's answers are read before it is trained
            check_same_keys(trained.form, self.form, ("form",), name)
        # The scale of the loss AdaCos depends on the number of rows, so the trained scale is not
        # copied. But a model that learns from verdicts needs the trained scale, because it samples
        # answers before its first training step.
        without = () if self.recipe.learns == "accepted" else ("loss.scale",)
        weights = self._start_weights(trained, name)
        for stack in ("encoder", "decoder"):
            weights = deeper(weights, self.state_dict(), f"transformer.{stack}.")
        load_start(self, weights, name, without)

    def _start_weights(self, trained: EncoderDecoder, name: str) -> dict[str, Tensor]:
        """Return a trained model's weights under the names that this model uses."""
        return dict(trained.state_dict())

    # -- use ----------------------------------------------------------------------------------

    def trained_rows(self, data: ProblemData, called: str) -> tuple[Tensor, np.ndarray]:
        if self.rows.method != "learned":
            return super().trained_rows(data, called)
        rows = cast(Learned, self.embedding).symbols.data
        seen = np.zeros(len(rows), dtype=bool)
        fixed = len(self.vocabulary)
        for texts in (data.train.problems, data.train.answers):
            seen[[token - fixed for token in texts.different() if token >= fixed]] = True
        return rows, seen

    def answerer(
        self,
        task: Task,
        called: str,
        votes: int | None = None,
        shots: int | None = None,
        data: Dataset | None = None,
    ) -> EncoderDecoder:
        """Return this model. Raises LogicgenError if `votes` or `shots` is given."""
        if shots is not None:
            raise LogicgenError(
                f"--shots: {called} is not a language model, and reads one problem: leave it out"
            )
        if votes is not None:
            raise LogicgenError(
                f"--votes: {called} is not a language model; leave it out, or let the solver choose"
                " with --verified N"
            )
        return self

    @property
    def canonical(self) -> bool:
        """Return whether problems are renamed in order of first occurrence before decoding."""
        return self.recipe.canonical

    def predict(self, request: Request) -> list[list[Answer]]:
        """Return at most `request.decoding.answers` answers to each problem of the request.

        Answers of a beam search, and answers to several orders, are sorted by score. Other sampled
        answers are in the order of drawing.
        """
        self._check_ensemble(request.ensemble)
        if request.ensemble > 1 and not self.embedding.random:
            orders = max(request.orders, request.ensemble)
            request = replace(request, ensemble=1, orders=orders)
        if request.orders > 1:
            task = load_task(self.task_name)
            return answers_in_orders(request, task, self.vocabulary, self.predict)
        ensemble = request.ensemble
        self._check_range(max(map(len, request.problems), default=0))
        matrices = [
            self.inference_matrix(request.symbols, request.embedding_seed * ensemble + draw)
            for draw in range(ensemble)
        ]
        self.eval()
        if not self.canonical:
            return self._decoded(matrices, request)
        return canonical_answers(request, self.vocabulary, partial(self._decoded, matrices))

    def _decoded(self, matrices: Sequence[Tensor], request: Request) -> list[list[Answer]]:
        """Return the answers to problems, without renaming their symbols."""
        problems, decoding, form = request.problems, request.decoding, self.form
        most, grammar = request.max_length, request.grammar
        if form is not None:
            most = form.most(most)
            if grammar is not None:
                grammar = grammar_mask(load_task(self.task_name), most, form.form)
        if self.complete and grammar is not None:
            grammar = replace(grammar, complete=True)
        several: list[list[Answer]] = [[] for _ in problems]
        sizes = [self.size(problem) for problem in problems]
        prefixes = decoding.beams if isinstance(decoding, BeamSearch) else decoding.answers
        together = capacity.answered_together(sizes, prefixes, request.batch_size, self.device)
        for rows in together:
            padded = padded_problems(
                [problems[row] for row in rows], self.vocabulary, request.symbols
            )
            decoded = decode(
                self.transformer,
                matrices,
                padded.to(self.device),
                self.vocabulary,
                most,
                grammar,
                decoding,
                self.loss.scale,
                self.loss.never,
            )
            for row, answers in zip(rows, read_answers(decoded, self.vocabulary), strict=True):
                several[row] = answers
        return several if form is None else [form.different(answers) for answers in several]

    def features(self, problems: Tensor) -> int:
        """Return the most features of all layers for a token of padded problems (B, S)."""
        network = self.network
        layers = network.encoder_layers * (network.encoder_loops or 1) + network.decoder_layers
        return layers * network.width

    def size(self, problem: Sequence[int]) -> tuple[int, int]:
        """Return the number of a problem's streams (1 without streams), and of its tokens."""
        return 1, len(problem)

    def check(self, symbols: int, ensemble: int = 1, tokens: int = 0) -> None:
        """Raise LogicgenError if symbols have too few rows, or tokens too few positions.

        Also raise LogicgenError if `ensemble` is above 1, but the embedding has no random rows and
        problems have no operands to reorder.
        """
        self._check_ensemble(ensemble)
        self._check_range(tokens)
        self.inference_matrix(symbols, 0)

    def _check_range(self, tokens: int) -> None:
        """Raise LogicgenError if there are too few positions for problems of `tokens` tokens."""
        most = self.network.position_range
        if most is not None and tokens + 1 > most:
            raise LogicgenError(
                f"problems of {tokens} tokens and their end, but randomized positions are drawn"
                f" from {most}: raise network.position_range and train again"
            )

    def _check_ensemble(self, ensemble: int) -> None:
        if ensemble > 1 and not self.embedding.random and load_task(self.task_name).orders == 1:
            method = self.rows.method
            raise LogicgenError(
                f"an ensemble over a model without a random part: {method!r} draws nothing, and"
                f" problems of {self.task_name} have no operands to reorder; leave the ensemble"
                " out, or train a model with a random embedding, such as alpha-renaming"
            )

    def named(self, batch: Batch, symbols: int) -> Batch:
        """Return a batch as the network reads it.

        It has canonical names if `canonical` is true, and answers in the recipe's form.
        """
        if batch.share is None:  # `shared` has written the answers of a share
            batch = self._written(batch)
        if not self.recipe.canonical:
            return batch
        fixed = len(self.vocabulary)
        names = first_occurrence(batch.problems, fixed, symbols).number
        of_answers = names.repeat_interleave(batch.answers, 0)
        return batch._replace(
            problems=rename(batch.problems, names, fixed),
            inputs=rename(batch.inputs, of_answers, fixed),
            targets=rename(batch.targets, of_answers, fixed),
        )

    def _written(self, batch: Batch) -> Batch:
        """Return a batch with answers in the recipe's form."""
        if self.form is None:
            return batch
        return batch.with_answers(self.form.written, self.vocabulary)

    @torch.no_grad()
    def inference_matrix(self, symbols: int, embedding_seed: int) -> Tensor:
        """Return the embedding matrix (F fixed tokens + symbols, width) that a seed determines."""
        generator = torch.Generator().manual_seed(embedding_seed)
        return self.embedding.matrix(symbols, generator)
