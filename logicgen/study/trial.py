"""A trial: a function and its arguments. Most trials train a model and measure it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logicgen import recipes
from logicgen.callbacks import StageProgress
from logicgen.data.dataset import Dataset
from logicgen.data.opening import as_dataset, load_dataset, make
from logicgen.data.recipe import CorpusRecipe, DataRecipe
from logicgen.errors import LogicgenError
from logicgen.experiments import Json
from logicgen.files import text_sha256
from logicgen.measures import find_measure
from logicgen.measures.measure import Subject
from logicgen.model.recipe import ModelRecipe
from logicgen.recipes import Table
from logicgen.study.recipe import Evaluation, MeasureTable

if TYPE_CHECKING:
    from logicgen.model.model import AnyData

RUNS = "runs"
"""The folder of data sets, weights, predictions and logs. Recipes can make these files again."""


class DataSet(Table):
    """A data set or corpus: the name of its recipe file, the recipe, and the seed."""

    name: str
    recipe: DataRecipe | CorpusRecipe
    seed: int = 0

    @property
    def folder(self) -> str:
        """Return the name of the folder. Different recipes or seeds have different names."""
        name = f"{self.name}-{text_sha256(self.recipe.model_dump_json())[:8]}"
        return f"{name}-{self.seed}" if self.seed else name


class MeasureOn(Table):
    """A measure, and the data set on which it is taken."""

    measure: Evaluation | MeasureTable
    data: DataSet


class Training(Table):
    """The recorded arguments of `train_and_measure`. They determine its results."""

    study: str  # name of the study
    choices: dict[str, str]  # names of the chosen alternatives by axis
    seed: int  # seed of the training
    model: ModelRecipe  # with all changes and the seed, and without the description
    trained: DataSet  # the training data
    measures: tuple[MeasureOn, ...]
    start: str | None = None  # name of the trial that trains the initial weights
    weights: str | None = None  # folder of the weights from which training starts

    @property
    def point(self) -> str:
        """Return the name of the combination of alternatives. It does not contain the seed."""
        return ",".join(self.choices.values())

    @property
    def name(self) -> str:
        """Return the name of the trial."""
        return trial_name(self.choices, self.seed)

    @property
    def data_sets(self) -> list[DataSet]:
        """Return all data sets that must exist before the trial is run."""
        return [self.trained, *(each.data for each in self.measures)]


def trial_name(choices: dict[str, str], seed: int) -> str:
    """Return the name of a trial: the names of its alternatives, and the seed."""
    return f"{','.join(choices.values())}-{seed}"


@dataclass(frozen=True)
class Trial:
    """A function and its arguments, with a name that is unique in the study.

    The arguments and the result of the function are JSON data. They are stored in a record.
    """

    name: str
    function: Callable[..., Json]  # a function of a module, which a worker process can import
    arguments: Json
    after: str | None = None  # name of the trial that trains the initial weights
    training: Training | None = None  # the arguments, if the function is `train_and_measure`

    @staticmethod
    def of(training: Training) -> Trial:
        """Return the trial that trains and measures one model."""
        arguments = training.model_dump(mode="json", exclude_none=True)
        return Trial(training.name, train_and_measure, arguments, training.start, training)


def weights_folder(name: str) -> Path:
    """Return the folder of a trained model.

    name: a folder in `studies/weights`, a shipped model, or a path.

    Raises LogicgenError if the folder contains no trained model.
    """
    kind = "models" if name in recipes.trained() else "studies"
    folder = Path(name) if "/" in name else recipes.folder(kind) / "weights" / name
    if not os.path.isfile(folder / "model.json"):
        raise LogicgenError(f"weights: {folder} holds no trained model: train it, or leave it out")
    return folder


def data_folder(data: DataSet, folder: Path) -> Path:
    """Return the path of a data set in the folder of a study's results."""
    return folder / RUNS / "data" / data.folder


def run_folder(training: Training, folder: Path) -> Path:
    """Return the folder for the weights and predictions of a trial.

    The name of the folder contains a checksum of all arguments of the trial.

    folder: the folder of the study's results.
    """
    return folder / RUNS / f"{training.name}-{text_sha256(training.model_dump_json())[:8]}"


def make_data(
    trainings: list[Training], folder: Path, *, workers: int, progress: StageProgress
) -> dict[str, str]:
    """Make each data set of some trials once.

    If a data set cannot be made, its trials are in the result: a dict from their names to messages.
    """
    users = [(data, each.name) for each in trainings for data in each.data_sets]
    reasons: dict[str, str] = {}
    for name, data in {data.folder: data for data, _ in users}.items():

        def said(split: str, done: int, total: int, name: str = name) -> None:
            progress(f"{name} {split}", done, total)

        try:
            where = data_folder(data, folder)
            options: dict[str, Any] = {"workers": workers, "progress": said}
            make(data.recipe, where, name=data.name, seed=data.seed, **options)
        except LogicgenError as error:
            reasons[name] = str(error)
    return {user: reasons[data.folder] for data, user in users if data.folder in reasons}


def train_and_measure(*, folder: str, device: str, source: str | None, **arguments: Any) -> Json:
    """Train a model and measure it, or resume an interrupted trial; return the results.

    folder: the folder of the study's results, which contains the data sets.
    source: the run folder with the weights from which the training starts.
    arguments: a `Training` as plain data.

    Raises LogicgenError if the trial cannot be run.
    """
    from logicgen.model import checkpoint
    from logicgen.training.run_folder import training_minutes, validation_curves

    asked, root = Training.model_validate_json(json.dumps(arguments)), Path(folder)
    run = run_folder(asked, root)
    _train(asked, root, run, device, None if source is None else Path(source))
    model = checkpoint.load_model(run, device)
    subject, measures = Subject(model, asked.point, run, device), {}
    for each in asked.measures:
        opened = load_dataset(data_folder(each.data, root))
        kind = each.measure.kind(opened.holds, str(opened.folder))
        found = find_measure(kind).take(each.measure, opened, subject)
        measures[each.measure.name] = {"kind": kind, **found}
    training = {
        "steps": checkpoint.load_json(run / checkpoint.CARD)["steps"],
        **({"precision": model.precision} if model.precision else {}),
        "minutes": round(training_minutes(run) or 0.0, 2),  # n-gram models have no logs
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "validation": validation_curves(run),
    }
    return {"training": training, "measures": measures}


def _train(asked: Training, root: Path, run: Path, device: str, start: Path | None) -> None:
    """Train the model of a trial in its run folder, from the weights of the run folder `start`."""
    from logicgen.model import checkpoint
    from logicgen.training.fit import fit, training_data

    if start is not None and not os.path.isfile(start / checkpoint.CARD):
        if asked.start is None:
            raise LogicgenError(f"weights: {start} holds no trained model any more: restore it")
        raise LogicgenError(
            f"starts from {asked.start}, whose weights are not in {start}: take the line of"
            f" {asked.start} out of the file of trials to train it again"
        )
    data = training_data(asked.model, load_dataset(data_folder(asked.trained, root)))
    check_answers(asked, data, root)
    measured_on = [
        (each.data, load_dataset(data_folder(each.data, root))) for each in asked.measures
    ]
    held_out = [
        opened
        for declared, opened in measured_on
        if isinstance(opened, Dataset) and declared.recipe.task == asked.trained.recipe.task
    ]
    options: dict[str, Any] = {"device": device, "start": start, "held_out": held_out}
    fit(asked.model, data, run, resume=True, quiet=True, **options)


def check_answers(training: Training, data: AnyData, root: Path) -> None:
    """Raise LogicgenError if the answers of the model could not be scored.

    This check is made before the training.

    root: the folder of the study's results.
    """
    from logicgen.measures.predictions import About, check_fits
    from logicgen.model.kinds import new_model

    for each in training.measures:
        if each.data.recipe.holds == "problems":
            dataset = as_dataset(load_dataset(data_folder(each.data, root)))
            answerer = new_model(training.model, data).answerer(
                dataset.task, training.point, shots=each.measure.shots, data=dataset
            )
            about = About.of(answerer.region, training.point, dataset, each.measure.split)
            check_fits(answerer, dataset, about, each.measure.ensemble)
