"""Right answers by cell, as a table and figures, for `[evaluate]`; and columns of all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from logicgen.measures.comparison import COLUMNS, comparison_figures, part_rows
from logicgen.measures.predictions import About
from logicgen.measures.scores import Score, Scores
from logicgen.report.study_figures import draw_choices, draw_correlations, draw_covariance
from logicgen.report.tables import Report, percent
from logicgen.study.correlation import Correlation, correlations
from logicgen.study.measure import EVALUATION, goal, scores_of
from logicgen.study.recipe import AXIS, Study, short
from logicgen.study.records import Record

TABLE = "results.csv"

# Up to this number of points a figure has a panel or a line for each. If there are more, the table
# for people has this number of the best points.
MOST_NAMED = 12
MOST_ROWS = 20

Picture = tuple[str, str, Figure]
"""The name of the file, what it shows, and the figure."""

Cells = tuple[str, list[str], list[list[str]]]
"""A sentence, column heads and rows of a table for people."""


def by_point(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records of each combination of choices, one for each training seed."""
    points: dict[str, list[Record]] = {}
    for record in records:
        points.setdefault(record.training.point, []).append(record)
    return points


class Point:
    """The trials of one combination of choices, one for each training seed."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.name, self.choices = records[0].training.point, records[0].training.choices
        self.runs = [record.run for record in records]

    @cached_property
    def scores(self) -> Scores:
        """Return the answers of all training seeds, as of one model with more embedding seeds."""
        return Scores.joined([scores_of(record.measures[EVALUATION]) for record in self.records])

    @cached_property
    def covariance(self) -> dict[str, float] | None:
        """Return alpha-covariance of exact strings by number of symbols, and of `all`.

        It is the mean over training seeds.
        """
        measured = [
            {**found.by_symbols, "all": found.overall}
            for record in self.records
            if (found := record.covariance) is not None
        ]
        if not measured:
            return None
        shared = [key for key in measured[0] if all(key in other for other in measured)]
        means = {key: [each[key].strings.mean for each in measured] for key in shared}
        return {key: float(np.mean(values)) for key, values in means.items()}

    @cached_property
    def score(self) -> Score:
        """Return the score of all its answers."""
        return self.scores.score()

    @property
    def label(self) -> str:
        """Return its name in figures."""
        return ", ".join(self.choices.values())

    def head(self) -> dict[str, Any]:
        """Return the values that are equal in all its lines of `results.csv`."""
        measured = self.covariance
        return {
            "seeds": len(self.records),
            "steps": max(each.steps for each in self.runs),
            "minutes": float(np.mean([each.minutes for each in self.runs])),
            "parameters": self.runs[0].parameters,
            **({} if measured is None else {"alpha_covariance": measured.get("all")}),
        }


def show_cells(study: Study, records: dict[str, list[Record]], counted: str) -> Report:
    """Return tables and figures of points whose answers were counted by cell.

    Up to 12 points are set side by side: heat maps, maps of the difference to the first, accuracy
    by number of symbols. Of more, a box plot of the scores by choice, and the correlation of each
    choice with the score. counted: a sentence with the number of finished trials.
    """
    points = [Point(some) for some in records.values()]
    firsts = _firsts(points)
    reference = points[0].name if len(firsts) == 1 else "the first point of the same task"
    says = (
        f"{counted} Shares of right answers, judged by the solver, with Wilson's 95% interval over"
        " problems; ± is the standard deviation over training seeds and draws of the embedding."
        f" Inside and beyond: of the region that {reference} is trained on."
    )
    show = _side_by_side if len(points) <= MOST_NAMED else _ranked
    tables, pictures = show(study, points, says)
    measured = {point.label: each for point in points if (each := point.covariance) is not None}
    found = points[0].records[0].covariance
    if found is not None and len(measured) <= MOST_NAMED:
        title = f"{study.name}: {found.data} ({found.split})"
        pictures.append(("covariance", "alpha-covariance", draw_covariance(measured, title)))
    lines = beside_choices(
        (point.name, point.choices, line)
        for point in points
        for line in part_rows(point.head(), point.scores, _about(point, firsts))
    )
    return Report(study.name, study.description, tables, pictures, {TABLE: lines})


def _firsts(points: list[Point]) -> dict[str, Point]:
    """Return the first point of each task, whose training region splits the task's problems."""
    return {point.scores.about.task: point for point in reversed(points)}


def _about(point: Point, firsts: dict[str, Point]) -> About:
    """Return the facts of the answers of the first point of the same task."""
    return firsts[point.scores.about.task].scores.about


def _side_by_side(
    study: Study, points: list[Point], says: str
) -> tuple[list[Cells], list[Picture]]:
    """Return a table of all points, and figures with a panel or a line for each."""
    tasks = list(dict.fromkeys(point.scores.about.task for point in points))
    pictures = [
        (f"{name}-{task}" if len(tasks) > 1 else name, called, figure)
        for task in tasks
        for name, called, figure in comparison_figures(
            [(point.label, point.scores) for point in points if point.scores.about.task == task]
        )
    ]
    return [(says, *_table(points, points))], pictures


def _ranked(study: Study, points: list[Point], says: str) -> tuple[list[Cells], list[Picture]]:
    """Return a table of the best points, and how scores go with choices."""
    about = points[0].scores.about
    title = f"{study.name}: {about.data} ({about.split})"
    goals = [goal(point.score) for point in points]
    values, less = [value for value, _ in goals], goals[0][1]
    order = np.argsort(values if less else np.negative(values), kind="stable")
    best = [points[place] for place in order[:MOST_ROWS]]
    called = "mean edit distance (tokens)" if less else "right answers"
    tables = [(f"{says}\n\nThe best {len(best)}; all are in `{TABLE}`:", *_table(points, best))]
    boxes = draw_choices([point.choices for point in points], values, called, title)
    pictures = [("choices", "score by choice", boxes)]
    related = _related(points)
    if related:
        tables.append(_correlation_table(related))
    for where, some in related.items():
        bars = [(each.label, each.rho, each.chance) for each in some]
        figure = draw_correlations(bars, called, less, f"{title}, {where}")
        name = "-".join(["correlations", *where.split()])
        pictures.append((name, f"correlations with the score, {where}", figure))
    return tables, pictures


def _related(points: list[Point]) -> dict[str, list[Correlation]]:
    """Return correlations of choices with the score, on problems of trained and of other lengths.

    Models that fail on all longer problems would hide what distinguishes them on the others. A part
    without problems is left out, and so is a choice that only one point has: its row contains its
    score.
    """
    about, choices = points[0].scores.about, [point.choices for point in points]
    masks = [point.scores.as_trained("length", about) for point in points]
    related = {}
    for where, trained in (("trained lengths", True), ("other lengths", False)):
        parts = [
            point.scores.select(mask == trained) for point, mask in zip(points, masks, strict=True)
        ]
        if all(len(part) for part in parts):
            found = correlations(choices, [goal(part.score())[0] for part in parts])
            related[where] = [each for each in found if each.points > 1]
    return {where: found for where, found in related.items() if found}


def _correlation_table(
    related: dict[str, list[Correlation]],
) -> tuple[str, list[str], list[list[str]]]:
    """Return what a table of correlations says, its heads, and a row for each choice."""
    says = (
        "Spearman's rank correlation of each choice with the score, on problems of each length;"
        " chance: 95% of random assignments of the scores stay below it."
    )
    heads = ["choice", "points", *(f"{w}{of}" for w in related for of in ("", ", chance", ", p"))]
    by_choice = list(zip(*related.values(), strict=True))  # the same choices, in the same order
    lines = []
    for parts in sorted(by_choice, key=lambda parts: -abs(parts[0].rho)):
        values = [parts[0].label, f"{parts[0].points}"]
        for each in parts:
            values += [f"{each.rho:+.2f}", f"{each.chance:.2f}", f"{each.p:.4f}"]
        lines.append(values)
    return says, heads, lines


def _table(points: list[Point], chosen: list[Point]) -> tuple[list[str], list[list[str]]]:
    """Return column heads, which follow from all points, and the values of some, for people."""
    columns: Columns = [
        *((axis, partial(_choice, axis)) for axis in points[0].choices),
        *_part_columns(points),
        *_score_columns(points),
        ("seeds", lambda point: str(len(point.records))),
        ("steps", lambda point: f"{point.head()['steps']:,}"),
        ("parameters", lambda point: f"{point.head()['parameters']:,}"),
        ("minutes", lambda point: f"{point.head()['minutes']:.1f}"),
    ]
    return [head for head, _ in columns], [[cell(each) for _, cell in columns] for each in chosen]


Columns = list[tuple[str, Callable[[Point], str]]]
"""Heads, and functions that return the cell of a point."""


def _choice(axis: str, point: Point) -> str:
    return short(point.choices[axis])


def _part_columns(points: list[Point]) -> Columns:
    """Return the columns of right answers: of all problems, and of parts that have problems."""
    firsts, there = _firsts(points), points[0].scores.parts()

    def share(name: str, point: Point) -> str:
        part = point.scores
        if name != "overall":
            part = part.select(part.parts(_about(point, firsts))[name])
        return percent(part.score().flat()) if len(part) else "-"

    shown = [name for name in COLUMNS if name == "overall" or there[name].any()]
    return [(COLUMNS[name], partial(share, name)) for name in shown]


def _score_columns(points: list[Point]) -> Columns:
    """Return the columns of other scores of all problems, if the points have them."""

    def of(key: str, point: Point) -> str:
        counted = getattr(point.score, key, 0) is not None
        return percent(point.score.flat(), key) if counted else "-"

    first, columns = points[0].score, Columns()
    if any(point.score.counts["correct"] for point in points):
        columns.append(("all, exact", partial(of, "exact_match")))
    if first.token_accuracy is not None:
        columns.append(("all, tokens", partial(of, "token_accuracy")))
    if first.verified_accuracy is not None:
        columns.append(("all, verified", partial(of, "verified_accuracy")))
        columns.append(("draws", _draws))
    if first.edit_distance is not None:
        columns.append(("edit distance", _edit_distance))
    if any(point.covariance is not None for point in points):
        columns.append(("alpha-covariance", _covariance))
    return columns


def _draws(point: Point) -> str:
    return f"{point.score.draws[0]:.1f}" if point.score.draws else "-"


def _covariance(point: Point) -> str:
    return "-" if point.covariance is None else f"{point.covariance['all']:.3f}"


def _edit_distance(point: Point) -> str:
    mean, deviation = point.score.edit_distance or (float("nan"), 0.0)
    return f"{mean:.2f}" + (f" ± {deviation:.2f}" if len(point.records) > 1 else "")


def beside_choices(
    lines: Iterable[tuple[str, dict[str, str], dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return rows of a table from (point, choices by axis, values by column).

    The column of an axis is its name, or `axis.NAME` if a value has a column of that name.
    """
    lines = list(lines)
    taken = {"point", *(column for *_, values in lines for column in values)}
    return [
        {
            "point": point,
            **{AXIS * (axis in taken) + axis: name for axis, name in choices.items()},
            **values,
        }
        for point, choices, values in lines
    ]
