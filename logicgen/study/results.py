"""What a study found: tables and figures, made from the files of its trials and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.atomic import write_text
from logicgen.errors import LogicgenError
from logicgen.evaluate.scores import Scores
from logicgen.report.comparison import (
    COLUMNS,
    DIFFERENCES,
    HEAT_MAPS,
    SYMBOLS,
    Evaluated,
    write_comparison,
)
from logicgen.report.study_figures import draw_choices, draw_correlations, draw_covariance
from logicgen.report.tables import percent, write_csv
from logicgen.study.correlation import Correlation, as_row, correlations
from logicgen.study.plan import Plan
from logicgen.study.study_recipe import short
from logicgen.study.summary import Result, goal

TABLE, REPORT = "results.csv", "results.md"
CHOICES, CORRELATIONS, COVARIANCE = "choices", "correlations", "covariance"

# So many points are told apart in a figure with a panel or a line for each; of more, the table for
# people has as many of the best.
MOST_NAMED = 12
MOST_ROWS = 20


@dataclass(frozen=True)
class Row:
    """A point with what its trials gave.

    Attributes:
        scores: the answers of all training seeds, as of one model with more embedding seeds.
        seeds: how many training seeds.
        covariance: alpha-covariance of exact strings by number of symbols, `all` for all problems,
            each as the mean over training seeds; None where it was not measured.
        minutes: of training, mean over seeds.
    """

    point: str
    choices: dict[str, str]
    scores: Scores
    seeds: int
    covariance: dict[str, float] | None
    steps: int
    parameters: int
    minutes: float

    @property
    def label(self) -> str:
        """What stands for it in figures."""
        return ", ".join(self.choices.values())


def rows(results: list[Result]) -> list[Row]:
    """A row per point, in the order of the trials."""
    points: dict[str, list[Result]] = {}
    for result in results:
        points.setdefault(result.trial.point, []).append(result)
    return [_row(some) for some in points.values()]


def _row(some: list[Result]) -> Row:
    first = some[0]
    training = [result.content["training"] for result in some]
    measured = [
        {
            symbols: part["strings"]["mean"]
            for symbols, part in {**found["by_symbols"], "all": found["overall"]}.items()
        }
        for found in (result.content.get("covariance") for result in some)
        if found is not None
    ]
    covariance = None
    if measured:
        shared = [key for key in measured[0] if all(key in other for other in measured)]
        covariance = {key: float(np.mean([each[key] for each in measured])) for key in shared}
    return Row(
        point=first.trial.point,
        choices=first.trial.choices,
        scores=Scores.joined([result.scores for result in some]),
        seeds=len(some),
        covariance=covariance,
        steps=max(each["steps"] for each in training),
        parameters=training[0]["parameters"],
        minutes=float(np.mean([each["minutes"] for each in training])),
    )


def write_results(plan: Plan, results: list[Result], folder: Path) -> str:
    """Write the tables and figures of a study; returns the table for people.

    Up to 12 points are set side by side: heat maps, maps of the difference to the first, accuracy
    by number of symbols. Of more, a box plot of the scores by choice, and the correlation of each
    choice with the score. Raises LogicgenError where no trial is done.
    """
    if not results:
        raise LogicgenError(f"{plan.study.name}: no trial is done: there is nothing to show")
    if plan.study.measures:
        from logicgen.study.measured import write_measured

        return write_measured(plan, results, folder)
    found = rows(results)
    reference = found[0].scores.about
    write_csv([line for row in found for line in _lines(row, found[0])], folder / TABLE)
    pictures: list[tuple[str, str]] = []
    related: list[Correlation] = []
    title = f"{plan.study.name}: {reference.data} ({reference.split})"
    if len(found) <= MOST_NAMED:
        write_comparison([Evaluated(row.label, row.scores) for row in found], folder)
        pictures += [(HEAT_MAPS, "heat maps"), (SYMBOLS, "accuracy by number of symbols")]
        if len(found) > 1:
            pictures.insert(1, (DIFFERENCES, f"difference to {found[0].label}"))
    else:
        goals = [goal(row.scores) for row in found]
        values, less = [value for value, _ in goals], goals[0][1]
        called = "mean edit distance (tokens)" if less else "right answers"
        choices = [row.choices for row in found]
        related = correlations(choices, values)
        draw_choices(choices, values, called, title, folder, CHOICES)
        draw_correlations(related, called, less, title, folder, CORRELATIONS)
        write_csv([as_row(each) for each in related], folder / f"{CORRELATIONS}.csv")
        pictures += [(CHOICES, "score by choice"), (CORRELATIONS, "correlations with the score")]
    measured = {row.label: row.covariance for row in found if row.covariance is not None}
    if measured and len(measured) <= MOST_NAMED:
        about = results[0].content["covariance"]
        title = f"{plan.study.name}: {about['data']} ({about['split']})"
        draw_covariance(measured, title, folder, COVARIANCE)
        pictures.append((COVARIANCE, "alpha-covariance"))
    table = markdown(found)
    write_text(folder / REPORT, _report(plan, results, table, related, pictures))
    return table


def _lines(row: Row, first: Row) -> list[dict[str, Any]]:
    """The lines of a point in the table for programs: one for each part of the examples.

    The parts are those of the first point's training region.
    """
    scores = {**row.scores.by_part(first.scores.about), "overall": row.scores.score()}
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


def markdown(found: list[Row]) -> str:
    """The table for people: a row per point, the best ones first where there are many."""
    first = found[0]
    about = first.scores.about
    shown = [name for name in COLUMNS if name == "overall" or first.scores.parts()[name].any()]
    distance = first.scores.score().edit_distance is not None
    measured = any(row.covariance is not None for row in found)
    heads = [*first.choices, *(COLUMNS[name] for name in shown)]
    verified = first.scores.score().verified_accuracy is not None
    exact = any(row.scores.score().counts["correct"] for row in found)
    heads += ["all, exact"] * exact + ["all, verified"] * verified + ["draws"] * verified
    heads += ["edit distance"] * distance + ["alpha-covariance"] * measured
    heads += ["seeds", "steps", "parameters", "minutes"]
    chosen = found
    if len(found) > MOST_NAMED:
        chosen = sorted(found, key=_worst_last)[:MOST_ROWS]
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " --- |" * (len(heads) - 1)]
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
        lines.append(f"| {' | '.join(values)} |")
    return "\n".join(lines)


def _worst_last(row: Row) -> float:
    value, less = goal(row.scores)
    return value if less else -value


def _report(
    plan: Plan,
    results: list[Result],
    table: str,
    related: list[Correlation],
    pictures: list[tuple[str, str]],
) -> str:
    """`results.md`: the table, what it was made with, and the figures."""
    study = plan.study
    points = len({result.trial.point for result in results})
    lines = [f"# {study.name}", "", study.description, ""]
    lines += [f"`logicgen study {study.name}`", ""]
    lines += [
        f"{points:,} points of {len(plan.points):,}, {len(results):,} trials."
        " Shares of right answers, judged by the solver, with Wilson's 95% interval over problems;"
        " ± is the standard deviation over training seeds and draws of the embedding. Inside and"
        f" beyond: of the region that {results[0].trial.point} is trained on.",
        "",
    ]
    if points > MOST_NAMED:
        lines += [f"The best {min(points, MOST_ROWS)}; all are in `{TABLE}`:", ""]
    lines += [table, ""]
    if related:
        lines += [
            "Spearman's rank correlation of each choice with the score; chance: 95% of random"
            " assignments of the scores stay below it.",
            "",
            "| choice | points | correlation | chance | p |",
            "| --- | --- | --- | --- | --- |",
        ]
        for each in sorted(related, key=lambda one: -abs(one.rho)):
            lines.append(
                f"| {each.label} | {each.points} | {each.rho:+.2f} | {each.chance:.2f} |"
                f" {each.p:.4f} |"
            )
        lines.append("")
    return "\n".join(lines) + "\n" + made_with(plan, results, pictures)


def made_with(plan: Plan, results: list[Result], pictures: list[tuple[str, str]]) -> str:
    """The end of a report: what is not done, figures, machine and versions."""
    lines = []
    done = {result.trial.name for result in results}
    missing = [name for name in [*plan.trials, *plan.impossible] if name not in done]
    if missing:
        lines += [f"Not done: {', '.join(missing)}.", ""]
    for name, called in pictures:
        lines += [f"![{called}]({name}.png)", ""]
    for key, called in (("machine", "Machine"), ("commit", "Commit")):
        values = sorted({str(result.content.get(key)) for result in results} - {"None"})
        if values:
            lines.append(f"{called}: {'; '.join(values)}.")
    versions = results[0].content.get("versions", {})
    lines.append(", ".join(f"{name} {value}" for name, value in versions.items()) + ".")
    return "\n".join(lines) + "\n"
