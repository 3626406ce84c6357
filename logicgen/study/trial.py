"""A trial: train a model, then take every measure of it. All that a study needs of other rooms."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from logicgen.atomic import write_text
from logicgen.data import data_recipe as data_recipes
from logicgen.data.corpus import (
    Corpus,
    CorpusRecipe,
    is_corpus_recipe,
    load_data,
    make_corpus,
    read_corpus_recipe,
)
from logicgen.data.data_recipe import SPLITS, DataRecipe
from logicgen.data.generate import generate
from logicgen.errors import LogicgenError, nearest
from logicgen.model.language_recipe import LanguageRecipe, is_trained_in_steps, read_any_recipe
from logicgen.model.model_recipe import ModelRecipe
from logicgen.study.measure import (
    ANSWERS,
    CELLS,
    EVALUATION,
    KEYS,
    PERPLEXITY,
    Evaluation,
    Measure,
)
from logicgen.study.point import RUNS, Json, Progress

if TYPE_CHECKING:
    from logicgen.evaluate.perplexity import Curve


class DataSet(BaseModel):
    """A data set to be made: what its recipe file is called, and the recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    recipe: DataRecipe | CorpusRecipe

    @property
    def folder(self) -> str:
        """Return a name that differs for different recipes."""
        digest = hashlib.sha256(self.recipe.model_dump_json().encode())
        return f"{self.name}-{digest.hexdigest()[:8]}"


class MeasureOn(BaseModel):
    """A measure, and the data set it is taken on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: Evaluation | Measure
    data: DataSet


class Trial(BaseModel):
    """The arguments of `train_and_measure`: all that its findings depend on, as plain data.

    Attributes:
        study: its name.
        choices: names of the alternatives by axis.
        model: the recipe with all changes, and the seed; no recipe here has its description.
        trained: the data set it is trained on.
        measures: what is measured then, and on which data sets.
        start: name of the trial whose weights it starts from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    study: str
    choices: dict[str, str]
    seed: int
    model: ModelRecipe | LanguageRecipe
    trained: DataSet
    measures: tuple[MeasureOn, ...]
    start: str | None = None

    @property
    def combination(self) -> str:
        """Return the names of the alternatives, as one."""
        return ",".join(self.choices.values())

    @property
    def name(self) -> str:
        """Return the name of the point: that of the combination, and the seed."""
        return f"{self.combination}-{self.seed}"

    @property
    def data_sets(self) -> list[DataSet]:
        """Return all data sets that have to be there before it is run."""
        return [self.trained, *(each.data for each in self.measures)]


# Recipes


def read_model(name: str, changes: dict[str, Any], seed: int) -> ModelRecipe | LanguageRecipe:
    """Return a model recipe with changes by dotted key and a training seed, if it has one."""
    seeds = {"training.seed": seed} if is_trained_in_steps(name) else {}
    return read_any_recipe(name, {**seeds, **changes, "description": ""})


def read_data(name: str, size: int | None, changes: dict[str, Any]) -> DataSet:
    """Return a data set or corpus by the name of its recipe, with changes by dotted key."""
    if is_corpus_recipe(name):
        if size is not None:
            raise LogicgenError(f"{name}: size is not for corpora: change the recipe by data_set")
        corpus = read_corpus_recipe(name, {**changes, "description": ""})
        return DataSet(name=Path(name).stem, recipe=corpus)
    recipe = data_recipes.read_recipe(name, {**changes, "description": ""})
    resized = recipe if size is None else recipe.resized(size)
    return DataSet(name=Path(name).stem, recipe=resized)


def check_measure(asked: MeasureOn, model: ModelRecipe | LanguageRecipe, where: str) -> None:
    """Raise LogicgenError where the data, or the model, have not what a measure asks for."""
    measure, recipe = asked.measure, asked.data.recipe
    if isinstance(recipe, CorpusRecipe):
        if isinstance(measure, Evaluation):
            raise LogicgenError(
                f"{where}: data: a corpus, which has no problems and answers: give [[measure]] and"
                " the recipe of a language model"
            )
        if isinstance(model, ModelRecipe):
            raise LogicgenError(
                f"{where}: measure {measure.name}: a model that answers problems is scored by"
                " [evaluate], on data that hold some: give a language model, or such data"
            )
        return
    if isinstance(measure, Measure):
        return
    made = [split for split in SPLITS if getattr(recipe.sizes, split, 0)]
    if recipe.grid is not None:
        made.append("grid")
    splits = {"evaluate.split": measure.split}
    if measure.covariance is not None:
        splits["evaluate.covariance.split"] = measure.covariance.split
    for key, split in splits.items():
        if split not in made:
            raise LogicgenError(
                f"{where}: {key}: the data have no split {split!r}; {nearest(split, made)}"
            )


# Folders


def data_folder(data: DataSet, folder: Path) -> Path:
    """Return where a data set is, in the folder of a study's results."""
    return folder / RUNS / "data" / data.folder


def run_folder(trial: Trial, folder: Path) -> Path:
    """Return where the weights and predictions of a trial are; elsewhere for another recipe."""
    digest = hashlib.sha256(trial.model_dump_json().encode()).hexdigest()[:8]
    return folder / RUNS / f"{trial.name}-{digest}"


def make_data(
    trials: list[Trial], folder: Path, *, workers: int, progress: Progress
) -> dict[str, str]:
    """Make the data sets of trials, each once; return why some trials lack theirs, by name."""
    sets = {data.folder: data for trial in trials for data in trial.data_sets}
    reasons: dict[str, str] = {}
    for name, data in sets.items():

        def said(split: str, done: int, total: int, name: str = name) -> None:
            progress(f"{name} {split}", done, total)

        try:
            where = data_folder(data, folder)
            if isinstance(data.recipe, CorpusRecipe):
                make_corpus(data.recipe, where, name=data.name, progress=said)
            else:
                generate(data.recipe, where, name=data.name, workers=workers, progress=said)
        except LogicgenError as error:
            reasons[name] = str(error)
    return {
        trial.name: reasons[data.folder]
        for trial in trials
        for data in trial.data_sets
        if data.folder in reasons
    }


# Training and measuring


def train_and_measure(*, folder: str, device: str, source: str | None, **trial: Any) -> Json:
    """Train and measure, or go on where that was stopped; return what was found.

    The data sets have to be there. Raises LogicgenError where the trial cannot be run.
    source: run folder of the trial that it starts from.
    """
    from logicgen.model import checkpoint
    from logicgen.train.fit import fit, prepared

    asked = Trial.model_validate_json(json.dumps(trial))
    root, start = Path(folder), None if source is None else Path(source)
    if start is not None and not (start / checkpoint.CARD).is_file():
        raise LogicgenError(
            f"starts from {asked.start}, whose weights are not in {start}: take the line of"
            f" {asked.start} out of the file of trials to train it again"
        )
    run = run_folder(asked, root)
    data = prepared(asked.model, load_data(data_folder(asked.trained, root)))
    check_answers(asked, data, root)
    with _stopwatch(run.with_name(f"{run.name}.time.json")) as clock:
        fit(asked.model, data, run, device=device, resume=True, start=start, quiet=True)
    measures = {
        each.measure.name: take(each, asked, run, data_folder(each.data, root), device)
        for each in asked.measures
    }
    answers = isinstance(asked.model, ModelRecipe)
    load: Any = checkpoint.load_model if answers else checkpoint.load_language
    model = load(run, device)
    training = {
        "steps": checkpoint.load_json(run / checkpoint.CARD)["steps"],
        "minutes": round(clock["seconds"] / 60, 2),
        "parameters": sum(weights.numel() for weights in model.parameters()),
    }
    return {"training": training, "measures": measures}


def check_answers(trial: Trial, data: Any, root: Path) -> None:
    """Raise LogicgenError where the evaluation is impossible: then nothing need be trained."""
    from logicgen.evaluate.predictions import About, check_fits
    from logicgen.model.encoder_decoder import Model

    if not isinstance(trial.model, ModelRecipe):
        return
    new = Model(trial.model, data.vocabulary, data.train.alphabet, data.task_name, data.region)
    for each in trial.measures:
        dataset: Any = load_data(data_folder(each.data, root))
        about = About.of(new, trial.combination, dataset, each.measure.split)
        check_fits(new, dataset, about, getattr(each.measure, "ensemble", 1))


def take(asked: MeasureOn, trial: Trial, run: Path, data: Path, device: str) -> Json:
    """Return what one measure of a trained model found, as plain data.

    run: folder of the model; results that are large stay there. data: folder of the data set.
    Raises LogicgenError where the model cannot be measured so.
    """
    from logicgen.evaluate.predictions import prepare_folder

    opened, measure = load_data(data), asked.measure
    folder = run / (measure.split if measure.name == EVALUATION else measure.name)
    prepare_folder(folder)
    if not isinstance(opened, Corpus):
        return _answers(measure, opened, trial, run, folder, device)
    assert isinstance(measure, Measure)
    read = _keys if opened.recipe.task == "cipher" else _perplexity
    return read(measure, opened, run, trial.combination, folder, device)


def _answering(trial: Trial, run: Path, data: Any, device: str) -> Any:
    """Return the trained model as what answers the problems of a data set."""
    from logicgen.evaluate.prompted import Prompted
    from logicgen.model import checkpoint

    if isinstance(trial.model, ModelRecipe):
        return checkpoint.load_model(run, device)
    return Prompted(checkpoint.load_language(run, device), data)


def _answers(
    measure: Evaluation | Measure, data: Any, trial: Trial, run: Path, folder: Path, device: str
) -> Json:
    """Return the score of answers to problems; for `[evaluate]` counted by cell, and covariance."""
    from logicgen.evaluate.covariance import predict_renamed, write_covariance
    from logicgen.evaluate.predictions import (
        About,
        predict_and_verify,
        prepare_folder,
        write_predictions,
    )
    from logicgen.evaluate.scores import Scores
    from logicgen.evaluate.verified import Verified
    from logicgen.nn.decoding import BeamSearch, Sampling
    from logicgen.report.evaluation_files import summarise

    model = _answering(trial, run, data, device)
    about = About.of(model, trial.combination, data, measure.split)
    much, how = {"limit", "embedding_seeds"}, measure.model_dump(include={"grammar", "ensemble"})
    verified = None
    if isinstance(measure, Evaluation):
        how["decoding"] = BeamSearch(measure.beams)
        if measure.verified is not None:
            verified = Verified(measure.verified, Sampling(measure.temperature))
    asked = measure.model_dump(include=much)
    table = predict_and_verify(model, data, about, verified=verified, **asked, **how)
    write_predictions(table, folder)
    scores = Scores.of(table, about)
    if not isinstance(measure, Evaluation):
        return {"kind": ANSWERS, "score": scores.score().flat()}
    found = {"kind": CELLS, "about": asdict(about), "summary": summarise(scores)}
    if measure.covariance is not None:
        split, asked = measure.covariance.split, measure.covariance.model_dump(include=much)
        prepare_folder(run / split)
        about = About.of(model, trial.combination, data, split)
        renamed = predict_renamed(model, data, about, **asked, **how)
        found["covariance"] = write_covariance(renamed, run / split)
    return {**found, "tally": scores.tally()}


def _perplexity(
    measure: Measure, corpus: Corpus, run: Path, called: str, folder: Path, device: str
) -> Json:
    from logicgen.evaluate import perplexity
    from logicgen.model import checkpoint

    curve = perplexity.measure(
        checkpoint.load_language(run, device),
        corpus,
        called,
        limit=measure.limit or 256,
        **measure.model_dump(include={"split", "context", "embedding_seeds", "beyond"}),
    )
    return {
        "kind": PERPLEXITY,
        "summary": perplexity.write_curve(curve, folder),
        "tokens": curve.tokens.tolist(),
        "means": {name: np.round(values[1:], 6).tolist() for name, values in curve.means.items()},
    }


def curve_of(found: Json) -> Curve:
    """Return the curve that a measure of perplexity found."""
    from logicgen.evaluate.perplexity import Curve, Read

    summary = dict(found["summary"])
    parts = {name: summary.pop(name) for name in ("overall", "beyond") if name in summary}
    means = {
        name: np.array([np.nan, *(np.nan if v is None else v for v in values)])
        for name, values in found["means"].items()
    }
    return Curve(Read(**summary), np.array(found["tokens"]), means, parts)


def _keys(
    measure: Measure, corpus: Corpus, run: Path, called: str, folder: Path, device: str
) -> Json:
    from logicgen.evaluate.keys import ask_for_keys
    from logicgen.train.probe import ProbeSettings

    windows = ask_for_keys(
        run,
        called,
        corpus,
        folder,
        ProbeSettings(**measure.model_dump(include={"steps", "hidden", "layer"})),
        limit=measure.limit or 1000,
        device=device,
        **measure.model_dump(include={"split", "context", "window"}),
    )
    return {"kind": KEYS, "windows": [asdict(each) for each in windows]}


@contextmanager
def _stopwatch(path: Path) -> Iterator[dict[str, float]]:
    """Yield the seconds spent inside, added to those of earlier times that a file remembers."""
    clock: dict[str, float] = {"seconds": 0.0}
    if path.is_file():
        clock = json.loads(path.read_text(encoding="utf-8"))
    start = time.monotonic()
    try:
        yield clock
    finally:
        clock["seconds"] += time.monotonic() - start
        write_text(path, json.dumps(clock))
