"""Study recipes: TOML files with the models, data and measures of a study.

An axis is a list of alternatives, which are values of a key or of several keys. A model is trained
for each combination of alternatives (a point) and each training seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from logicgen import recipes
from logicgen.errors import LogicgenError
from logicgen.recipes import Table, changed, read_toml, validate

Positive = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]

Changes = dict[str, Any]
"""New values of keys of a recipe, by dotted key, such as `training.steps`."""

# The keys that an axis of plain values may change directly. The name of any other such axis is a
# dotted key of the model recipe.
PLAIN = ("model", "data", "size", "weights")

# In `results.csv`, the column of an axis has the name of the axis. If another column has this name,
# the prefix AXIS is added.
AXIS = "axis."

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")


# The keys of `[[measure]]` that all measures read, and keys that only some measures read.
OF_ALL_MEASURES = ("name", "data", "size", "data_set", "data_seed", "split", "limit", "keys")
MEASURED_BY = {
    "answers": (
        *("by", "controls", "embedding_seeds", "grammar", "beams", "ensemble", "verified"),
        *("temperature", "shots", "covariance"),
    ),
    "perplexity": ("embedding_seeds", "context", "beyond"),
    "keys": ("context", "steps", "hidden", "layer", "last", "window", "matrices"),
}

EVALUATION = "evaluation"
"""Name of the measure that the table `[evaluate]` of a study describes."""


class RenamedProblems(Table):
    """The split, and the number of its problems, on which alpha-covariance is measured.

    The alpha-covariance of a model is 1 if renaming a problem always renames its answer.
    """

    split: str = "test"
    limit: Positive = 100
    embedding_seeds: Positive = 1


class DecodingKeys(Table):
    """How the model decodes answers. The keys are the options of `logicgen evaluate`.

    verified: the number of answers to draw for each problem. The solver chooses a correct answer
        (verified decoding). Only verified decoding draws random answers, with `temperature`.
    shots: the number of solved problems that a language model reads before a problem; as many as in
        its training if not given.
    """

    beams: Positive = 1
    ensemble: Positive = 1
    grammar: bool = True
    verified: Positive | None = None
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    shots: Annotated[int, Field(ge=0)] | None = None
    covariance: RenamedProblems | None = None


class Evaluation(DecodingKeys):
    """The table `[evaluate]`: the share of correct answers in each cell, and alpha-covariance.

    A cell contains problems with the same number of symbols and similar lengths.
    """

    split: str = "grid"
    limit: Positive | None = None
    embedding_seeds: Positive = 1
    data: Literal["own", "base"] = "own"  # the data of each model's training, or the data of [base]

    @property
    def name(self) -> str:
        """Return the name of this measure in records."""
        return EVALUATION

    def kind(self, holds: str, where: str) -> str:
        """Return the name of the measure, `cells`. Raises LogicgenError for a corpus.

        holds: the kind of the data: `problems`, `sequences` or `ciphers`.
        where: the file of the study, for the message.
        """
        if holds != "problems":
            raise LogicgenError(
                f"{where}: data: a corpus, which has no problems and answers: give [[measure]] and"
                " the recipe of a language model"
            )
        return "cells"

    def data_recipe(self, base: Any) -> tuple[Any, ...] | None:
        """Return the arguments of `plan.read_data`; None means the data of the training.

        The arguments are the name, the size, the changes and the seed of the data. `base` is the
        table `[base]` of the study.
        """
        whose = (base.data, base.size, base.data_set, base.data_seed)
        return None if self.data == "own" else whose

    def needed_splits(self) -> dict[str, str]:
        """Return the splits that the data must have, each by the key of the study that names it."""
        splits = {"evaluate.split": self.split}
        if self.covariance is not None:
            splits["evaluate.covariance.split"] = self.covariance.split
        return splits


class MeasureTable(DecodingKeys):
    """An entry of `[[measure]]`: one number or curve, measured on a data set.

    The kind of the data determines the measure. For problems, it is the share of correct answers.
    For ciphers, it is the key precision: the share of the symbols for which a probe finds the
    correct letter. For other corpora, it is the perplexity. A probe is a small network that reads
    the hidden states of the model. Other keys are options of `logicgen evaluate` and `logicgen
    measure probe`.

    Attributes:
        data: a recipe; without it, the data of the training are used.
        keys: for strings of an automaton, whether to measure the symbols that a probe reads.
        by: whether to draw correct answers as a curve, over the number of symbols or the length.
        controls: names of controls (`tasks/controls.py`) that answer the same problems.
        matrices: numbers of tokens after which the guesses of a probe are drawn as a matrix.
        measure: name of another measure to take, with its `settings`.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    data: str | None = None
    size: Positive | None = None  # examples in train, validation and test together
    data_set: dict[str, Any] = Field(default={})  # changes to the recipe `data`
    data_seed: Seed | None = None  # seed of these data; default: the seed of [base]
    split: str = "test"
    limit: Positive | None = None
    embedding_seeds: Positive = 1
    by: Literal["symbols", "length"] | None = None
    controls: list[str] | None = None
    context: Positive | None = None
    beyond: Positive = 100
    grammar: bool = False
    keys: bool = False
    steps: Positive = 2000
    hidden: Positive = 256
    layer: Positive | None = None
    last: Positive | None = None
    window: Positive = 100
    matrices: Annotated[list[int], Field(min_length=1)] | None = None
    measure: str | None = None
    settings: dict[str, Any] = Field(default={})

    @model_serializer(mode="wrap")
    def _without_unset(self, dumped: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return plain data, without the keys `measure` and `settings` if `measure` is not set."""
        found: dict[str, Any] = dumped(self)
        left_out = () if self.measure else ("measure", "settings")
        return {key: value for key, value in found.items() if key not in left_out}

    @model_validator(mode="after")
    def _changes_name_their_data(self) -> Self:
        for key in ("size", "data_set", "data_seed"):
            if self.data is None and getattr(self, key) not in (None, {}):
                raise ValueError(f"{key}: is of the measure's own data: give data, too")
        return self

    def kind(self, holds: str, where: str) -> str:
        """Return the name of the measure; see `Evaluation.kind`.

        Raises LogicgenError if these data have no keys.
        """
        if self.measure is not None:
            return self.measure
        if self.keys and holds == "problems":
            raise LogicgenError(f"{where}: measure {self.name}: keys: problems have no keys")
        kinds = {"problems": "answers", "sequences": "perplexity", "ciphers": "keys"}
        return "keys" if self.keys else kinds[holds]

    def check_keys(self, kind: str, where: str) -> None:
        """Raise LogicgenError if keys of the file have no effect on the measure `kind`.

        Records contain all keys, so their tables are not checked.
        """
        if self.measure is not None:  # only the measure knows its keys
            return
        keys = sorted(self.model_fields_set - {*OF_ALL_MEASURES, *MEASURED_BY[kind]})
        if keys:
            raise LogicgenError(
                f"{where}: measure {self.name}: {', '.join(keys)}: without effect on {kind}"
            )

    def data_recipe(self, base: Any) -> tuple[Any, ...] | None:
        """Return the arguments of `plan.read_data`; see `Evaluation.data_recipe`."""
        seed = base.data_seed if self.data_seed is None else self.data_seed
        return None if self.data is None else (self.data, self.size, self.data_set, seed)


class Recipes(Table):
    """The recipes of a training: names of shipped recipes or paths, and changes to the recipes."""

    model: str | None = None
    data: str | None = None
    # Training starts from these weights: a folder of `studies/weights`, a shipped model or a path.
    weights: str | None = None
    size: Positive | None = None  # examples in train, validation and test together
    set: Changes = Field(default_factory=dict)  # changes to the model recipe
    data_set: Changes = Field(default_factory=dict)  # changes to the data recipe


class Base(Recipes):
    """The settings that all trainings of a study start from. An axis may change these settings."""

    model: str
    data: str
    data_seed: Seed = 0  # seed of all data sets, unless a measure has a seed for its data


class Alternative(Recipes):
    """A named value of an axis, with its changes to the recipes."""

    name: str
    # Training starts from the weights of this alternative of the same axis.
    start: str | None = Field(default=None, alias="from")


class _StudyFile(Table):
    """The keys of a study's file.

    A model is trained for each combination of one alternative of each axis, with each of `seeds`.
    """

    description: str = ""
    seeds: Annotated[list[Seed], Field(min_length=1)] = Field([0])
    sample: Positive | None = None  # number of random combinations; default: all
    sample_seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    base: Base
    evaluate: Evaluation | None = None
    measure: list[MeasureTable] = Field(default_factory=list)
    axes: Annotated[dict[str, list[Any]], Field(min_length=1)]


class Study(_StudyFile):
    """A study recipe, with the alternatives of each axis as `Alternative` objects."""

    name: str
    path: Path
    axes: dict[str, list[Alternative]]

    @property
    def measures(self) -> tuple[Evaluation | MeasureTable, ...]:
        """Return the measures of every model: the tables [[measure]], or the table [evaluate]."""
        return tuple(self.measure) or (self.evaluate or Evaluation(),)


def short(name: str) -> str:
    """Return the name of an alternative without a key: `16` for `width=16`."""
    return name.partition("=")[2] or name


def read_tables(name: str, changes: Mapping[str, Any] | None = None) -> tuple[Path, Changes]:
    """Return the path of the file of a study, and its changed tables.

    name: the name of a shipped study, or the path of a TOML file.
    changes: new values of keys of the study, by dotted key.
    """
    path = recipes.find("studies", ".toml", name)
    return path, changed(read_toml(path), changes or {}, str(path), ("set", "data_set", "axes"))


def read_study(name: str, changes: Mapping[str, Any] | None = None) -> Study:
    """Return a study. The recipes that it names are not read; `plan.py` reads and checks them.

    name: the name of a shipped study, or the path of a TOML file.
    changes: new values of keys of the study, by dotted key.

    Raises LogicgenError with the file and the key if the file is not a study.
    """
    path, tables = read_tables(name, changes)
    file = validate(_StudyFile, tables, str(path))
    axes = {axis: _alternatives(axis, values, str(path)) for axis, values in file.axes.items()}
    if len(set(file.seeds)) < len(file.seeds):
        raise LogicgenError(f"{path}: seeds: {file.seeds} names a seed twice")
    if file.measure and file.evaluate is not None:
        raise LogicgenError(
            f"{path}: a study has either [evaluate] or [[measure]]: remove one of the tables"
        )
    named = [measure.name for measure in file.measure]
    for name in named:
        if named.count(name) > 1:
            raise LogicgenError(f"{path}: measure: the name {name!r} occurs twice")
    return Study.model_construct(**{**dict(file), "name": path.stem, "path": path, "axes": axes})


def _alternatives(axis: str, values: list[Any], where: str) -> list[Alternative]:
    """Return the alternatives of the axis called `axis` from its values in the file.

    Raises LogicgenError if two alternatives have the same name, if a name is not permitted, or if
    an alternative starts from the weights of a later alternative.
    """
    place = f"axes.{axis}"
    if axis.startswith(AXIS):
        raise LogicgenError(f"{where}: {place}: an axis's name cannot begin with {AXIS}: rename it")
    found: list[Alternative] = []
    names: list[str] = []
    for number, value in enumerate(values):
        if isinstance(value, dict):
            found.append(validate(Alternative, value, where, f"{place}.{number}"))
            names.append(found[-1].name)
        else:
            plain = {axis: value} if axis in PLAIN else {"set": {axis: value}}
            names.append(str(value).lower() if isinstance(value, bool) else str(value))
            # If the value is a number, its name includes the last part of the key: `width=16`.
            key = "" if isinstance(value, str) else f"{axis.rpartition('.')[2]}="
            found.append(validate(Alternative, {"name": key + names[-1], **plain}, where, place))
    if not found:
        raise LogicgenError(f"{where}: {place}: has no values")
    for name in names:
        if not _NAME.fullmatch(name):
            raise LogicgenError(
                f"{where}: {place}: {name!r} cannot be a file's name; give the value a table with"
                " a name of letters, digits and . + _ -"
            )
        if names.count(name) > 1:
            raise LogicgenError(f"{where}: {place}: the name {name!r} occurs twice")
    before: set[str] = set()
    for each in found:
        if each.start is not None and each.start not in before:
            raise LogicgenError(
                f"{where}: {place}: {each.name} starts from {each.start!r}, which must come"
                " earlier in the list"
            )
        before.add(each.name)
    return found
