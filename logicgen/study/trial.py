"""One trial: train, answer, judge, and leave a summary. What a worker process does with a job."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import logicgen
from logicgen.atomic import prepare_folder, write_text
from logicgen.study.plan import DataSet, Trial
from logicgen.study.summary import goal, write_measures, write_summary

# Weights, data sets and predictions: large, made anew from the recipes, not to be committed.
RUNS = "runs"


def data_folder(data: DataSet, folder: Path) -> Path:
    """Where a data set is, in the folder of a study's results."""
    return folder / RUNS / "data" / data.folder


def run_folder(trial: Trial, folder: Path) -> Path:
    """Where the weights and predictions of a trial are; elsewhere for another recipe."""
    digest = hashlib.sha256(trial.model_dump_json().encode()).hexdigest()[:8]
    return folder / RUNS / f"{trial.name}-{digest}"


def run_trial(trial: Trial, folder: Path, device: str, start: Path | None) -> tuple[float, bool]:
    """Train and score, or go on where that was stopped; returns the `goal`.

    The data sets have to be there. Raises LogicgenError where the trial cannot be run.
    start: run folder whose weights it starts from, where it does.
    """
    if trial.measured is not None:
        return _run_measured(trial, folder, device, start)

    from logicgen.data.dataset import load_dataset
    from logicgen.evaluate.covariance import predict_renamed
    from logicgen.evaluate.predictions import (
        About,
        check_fits,
        predict_and_verify,
    )
    from logicgen.evaluate.scores import Scores
    from logicgen.evaluate.verified import Verified
    from logicgen.model import checkpoint
    from logicgen.model.encoder_decoder import Model
    from logicgen.model.model_recipe import ModelRecipe
    from logicgen.model.training_data import training_data
    from logicgen.nn.decoding import BeamSearch, Sampling
    from logicgen.report.covariance_files import write_covariance
    from logicgen.report.evaluation_files import write_predictions
    from logicgen.train.fit import fit

    run = run_folder(trial, folder)
    trained = load_dataset(data_folder(trial.trained, folder))
    evaluated = load_dataset(data_folder(trial.evaluated, folder))
    data, how = training_data(trained), trial.evaluate
    assert isinstance(trial.model, ModelRecipe)
    # What could not be scored is not trained.
    new = Model(trial.model, data.vocabulary, data.train.alphabet, data.task_name, data.region)
    check_fits(new, evaluated, About.of(new, trial.point, evaluated, how.split), how.ensemble)
    with _stopwatch(run.with_name(f"{run.name}.time.json")) as clock:
        fit(
            trial.model,
            data,
            run,
            device=device,
            resume=True,
            start=start,
            quiet=True,
        )
    model = checkpoint.load_model(run, device)
    verified = None
    if how.verified is not None:
        verified = Verified(how.verified, Sampling(how.temperature))
    about = About.of(model, trial.point, evaluated, how.split)
    table = predict_and_verify(
        model,
        evaluated,
        about,
        limit=how.limit,
        embedding_seeds=how.embedding_seeds,
        grammar=how.grammar,
        decoding=BeamSearch(how.beams),
        ensemble=how.ensemble,
        verified=verified,
    )
    prepare_folder(run / how.split)
    write_predictions(table, run / how.split)
    scores = Scores.of(table, about)
    rest: dict[str, Any] = {"about": asdict(about), "summary": scores.summary()}
    if how.covariance is not None:
        split = how.covariance.split
        renamed = predict_renamed(
            model,
            evaluated,
            About.of(model, trial.point, evaluated, split),
            limit=how.covariance.limit,
            embedding_seeds=how.covariance.embedding_seeds,
            grammar=how.grammar,
            decoding=BeamSearch(how.beams),
            ensemble=how.ensemble,
        )
        prepare_folder(run / split)
        rest["covariance"] = write_covariance(renamed, run / split)
    rest["training"] = {
        "steps": checkpoint.load_json(run / checkpoint.CARD)["steps"],
        "minutes": round(clock["seconds"] / 60, 2),
        "parameters": sum(weights.numel() for weights in model.parameters()),
    }
    rest |= {"machine": machine(device), "commit": commit(), "versions": versions()}
    write_summary(trial, scores, rest, folder)
    return goal(scores)


def _run_measured(
    trial: Trial, folder: Path, device: str, start: Path | None
) -> tuple[float, bool]:
    """`run_trial` of a language model."""
    from logicgen.data.corpus import load_data
    from logicgen.model import checkpoint
    from logicgen.study.measure import headline, take
    from logicgen.train.fit import fit, prepared

    run = run_folder(trial, folder)
    data = prepared(trial.model, load_data(data_folder(trial.trained, folder)))
    with _stopwatch(run.with_name(f"{run.name}.time.json")) as clock:
        fit(trial.model, data, run, device=device, resume=True, start=start, quiet=True)
    found = {
        each.measure.name: take(
            each.measure, data_folder(each.data, folder), run, trial.point, device
        )
        for each in trial.measured or ()
    }
    model = checkpoint.load_language(run, device)
    training = {
        "steps": checkpoint.load_json(run / checkpoint.CARD)["steps"],
        "minutes": round(clock["seconds"] / 60, 2),
        "parameters": sum(weights.numel() for weights in model.parameters()),
    }
    rest = {"training": training, "machine": machine(device), "commit": commit()}
    write_measures(trial, found, {**rest, "versions": versions()}, folder)
    return headline(next(iter(found.values())))


@contextmanager
def _stopwatch(path: Path) -> Iterator[dict[str, float]]:
    """Seconds spent inside, added to those of earlier times that a file remembers."""
    clock: dict[str, float] = {"seconds": 0.0}
    if path.is_file():
        clock = json.loads(path.read_text(encoding="utf-8"))
    start = time.monotonic()
    try:
        yield clock
    finally:
        clock["seconds"] += time.monotonic() - start
        write_text(path, json.dumps(clock))


def machine(device: str) -> str:
    """What computed: the card, or the processor and how many threads of it."""
    import torch

    from logicgen.model.encoder_decoder import find_device

    if find_device(device).type == "cuda":
        return torch.cuda.get_device_name()
    threads = torch.get_num_threads()
    return f"{processor()}, {threads} {'thread' if threads == 1 else 'threads'}"


def processor() -> str:
    """What this machine computes with."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def commit() -> str | None:
    """The commit of the source tree that this runs from, with a + if it was changed; else None."""
    root = Path(logicgen.__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        said = [
            subprocess.run(
                ["git", "-C", root, *arguments], check=True, capture_output=True, text=True
            ).stdout.strip()
            for arguments in (
                ("rev-parse", "--short=12", "HEAD"),
                ("status", "--porcelain", "-uno"),
            )
        ]
    except (OSError, subprocess.CalledProcessError):
        return None
    return said[0] + ("+" if said[1] else "")


def versions() -> dict[str, str]:
    """Of what a result may depend on."""
    found = {name: version(name) for name in ("torch", "numpy", "optuna")}
    return {"logicgen": logicgen.__version__, "python": platform.python_version(), **found}
