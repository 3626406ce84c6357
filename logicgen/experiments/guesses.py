"""Measure how many problems of data sets the controls answer, by difficulty.

A control is a program that learns nothing (`tasks/controls.py`). If a control answers most problems
of a data set, high accuracies of models on this data set mean little.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from logicgen.data.dataset import Dataset
from logicgen.data.generate import generate
from logicgen.data.recipe import DataRecipe
from logicgen.experiments import Call, Experiment, ExperimentSettings, Json, Positive, Seed
from logicgen.measures.best_control import usual_controls
from logicgen.measures.control_answers import prepared
from logicgen.report.figure_style import legend_below, line_styles, new_axes
from logicgen.report.tables import Report
from logicgen.tasks.controls import Control

ALL = "all"
"""The name of the group of all problems of a split."""

SPLITS = ("test", "grid")


class GuessSettings(ExperimentSettings):
    """Keys of a study of this experiment.

    data: names of recipes of data sets.
    size: the number of examples that are made of each recipe, without the grid.
    limit: the most problems of a split that the controls answer.
    tries: the number of answers of a control that the verifier checks.
    edges: for each column of difficulty, the numbers at which groups of problems begin.
    """

    data: list[str]
    size: Positive
    limit: Positive
    tries: Annotated[int, Field(ge=2)]
    edges: dict[str, list[float]]
    seed: Seed


def measure(
    data: str, size: int, limit: int, tries: int, edges: dict[str, list[float]], seed: int
) -> Json:
    """Make a data set; return how many problems each control answers.

    The result has an entry for each split and group of problems. It contains the number of
    `examples`, and the number of problems on which `no` control is right. For each control, it
    contains two numbers of problems: with a right first answer, and with a right answer among
    `tries` answers.
    """
    recipe = DataRecipe.read(data)
    if any(recipe.sizes.model_dump().values()):
        recipe = recipe.resized(size)
    found: Json = {}
    with TemporaryDirectory() as place:
        folder = Path(place) / "data"
        generate(recipe, folder, name=data, seed=seed)
        opened = Dataset(folder)
        controls = {name: prepared(opened, name) for name in usual_controls(opened.task)}
        for split in SPLITS:
            if opened.splits.get(split):
                found[split] = _split(opened, split, controls, limit, tries, edges)
    return found


def _split(
    data: Dataset,
    split: str,
    controls: dict[str, Control],
    limit: int,
    tries: int,
    edges: dict[str, list[float]],
) -> Json:
    table = data.table(split)
    rows = np.linspace(0, len(table) - 1, min(limit, len(table))).astype(int)
    chosen = table.take(rows).to_pylist()
    right = {name: _right(data, control, chosen, tries) for name, control in controls.items()}
    found = {}
    for group, mask in _groups(chosen, edges).items():
        first = np.array([each[mask, 0] for each in right.values()])
        found[group] = {
            "examples": int(mask.sum()),
            "no": int((~first.any(axis=0)).sum()),
            **{name: each[mask].sum(axis=0).tolist() for name, each in right.items()},
        }
    return found


def _right(data: Dataset, control: Control, rows: list[Json], tries: int) -> np.ndarray:
    """Return whether the first answer, and any of `tries` answers, is right, (problems, 2)."""
    task, found = data.task, []
    for row in rows:
        problem = task.decode_problem(row["problem"])
        answers = map(task.decode_answer, control.answers(row["problem"], tries))
        rights = [task.check(problem, answer).is_right for answer in answers]
        found.append((rights[:1] == [True], any(rights)))
    return np.array(found, dtype=bool)


def _groups(rows: list[Json], edges: dict[str, list[float]]) -> dict[str, np.ndarray]:
    """Return masks of problems by the name of their group. Groups without problems are left out."""
    found = {ALL: np.ones(len(rows), dtype=bool)}
    for column, bounds in edges.items():
        if column not in rows[0]:
            continue
        values = np.array([np.nan if row[column] is None else row[column] for row in rows])
        for low, high in pairwise([*bounds, np.inf]):
            mask = (low <= values) & (values < high)
            if mask.any():
                found[f"{column} {_range(low, high)}"] = mask
    return found


def _range(low: float, high: float) -> str:
    if high == low + 1:
        return f"{low:g}"
    return f"from {low:g}" if high == np.inf else f"{low:g} to {high:g}"


def trials(settings: GuessSettings) -> dict[str, Call]:
    """Return a trial for each data set."""
    common = settings.model_dump(exclude={"description", "experiment", "data"})
    return {name: (measure, {**common, "data": name}) for name in settings.data}


def report(settings: GuessSettings, found: dict[str, Json]) -> Report:
    """Return the report: the best control of each split, and every control by difficulty."""
    tries = settings.tries
    best = (
        "The control with the most right first answers, and the control that is right most often"
        f" within {tries} answers that the verifier checks. `no control`: share of problems that no"
        " control answers with its first answer."
    )
    heads = ["problems", "number", "one answer", f"{tries} answers", "no control"]
    rows = [
        [place, f"{groups[ALL]['examples']:,}", *_best(groups[ALL]), _share(groups[ALL], "no")]
        for place, groups in _places(found)
    ]
    every = (
        "Share of problems that a control answers with its first answer, and within"
        f" {tries} answers."
    )
    names = _names(found)
    details = [
        [place, group, f"{counts['examples']:,}", *(_shares(counts, name) for name in names)]
        for place, groups in _places(found)
        for group, counts in groups.items()
    ]
    tables = [(best, heads, rows), (every, ["problems", "group", "number", *names], details)]
    about = "Programs that learn nothing answer the problems of data sets."
    caption = f"problems that the best control answers, with one and with {tries} answers"
    pictures = [("best-control", caption, _figure(tries, found))]
    return Report("Controls", about, tables, pictures)


def _places(found: dict[str, Json]) -> list[tuple[str, Json]]:
    """Return pairs of a data set with its split, and the groups of problems."""
    return [
        (f"{data}, {split}", groups)
        for data, splits in found.items()
        for split, groups in splits.items()
    ]


def _controls(counts: Json) -> list[str]:
    return [name for name in counts if name not in NUMBERS]


def _best(counts: Json) -> list[str]:
    """Return the best controls with one answer and with several answers, with their shares."""
    names = [max(_controls(counts), key=lambda name: counts[name][i]) for i in range(2)]
    return [
        f"{name} {100 * counts[name][i] / counts['examples']:.1f}%" for i, name in enumerate(names)
    ]


def _share(counts: Json, name: str) -> str:
    return f"{100 * counts[name] / counts['examples']:.1f}%"


def _shares(counts: Json, name: str) -> str:
    """Return the shares of a control as text; empty if the task does not have the control."""
    if name not in counts:
        return ""
    return " / ".join(f"{100 * right / counts['examples']:.1f}%" for right in counts[name])


def _names(found: dict[str, Json]) -> list[str]:
    """Return the names of all controls, in order of first occurrence."""
    names = (name for _, groups in _places(found) for name in _controls(groups[ALL]))
    return list(dict.fromkeys(names))


NUMBERS = ("examples", "no")
"""The entries of a group that are not controls."""


def _figure(tries: int, found: dict[str, Json]) -> Figure:
    """Draw the share of problems of the best control as two bars for each data set and split."""
    places = [(place, groups[ALL]) for place, groups in _places(found)]
    figure, axes = new_axes(8, 1.5 + 0.4 * len(places), "The best program that learns nothing")
    across = np.arange(len(places))[::-1]
    labels = ("one answer", f"{tries} verified answers")
    for index, (label, style) in enumerate(zip(labels, line_styles(), strict=False)):
        shares = [
            max(counts[name][index] for name in _controls(counts)) / counts["examples"]
            for _, counts in places
        ]
        axes.barh(across + 0.2 - 0.4 * index, shares, 0.38, color=style["color"], label=label)
    axes.set_yticks(across, [place for place, _ in places])
    axes.set(xlim=(0, 1), xlabel="share of problems answered right")
    legend_below(figure, columns=2)
    return figure


EXPERIMENT = Experiment(GuessSettings, trials, report)
