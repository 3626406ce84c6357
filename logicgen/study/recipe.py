"""Study recipes: TOML files that say which models are trained on what, and how they are scored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from logicgen import recipes
from logicgen.errors import LogicgenError
from logicgen.recipes import Table, changed, read_toml, validate
from logicgen.study.measure import Count, Evaluation, Measure, Seed

Changes = dict[str, Any]
"""Values by dotted key of a recipe."""

# What an axis of plain values may be, beside a dotted key of the model recipe.
PLAIN = ("model", "data", "size", "weights")

# Prefix of an axis's column in `results.csv` if the results have a column with the axis's name.
AXIS = "axis."

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")


class Recipes(Table):
    """Which recipes are used: shipped names or paths of TOML files, and changes to them."""

    model: str | None = None
    data: str | None = None
    weights: str | None = None  # a folder of `studies/weights`, a shipped model or a path
    size: Count | None = None  # of train, validation and test together; as in the data recipe
    set: Changes = Field(default_factory=dict)  # of the model recipe
    data_set: Changes = Field(default_factory=dict)


class Base(Recipes):
    """The common part of all points, unless an axis says otherwise."""

    model: str
    data: str
    data_seed: Seed = 0  # of all data that have none of their own: settings are chosen on others


class Alternative(Recipes):
    """One value of an axis: what it changes, by a name."""

    name: str
    # The name of the alternative of the same axis whose trained weights it starts from.
    start: str | None = Field(default=None, alias="from")


class _File(Table):
    """The keys of the file; each point is trained once with each seed."""

    description: str = ""
    seeds: Annotated[list[Seed], Field(min_length=1)] = Field([0])
    sample: Count | None = None  # so many random points; all if not given
    sample_seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    base: Base
    evaluate: Evaluation | None = None
    measure: list[Measure] = Field(default_factory=list)
    axes: Annotated[dict[str, list[Any]], Field(min_length=1)]


class Study(_File):
    """A study recipe. An axis is a list of alternatives, of which a point takes one."""

    name: str
    path: Path
    axes: dict[str, list[Alternative]]

    @property
    def measures(self) -> tuple[Evaluation | Measure, ...]:
        """Return what is measured of every model: [[measure]], or one, the table [evaluate]."""
        return tuple(self.measure) or (self.evaluate or Evaluation(),)


def short(name: str) -> str:
    """Return an alternative's name to stand beside its axis: a plain value without its key."""
    return name.partition("=")[2] or name


def read_tables(name: str, changes: Mapping[str, Any] | None = None) -> tuple[Path, Changes]:
    """Return the file and the tables of a shipped study, or of a TOML file, with changes.

    changes: values to use instead of the file's, by dotted key.
    """
    path = recipes.find("studies", ".toml", name)
    return path, changed(read_toml(path), changes or {}, str(path), ("set", "data_set", "axes"))


def read_study(name: str, changes: Mapping[str, Any] | None = None) -> Study:
    """Return a shipped study by name, or the one in a TOML file, with changes by dotted key.

    Raises LogicgenError naming file and key where it is not a study. Whether its recipes can be
    trained is not looked at here (`plan.py`).
    """
    path, tables = read_tables(name, changes)
    file = validate(_File, tables, str(path))
    axes = {axis: _alternatives(axis, values, str(path)) for axis, values in file.axes.items()}
    if len(set(file.seeds)) < len(file.seeds):
        raise LogicgenError(f"{path}: seeds: {file.seeds} names a seed twice")
    if file.measure and file.evaluate is not None:
        raise LogicgenError(
            f"{path}: evaluate: counts answers by cell, measure takes other measures: leave one of"
            " them out"
        )
    named = [measure.name for measure in file.measure]
    for name in named:
        if named.count(name) > 1:
            raise LogicgenError(f"{path}: measure: {name!r} stands there twice")
    return Study.model_construct(**{**dict(file), "name": path.stem, "path": path, "axes": axes})


def _alternatives(axis: str, values: list[Any], where: str) -> list[Alternative]:
    """Return the alternatives of one axis, whose names differ."""
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
            # A bare number says nothing.
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
            raise LogicgenError(f"{where}: {place}: {name!r} stands there twice")
    before: set[str] = set()
    for each in found:
        if each.start is not None and each.start not in before:
            raise LogicgenError(
                f"{where}: {place}: {each.name} starts from {each.start!r}, which has to be"
                " an alternative that stands before it"
            )
        before.add(each.name)
    return found
