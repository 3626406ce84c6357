"""The plan of a study: its trials and its report.

A trial is usually the training and scoring of one model. An axis of a study is a list of
alternative settings. A combination (point) has one alternative of each axis. The study has a trial
for each combination and training seed. If the study is a published experiment instead, the
experiment determines the trials and the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.data.cards import markdown_table
from logicgen.data.opening import read_data_recipe
from logicgen.errors import LogicgenError, nearest
from logicgen.experiments import Json, open_experiment
from logicgen.measures import find_measure
from logicgen.model.recipe import ModelRecipe, is_trained_in_steps, read_model_recipe
from logicgen.recipes import validate
from logicgen.report.tables import Report, write_page
from logicgen.study.recipe import (
    PLAIN,
    Alternative,
    Evaluation,
    MeasureTable,
    Study,
    read_study,
    read_tables,
)
from logicgen.study.records import Record, made_with
from logicgen.study.results import by_point, study_report
from logicgen.study.trial import (
    DataSet,
    MeasureOn,
    Training,
    Trial,
    run_folder,
    trial_name,
    weights_folder,
)

# The largest number of trials. Their recipes are checked before the first training; the check of
# this number of trials takes seconds.
MOST_TRIALS = 3_000

Combination = dict[str, Alternative]
"""The chosen alternative of each axis, by the name of the axis."""


@dataclass(kw_only=True)
class Plan:
    """All trials of a study by name, in order, and the function that makes the report."""

    name: str
    command: str  # command line that runs the study, for its report
    report: Callable[[list[Record]], Report]
    trials: dict[str, Trial] = field(default_factory=dict)
    # Trials that cannot be computed: the reason by the name of the trial
    impossible: dict[str, str] = field(default_factory=dict)
    cpu: bool = False  # whether the functions of the trials always use the CPU
    whole: bool = False  # whether the report needs all trials; then all its tables are printed

    def context(self, trial: Trial, folder: Path, device: str) -> Json:
        """Return the arguments of a trial's function that are not in its record.

        For a training, they are the folder of the study's results, the device, and the source: the
        run folder with the weights from which the training starts.
        """
        if trial.training is None:
            return {}
        weights = trial.training.weights
        source = weights_folder(weights) if weights else None
        if trial.after and (before := self.trials[trial.after].training):
            source = run_folder(before, folder)
        return {"folder": str(folder), "device": device, "source": source and str(source)}

    def write(self, records: dict[str, Record], folder: Path) -> str:
        """Write tables and figures of the finished trials; return the tables as text.

        records: the records of the finished trials by name.

        Raises LogicgenError if no trial is finished.
        """
        done = [records[name] for name in self.trials if name in records]
        if not done:
            raise LogicgenError(f"{self.name}: no trial is done: there is nothing to show")
        report = self.report(done)
        missing = [name for name in [*self.trials, *self.impossible] if name not in records]
        notes = [f"Not done: {', '.join(missing)}."] if missing else []
        write_page(report, folder, self.command, *notes, made_with(done))
        return "\n\n".join(report.blocks()) if self.whole else markdown_table(*report.tables[0][1:])


def open_study(name: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan of a study.

    name: the name of a shipped study, or the path of a TOML file.
    changes: new values of keys of the study, by dotted key.

    Raises LogicgenError with the file, the key and the allowed values.
    """
    path, tables = read_tables(name, changes)
    if "experiment" not in tables:
        return plan(read_study(name, changes))
    return plan_experiment(tables, path.stem, str(path))


def plan_experiment(tables: Json, name: str, where: str) -> Plan:
    """Return the plan of the study `name`, a published experiment, from the tables of its file.

    Raises LogicgenError with `where` and the key if the settings do not fit the experiment.
    """
    experiment = open_experiment(str(tables["experiment"]), f"{where}: experiment")
    settings = validate(experiment.settings, tables, where)

    def report(records: list[Record]) -> Report:
        return experiment.report(settings, {record.point: record.found for record in records})

    trials = {each: Trial(each, *call) for each, call in experiment.trials(settings).items()}
    command = f"logicgen study {name}"
    return Plan(name=name, command=command, report=report, trials=trials, cpu=True, whole=True)


def plan(study: Study) -> Plan:
    """Return the plan of a study of trainings that differ in a few keys.

    A trial with invalid recipes is added to `impossible`; the other trials stay in the plan.
    Raises LogicgenError if the sample is larger than the number of combinations, if two axes change
    the same key, or if a change sets the training seed.
    """
    _check_axes(study)
    sets = [study.base.set, *(each.set for axis in study.axes.values() for each in axis)]
    if any("training.seed" in changes for changes in sets):
        remedy = "give the numbers as seeds"
        raise LogicgenError(f"{study.path}: training.seed cannot be changed: {remedy}")
    combined = combinations(study)

    def report(records: list[Record]) -> Report:
        points = by_point(records)
        counted = f"{len(points):,} points of {len(combined):,}, {len(records):,} trials."
        return study_report(study, points, counted)

    made = Plan(name=study.name, command=f"logicgen study {study.name}", report=report)
    for each, seed in product(combined, study.seeds):
        name = trial_name({axis: chosen.name for axis, chosen in each.items()}, seed)
        try:
            made.trials[name] = Trial.of(_training(study, each, seed))
        except LogicgenError as error:
            made.impossible[name] = str(error)
    for name in list(made.trials):
        lost = _lost_start(made, name)
        if lost is not None:
            why = made.impossible.get(lost, "it is not among the points of the sample")
            made.impossible[name] = f"starts from {lost}, which cannot be trained: {why}"
            del made.trials[name]
    _check_kinds(study, made.trials.values())
    return made


def _check_kinds(study: Study, trials: Iterable[Trial]) -> None:
    """Raise LogicgenError if an entry of [[measure]] takes different measures in the trials."""
    for number, asked in enumerate(study.measures):
        kinds = {
            each.measure.kind(each.data.recipe.holds, str(study.path))
            for trial in trials
            if trial.training is not None
            for each in [trial.training.measures[number]]
        }
        if len(kinds) > 1:
            raise LogicgenError(
                f"{study.path}: measure {asked.name}: the data of the trials differ in kind, so it"
                f" would be {' or '.join(sorted(kinds))}: give it `data` of its own"
            )


def _lost_start(made: Plan, name: str) -> str | None:
    """Return the name of a trial that is not in the plan, but on which the trial `name` depends.

    A trial may start from the weights of another trial, which may start from a third trial. Return
    None if all these trials are in the plan.
    """
    start = made.trials[name].after
    while start in made.trials:
        start = made.trials[start].after
    return start


def combinations(study: Study) -> list[Combination]:
    """Return all combinations of settings of a study, or a random sample if `sample` is set.

    The sample is drawn without replacement, and `sample_seed` determines it.
    """
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
    drawn: dict[tuple[int, ...], None] = {}  # a list of all combinations may be too large
    rng = np.random.default_rng(study.sample_seed)
    while len(drawn) < study.sample:
        drawn[tuple(rng.integers(sizes).tolist())] = None
    return [
        {axis: study.axes[axis][i] for axis, i in zip(names, each, strict=True)} for each in drawn
    ]


def _check_axes(study: Study) -> None:
    """Raise LogicgenError if two axes change the same key: one axis would undo the other."""
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


def _training(study: Study, combination: Combination, seed: int) -> Training:
    """Return the training of a model with a combination of settings and a training seed.

    Raises LogicgenError if a recipe of the combination is not valid.
    """
    base, start = study.base, None
    changes, data_changes = dict(base.set), dict(base.data_set)
    given: dict[str, Any] = base.model_dump(include=set(PLAIN))
    choices = {axis: chosen.name for axis, chosen in combination.items()}
    for axis, chosen in combination.items():
        changes |= chosen.set
        data_changes |= chosen.data_set
        given |= chosen.model_dump(include=set(PLAIN), exclude_none=True)
        if chosen.start is not None:
            start = trial_name({**choices, axis: chosen.start}, seed)
    seeds = {"training.seed": seed} if is_trained_in_steps(given["model"]) else {}
    model = read_model_recipe(given["model"], {**seeds, **changes, "description": ""})
    trained = read_data(given["data"], given["size"], data_changes, base.data_seed)
    training = Training(
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
    if training.weights is not None:
        if start is not None:
            raise LogicgenError(f"{study.path}: weights and from: only one can name the start")
        weights_folder(training.weights)
    for each in training.measures:
        check_measure(each, model, str(study.path))
    return training


def read_data(name: str, size: int | None, changes: dict[str, Any], seed: int) -> DataSet:
    """Return a data set or corpus.

    name: the name or path of its recipe.
    size: the number of examples in train, validation and test together. None means the size in the
        recipe.
    changes: new values of keys of the recipe, by dotted key.
    """
    recipe = read_data_recipe(name, {**changes, "description": ""})
    resized = recipe if size is None else recipe.resized(size, name)
    return DataSet(name=Path(name).stem, recipe=resized, seed=seed)


def check_measure(asked: MeasureOn, model: ModelRecipe, where: str) -> None:
    """Raise LogicgenError if the data set or the model does not fit the measure.

    asked: the measure with its data set.
    where: the file of the study, for the message.
    """
    measure, recipe = asked.measure, asked.data.recipe
    kind = measure.kind(recipe.holds, where)
    if isinstance(measure, MeasureTable):
        measure.check_keys(kind, where)
    found = find_measure(kind, f"{where}: measure {measure.name}")
    if recipe.holds not in found.of:
        raise LogicgenError(
            f"{where}: measure {measure.name}: {found.name} needs data that hold"
            f" {' or '.join(found.of)}; these data hold {recipe.holds}"
        )
    found.check(measure, recipe, model, where)
    # Measures of [[measure]] report a missing split when they read the data.
    needed = measure.needed_splits() if isinstance(measure, Evaluation) else {}
    for key, split in needed.items():
        if split not in recipe.splits:
            raise LogicgenError(
                f"{where}: {key}: the data have no split {split!r};"
                f" {nearest(split, list(recipe.splits))}"
            )
