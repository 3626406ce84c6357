"""Find shipped recipes, read TOML files, and check them against pydantic models."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from logicgen.errors import LogicgenError, at, nearest, reading, shortened, shown

_PACKAGE = Path(__file__).resolve().parent

Model = TypeVar("Model", bound=BaseModel)

# The deepest nesting of tables in a TOML file, because code that copies tables is recursive.
DEEPEST = 100
_TOO_DEEP = f"nested more than {DEEPEST} deep; take out tables or lists"
_TOO_LARGE = "a whole number that is too large; TOML allows -2^63 to 2^63 - 1"
# The beginning of a TOML value: a text in quotes, a list, a table, a number or a truth value.
_VALUE = re.compile(r"""["'\[{]|[+-]?(\d|inf\b|nan\b)|(true|false)$""")
_LONG_NUMBER = re.compile(r"\d[\d_]{4299}")


class Table(BaseModel):
    """A table of a TOML file.

    Unknown keys are errors. Values are not converted: "12" is not a number. `inf` and `nan` are
    errors, because JSON does not have them.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, populate_by_name=True, allow_inf_nan=False
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises LogicgenError with the line if it is not TOML."""
    with reading(path):
        text = path.read_text(encoding="utf-8")
    return _parse_toml(text, str(path))


def _parse_toml(text: str, where: str) -> dict[str, Any]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LogicgenError(f"{where}: not TOML: {error}") from error
    except RecursionError:
        raise LogicgenError(f"{where}: {_TOO_DEEP}") from None
    except ValueError:  # `int` refuses a number with thousands of digits
        lines = text.splitlines()
        line = next((i for i, each in enumerate(lines, 1) if _LONG_NUMBER.search(each)), "?")
        raise LogicgenError(f"{where}: line {line}: {_TOO_LARGE}") from None
    _check_bounds(tables, where)
    return tables


def _check_bounds(tables: dict[str, Any], where: str) -> None:
    """Raise LogicgenError if tables are nested too deeply or an integer is too large.

    where: the file, for the message.
    """
    todo: list[tuple[tuple[str, ...], Any]] = [((), tables)]
    while todo:
        place, value = todo.pop()
        if len(place) > DEEPEST:
            raise LogicgenError(f"{where}: {place[0]}: {_TOO_DEEP}")
        if isinstance(value, dict):
            todo += [((*place, name), each) for name, each in value.items()]
        elif isinstance(value, list):
            todo += [((*place, str(number)), each) for number, each in enumerate(value)]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise LogicgenError(f"{where}: {'.'.join(place)}: {_TOO_LARGE}")


def parse_changes(texts: Iterable[str]) -> dict[str, Any]:
    """Return the values of texts `KEY=VALUE` by key. A value that is text needs no quotes.

    Raises LogicgenError if a text has another form.
    """
    with at("--set"):
        return dict(map(_parse_change, texts))


def _parse_change(text: str) -> tuple[str, Any]:
    try:
        text.encode()
    except UnicodeEncodeError:  # an argument of the command line may contain any bytes
        raise LogicgenError(f"{shown(text)}: not UTF-8: write it in UTF-8") from None
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals):
        raise LogicgenError(f"{shown(text)}: give KEY=VALUE, such as seed=1")
    if not _VALUE.match(value):
        return key, value
    return key, _parse_toml(f"value = {value}", shortened(text))["value"]


def changed(
    tables: dict[str, Any], changes: Mapping[str, Any], where: str, dotted: Collection[str] = ()
) -> dict[str, Any]:
    """Return a copy of a recipe's tables with changed values.

    changes: new values by dotted key, such as `training.steps`.
    dotted: names of tables with dots in their keys. After such a name, the rest of a dotted key is
        one key.

    Raises LogicgenError with `where` and the key if a name before a dot is not a table.
    """
    tables = deepcopy(tables)
    for key, value in changes.items():
        parts = key.split(".")
        end = next((i for i, part in enumerate(parts[:-1], 1) if part in dotted), len(parts) - 1)
        place, name = parts[:end], ".".join(parts[end:])
        table: Any = tables
        for part in place:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise LogicgenError(f"{where}: {key}: {part} is a value, not a table with keys")
        table[name] = value
    return tables


def validate(model: type[Model], values: Any, where: str, table: str = "") -> Model:
    """Return `values` as an instance of the pydantic class `model`.

    where: the file, for the message.
    table: the name of the table that `values` come from.

    Raises LogicgenError with `where`, the key and the allowed values.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise LogicgenError(f"{where}: {_first_problem(model, error, table)}") from None


def _first_problem(model: type[BaseModel], error: ValidationError, table: str) -> str:
    """Return a message about the first wrong value that pydantic reports in `error`.

    table: the name of the table that the values come from.
    """
    # Pydantic reports a misspelled key as unknown and as missing. Only "unknown" is helpful.
    errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    first, others = errors[0], len(errors) - 1
    place = [str(part) for part in first["loc"]]
    said = _said(model, place)
    key = ".".join([table, *said] if table else said)
    kinds = [name for name in place if name not in said]
    of = f" for {kinds[-1]!r}" if kinds else ""
    more = f" ({others} more)" if others else ""
    match first["type"]:
        case "extra_forbidden":
            known = list(_tables(model, place[:-1])[-1].model_fields)
            near = nearest(place[-1], known)
            return f"unknown key {shown(key)}{of}; {near} (all: {', '.join(known)}){more}"
        case "missing":
            return _missing(model, errors, table, of)
        case "value_error":
            text = str(first["ctx"]["error"])
            return (f"{shortened(key)}: {text}" if key else text) + more
        case "union_tag_invalid":
            *others, last = first["ctx"]["expected_tags"].split(", ")
            name, tags = first["ctx"]["discriminator"][1:-1], f"{', '.join(others)} or {last}"
            given = shown(first["input"][name])
            return f"{key}.{name}: input should be {tags}, not {given}{more}"
    wrong = f"{first['msg'][0].lower()}{first['msg'][1:]}, not {shown(first['input'])}"
    return f"{shortened(key)}: {wrong}{more}"


def _missing(
    model: type[BaseModel], errors: Sequence[Mapping[str, Any]], table: str, of: str
) -> str:
    """Return a message that names all missing keys. Arguments: see `_first_problem`."""
    places = [each["loc"] for each in errors if each["type"] == "missing"]
    keys = [
        repr(".".join([*filter(None, [table]), *_said(model, [str(part) for part in place])]))
        for place in places
    ]
    others = len(errors) - len(keys)
    more = f" ({others} more)" if others else ""
    if len(keys) == 1:
        return f"key {keys[0]} is missing{of}{more}"
    return f"keys {', '.join(keys)} are missing{of}{more}"


def _tables(model: type[BaseModel], place: list[str]) -> list[type[BaseModel]]:
    """Return the pydantic classes that may describe a table of a file.

    model: the class of the outermost table.
    place: the keys and list indices that lead from the outermost table to this table. A list index,
        or a key of a dict that the user chose, is not a field of a class. It is skipped.
    """
    models = [model]
    for name in place:
        fields = [each.model_fields[name] for each in models if name in each.model_fields]
        inner = [each for field in fields for each in _inner(field.annotation)]
        chosen = [each for each in models if name in _tags(each)] if not fields else []
        models = inner or chosen or models
    return models


def _said(model: type[BaseModel], place: list[str]) -> list[str]:
    """Remove the entries of `place` that are not keys of the file.

    place: the keys and list indices that lead to a value, as reported by pydantic. Pydantic adds
        the value of `kind`, `architecture` or `method` of a table to these keys.
    """
    return [
        name
        for number, name in enumerate(place)
        if not number or not any(name in _tags(each) for each in _tables(model, place[:number]))
    ]


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    """Return the allowed values of the fields `kind`, `architecture` and `method` of a class."""
    keys = ("kind", "architecture", "method")
    fields = [model.model_fields[key] for key in keys if key in model.model_fields]
    return tuple(tag for field in fields for tag in getattr(field.annotation, "__args__", ()))


def _inner(annotation: Any) -> list[type[BaseModel]]:
    """Return the pydantic classes in a type annotation, such as `list[dict[str, Model]] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _inner(part)]


def folder(kind: str) -> Path:
    """Return the folder of the shipped recipes of a kind.

    kind: `grammars`, `datasets`, `models`, `studies` or `suites`.

    In an installed wheel the folder is inside the package. In a source checkout it is next to the
    package. Raises LogicgenError if the folder is missing.
    """
    for candidate in (_PACKAGE / "declarations" / kind, _PACKAGE.parent / kind):
        if candidate.is_dir():
            return candidate
    raise LogicgenError(
        f"the {kind} that ship with logicgen are missing in {_PACKAGE}: reinstall logicgen"
    )


def _files(kind: str, suffix: str) -> dict[str, Path]:
    """Return a dict from name to path of the shipped recipes of a kind, such as `datasets`.

    The name is the file name without its suffix. Files in subfolders are included.
    """
    return {path.stem: path for path in folder(kind).rglob(f"*{suffix}")}


def names(kind: str, suffix: str) -> list[str]:
    """Return the names of all shipped recipes of a kind, sorted."""
    return sorted(_files(kind, suffix))


def trained() -> list[str]:
    """Return the names of the trained models in the package, sorted."""
    return sorted(path.parent.name for path in folder("models").glob("weights/*/model.json"))


def find(kind: str, suffix: str, name: str) -> Path:
    """Return the path of a recipe.

    name: the name of a shipped recipe, or a path. If it contains a slash or ends in `suffix`, it is
        a path.

    Raises LogicgenError if the file does not exist. The message lists similar names.
    """
    if name.endswith(suffix) or "/" in name:
        if os.path.isfile(name):
            return Path(name)
        raise LogicgenError(
            f"{shortened(name)}: no such file (a shipped name has no {suffix} and no slash)"
        )
    shipped = _files(kind, suffix)
    if name in shipped:
        return shipped[name]
    nouns = {"datasets": "data-set recipe", "models": "model recipe", "studies": "study"}
    nouns["suites"] = "suite"
    near = nearest(name, sorted(shipped))
    raise LogicgenError(f"no {nouns.get(kind, 'grammar')} is called {shown(name)}: {near}")
