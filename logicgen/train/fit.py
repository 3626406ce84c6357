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
from collections.abc import Iterator
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
from logicgen.errors import LogicgenError
from logicgen.nn.decoding import decode
from logicgen.nn.symbol_invariant import SymbolInvariantTransformer
from logicgen.train import checkpoint
from logicgen.train.callbacks import Bar, Signals, Stop
from logicgen.train.data import TrainingData
from logicgen.train.model import Model, find_device
from logicgen.train.recipe import ModelRecipe, TrainingTable
from logicgen.train.run import open_run
from logicgen.train.start import start_from


def fit(
    recipe: ModelRecipe,
    data: TrainingData,
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
    steps = recipe.training.steps
    if len(data.train) == 0:
        raise LogicgenError("the data set has no training examples: nothing to train on")
    with torch.random.fork_rng(devices=[0] if where.type == "cuda" else []):
        torch.manual_seed(recipe.training.seed)
        model = Model(recipe, data.vocabulary, data.train.alphabet, data.task_name, data.region)
        if isinstance(model.transformer, SymbolInvariantTransformer):
            _check_streams(data, model.transformer.options.reserved)
        if start is not None:
            start_from(model, checkpoint.load_model(start, "cpu"), str(start))
        # What cannot be trained fails here, before there is a folder: too few rows, or points.
        model.embedding.matrix(model.training_symbols, torch.Generator())
        done = open_run(
            out,
            recipe,
            vocabulary=data.vocabulary,
            task_name=data.task_name,
            fingerprint=data.fingerprint,
            start=None if start is None else checkpoint.weights_digest(start),
            resume=resume,
        )
        if done >= steps and (out / checkpoint.CARD).is_file():
            return out
        deadline = math.inf if max_minutes is None else started + 60 * max_minutes
        stop = Stop(done, recipe.training.checkpoint_every, deadline)
        with Signals(stop):
            _run_trainer(Fitting(model, data, done), stop, out, where, quiet)
    done = stop.step
    if stop.interrupted and done < steps:
        raise KeyboardInterrupt(
            f"stopped after step {done} of {steps}, which is saved: the same command with --resume"
            " goes on from there"
        )
    checkpoint.save_model(model, out, steps=done, fingerprint=data.fingerprint)
    return out


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


def _run_trainer(fitting: Fitting, stop: Stop, out: Path, where: torch.device, quiet: bool) -> None:
    training = fitting.model.recipe.training
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
            limit_val_batches=None if fitting.data.validation else 0,
            plugins=[SafetensorsIO()],
            callbacks=callbacks,
            default_root_dir=out,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(fitting, ckpt_path=str(out / checkpoint.LAST) if stop.step else None)
    assert trainer.global_step == stop.step


class Fitting(pl.LightningModule):
    """What Lightning needs to know: the loss of a batch, the batches, the optimizer."""

    def __init__(self, model: Model, data: TrainingData, first_step: int) -> None:
        super().__init__()
        self.model = model
        self.data = data
        self.first_step = first_step
        self.training_table: TrainingTable = model.recipe.training

    def train_dataloader(self) -> Stream:
        table = self.training_table
        return Stream(BatchStream(self.data.train, table.batch_size, table.seed), self.first_step)

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

    def configure_optimizers(self) -> torch.optim.Optimizer:
        table = self.training_table
        return torch.optim.AdamW(
            self.model.parameters(),
            lr=table.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=table.weight_decay,
            fused=True,
        )

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Lightning's own refuses a fused optimizer in bf16, for the sake of fp16's scaler."""
        torch.nn.utils.clip_grad_norm_(self.parameters(), self.training_table.gradient_clip)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        rate = learning_rate(self.training_table, batch.step)
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = rate

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


class Stream:
    """The batches from a step on, as the iterable without length that Lightning calls a loader."""

    def __init__(self, batches: BatchStream, first_step: int) -> None:
        self.batches = batches
        self.first_step = first_step

    def __iter__(self) -> Iterator[Batch]:
        return self.batches.starting_at(self.first_step)


def step_seeds(seed: int, step: int) -> tuple[int, int]:
    """Two unrelated seeds for a step: of the embedding's rows, and of dropout."""
    rows, dropout = np.random.SeedSequence((seed, step)).generate_state(2, np.uint64) >> 1
    return int(rows), int(dropout)


def learning_rate(table: TrainingTable, step: int) -> float:
    """The rate at step `step` (from 0)."""
    warmup = table.warmup_steps
    if step < warmup:
        return table.learning_rate * (step + 1) / warmup
    if table.schedule == "cosine":
        progress = (step - warmup) / max(1, table.steps - warmup)
        return table.learning_rate * (1 + math.cos(math.pi * min(1.0, progress))) / 2
    if table.schedule == "inverse-sqrt":
        return table.learning_rate * math.sqrt(max(1, warmup) / (step + 1))
    return table.learning_rate


class SafetensorsIO(CheckpointIO):
    """Lightning's checkpoints as safetensors + JSON, never as pickle."""

    def save_checkpoint(self, checkpoint_tree: Any, path: Any, storage_options: Any = None) -> None:
        checkpoint.save_tree(checkpoint_tree, Path(path))

    def load_checkpoint(self, path: Any, *_: Any, **__: Any) -> Any:
        return checkpoint.load_tree(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        Path(path).unlink(missing_ok=True)
