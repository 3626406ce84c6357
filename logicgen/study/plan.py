"""A study by its name, and its points.

The points of a study of trainings are combinations of its axes, each with every training seed. The
points and the report of a published experiment follow from its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.data.cards import markdown_table
from logicgen.errors import LogicgenError
from logicgen.experiments import Experiment, ExperimentSettings, Json, open_experiment
from logicgen.recipes import validate
from logicgen.report.tables import write_page
from logicgen.study.cell_tables import show_cells
from logicgen.study.measure import EVALUATION
from logicgen.study.measure_tables import show_measures
from logicgen.study.point import Plan, Point, Progress, Record
from logicgen.study.record import made_with
from logicgen.study.result import Result, by_point
from logicgen.study.study_recipe import PLAIN, Alternative, Study, read_study, read_tables
from logicgen.study.trial import (
    MeasureOn,
    Trial,
    check_measure,
    make_data,
    point_name,
    read_data,
    read_model,
    run_folder,
    train_and_measure,
    weights_folder,
)

# Recipes of every trial are read and checked before the first one is trained: seconds for these.
MOST_TRIALS = 3_000

Combination = dict[str, Alternative]
"""One alternative of each axis."""


def open_study(name: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan of a shipped study, or of the one in a TOML file.

    changes: values to use instead of the file's, by dotted key.
    Raises LogicgenError, in one line that names file, key and what is allowed.
    """
    path, tables = read_tables(name, changes)
    if "experiment" not in tables:
        return plan(read_study(name, changes))
    return plan_experiment(tables, path.stem, str(path))


@dataclass(kw_only=True)
class ExperimentPlan(Plan):
    """The plan of an experiment."""

    experiment: Experiment[Any]
    settings: ExperimentSettings

    def write(self, records: dict[str, Record], folder: Path) -> str:
        """Write the report; return its tables."""
        found = {name: records[name].found for name in self.points}
        report = self.experiment.report(self.settings, found)
        made = made_with([records[name] for name in self.points])
        write_page(report, folder, self.command, made)
        return "\n\n".join(report.blocks())


def plan_experiment(tables: Json, name: str, where: str) -> ExperimentPlan:
    """Return the plan of the study `name` from the tables of its file.

    Raises LogicgenError naming `where` and the key for settings that the experiment has not.
    """
    experiment = open_experiment(str(tables["experiment"]), f"{where}: experiment")
    settings = validate(experiment.settings, tables, where)
    return ExperimentPlan(
        name=name,
        command=f"logicgen study {name}",
        points={each: Point(each, *call) for each, call in experiment.points(settings).items()},
        cpu=True,
        whole=True,
        experiment=experiment,
        settings=settings,
    )


@dataclass(kw_only=True)
class TrainingPlan(Plan):
    """The plan of a study of trainings that differ in a few keys."""

    study: Study
    combinations: list[Combination]
    trials: dict[str, Trial] = field(default_factory=dict)  # arguments of points, by name

    def check(self, record: Record) -> None:
        """Raise what `DAMAGE` names where tables and figures cannot be made of a record."""
        Result.of(record, self.trials[record.point])

    def prepare(
        self, points: list[Point], folder: Path, *, workers: int, progress: Progress
    ) -> dict[str, str]:
        """Make the data sets of points; return why some cannot have theirs, by name."""
        trials = [self.trials[point.name] for point in points]
        return make_data(trials, folder, workers=workers, progress=progress)

    def context(self, point: Point, folder: Path, device: str) -> Json:
        """Return folder and device, and the run folder whose weights a trial starts from."""
        weights = self.trials[point.name].weights
        source = str(weights_folder(weights)) if weights else None
        if point.after:
            source = str(run_folder(self.trials[point.after], folder))
        return {"folder": str(folder), "device": device, "source": source}

    def score(self, record: Record) -> tuple[float, bool]:
        """Return the one number of the first measure, and whether less is better."""
        return Result.of(record, self.trials[record.point]).headline

    def write(self, records: dict[str, Record], folder: Path) -> str:
        """Write tables and figures of the trials that are done; return the table for people.

        Raises LogicgenError where none is.
        """
        done = {name: records[name] for name in self.trials if name in records}
        if not done:
            raise LogicgenError(f"{self.name}: no trial is done: there is nothing to show")
        results = [Result.of(record, self.trials[name]) for name, record in done.items()]
        points = by_point(results)
        counted = f"{len(points):,} points of {len(self.combinations):,}, {len(done):,} trials."
        show = show_cells if EVALUATION in results[0].measures else show_measures
        report = show(self.study, points, counted)
        missing = [name for name in [*self.trials, *self.impossible] if name not in records]
        notes = [f"Not done: {', '.join(missing)}."] if missing else []
        write_page(report, folder, self.command, *notes, made_with(list(done.values())))
        return markdown_table(*report.tables[0][1:])


def plan(study: Study) -> TrainingPlan:
    """Return the points of a study.

    A trial whose recipes are wrong is `impossible`, and the others are not.
    Raises LogicgenError for a study that asks for more points than there are, whose axes contradict
    each other, or which sets a seed.
    """
    _check_axes(study)
    sets = [study.base.set, *(each.set for axis in study.axes.values() for each in axis)]
    if any("training.seed" in changes for changes in sets):
        remedy = "give the numbers as seeds"
        raise LogicgenError(f"{study.path}: training.seed cannot be changed: {remedy}")
    command = f"logicgen study {study.name}"
    combined = combinations(study)
    made = TrainingPlan(name=study.name, command=command, study=study, combinations=combined)
    for each, seed in product(combined, study.seeds):
        name = point_name({axis: chosen.name for axis, chosen in each.items()}, seed)
        try:
            made.trials[name] = _trial(study, each, seed)
        except LogicgenError as error:
            made.impossible[name] = str(error)
    for name in list(made.trials):
        lost = _lost_start(made, name)
        if lost is not None:
            why = made.impossible.get(lost, "it is not among the points of the sample")
            made.impossible[name] = f"starts from {lost}, which cannot be trained: {why}"
            del made.trials[name]
    for name, trial in made.trials.items():
        arguments = trial.model_dump(mode="json", exclude_none=True)
        made.points[name] = Point(name, train_and_measure, arguments, after=trial.start)
    return made


def _lost_start(made: TrainingPlan, name: str) -> str | None:
    """Return the trial from which another starts, at once or in turn, and which is not there."""
    start = made.trials[name].start
    while start in made.trials:
        start = made.trials[start].start
    return start


def combinations(study: Study) -> list[Combination]:
    """Return the whole grid, or a sample of it: drawn without replacement, the same every time."""
    names, alternatives = list(study.axes), list(study.axes.values())
    sizes = [len(axis) for axis in alternatives]
    total = prod(sizes)
    trials = min(study.sample or total, total) * len(study.seeds)
    if trials > MOST_TRIALS:
        raise LogicgenError(
            f"{study.path}: asks for {trials:,} trials, one for each point and seed;"
            f" {MOST_TRIALS:,} are allowed: give sample, or fewer values to an axis"
        )
    if study.sample is None:
        return [dict(zip(names, each, strict=True)) for each in product(*alternatives)]
    if study.sample > total:
        raise LogicgenError(
            f"{study.path}: sample: {study.sample:,} different points are asked for, the axes have"
            f" {total:,}: lower it, or leave it out for all of them"
        )
    drawn: dict[tuple[int, ...], None] = {}  # no list of all points: these may be very many
    rng = np.random.default_rng(study.sample_seed)
    while len(drawn) < study.sample:
        drawn[tuple(rng.integers(sizes).tolist())] = None
    return [
        {axis: study.axes[axis][i] for axis, i in zip(names, each, strict=True)} for each in drawn
    ]


def _check_axes(study: Study) -> None:
    """Raise LogicgenError where two axes change the same key: one would undo the other."""
    owner: dict[str, str] = {}
    for axis, alternatives in study.axes.items():
        for key in {key for each in alternatives for key in _keys(each)}:
            if owner.setdefault(key, axis) != axis:
                raise LogicgenError(
                    f"{study.path}: axes {owner[key]!r} and {axis!r} both change {key}: make one"
                    " axis of the two"
                )


def _keys(alternative: Alternative) -> set[str]:
    given = alternative.model_dump(exclude_unset=True)
    keys = {name for name in (*PLAIN, "start") if name in given}
    return keys | {
        f"{table} {key}" for table in ("set", "data_set") for key in given.get(table, ())
    }


def _trial(study: Study, combination: Combination, seed: int) -> Trial:
    """Return the trial of a combination. Raises LogicgenError where its recipes are wrong."""
    base, start = study.base, None
    changes, data_changes = dict(base.set), dict(base.data_set)
    given: dict[str, Any] = base.model_dump(include=set(PLAIN))
    choices = {axis: chosen.name for axis, chosen in combination.items()}
    for axis, chosen in combination.items():
        changes |= chosen.set
        data_changes |= chosen.data_set
        given |= chosen.model_dump(include=set(PLAIN), exclude_none=True)
        if chosen.start is not None:
            start = point_name({**choices, axis: chosen.start}, seed)
    model = read_model(given["model"], changes, seed)
    trained = read_data(given["data"], given["size"], data_changes, base.data_seed)
    trial = Trial(
        study=study.name,
        choices=choices,
        seed=seed,
        model=model,
        trained=trained,
        measures=tuple(
            MeasureOn(measure=each, data=trained if recipe is None else read_data(*recipe))
            for each in study.measures
            for recipe in [each.data_recipe(base)]
        ),
        start=start,
        weights=given["weights"],
    )
    if trial.weights is not None:
        if start is not None:
            raise LogicgenError(f"{study.path}: weights and from: both say what to start from")
        weights_folder(trial.weights)
    for each in trial.measures:
        check_measure(each, model, str(study.path))
    return trial
