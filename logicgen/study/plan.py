"""What a study trains: points of its axes, and a trial for each point and training seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from logicgen.checksum import text_sha256
from logicgen.data.corpus_recipe import CorpusRecipe
from logicgen.data.data_recipe import DataRecipe
from logicgen.data.opening import read_data_recipe
from logicgen.errors import LogicgenError, nearest
from logicgen.model.language_recipe import LanguageRecipe, is_trained_in_steps, read_any_recipe
from logicgen.model.model_recipe import ModelRecipe
from logicgen.study.measure import Measure
from logicgen.study.study_recipe import Alternative, Evaluation, Study


@dataclass(frozen=True)
class Point:
    """One alternative of each axis."""

    alternatives: dict[str, Alternative]

    @cached_property
    def choices(self) -> dict[str, str]:
        """The alternatives' names, by axis."""
        return {axis: chosen.name for axis, chosen in self.alternatives.items()}

    @cached_property
    def name(self) -> str:
        """All of them; also part of a file's name."""
        return ",".join(self.choices.values())


class DataSet(BaseModel):
    """A data set to be made: what its recipe file is called, and the recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    recipe: DataRecipe | CorpusRecipe

    @property
    def folder(self) -> str:
        """A name that differs for different recipes."""
        return f"{self.name}-{text_sha256(self.recipe.model_dump_json())[:8]}"


class Measured(BaseModel):
    """A measure, and the data set it is taken on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: Measure
    data: DataSet


class Trial(BaseModel):
    """One training with its evaluation: all that the result depends on, as plain data.

    Attributes:
        study: its name.
        choices: alternatives by axis: the point.
        model: the recipe with all changes, and the seed; no recipe here has its description.
        trained: the data set it is trained on; `evaluated`: the one it is scored on.
        start: name of the trial whose weights it starts from.
        measured: of a language model, instead of `evaluated`: each measure and its data set.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    study: str
    choices: dict[str, str]
    seed: int
    model: ModelRecipe | LanguageRecipe
    trained: DataSet
    evaluated: DataSet
    evaluate: Evaluation
    start: str | None = None
    measured: tuple[Measured, ...] | None = None

    @property
    def point(self) -> str:
        """Name of the point."""
        return ",".join(self.choices.values())

    @property
    def name(self) -> str:
        return f"{self.point}-{self.seed}"

    @property
    def data_sets(self) -> list[DataSet]:
        """All that have to be there before it is run."""
        return [self.trained, self.evaluated, *(each.data for each in self.measured or ())]


@dataclass
class Plan:
    """All trials of a study, and why others are impossible, by name, in the order of the study."""

    study: Study
    points: list[Point]
    trials: dict[str, Trial] = field(default_factory=dict)
    impossible: dict[str, str] = field(default_factory=dict)


def plan(study: Study) -> Plan:
    """The trials of a study.

    A point whose recipes are wrong is `impossible`, and the others are not.
    Raises LogicgenError for a study that asks for more points than there are, whose axes contradict
    each other, or which sets a seed.
    """
    _check_axes(study)
    _check_seeds(study)
    made = Plan(study, points(study))
    for point in made.points:
        for seed in study.seeds:
            name = f"{point.name}-{seed}"
            try:
                made.trials[name] = _trial(study, point, seed)
            except LogicgenError as error:
                made.impossible[name] = str(error)
    for name, trial in list(made.trials.items()):
        if trial.start is not None and trial.start not in made.trials:
            why = made.impossible.get(trial.start, "it is not among the points of the sample")
            made.impossible[name] = f"starts from {trial.start}, which cannot be trained: {why}"
            del made.trials[name]
    return made


def points(study: Study) -> list[Point]:
    """The whole grid, or a sample of it: distinct points, the same ones every time."""
    names, alternatives = list(study.axes), list(study.axes.values())
    total = prod(len(axis) for axis in alternatives)
    if study.sample is None:
        return [Point(dict(zip(names, each, strict=True))) for each in product(*alternatives)]
    if study.sample > total:
        raise LogicgenError(
            f"{study.path}: sample: {study.sample:,} different points are asked for, the axes have"
            f" {total:,}: lower it, or leave it out for all of them"
        )
    drawn: dict[tuple[int, ...], None] = {}
    sampler = _sampler(study)
    while len(drawn) < study.sample:
        drawn[sampler()] = None
    return [
        Point({axis: study.axes[axis][i] for axis, i in zip(names, each, strict=True)})
        for each in drawn
    ]


def _sampler(study: Study) -> Any:
    """Draws a point of the axes at a time, as numbers of the alternatives."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = optuna.create_study(sampler=optuna.samplers.RandomSampler(study.sample_seed))
    space: dict[str, Any] = {
        axis: optuna.distributions.IntDistribution(0, len(alternatives) - 1)
        for axis, alternatives in study.axes.items()
    }
    return lambda: tuple(search.ask(space).params[axis] for axis in space)


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
    keys = {name for name in ("model", "data", "size", "start") if name in given}
    return keys | {
        f"{table} {key}" for table in ("set", "data_set") for key in given.get(table, ())
    }


def _check_seeds(study: Study) -> None:
    """Raise LogicgenError where a point has a seed of its own: all seeds would train the same."""
    sets = [study.base.set, *(each.set for axis in study.axes.values() for each in axis)]
    for changes in sets:
        if "training.seed" in changes:
            raise LogicgenError(
                f"{study.path}: training.seed cannot be changed: give the numbers as seeds"
            )


def _check_splits(study: Study, recipe: DataRecipe | CorpusRecipe) -> None:
    """Raise LogicgenError where the data have not what the evaluation asks for."""
    if recipe.holds != "problems":
        raise LogicgenError(
            f"{study.path}: data: a corpus, which has no problems and answers: give [[measure]] and"
            " the recipe of a language model"
        )
    asked = {"evaluate.split": study.evaluate.split}
    if study.evaluate.covariance is not None:
        asked["evaluate.covariance.split"] = study.evaluate.covariance.split
    for key, split in asked.items():
        if split not in recipe.splits:
            raise LogicgenError(
                f"{study.path}: {key}: the data have no split {split!r};"
                f" {nearest(split, list(recipe.splits))}"
            )


def _trial(study: Study, point: Point, seed: int) -> Trial:
    """The trial of a point. Raises LogicgenError where its recipes are wrong."""
    base = study.base
    changes = {"training.seed": seed, **base.set}
    given: dict[str, Any] = base.model_dump(include={"model", "data", "size"})
    data_changes = dict(base.data_set)
    start = None
    for axis, chosen in point.alternatives.items():
        changes |= chosen.set
        data_changes |= chosen.data_set
        given |= chosen.model_dump(include={"model", "data", "size"}, exclude_none=True)
        if chosen.start is not None:
            source = {**point.choices, axis: chosen.start}
            start = f"{','.join(source.values())}-{seed}"
    if not is_trained_in_steps(given["model"]):
        del changes["training.seed"]
    model = read_any_recipe(given["model"], {**changes, "description": ""})
    _check_kind(study, given["model"], model)
    trained = _data_set(given["data"], given["size"], data_changes)
    evaluated = trained
    if study.evaluate.data == "base":
        evaluated = _data_set(base.data, base.size, base.data_set)
    measured = None
    if study.measures:
        measured = tuple(
            Measured(
                measure=measure,
                data=trained
                if measure.data is None
                else _data_set(measure.data, None, measure.data_set),
            )
            for measure in study.measures
        )
    else:
        _check_splits(study, evaluated.recipe)
    return Trial(
        study=study.name,
        choices=point.choices,
        seed=seed,
        model=model,
        trained=trained,
        evaluated=evaluated,
        evaluate=study.evaluate,
        start=start,
        measured=measured,
    )


def _check_kind(study: Study, name: str, model: ModelRecipe | LanguageRecipe) -> None:
    """Raise LogicgenError for a language model that is to be evaluated, or another measured."""
    if isinstance(model, LanguageRecipe) != bool(study.measures):
        wanted = "[[measure]]" if isinstance(model, LanguageRecipe) else "[evaluate]"
        raise LogicgenError(
            f"{study.path}: model {name} is scored by {wanted}, which the study has not: a study"
            " is of language models, or of models that answer problems"
        )


def _data_set(name: str, size: int | None, changes: dict[str, Any]) -> DataSet:
    recipe = read_data_recipe(name, {**changes, "description": ""})
    resized = recipe if size is None else recipe.resized(size, name)
    return DataSet(name=Path(name).stem, recipe=resized)
