"""Measures of trained models, and the list of all measures."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from logicgen.errors import LogicgenError, nearest
from logicgen.extras import load_plugin, plugins

if TYPE_CHECKING:
    from logicgen.measures.measure import Measure

MEASURES = {
    "cells": "logicgen.measures.cells",
    "answers": "logicgen.measures.accuracy",
    "perplexity": "logicgen.measures.curves",
    "keys": "logicgen.measures.keys_figures",
}
"""The modules of measures by name. Each module has an object `MEASURE`; see `measure.py`.

A plugin of the group `logicgen.measures` is the object of another measure. A study can name it.
"""


def find_measure(name: str, where: str = "measure") -> Measure:
    """Return a measure by name. Raises LogicgenError that begins with `where` for other names."""
    if name in MEASURES:
        found: Measure = importlib.import_module(MEASURES[name]).MEASURE
        return found
    others = plugins("logicgen.measures")
    if name not in others:
        known = [*MEASURES, *others]
        raise LogicgenError(f"{where}: no measure {name!r}; {nearest(name, known)}")
    found = load_plugin(others[name])
    return found


def measure_in(folder: Path) -> Measure | None:
    """Return the measure that wrote a folder; None if the folder contains no measurement."""
    for name in MEASURES:
        found = find_measure(name)
        if found.file and (folder / found.file).is_file():
            return found
    return None


def compared(folders: list[Path]) -> Measure:
    """Return the common measure of folders that are compared; the default is `answers`.

    Raises LogicgenError if the folders have different measures.
    """
    found = [measure_in(folder) for folder in folders]
    other = next((each for each in found if each is not None and each.name != "answers"), None)
    if other is None:
        return find_measure("answers")
    for folder, each in zip(folders, found, strict=True):
        if each is not other:
            raise LogicgenError(
                f"{folders[found.index(other)]} is {other.noun}, and {folder} is not: compare"
                " evaluations of the same data"
            )
    return other
