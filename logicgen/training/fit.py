"""Training a model of any kind into a run's folder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
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
from logicgen.training.devices import Member, check_devices, launched, together
from logicgen.training.learner import ModelLearner
from logicgen.training.loop import Watcher, progress_bar, run_steps
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
    torchrun: bool = False,
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
    torchrun: whether to train together with other processes where torchrun has started this one and
        all of them call this function.
    quiet: no progress bar.

    Ctrl-C (or SIGTERM) finishes the step, saves a checkpoint but no model, and raises
    KeyboardInterrupt (`Terminated`) with a message that says how to go on.
    Raises LogicgenError for a folder that holds something else, or another training.
    """
    started = time.monotonic()
    where, member = find_device(device), launched() if torchrun else None
    recipe = _checked(recipe, data, steps, max_minutes, start)
    with (
        torch.random.fork_rng(devices=[0] if where.type == "cuda" else []),
        ExitStack() as stack,
    ):
        torch.manual_seed(0 if recipe.training is None else recipe.training.seed)
        # What cannot be trained fails here, before there is a folder.
        model = _untrained(recipe, data, start)
        _check_devices(devices, member, recipe, model, where)
        learner = _learner(model, data, out, held_out, workers)
        if isinstance(learner, AcceptanceLearner):
            stack.callback(learner.close)
        if member is not None:
            member.join(where)
            stack.callback(distributed.destroy_process_group)
            if not member.first:
                assert learner is not None
                _run(learner, [], out, where, 0, False, member)
                return out
        identity = _identity(model, data, start, held_out)
        wanted = 1 if learner is None else learner.schedule.steps
        done = open_run(out, identity, wanted, resume=resume)
        if done >= wanted and (out / checkpoint.CARD).is_file():
            if member is not None:
                member.told(-1, where)
            return out
        if learner is None:
            pieces = data.train.once(WINDOWS, CONTEXT)
            shown = track(pieces, "counting", console=Console(stderr=True), disable=quiet)
            model.learn_once(shown)
            done = 1
        else:
            precision, model.precision = choose_precision(out, learner.table.precision, where)
            end = math.inf if max_minutes is None else started + 60 * max_minutes
            watchers: list[Watcher] = [lambda done, loss: time.monotonic() >= end]
            if not quiet:
                watchers.append(stack.enter_context(progress_bar(wanted, done)))
            asked = recipe, data.folder, data.fingerprint, start, out, where
            place = member or stack.enter_context(together(devices, where, _train_beside, asked))
            done = _run(learner, watchers, out, where, done, precision == "bf16", place)
    checkpoint.save_model(model, out, steps=done, fingerprint=data.fingerprint)
    return out


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
            "--learn accepted: learns from right answers of its own, and untrained weights give"
            " none: start from a trained model with --from RUN"
        )
    return recipe


def _learner(
    model: Model, data: AnyData, out: Path, held_out: Sequence[Dataset], workers: int
) -> ModelLearner | None:
    """Return the learner of a model; None of one that is counted."""
    if isinstance(model, EncoderDecoder) and model.recipe.learns == "accepted":
        return AcceptanceLearner(model, data, out, held_out, workers)
    if isinstance(model, EncoderDecoder) and model.recipe.learns == "right":
        return RightTokensLearner(model, data)
    return None if model.recipe.training is None else ModelLearner(model, data)


def _identity(
    model: Model, data: AnyData, start: Path | None, held_out: Sequence[Dataset]
) -> dict[str, Any]:
    """Return what a run has to have in common with the training that goes on with it."""
    begun = None if start is None else checkpoint.weights_digest(start)
    identity = {**model.identity(), "data": data.fingerprint, "start": begun}
    if model.recipe.learns == "accepted":  # other data sets would make other rounds
        identity["held_out"] = sorted({each.fingerprint for each in held_out})
    return identity


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
    """Train from a step on, in a precision, both of which the first of several processes tells."""
    if member is not None:
        first_step = member.told(first_step, device)
        if first_step < 0:
            return first_step
        bf16 = bool(member.told(int(bf16), device))
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
    member: Member,
    ready: Callable[[], None],
) -> None:
    """Train as one of the other processes, which write nothing; see `fit`."""
    data = training_data(recipe, load_dataset(folder))
    if data.fingerprint != fingerprint:
        raise LogicgenError(f"{folder}: has changed since the training began: start again")
    assert recipe.training is not None
    torch.manual_seed(recipe.training.seed)
    learner = ModelLearner(_untrained(recipe, data, start), data)
    ready()
    member.join(device)
    _run(learner, [], out, device, 0, False, member)


def _check_devices(
    devices: int, member: Member | None, recipe: ModelRecipe, model: Model, device: torch.device
) -> None:
    """Raise LogicgenError where a model cannot be trained on so many devices."""
    if devices == 1 and member is None:
        return
    option = "--devices" if member is None else "torchrun"
    if member is not None and devices > 1:
        raise LogicgenError("--devices: torchrun has started the processes; leave it out")
    if recipe.training is None or recipe.learns in ("right", "accepted"):
        how = "from counts" if recipe.training is None else f"with training.learn {recipe.learns!r}"
        raise LogicgenError(f"{option}: {how} a model learns on one device; leave it out")
    if not model.several_devices:
        raise LogicgenError(f"{option}: {model.noun} is trained on one device; leave it out")
    if member is None:
        check_devices(devices, device)
    else:
        devices = member.rank.devices
    if (size := recipe.training.batch_size) % devices:
        raise LogicgenError(
            f"{option} {devices}: training.batch_size {size} is not divisible by it: choose"
            " a number of devices that divides it"
        )
