"""Train a model of any kind, and write its run folder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from torch import distributed

from logicgen.data.dataset import Dataset
from logicgen.data.opening import load_dataset
from logicgen.errors import LogicgenError
from logicgen.model import checkpoint
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.kinds import new_model, training_data
from logicgen.model.model import AnyData, Model, find_device
from logicgen.model.recipe import ModelRecipe
from logicgen.training.acceptance import AcceptanceLearner
from logicgen.training.devices import ALONE, Member, check_devices, launched, together
from logicgen.training.learner import ModelLearner
from logicgen.training.loop import Watcher, progress_bar, run_steps
from logicgen.training.right_learner import RightTokensLearner
from logicgen.training.run_folder import choose_precision, open_run

__all__ = ["fit", "training_data"]

# N-gram models count the data once, in batches of WINDOWS sequences of CONTEXT tokens.
WINDOWS, CONTEXT = 64, 4096


@dataclass(frozen=True)
class TrainingJob:
    """The inputs and the output folder of a training, for the processes of all devices.

    Attributes:
        data, fingerprint: folders and digest of the data.
        start: folder of the run that provides the initial weights.
        out: folder of the run.
    """

    recipe: ModelRecipe
    data: tuple[Path, ...]
    fingerprint: str
    start: Path | None
    out: Path
    device: torch.device


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
    torchrun: bool = False,
    quiet: bool = False,
) -> Path:
    """Train a model into the run folder `out`, and return that folder.

    data: the result of `training_data` for the recipe.
    steps: number of steps; the recipe's if not given.
    max_minutes: stop at the first step after this time. The model can be used, or resumed.
    resume: continue from the folder's last checkpoint, or start a training if it has no checkpoint.
    start: folder of the finished run that provides the initial weights.
    held_out: for a model that learns from verdicts, further data sets. The problems of their
        held-out splits are excluded, as in the training data set.
    workers: for a model that learns from verdicts, the number of processes that judge. If it is
        above 1, the same number of processes draws new problems ahead.
    devices: number of devices of this machine; each learns from a share of every batch. If one of
        their processes fails while PyTorch waits for it, this process ends, too.
    torchrun: whether torchrun may have started this process and its peers.
    quiet: show no progress bar.

    Ctrl-C (or SIGTERM) finishes the step, saves a checkpoint but no model, and raises
    KeyboardInterrupt (`Terminated`). Its message explains how to continue.
    Raises LogicgenError if the folder holds other files or another training.
    """
    end = math.inf if max_minutes is None else time.monotonic() + 60 * max_minutes
    where, place = find_device(device), launched() if torchrun else ALONE
    recipe = _checked(recipe, data, steps, max_minutes, start)
    job = TrainingJob(recipe, data.folders, data.fingerprint, start, out, where)
    with torch.random.fork_rng(devices=[0] if where.type == "cuda" else []):
        torch.manual_seed(0 if recipe.training is None else recipe.training.seed)
        _fit(job, data, place, devices, held_out, workers, resume, end, quiet)
    return out


def _fit(
    job: TrainingJob,
    data: AnyData,
    place: Member,
    devices: int,
    held_out: Sequence[Dataset],
    workers: int,
    resume: bool,
    end: float,
    quiet: bool,
) -> None:
    """Train in this process, which may start other processes or have been started by torchrun."""
    out, device = job.out, job.device
    with ExitStack() as stack:
        # If the model cannot be trained, this fails before the folder exists.
        model = _untrained(job, data)
        _check_devices(devices, place, model, device)
        learner = _learner(model, data, out, held_out, workers)
        if isinstance(learner, AcceptanceLearner):
            stack.callback(learner.close)
        if place.several:
            place.join(device)
            stack.callback(distributed.destroy_process_group)
        if not place.first:
            assert learner is not None
            _run(job, learner, place)
            return
        identity = _identity(model, data, job.start, held_out)
        wanted = 1 if learner is None else learner.schedule.steps
        done = open_run(out, identity, wanted, resume=resume)
        if checkpoint.has_model(out, wanted):
            place.told(-1, device)
            return
        if learner is None:
            pieces = data.train.once(WINDOWS, CONTEXT)
            shown = track(pieces, "counting", console=Console(stderr=True), disable=quiet)
            model.learn_once(shown)
            done = 1
        else:
            precision, model.precision = choose_precision(out, learner.table.precision, device)
            watchers: list[Watcher] = [lambda done, loss: time.monotonic() >= end]
            if not quiet:
                watchers.append(stack.enter_context(progress_bar(wanted, done)))
            if not place.several:
                place = stack.enter_context(together(devices, device, _train_beside, job))
            done = _run(job, learner, place, watchers, done, precision == "bf16")
    checkpoint.save_model(model, out, steps=done, fingerprint=data.fingerprint)


def _checked(
    recipe: ModelRecipe,
    data: AnyData,
    steps: int | None,
    max_minutes: float | None,
    start: Path | None,
) -> ModelRecipe:
    """Return the recipe with its steps. Raises LogicgenError for options that do not fit it."""
    if steps is not None:
        if steps < 1:
            raise LogicgenError(f"--steps {steps}: has to be at least 1")
        recipe = recipe.with_steps(steps)
    if len(data.train) == 0:
        raise LogicgenError("the data set has no training examples: nothing to train on")
    if recipe.training is None:
        given = {"--from": start, "--steps": steps, "--max-minutes": max_minutes}
        for option, value in given.items():
            if value is not None:
                raise LogicgenError(
                    f"{option}: n-grams are counted, once and in no steps; leave it out"
                )
    if recipe.learns == "accepted" and start is None:
        raise LogicgenError(
            "--learn accepted: the model learns from its own right answers, and an untrained model"
            " has no right answers: start from a trained model with --from RUN"
        )
    return recipe


def _learner(
    model: Model, data: AnyData, out: Path, held_out: Sequence[Dataset], workers: int
) -> ModelLearner | None:
    """Return the learner of a model; None for models that count n-grams."""
    if isinstance(model, EncoderDecoder) and model.recipe.learns == "accepted":
        return AcceptanceLearner(model, data, out, held_out, workers)
    if isinstance(model, EncoderDecoder) and model.recipe.learns == "right":
        return RightTokensLearner(model, data)
    return None if model.recipe.training is None else ModelLearner(model, data)


def _identity(
    model: Model, data: AnyData, start: Path | None, held_out: Sequence[Dataset]
) -> dict[str, Any]:
    """Return the values that must not change when a run is resumed."""
    begun = None if start is None else checkpoint.weights_digest(start)
    identity = {**model.identity(), "data": data.fingerprint, "start": begun}
    if model.recipe.learns == "accepted":  # the rounds of training use these data sets
        identity["held_out"] = sorted({each.fingerprint for each in held_out})
    return identity


def _untrained(job: TrainingJob, data: AnyData) -> Model:
    """Return the model before its first step, with new weights or the weights of a run."""
    model = new_model(job.recipe, data)
    if job.start is not None:
        trained = checkpoint.load_model(job.start, "cpu")
        sequences = job.recipe.network.reads_sequences
        alike = checkpoint.as_language_model if sequences else checkpoint.as_encoder_decoder
        model.start_from(alike(trained, job.start), str(job.start))
    return model


def _run(
    job: TrainingJob,
    learner: ModelLearner,
    place: Member,
    watchers: Sequence[Watcher] = (),
    first_step: int = 0,
    bf16: bool = False,
) -> int:
    """Train from `first_step` on. All processes use the step and precision of the first process."""
    first_step = place.told(first_step, job.device)
    if first_step < 0:
        return first_step
    table = learner.table
    return run_steps(
        learner,
        watchers,
        device=job.device,
        bf16=bool(place.told(int(bf16), job.device)),
        validate_every=table.validate_every if learner.data.validation is not None else None,
        checkpoint_every=table.checkpoint_every,
        folder=job.out,
        first_step=first_step,
        member=place,
    )


def _train_beside(job: TrainingJob, place: Member, ready: Callable[[], None]) -> None:
    """Train in a process that is not the first, and writes no file."""
    data = training_data(job.recipe, *map(load_dataset, job.data))
    if data.fingerprint != job.fingerprint:
        raise LogicgenError(
            f"{', '.join(map(str, job.data))}: changed since the training began: start again"
        )
    assert job.recipe.training is not None
    torch.manual_seed(job.recipe.training.seed)
    learner = ModelLearner(_untrained(job, data), data)
    ready()
    place.join(job.device)
    _run(job, learner, place)


def _check_devices(devices: int, place: Member, model: Model, device: torch.device) -> None:
    """Raise LogicgenError if a model cannot be trained on this number of devices."""
    if devices == 1 and not place.several:
        return
    recipe, option = model.recipe, "torchrun" if place.several else "--devices"
    if place.several and devices > 1:
        raise LogicgenError("--devices: torchrun has started the processes; leave it out")
    if recipe.training is None or recipe.learns in ("right", "accepted"):
        how = "from counts" if recipe.training is None else f"with training.learn {recipe.learns!r}"
        raise LogicgenError(f"{option}: {how} a model learns on one device; leave it out")
    if not model.several_devices:
        raise LogicgenError(f"{option}: {model.noun} is trained on one device; leave it out")
    if place.several:
        devices = place.rank.devices
    else:
        check_devices(devices, device)
    if (size := recipe.training.batch_size) % devices:
        raise LogicgenError(
            f"{option} {devices}: training.batch_size {size} is not divisible by it: choose"
            " a number of devices that divides it"
        )
