"""Recipes: TOML files checked against a typed model, with errors that name file, key and remedy."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from logicgen.errors import LogicgenError, nearest, reading

Model = TypeVar("Model", bound=BaseModel)


class Table(BaseModel):
    """A table of a TOML file: no unknown keys, and no conversions ("12" is not a number)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file. Raises LogicgenError, with the place, for other files."""
    try:
        with reading(path):
            return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LogicgenError(f"{path}: not TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise LogicgenError(f"{path}: not UTF-8 at byte {error.start}") from error


def changed(tables: dict[str, Any], changes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a recipe's tables with other values, by dotted key, such as `training.steps`.

    Raises LogicgenError naming `where` and the key where a part of it is no table.
    """
    tables = deepcopy(tables)
    for key, value in changes.items():
        *place, name = key.split(".")
        table: Any = tables
        for part in place:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise LogicgenError(f"{where}: {key}: {part} is a value, not a table with keys")
        table[name] = value
    return tables


def validate(model: type[Model], values: Any, where: str, table: str = "") -> Model:
    """Return `values` as a `model`. LogicgenError names `where`, key and what is allowed."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise LogicgenError(f"{where}: {_first_problem(model, error, table)}") from None


def _first_problem(model: type[BaseModel], error: ValidationError, table: str) -> str:
    """Return what to say of the error, which may hold several problems."""
    # A misspelt key is also a missing one; the misspelling says more.
    errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    first, others = errors[0], len(errors) - 1
    place = [str(part) for part in first["loc"]]
    key = ".".join([table, *_said(model, place)] if table else _said(model, place))
    more = f" ({others} more)" if others else ""
    match first["type"]:
        case "extra_forbidden":
            known = list(_table(model, place[:-1]).model_fields)
            near = nearest(place[-1], known)
            return f"unknown key {key!r}; {near} (all: {', '.join(known)}){more}"
        case "missing":
            return f"key {key!r} is missing{more}"
        case "value_error":
            text = str(first["ctx"]["error"])
            return (f"{key}: {text}" if key else text) + more
    return f"{key}: {first['msg'][0].lower()}{first['msg'][1:]}, not {first['input']!r}{more}"


def _table(model: type[BaseModel], place: list[str]) -> type[BaseModel]:
    """Return the model of the table at `place`; keys of dicts and places in lists are no fields."""
    for name, after in zip_longest(place, place[1:]):
        if name in model.model_fields:
            found = _inner(model.model_fields[name].annotation)
            kinds = [each for each in found if after is not None and after in _kinds(each)]
            model = (kinds or found or [model])[-1]
    return model


def _said(model: type[BaseModel], place: list[str]) -> list[str]:
    """Return a place without the kinds of tables that pydantic adds: they are in no file."""
    return [
        name
        for number, name in enumerate(place)
        if not number or name not in _kinds(_table(model, place[: number + 1]))
    ]


def _kinds(model: type[BaseModel]) -> tuple[Any, ...]:
    """Return what the `kind` of a table may be."""
    kind = model.model_fields.get("kind")
    return getattr(kind.annotation, "__args__", ()) if kind is not None else ()


def _inner(annotation: Any) -> list[type[BaseModel]]:
    """Return the models in an annotation such as `list[dict[str, Model]] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _inner(part)]
