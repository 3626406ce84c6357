"""Right answers by cell, as a table and figures: what a study shows of `[evaluate]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from logicgen.measures.comparison import COLUMNS, comparison_figures, part_rows
from logicgen.measures.scores import Scores
from logicgen.report.study_figures import draw_choices, draw_correlations, draw_covariance
from logicgen.report.tables import Report, percent
from logicgen.study.correlation import Correlation, correlations
from logicgen.study.measure import EVALUATION, goal, scores_of
from logicgen.study.result import TABLE, Result, beside_choices
from logicgen.study.study_recipe import Study, short

# So many points are told apart in a figure with a panel or a line for each; of more, the table for
# people has as many of the best.
MOST_NAMED = 12
MOST_ROWS = 20


@dataclass(frozen=True)
class Row:
    """A point with what its trials gave."""

    point: str
    choices: dict[str, str]
    scores: Scores  # of all training seeds, as of one model with more embedding seeds
    seeds: int  # of training
    # Alpha-covariance of exact strings by number of symbols, and of `all`: mean over seeds.
    covariance: dict[str, float] | None
    steps: int
    parameters: int
    minutes: float  # of training, mean over seeds

    @property
    def label(self) -> str:
        """Return its name in figures."""
        return ", ".join(self.choices.values())


def row_of(some: list[Result]) -> Row:
    """Return the row of a point from its results, one for each training seed."""
    first, training = some[0], [result.training for result in some]
    measured = [
        {**found.by_symbols, "all": found.overall}
        for found in (result.covariance for result in some)
        if found is not None
    ]
    covariance = None
    if measured:
        shared = [key for key in measured[0] if all(key in other for other in measured)]
        means = {key: [each[key].strings.mean for each in measured] for key in shared}
        covariance = {key: float(np.mean(values)) for key, values in means.items()}
    return Row(
        point=first.trial.combination,
        choices=first.trial.choices,
        scores=Scores.joined([scores_of(result.measures[EVALUATION]) for result in some]),
        seeds=len(some),
        covariance=covariance,
        steps=max(each.steps for each in training),
        parameters=training[0].parameters,
        minutes=float(np.mean([each.minutes for each in training])),
    )


def show_cells(study: Study, points: dict[str, list[Result]], counted: str) -> Report:
    """Return tables and figures of points whose answers were counted by cell.

    Up to 12 points are set side by side: heat maps, maps of the difference to the first, accuracy
    by number of symbols. Of more, a box plot of the scores by choice, and the correlation of each
    choice with the score. counted: a sentence on how much was done.
    """
    rows = [row_of(some) for some in points.values()]
    about, firsts = rows[0].scores.about, _firsts(rows)
    reference = rows[0].point if len(firsts) == 1 else "the first point of the same task"
    says = (
        f"{counted} Shares of right answers, judged by the solver, with Wilson's 95% interval over"
        " problems; ± is the standard deviation over training seeds and draws of the embedding."
        f" Inside and beyond: of the region that {reference} is trained on."
    )
    if len(rows) <= MOST_NAMED:
        tables = [(says, *_table(rows, rows))]
        pictures = [
            (f"{name}-{task}" if len(firsts) > 1 else name, called, figure)
            for task in firsts
            for name, called, figure in comparison_figures(
                [(row.label, row.scores) for row in rows if row.scores.about.task == task]
            )
        ]
    else:
        title = f"{study.name}: {about.data} ({about.split})"
        goals = [goal(row.scores.score()) for row in rows]
        values, less = [value for value, _ in goals], goals[0][1]
        order = np.argsort(values if less else np.negative(values), kind="stable")
        best = [rows[place] for place in order[:MOST_ROWS]]
        called = "mean edit distance (tokens)" if less else "right answers"
        choices = [row.choices for row in rows]
        tables = [(f"{says}\n\nThe best {len(best)}; all are in `{TABLE}`:", *_table(rows, best))]
        boxes = draw_choices(choices, values, called, title)
        pictures = [("choices", "score by choice", boxes)]
        related = _related(rows)
        if related:
            tables.append(_correlation_table(related))
        for where, some in related.items():
            bars = [(each.label, each.rho, each.chance) for each in some]
            figure = draw_correlations(bars, called, less, f"{title}, {where}")
            name = "-".join(["correlations", *where.split()])
            pictures.append((name, f"correlations with the score, {where}", figure))
    measured = {row.label: row.covariance for row in rows if row.covariance is not None}
    found = next(iter(points.values()))[0].covariance
    if found is not None and len(measured) <= MOST_NAMED:
        title = f"{study.name}: {found.data} ({found.split})"
        pictures.append(("covariance", "alpha-covariance", draw_covariance(measured, title)))
    lines = beside_choices(
        (row.point, row.choices, line)
        for row in rows
        for line in part_rows(_head(row), row.scores, firsts[row.scores.about.task].scores.about)
    )
    return Report(study.name, study.description, tables, pictures, {TABLE: lines})


def _firsts(rows: list[Row]) -> dict[str, Row]:
    """Return the first point of each task, whose training region splits the task's problems."""
    firsts: dict[str, Row] = {}
    for row in rows:
        firsts.setdefault(row.scores.about.task, row)
    return firsts


def _related(rows: list[Row]) -> dict[str, list[Correlation]]:
    """Return correlations of choices with the score, on problems of trained and of other lengths.

    Models that fail on all longer problems would hide what distinguishes them on the others. A part
    without problems is left out, and so is a choice that only one point has: whether it is good
    says its row.
    """
    about, choices = rows[0].scores.about, [row.choices for row in rows]
    masks = [row.scores.as_trained("length", about) for row in rows]
    related = {}
    for where, trained in (("trained lengths", True), ("other lengths", False)):
        parts = [row.scores.select(mask == trained) for row, mask in zip(rows, masks, strict=True)]
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


def _head(row: Row) -> dict[str, Any]:
    """Return the values that are equal in all lines of a point in `results.csv`."""
    covariance = {} if row.covariance is None else {"alpha_covariance": row.covariance.get("all")}
    return {
        "seeds": row.seeds,
        "steps": row.steps,
        "minutes": row.minutes,
        "parameters": row.parameters,
        **covariance,
    }


def _table(rows: list[Row], chosen: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return column heads, which follow from all rows, and the values of some rows, for people."""
    first, firsts = rows[0].scores, _firsts(rows)
    there, score = first.parts(), first.score()
    shown = [name for name in COLUMNS if name == "overall" or there[name].any()]
    distance, verified = score.edit_distance is not None, score.verified_accuracy is not None
    tokens = score.token_accuracy is not None
    measured = any(row.covariance is not None for row in rows)
    exact = any(row.scores.score().counts["correct"] for row in rows)
    heads = [*rows[0].choices, *(COLUMNS[name] for name in shown)]
    heads += ["all, exact"] * exact + ["all, tokens"] * tokens
    heads += ["all, verified", "draws"] * verified
    heads += ["edit distance"] * distance + ["alpha-covariance"] * measured
    heads += ["seeds", "steps", "parameters", "minutes"]
    lines = []
    for row in chosen:
        about = firsts[row.scores.about.task].scores.about
        parts, score = row.scores.parts(about), row.scores.score()
        values = [short(name) for name in row.choices.values()]
        for name in shown:
            some = row.scores if name == "overall" else row.scores.select(parts[name])
            values.append(percent(some.score().flat()) if len(some) else "-")
        if exact:
            values.append(percent(score.flat(), "exact_match"))
        if tokens:
            counted = score.token_accuracy is not None
            values.append(percent(score.flat(), "token_accuracy") if counted else "-")
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
    return heads, lines
