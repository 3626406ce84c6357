"""Training a model of any kind into a run's folder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track

from logicgen.data.dataset import Dataset
from logicgen.data.opening import open_data
from logicgen.errors import LogicgenError
from logicgen.model import checkpoint
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.kinds import new_model, training_data
from logicgen.model.model import AnyData, Model, find_device
from logicgen.model.recipe import ModelRecipe
from logicgen.training.acceptance import AcceptanceLearner
from logicgen.training.devices import Member, check_devices, together
from logicgen.training.learner import ModelLearner
from logicgen.training.loop import ProgressBar, Watcher, deadline, run_steps
from logicgen.training.right_learner import RightTokensLearner
from logicgen.training.run_folder import choose_precision, open_run

__all__ = ["fit", "training_data"]

# Sequences, and tokens of each, that a model learns from together when it learns once.
WINDOWS, CONTEXT = 64, 4096


def fit(
    recipe: ModelRecipe,
    data: AnyData,
    out: Path,
    *,
    steps: int | None = None,
    max_minutes: float | None = None,
    device: str = "auto",
    resume: bool = False,
    start: Path | None = None,
    held_out: Sequence[Dataset] = (),
    workers: int = 1,
    devices: int = 1,
    quiet: bool = False,
) -> Path:
    """Train a model into the run folder `out`, and return that folder.

    data: what `training_data` returns for the recipe.
    steps: instead of the recipe's number.
    max_minutes: stop at the first step after that long, with a model that can be used or resumed.
    resume: go on from the folder's last checkpoint; without one, start from the beginning.
    start: folder of a finished run whose weights to start from.
    held_out: of a model that learns from verdicts, data sets whose problems it must not see, beside
        the held-out parts of its own.
    workers: likewise, processes that judge.
    devices: how many of this machine's learn together, each from a share of every batch. Where one
        of their processes is lost and this one waits for it inside PyTorch, it is ended, too.
    quiet: no progress bar.

    Ctrl-C (or SIGTERM) finishes the step, saves a checkpoint but no model, and raises
    KeyboardInterrupt (`Terminated`) with a message that says how to go on.
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
    table = recipe.training
    if table is None:
        given = {"--from": start, "--steps": steps, "--max-minutes": max_minutes}
        for option, value in given.items():
            if value is not None:
                raise LogicgenError(
                    f"{option}: n-grams are counted, once and in no steps; leave it out"
                )
    if recipe.learns == "accepted" and start is None:
        raise LogicgenError(
            "--learn accepted: learns from right answers of its own, and untrained weights give"
            " none: start from a trained model with --from RUN"
        )
    with (
        torch.random.fork_rng(devices=[0] if where.type == "cuda" else []),
        ExitStack() as stack,
    ):
        torch.manual_seed(0 if table is None else table.seed)
        # What cannot be trained fails here, before there is a folder.
        model = _untrained(recipe, data, start)
        if devices > 1:
            _check_devices(devices, recipe, model, where)
        learner: ModelLearner | None = None
        if isinstance(model, EncoderDecoder) and recipe.learns == "accepted":
            learner = AcceptanceLearner(model, data, out, held_out, workers)
            stack.callback(learner.close)
        elif isinstance(model, EncoderDecoder) and recipe.learns == "right":
            learner = RightTokensLearner(model, data)
        elif table is not None:
            learner = ModelLearner(model, data)
        begun = None if start is None else checkpoint.weights_digest(start)
        identity = {**model.identity(), "data": data.fingerprint, "start": begun}
        if recipe.learns == "accepted":  # other data sets would make other rounds
            identity["held_out"] = sorted({each.fingerprint for each in held_out})
        wanted = 1 if table is None else table.steps
        done = open_run(out, identity, wanted, resume=resume)
        if done >= wanted and (out / checkpoint.CARD).is_file():
            return out
        if table is None or learner is None:
            pieces = data.train.once(WINDOWS, CONTEXT)
            shown = track(pieces, "counting", console=Console(stderr=True), disable=quiet)
            model.learn_once(shown)
            done = 1
        else:
            precision, model.precision = choose_precision(out, table.precision, where)
            end = math.inf if max_minutes is None else started + 60 * max_minutes
            watchers: list[Watcher] = [deadline(end)]
            if not quiet:
                watchers.append(stack.enter_context(ProgressBar(wanted, done)))
            bf16 = precision == "bf16"
            asked = recipe, data.folder, data.fingerprint, start, out, where, done, bf16
            with together(devices, _train_beside, asked) as member:
                done = _run(learner, watchers, out, where, done, bf16, member)
    checkpoint.save_model(model, out, steps=done, fingerprint=data.fingerprint)
    return out


def _untrained(recipe: ModelRecipe, data: AnyData, start: Path | None) -> Model:
    """Return the model before its first step, with new weights or those of a run."""
    model = new_model(recipe, data)
    if start is not None:
        trained = checkpoint.load_model(start, "cpu")
        sequences = recipe.network.reads_sequences
        alike = checkpoint.as_language_model if sequences else checkpoint.as_encoder_decoder
        model.start_from(alike(trained, start), str(start))
    return model


def _run(
    learner: ModelLearner,
    watchers: Sequence[Watcher],
    out: Path,
    device: torch.device,
    first_step: int,
    bf16: bool,
    member: Member | None,
) -> int:
    table = learner.table
    return run_steps(
        learner,
        watchers,
        device=device,
        bf16=bf16,
        validate_every=table.validate_every if learner.data.validation is not None else None,
        checkpoint_every=table.checkpoint_every,
        folder=out,
        first_step=first_step,
        member=member,
    )


def _train_beside(
    recipe: ModelRecipe,
    folder: Path,
    fingerprint: str,
    start: Path | None,
    out: Path,
    device: torch.device,
    first_step: int,
    bf16: bool,
    member: Member,
    ready: Callable[[], None],
) -> None:
    """Train as one of the other processes, which write nothing; see `fit`."""
    data = training_data(recipe, open_data(folder))
    if data.fingerprint != fingerprint:
        raise LogicgenError(f"{folder}: has changed since the training began: start again")
    assert recipe.training is not None
    torch.manual_seed(recipe.training.seed)
    learner = ModelLearner(_untrained(recipe, data, start), data)
    ready()
    _run(learner, [], out, device, first_step, bf16, member)


def _check_devices(devices: int, recipe: ModelRecipe, model: Model, device: torch.device) -> None:
    """Raise LogicgenError where a model cannot be trained on so many devices."""
    if recipe.training is None or recipe.learns in ("right", "accepted"):
        how = "from counts" if recipe.training is None else f"with training.learn {recipe.learns!r}"
        raise LogicgenError(f"--devices: {how} a model learns on one device; leave it out")
    if not model.several_devices:
        raise LogicgenError(f"--devices: {model.noun} is trained on one device; leave it out")
    check_devices(devices, device, recipe.training.batch_size)
