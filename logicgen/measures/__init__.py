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
"""The module of each measure, by the measure's name. The module's object `MEASURE` is the measure.

Other packages add measures by entry points of the group `logicgen.measures`.
"""


def find_measure(name: str, where: str = "measure") -> Measure:
    """Return the measure with this name.

    where: beginning of the error message.

    Raises LogicgenError for an unknown name.
    """
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
    """Return the measure that wrote its result file into a folder.

    Returns None if the folder contains no such file.
    """
    for name in [*MEASURES, *plugins("logicgen.measures")]:
        try:
            found = find_measure(name)
        except LogicgenError:  # a plugin that cannot be loaded
            continue
        if found.file and (folder / found.file).is_file():
            return found
    return None


def compared(folders: list[Path]) -> Measure:
    """Return the measure that has results in all `folders`.

    The measure is `answers` if no folder contains results of another measure. Raises LogicgenError
    if the folders contain results of different measures.
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
