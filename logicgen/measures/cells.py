"""The measure `cells`: scores of answers by cell. A study requests it by a table `[evaluate]`.

A cell contains the problems with one number of symbols and one length, or one range of lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel

from logicgen.data.opening import as_dataset
from logicgen.measures.accuracy import covariance, predicted
from logicgen.measures.comparison import COLUMNS, comparison_figures, part_rows
from logicgen.measures.measure import MOST_NAMED, Findings, Json, Measure, Picture, Ranking, Subject
from logicgen.measures.predictions import About
from logicgen.measures.scores import Score, Scores
from logicgen.report.figure_style import legend_below, line_styles, new_axes, whole_numbers
from logicgen.report.tables import percent


class _Mean(BaseModel):
    mean: float


class _StringsTable(BaseModel):
    strings: _Mean


class CovarianceTable(BaseModel):
    """Alpha-covariance of exact strings, over all problems and by number of symbols."""

    overall: _StringsTable
    by_symbols: dict[str, _StringsTable]
    data: str
    split: str


class Cells(Measure):
    """A measure: the share of right answers in each cell, and optionally the alpha-covariance.

    A cell is one number of symbols and one length. Alpha-covariance is the degree to which renaming
    the symbols of a problem only renames the model's answer.
    """

    name = "cells"
    of = ("problems",)

    def take(self, settings: Any, data: Any, subject: Subject) -> Json:
        """Answer problems; return a description, the scores, and the counts of verdicts by cell.

        The alpha-covariance is included if the settings request it.
        """
        dataset = as_dataset(data)
        table, about = predicted(settings, dataset, subject, subject.run / settings.split)
        scores = Scores.of(table, about)
        found: Json = {"about": asdict(about), "summary": scores.summary()}
        return {**found, **covariance(settings, dataset, subject), "tally": scores.tally()}

    def headline(self, found: Json) -> tuple[float, bool]:
        """Return the mean edit distance if the task defines it, else the share of right answers."""
        return goal(_scores_of(found).score())

    def check_found(self, found: Json) -> None:
        """Check the shape of results that were read from a file, as `Measure.check_found` does."""
        self.headline(found)
        if found.get("covariance") is not None:
            CovarianceTable.model_validate(found["covariance"])

    def says(self, points: list[Findings]) -> str:
        """Return sentences on the shares, and on the training region that the columns refer to."""
        firsts = _firsts(points)
        reference = points[0].point if len(firsts) == 1 else "the first point of the same task"
        return (
            "Shares of right answers, judged by the solver, with a 95% Wilson interval over"
            " problems; ± is the standard deviation over training seeds and draws of the embedding."
            f" The columns refer to the training region of {reference}."
        )

    def columns(self, points: list[Findings], prefix: str) -> list[dict[str, str]]:
        """Return table rows: accuracy on parts of the problems, and other scores."""
        columns = [
            *_part_columns(points),
            *_score_columns(points),
            ("seeds", lambda point: str(len(point.found))),
        ]
        return [{head: cell(point) for head, cell in columns} for point in points]

    def rows(self, points: list[Findings]) -> list[list[tuple[int, Json]]]:
        """Return, for each combination of settings, a row for each part of the problems.

        A part is, for example, the problems with trained lengths. A row contains the scores over
        all training seeds, so its index of the seed is 0.
        """
        firsts = _firsts(points)
        return [
            [(0, line) for line in part_rows(_head(point), scores, firsts[scores.about.task])]
            for point in points
            for scores in [_scores(point)]
        ]

    def pictures(self, study: str, measured: list[list[Findings]]) -> list[Picture]:
        """Return figures of accuracy and of alpha-covariance.

        A figure is left out if it would show more than 15 combinations of settings.
        """
        (points,) = measured
        pictures = _side_by_side(points) if len(points) <= MOST_NAMED else []
        by_symbols = {
            point.label: each for point in points if (each := _covariance_of(point)) is not None
        }
        first = points[0].found[0].get("covariance")
        if first is not None and len(by_symbols) <= MOST_NAMED:
            figure = draw_covariance(by_symbols, f"{study}: {first['data']} ({first['split']})")
            pictures.append(("covariance", "alpha-covariance", figure))
        return pictures

    def ranking(self, points: list[Findings]) -> Ranking | None:
        """Score each combination of settings on all problems, on trained and on other lengths.

        If all models fail on longer problems, only the score on trained lengths distinguishes them.
        A score is left out if there is no problem with such a length.
        """
        about = _scores(points[0]).about
        goals = [goal(point_score(point)) for point in points]
        less = goals[0][1]
        parts = {}
        for where, trained in (("trained lengths", True), ("other lengths", False)):
            some = [
                scores.select(scores.as_trained("length", about) == trained)
                for scores in map(_scores, points)
            ]
            if all(len(part) for part in some):
                parts[where] = [goal(part.score())[0] for part in some]
        called = "mean edit distance (tokens)" if less else "right answers"
        values = [value for value, _ in goals]
        return Ranking(called, less, values, f"{about.data} ({about.split})", parts)


MEASURE = Cells()


def goal(score: Score) -> tuple[float, bool]:
    """Return the score that ranks models, and whether a lower score is better.

    The score is the mean edit distance if the task defines it, else the share of right answers.
    """
    if score.edit_distance is not None:
        return score.edit_distance[0], True
    return score.accuracy[0], False


# Answers for a combination of settings of a study (called a point)


def _scores_of(found: Json) -> Scores:
    """Return the answers of a trained model, from the counts in its results."""
    return Scores.of_tally(found["tally"], About.of_json(found["about"]))


@lru_cache(maxsize=4096)
def _scores(point: Findings) -> Scores:
    """Return the answers for one combination of settings, joined over all training seeds."""
    return Scores.joined([_scores_of(found) for found in point.found])


@lru_cache(maxsize=4096)
def point_score(point: Findings) -> Score:
    """Return the score of all answers for one combination of settings."""
    return _scores(point).score()


def _covariance_of(point: Findings) -> dict[str, float] | None:
    """Return the mean alpha-covariance over training seeds, by number of symbols.

    Answers are compared as exact strings. The key `all` has the value over all problems. Returns
    None if the alpha-covariance was not measured.
    """
    measured = [
        {**each["by_symbols"], "all": each["overall"]}
        for found in point.found
        if (each := found.get("covariance")) is not None
    ]
    if not measured:
        return None
    shared = [key for key in measured[0] if all(key in other for other in measured)]
    means = {key: [each[key]["strings"]["mean"] for each in measured] for key in shared}
    return {key: float(np.mean(values)) for key, values in means.items()}


def _head(point: Findings) -> dict[str, Any]:
    """Return the values that all rows of one combination of settings share in `results.csv`."""
    measured = _covariance_of(point)
    return {
        "seeds": len(point.found),
        "steps": max(each.steps for each in point.runs),
        "minutes": float(np.mean([each.minutes for each in point.runs])),
        "parameters": point.runs[0].parameters,
        **({} if measured is None else {"alpha_covariance": measured.get("all")}),
    }


def _firsts(points: list[Findings]) -> dict[str, About]:
    """Return, for each task, the description of the first evaluation of this task.

    The training region in this description defines the parts of the problems, such as "trained
    lengths", for all combinations with this task.
    """
    abouts = [_scores(point).about for point in reversed(points)]
    return {about.task: about for about in abouts}


# Columns

Columns = list[tuple[str, Callable[[Findings], str]]]
"""Columns of a table. A column is a head, and a function that returns the text of a row."""


def _part_columns(points: list[Findings]) -> Columns:
    """Return the columns of right answers: on all problems, and on each part with problems."""
    firsts, there = _firsts(points), _scores(points[0]).parts()

    def share(name: str, point: Findings) -> str:
        part = _scores(point)
        if name != "overall":
            part = part.select(part.parts(firsts[part.about.task])[name])
        return percent(part.score().flat()) if len(part) else "-"

    shown = [name for name in COLUMNS if name == "overall" or there[name].any()]
    return [(COLUMNS[name], partial(share, name)) for name in shown]


def _score_columns(points: list[Findings]) -> Columns:
    """Return the columns of exact match, edit distance and other scores that were measured."""

    def of(key: str, point: Findings) -> str:
        score = point_score(point).flat()
        return percent(score, key) if key in score else "-"

    first, columns = point_score(points[0]), Columns()
    if any(point_score(point).counts["correct"] for point in points):
        columns.append(("all, exact", partial(of, "exact_match")))
    if first.token_accuracy is not None:
        columns.append(("all, tokens", partial(of, "token_accuracy")))
    if first.verified_accuracy is not None:
        columns.append(("all, verified", partial(of, "verified_accuracy")))
        columns.append(("draws", _draws))
    if first.edit_distance is not None:
        columns.append(("edit distance", _edit_distance))
    if any(_covariance_of(point) is not None for point in points):
        columns.append(("alpha-covariance", _covariance))
    return columns


def _draws(point: Findings) -> str:
    draws = point_score(point).draws
    return f"{draws[0]:.1f}" if draws else "-"


def _covariance(point: Findings) -> str:
    measured = _covariance_of(point)
    return "-" if measured is None else f"{measured['all']:.3f}"


def _edit_distance(point: Findings) -> str:
    mean, deviation = point_score(point).edit_distance or (float("nan"), 0.0)
    return f"{mean:.2f}" + (f" ± {deviation:.2f}" if len(point.found) > 1 else "")


# Figures


def _side_by_side(points: list[Findings]) -> list[Picture]:
    """Return the figures of each task, with a panel or a line for each combination of settings."""
    tasks = list(dict.fromkeys(_scores(point).about.task for point in points))
    return [
        (f"{name}-{task}" if len(tasks) > 1 else name, called, figure)
        for task in tasks
        for name, called, figure in comparison_figures(
            [(each.label, _scores(each)) for each in points if _scores(each).about.task == task]
        )
    ]


def draw_covariance(points: dict[str, dict[str, float]], title: str) -> Figure:
    """Draw the mean alpha-covariance by number of symbols: a line per combination of settings.

    points: for the label of each combination, the values by number of symbols. The key `all` is
        ignored.
    """
    figure, axes = new_axes(7, 4.5, title)
    for (label, by_symbols), style in zip(points.items(), line_styles(), strict=False):
        pairs = sorted((int(key), value) for key, value in by_symbols.items() if key != "all")
        symbols, values = zip(*pairs, strict=True)
        axes.plot(symbols, values, label=label, markersize=5, **style)
    whole_numbers(axes.xaxis)
    axes.set_ylim(-0.03, 1.03)
    axes.set(xlabel="symbols in the problem", ylabel="alpha-covariance (mean, exact strings)")
    columns = 77 // (max(map(len, points)) + 6)  # number of labels that fit side by side
    legend_below(figure, min(max(columns, 1), 3))
    return figure
