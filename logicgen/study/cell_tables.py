"""Right answers by cell, as a table and figures: what a study shows of `[evaluate]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from logicgen.evaluate.scores import Scores
from logicgen.report.comparison import COLUMNS, DIFFERENCES, HEAT_MAPS, SYMBOLS
from logicgen.report.evaluation_files import percent
from logicgen.report.heatmap import draw_differences, draw_heatmaps
from logicgen.report.study_figures import (
    as_figure,
    draw_choices,
    draw_correlations,
    draw_covariance,
)
from logicgen.report.symbols_figure import draw_symbols
from logicgen.report.tables import markdown_table
from logicgen.study.correlation import Correlation, correlations
from logicgen.study.measure import EVALUATION, goal, scores_of
from logicgen.study.result import Result, Shown
from logicgen.study.study_recipe import Study, short

# So many points are told apart in a figure with a panel or a line for each; of more, the table for
# people has as many of the best.
MOST_NAMED = 12
MOST_ROWS = 20


@dataclass(frozen=True)
class Row:
    """A point with what its trials gave.

    Attributes:
        label: what stands for it in figures.
        scores: the answers of all training seeds, as of one model with more embedding seeds.
        seeds: how many training seeds.
        covariance: alpha-covariance of exact strings by number of symbols, `all` for all problems,
            each as the mean over training seeds; None where it was not measured.
        minutes: of training, mean over seeds.
    """

    point: str
    label: str
    choices: dict[str, str]
    scores: Scores
    seeds: int
    covariance: dict[str, float] | None
    steps: int
    parameters: int
    minutes: float

    @property
    def goal(self) -> tuple[float, bool]:
        """Return the one number that ranks it, and whether less is better."""
        return goal(self.scores.score())


def row_of(some: list[Result]) -> Row:
    """Return the row of a point from its results, one for each training seed."""
    first, training = some[0], [result.training for result in some]
    measured = [
        {
            symbols: part.strings.mean
            for symbols, part in {**found.by_symbols, "all": found.overall}.items()
        }
        for found in (result.covariance for result in some)
        if found is not None
    ]
    covariance = None
    if measured:
        shared = [key for key in measured[0] if all(key in other for other in measured)]
        covariance = {key: float(np.mean([each[key] for each in measured])) for key in shared}
    return Row(
        point=first.trial.combination,
        label=", ".join(first.trial.choices.values()),
        choices=first.trial.choices,
        scores=Scores.joined([scores_of(result.measures[EVALUATION]) for result in some]),
        seeds=len(some),
        covariance=covariance,
        steps=max(each.steps for each in training),
        parameters=training[0].parameters,
        minutes=float(np.mean([each.minutes for each in training])),
    )


def show_cells(study: Study, points: dict[str, list[Result]]) -> Shown:
    """Return tables and figures of points whose answers were counted by cell.

    Up to 12 points are set side by side: heat maps, maps of the difference to the first, accuracy
    by number of symbols. Of more, a box plot of the scores by choice, and the correlation of each
    choice with the score.
    """
    rows = [row_of(some) for some in points.values()]
    about = rows[0].scores.about
    title = f"{study.name}: {about.data} ({about.split})"
    says = (
        "Shares of right answers, judged by the solver, with Wilson's 95% interval over problems;"
        " ± is the standard deviation over training seeds and draws of the embedding. Inside and"
        f" beyond: of the region that {rows[0].point} is trained on."
    )
    more: list[str] = []
    if len(rows) <= MOST_NAMED:
        pictures = _side_by_side(rows)
    else:
        best = min(len(rows), MOST_ROWS)
        says += f"\n\nThe best {best}; all are in `results.csv`:"
        goals = [row.goal for row in rows]
        values, less = [value for value, _ in goals], goals[0][1]
        called = "mean edit distance (tokens)" if less else "right answers"
        choices = [row.choices for row in rows]
        related = correlations(choices, values)
        more = [
            "Spearman's rank correlation of each choice with the score; chance: 95% of random"
            " assignments of the scores stay below it.",
            _correlation_table(related),
        ]
        bars = [(each.label, each.rho, each.chance) for each in related]
        pictures = [
            ("choices", "score by choice", draw_choices(choices, values, called, title)),
            (
                "correlations",
                "correlations with the score",
                draw_correlations(bars, called, less, title),
            ),
        ]
    measured = {row.label: row.covariance for row in rows if row.covariance is not None}
    found = next(iter(points.values()))[0].covariance
    if found is not None and len(measured) <= MOST_NAMED:
        title = f"{study.name}: {found.data} ({found.split})"
        pictures.append(("covariance", "alpha-covariance", draw_covariance(measured, title)))
    lines = [line for row in rows for line in _lines(row, rows[0])]
    return Shown(lines, says, markdown(rows), more, pictures)


def _side_by_side(rows: list[Row]) -> list[tuple[str, str, Figure]]:
    about = rows[0].scores.about
    title = f"{about.data} ({about.split})"
    cells = [(row.label, row.scores.by_cell(), row.scores.about) for row in rows]
    maps = as_figure(draw_heatmaps, cells, f"{title}: right answers")
    pictures = [(HEAT_MAPS, "heat maps", maps)]
    (label, first, _), *others = cells
    if others:
        which = f" of {others[0][0]}" if len(others) == 1 else ""
        against = f"{title}: right answers{which} minus those of {label}"
        differences = as_figure(draw_differences, first, others, against)
        pictures.append((DIFFERENCES, f"difference to {label}", differences))
    symbols = as_figure(draw_symbols, [(row.label, row.scores) for row in rows], title)
    return [*pictures, (SYMBOLS, "accuracy by number of symbols", symbols)]


def _correlation_table(related: list[Correlation]) -> str:
    return markdown_table(
        ["choice", "points", "correlation", "chance", "p"],
        [
            [
                each.label,
                str(each.points),
                f"{each.rho:+.2f}",
                f"{each.chance:.2f}",
                f"{each.p:.4f}",
            ]
            for each in sorted(related, key=lambda one: -abs(one.rho))
        ],
    )


def _lines(row: Row, first: Row) -> list[dict[str, Any]]:
    """Return a point's lines in the table for programs: one for each part of the examples.

    The parts are those of the first point's training region.
    """
    parts = row.scores.parts(first.scores.about)
    scores = {name: row.scores.select(mask).score() for name, mask in parts.items() if mask.any()}
    scores["overall"] = row.scores.score()
    covariance = {} if row.covariance is None else {"alpha_covariance": row.covariance.get("all")}
    head = {
        "point": row.point,
        **row.choices,
        "seeds": row.seeds,
        "steps": row.steps,
        "minutes": row.minutes,
        "parameters": row.parameters,
        **covariance,
    }
    return [{**head, "part": name, **score.flat()} for name, score in scores.items()]


def markdown(rows: list[Row]) -> str:
    """Return the table for people: a row per point, the best ones first where there are many."""
    first = rows[0]
    about = first.scores.about
    shown = [name for name in COLUMNS if name == "overall" or first.scores.parts()[name].any()]
    distance = first.scores.score().edit_distance is not None
    measured = any(row.covariance is not None for row in rows)
    heads = [*first.choices, *(COLUMNS[name] for name in shown)]
    verified = first.scores.score().verified_accuracy is not None
    exact = any(row.scores.score().counts["correct"] for row in rows)
    heads += ["all, exact"] * exact + ["all, verified"] * verified + ["draws"] * verified
    heads += ["edit distance"] * distance + ["alpha-covariance"] * measured
    heads += ["seeds", "steps", "parameters", "minutes"]
    chosen = rows
    if len(rows) > MOST_NAMED:
        chosen = sorted(rows, key=_worst_last)[:MOST_ROWS]
    lines = []
    for row in chosen:
        parts = row.scores.parts(about)
        values = [short(name) for name in row.choices.values()]
        for name in shown:
            some = row.scores if name == "overall" else row.scores.select(parts[name])
            values.append(percent(some.score().flat()) if len(some) else "-")
        score = row.scores.score()
        if exact:
            values.append(percent(score.flat(), "exact_match"))
        if verified:
            values.append(percent(score.flat(), "verified_accuracy"))
            values.append(f"{score.draws[0]:.1f}" if score.draws else "-")
        if distance:
            mean, deviation = score.edit_distance or (float("nan"), 0.0)
            values.append(f"{mean:.2f}" + (f" ± {deviation:.2f}" if row.seeds > 1 else ""))
        if measured:
            values.append("-" if row.covariance is None else f"{row.covariance['all']:.3f}")
        values += [str(row.seeds), f"{row.steps:,}", f"{row.parameters:,}", f"{row.minutes:.1f}"]
        lines.append(values)
    return markdown_table(heads, lines)


def _worst_last(row: Row) -> float:
    value, less = row.goal
    return value if less else -value
