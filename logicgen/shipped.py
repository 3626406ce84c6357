"""The declarations that ship with logicgen: grammars, and recipes of three kinds."""

from __future__ import annotations

import os
from pathlib import Path

from logicgen.errors import LogicgenError, nearest, shortened, shown

_PACKAGE = Path(__file__).resolve().parent


def folder(kind: str) -> Path:
    """Return the folder of shipped `grammars`, `datasets`, `models` or `studies`.

    It lies inside the package in an installed wheel, beside it in a source checkout. Raises
    LogicgenError where it is missing.
    """
    for candidate in (_PACKAGE / "declarations" / kind, _PACKAGE.parent / kind):
        if candidate.is_dir():
            return candidate
    raise LogicgenError(
        f"the {kind} that ship with logicgen are missing beside {_PACKAGE}: reinstall logicgen"
    )


def names(kind: str, suffix: str) -> list[str]:
    """Return the names of all shipped declarations of a kind, sorted."""
    return sorted(path.stem for path in folder(kind).glob(f"*{suffix}"))


def trained() -> list[str]:
    """Return the names of the models that ship with their weights, sorted."""
    return sorted(path.parent.name for path in folder("models").glob("weights/*/model.json"))


def find(kind: str, suffix: str, name: str) -> Path:
    """Return the file that `name` means: a path if it looks like one, else a shipped name.

    Raises LogicgenError where there is no such file, with names that are near.
    """
    if name.endswith(suffix) or "/" in name:
        if os.path.isfile(name):
            return Path(name)
        raise LogicgenError(
            f"{shortened(name)}: no such file (a shipped name has no {suffix} and no slash)"
        )
    if name in names(kind, suffix):
        return folder(kind) / f"{name}{suffix}"
    nouns = {"datasets": "data-set recipe", "models": "model recipe", "studies": "study"}
    near = nearest(name, names(kind, suffix))
    raise LogicgenError(f"no {nouns.get(kind, 'grammar')} is called {shown(name)}: {near}")
