"""Fitting a model to a data set. Lightning's Trainer runs the loop; this file says what a step is.

Everything random in step `t` is a pure function of (seed, t): the batch, the rows of the embedding,
dropout, the learning rate. A resumed training therefore needs only weights, optimizer and `t` to
go on exactly as if it had never stopped.

With `callbacks.py` the only file of the project that imports Lightning, which takes seconds.
"""

from __future__ import annotations

import logging
import math
import time
import warnings
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.fabric.plugins import CheckpointIO
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor
from torch.utils.data import DataLoader

from logicgen.data.batches import Batch, BatchStream, make_batch
from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.sequences import RowSequences
from logicgen.errors import LogicgenError
from logicgen.model import checkpoint
from logicgen.model.encoder_decoder import Model, find_device
from logicgen.model.inductive import InductiveLanguage
from logicgen.model.language_model import Language, LanguageData, language_data
from logicgen.model.language_recipe import LanguageRecipe
from logicgen.model.model_recipe import ModelRecipe
from logicgen.model.training_data import TrainingData, training_data
from logicgen.nn.decoding import decode
from logicgen.nn.symbol_invariant import SymbolInvariantTransformer
from logicgen.train.callbacks import Bar, Signals, Stop
from logicgen.train.count import count_ngrams
from logicgen.train.language_fit import LanguageFitting
from logicgen.train.run_folder import open_run
from logicgen.train.start import start_from, start_language_from
from logicgen.train.steps import Steps, Stream, learning_rate, step_seeds


def fit(
    recipe: ModelRecipe | LanguageRecipe,
    data: TrainingData | LanguageData,
    out: Path,
    *,
    steps: int | None = None,
    max_minutes: float | None = None,
    device: str = "auto",
    resume: bool = False,
    start: Path | None = None,
    quiet: bool = False,
) -> Path:
    """Train a model into the run folder `out`, and return that folder.

    steps: instead of the recipe's number.
    max_minutes: stop at the first step after that long, with a model that can be used or resumed.
    resume: go on from the folder's last checkpoint; without one, start from the beginning.
    start: folder of a finished run whose weights to start from (`start.py`).
    quiet: no progress bar.

    Ctrl-C (or SIGTERM) finishes the step, saves a checkpoint but no model, and raises
    KeyboardInterrupt with a message that says how to go on.
    Raises LogicgenError for a folder that holds something else, or another training.
    """
    started = time.monotonic()
    where = find_device(device)
    if steps is not None:
        if steps < 1:
            raise LogicgenError(f"--steps {steps}: has to be at least 1")
        recipe = recipe.with_steps(steps)
    if len(data.train) == 0:
        raise LogicgenError("the data set has no training examples: nothing to train on")
    if isinstance(recipe, LanguageRecipe) and recipe.training is None:
        assert isinstance(data, LanguageData)
        for option, given in (
            ("--from", start),
            ("--steps", steps),
            ("--max-minutes", max_minutes),
        ):
            if given is not None:
                raise LogicgenError(
                    f"{option}: n-grams are counted, once and in no steps; leave it out"
                )
        return count_ngrams(recipe, data, out, resume=resume, quiet=quiet)
    training = recipe.training
    assert training is not None
    steps = training.steps
    with torch.random.fork_rng(devices=[0] if where.type == "cuda" else []):
        torch.manual_seed(training.seed)
        model = _new_model(recipe, data, start)
        begun = None if start is None else checkpoint.weights_digest(start)
        identity = {**model.identity(), "data": data.fingerprint, "start": begun}
        done = open_run(out, identity, steps, resume=resume)
        if done >= steps and (out / checkpoint.CARD).is_file():
            return out
        deadline = math.inf if max_minutes is None else started + 60 * max_minutes
        stop = Stop(done, training.checkpoint_every, deadline)
        fitting: Steps
        if isinstance(model, Language):
            assert isinstance(data, LanguageData)
            fitting = LanguageFitting(model, data, done)
        else:
            assert isinstance(data, TrainingData)
            fitting = Fitting(model, data, done)
        with Signals(stop):
            _run_trainer(fitting, stop, out, where, quiet, data.validation is not None)
    done = stop.step
    if stop.interrupted and done < steps:
        raise KeyboardInterrupt(
            f"stopped after step {done} of {steps}, which is saved: the same command with --resume"
            " goes on from there"
        )
    checkpoint.save_model(model, out, steps=done, fingerprint=data.fingerprint)
    return out


def prepared(
    recipe: ModelRecipe | LanguageRecipe, data: Dataset | Corpus
) -> TrainingData | LanguageData:
    """The training part of data as a model of the recipe wants it.

    Raises LogicgenError where there is none, and for a model with nothing to answer in its data.
    """
    if isinstance(recipe, LanguageRecipe):
        if (table := recipe.training) is None:
            return language_data(data)
        return language_data(data, table.learn == "everything", table.context)
    if isinstance(data, Corpus):
        raise LogicgenError(
            f"{data.folder}: a corpus, which has no problems and answers: give the recipe of a"
            " language model, one with a [network]"
        )
    return training_data(data)


def _new_model(
    recipe: ModelRecipe | LanguageRecipe, data: TrainingData | LanguageData, start: Path | None
) -> Model | Language:
    """With weights of torch's global generator, or of the run `start`.

    What cannot be trained fails here, before there is a folder.
    """
    if isinstance(recipe, LanguageRecipe):
        assert isinstance(data, LanguageData)
        language = Language(recipe, data.tokens, data.task_name, data.region)
        if isinstance(language.network, InductiveLanguage):
            assert isinstance(data.train, RowSequences)
            language.network.check(data.train.length - 1)
        if start is not None:
            start_language_from(language, checkpoint.load_language(start, "cpu"), str(start))
        return language
    assert isinstance(data, TrainingData)
    model = Model(recipe, data.vocabulary, data.train.alphabet, data.task_name, data.region)
    if isinstance(model.transformer, SymbolInvariantTransformer):
        _check_streams(data, model.transformer.options.reserved)
    if start is not None:
        start_from(model, checkpoint.load_model(start, "cpu"), str(start))
    # Too few rows, or points.
    model.embedding.matrix(model.training_symbols, torch.Generator())
    return model


def _check_streams(data: TrainingData, reserved: int) -> None:
    """Raise LogicgenError for an answer with more new symbols than there are reserved streams."""
    fixed = len(data.vocabulary)
    for split in (data.train, data.validation):
        for row in range(len(split) if split is not None else 0):
            assert split is not None
            answer, problem = split.answers[row], split.problems[row]
            new = set(answer[answer >= fixed].tolist()) - set(problem.tolist())
            if len(new) > reserved:
                raise LogicgenError(
                    f"the answer to {data.vocabulary.decode(problem.tolist())!r} has {len(new)}"
                    f" symbols that the problem lacks, but streams.reserved is {reserved}: raise it"
                )


def _run_trainer(
    fitting: Steps, stop: Stop, out: Path, where: torch.device, quiet: bool, validated: bool
) -> None:
    training = fitting.training_table
    bf16 = training.precision == "bf16" and where.type == "cuda"
    callbacks: list[pl.Callback] = [stop] if quiet else [stop, Bar()]
    # Its notices are about devices not used and data-loader workers not wanted.
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning.*")
        trainer = pl.Trainer(
            accelerator="gpu" if where.type == "cuda" else "cpu",
            devices=1,
            precision="bf16-mixed" if bf16 else "32-true",
            max_steps=training.steps,
            max_epochs=-1,
            logger=TensorBoardLogger(out, name="logs", version=""),
            log_every_n_steps=training.log_every,
            check_val_every_n_epoch=None,
            val_check_interval=training.validate_every,
            num_sanity_val_steps=0,
            limit_val_batches=None if validated else 0,
            plugins=[SafetensorsIO()],
            callbacks=callbacks,
            default_root_dir=out,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(fitting, ckpt_path=str(out / checkpoint.LAST) if stop.step else None)
    assert trainer.global_step == stop.step


class Fitting(Steps):
    """What Lightning needs to know of an encoder-decoder: the loss of a batch, and the batches."""

    def __init__(self, model: Model, data: TrainingData, first_step: int) -> None:
        super().__init__(model, model.recipe.training)
        self.model: Model
        self.data = data
        self.first_step = first_step

    def train_dataloader(self) -> Stream:
        table = self.training_table
        stream = BatchStream(self.data.train, table.batch_size, table.seed)
        return Stream(stream.starting_at, self.first_step)

    def val_dataloader(self) -> DataLoader[Batch]:
        """The first so many validation examples, in batches of similar length."""
        split = self.data.validation
        assert split is not None
        rows = np.arange(min(len(split), self.training_table.validation_examples))
        rows = rows[np.argsort(split.problems.lengths[rows], kind="stable")]
        size = self.training_table.batch_size
        starts = range(0, len(rows), size)
        batches = [make_batch(split, rows[start : start + size]) for start in starts]
        return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        batch = self.model.named(batch, self.model.training_symbols)
        rows_seed, dropout_seed = step_seeds(self.training_table.seed, batch.step)
        torch.manual_seed(dropout_seed)
        generator = torch.Generator().manual_seed(rows_seed)
        sequences = len(batch.problems) if self.model.resamples_each_sequence else None
        matrix = self.model.embedding.matrix(self.model.training_symbols, generator, sequences)
        logits = self.model.transformer(matrix, batch.problems, batch.inputs, batch.places)
        loss: Tensor = self.model.loss(logits, batch.targets)
        if (batch.step + 1) % self.training_table.log_every == 0:
            real = batch.targets != self.model.vocabulary.pad
            accuracy = ((logits.argmax(-1) == batch.targets) & real).sum() / real.sum()
            rate = learning_rate(self.training_table, batch.step)
            self.log_dict({"loss": loss, "token_accuracy": accuracy, "learning_rate": rate})
        return loss

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        split = self.data.validation
        assert split is not None
        symbols = max(self.model.training_symbols, split.alphabet)
        batch = self.model.named(batch, symbols)
        matrix = self.model.inference_matrix(symbols, embedding_seed=0)
        logits = self.model.transformer(matrix, batch.problems, batch.inputs)
        longest = batch.targets.shape[1] - 1
        answers = decode(
            self.model.transformer, [matrix], batch.problems, self.model.vocabulary, longest
        )
        exact = (answers.ids[:, 0] == batch.targets).all(dim=1)
        self.log_dict(
            {
                "validation_loss": self.model.loss(logits, batch.targets),
                "validation_exact": exact.float().mean(),
            },
            batch_size=len(batch.problems),
        )


class SafetensorsIO(CheckpointIO):
    """Lightning's checkpoints as safetensors + JSON, never as pickle."""

    def save_checkpoint(self, checkpoint_tree: Any, path: Any, storage_options: Any = None) -> None:
        checkpoint.save_tree(checkpoint_tree, Path(path))

    def load_checkpoint(self, path: Any, *_: Any, **__: Any) -> Any:
        return checkpoint.load_tree(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        Path(path).unlink(missing_ok=True)
