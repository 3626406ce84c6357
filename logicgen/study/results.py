"""The report of a study: tables and figures. Each measure contributes columns, rows and figures.

An axis is a setting that the study varies. A choice is one of the values of an axis. A combination
of settings (point) has a choice on each axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from logicgen.measures import MEASURES, find_measure
from logicgen.measures.measure import MOST_NAMED, Findings, Measure, Picture, Ranking
from logicgen.report.tables import Report
from logicgen.study.correlation import Correlation, correlations
from logicgen.study.figures import draw_choices, draw_correlations
from logicgen.study.recipe import AXIS, Study, short
from logicgen.study.records import Record

TABLE = "results.csv"

# If a figure cannot show all combinations of settings, the Markdown table has only the best
# MOST_ROWS combinations.
MOST_ROWS = 20

TableParts = tuple[str, list[str], list[list[str]]]
"""A table of the report: a sentence above it, the heads of its columns, and its rows."""

MeasureResults = list[tuple[Measure, list[Findings]]]
"""Each measure of a study in order, and its results for each combination of settings."""


def by_point(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Group records by the name of their combination of choices.

    A group has a record for each training seed.
    """
    points: dict[str, list[Record]] = {}
    for record in records:
        points.setdefault(record.training.point, []).append(record)
    return points


def study_report(study: Study, records: dict[str, list[Record]], counted: str) -> Report:
    """Return tables and figures of the results of a study.

    If there are more than 15 combinations of settings, the first measure may rank them by a score.
    Then the table has the best combinations, a box plot shows the scores by choice, and a second
    table has the correlation of each choice with the score.

    records: the records of each combination, one for each training seed.
    counted: a sentence with the number of finished trials.
    """
    measured = measured_of(records)
    says = " ".join(dict.fromkeys(measure.says(points) for measure, points in measured))
    heads, rows = _table(measured)
    first, points = measured[0]
    ranking = first.ranking(points) if len(points) > MOST_NAMED else None
    says += _unequal_budgets(records)
    tables: list[TableParts] = [(f"{counted} {says}", heads, rows)]
    pictures: list[Picture] = []
    if ranking is not None:
        choices = [point.choices for point in points]
        tables, pictures = _ranked(study, choices, tables[0], ranking)
    for kind in dict.fromkeys([*MEASURES, *(measure.name for measure, _ in measured)]):
        of_kind = [points for measure, points in measured if measure.name == kind]
        if of_kind:
            pictures += find_measure(kind).pictures(study.name, of_kind)
    return Report(study.name, study.description, tables, pictures, {TABLE: _lines(measured)})


def _unequal_budgets(records: dict[str, list[Record]]) -> str:
    """Return a sentence if models were trained for different steps or in other batches, else ""."""
    every = [record for some in records.values() for record in some]
    tables = [record.training.model.training for record in every]
    budgets = {
        "training steps": {record.run.steps for record in every},
        "examples in a batch": {table.batch_size for table in tables if table is not None},
    }
    unequal = [
        f"{min(counts):,} to {max(counts):,} {noun}"
        for noun, counts in budgets.items()
        if len(counts) > 1
    ]
    return f" **The budgets differ: {', '.join(unequal)}.**" if unequal else ""


def measured_of(records: dict[str, list[Record]]) -> MeasureResults:
    """Return each measure of a study with its results for each combination of settings."""
    first = next(iter(records.values()))[0]
    return [
        (find_measure(found["kind"]), [_findings(some, number) for some in records.values()])
        for number, found in enumerate(first.measures.values())
    ]


def _findings(records: list[Record], number: int) -> Findings:
    """Return the results of measure `number` for one combination of settings.

    records: the records of the combination, one for each training seed.
    """
    training = records[0].training
    asked = training.measures[number]
    return Findings(
        measure=asked.measure.name,
        settings=asked.measure,
        point=training.point,
        choices=training.choices,
        data=asked.data.name,
        data_folder=asked.data.folder,
        seeds=[record.training.seed for record in records],
        runs=[record.run for record in records],
        found=[record.measures[asked.measure.name] for record in records],
    )


def _lines(measured: MeasureResults) -> list[dict[str, Any]]:
    """Return the lines of `results.csv`: a dictionary from column to value for each line.

    Lines are sorted by combination of settings, training seed and measure.
    """
    lines = []
    found = [measure.rows(points) for measure, points in measured]
    for place, point in enumerate(measured[0][1]):
        numbered = [line for rows in found for line in rows[place]]
        numbered.sort(key=lambda line: line[0])  # by seed; then measures remain in their order
        lines += [(point.point, point.choices, line) for _, line in numbered]
    return beside_choices(lines)


def _table(measured: MeasureResults) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of the Markdown table: a row per combination of settings."""
    kinds = [measure.name for measure, _ in measured]
    columns = [
        # The heads of several measures of one kind begin with the name of the measure.
        measure.columns(points, f"{points[0].measure}: " if kinds.count(measure.name) > 1 else "")
        for measure, points in measured
    ]
    lines = []
    for place, point in enumerate(measured[0][1]):
        chosen = {axis: short(name) for axis, name in point.choices.items()}
        values = {head: value for each in columns for head, value in each[place].items()}
        lines.append((point.point, chosen, {**values, **_effort(point)}))
    rows = beside_choices(lines)
    # Rows may have different columns. For example, only a model with a cache has the column for the
    # share of the cache.
    every = list(dict.fromkeys(head for row in rows for head in row))
    last = list(_effort(measured[0][1][0]))
    heads = [head for head in every if head not in (*last, "point")] + last
    return heads, [[row.get(head, "") for head in heads] for row in rows]


def _effort(point: Findings) -> dict[str, str]:
    """Return the steps, parameters and minutes of training, the last columns of the table."""
    minutes = float(np.mean([run.minutes for run in point.runs]))
    return {
        "steps": f"{max(run.steps for run in point.runs):,}",
        "parameters": f"{point.runs[0].parameters:,}",
        "minutes": f"{minutes:.1f}",
    }


def _ranked(
    study: Study, choices: list[dict[str, str]], table: TableParts, ranking: Ranking
) -> tuple[list[TableParts], list[Picture]]:
    """Return a table of the best combinations of settings, a table of correlations, and figures.

    The correlations are between each choice and the score.

    choices: for each combination, the name of its choice on each axis.
    table: the table of all combinations.
    ranking: the scores of all combinations.
    """
    says, heads, rows = table
    values, less = ranking.values, ranking.less_is_better
    order = np.argsort(values if less else np.negative(values), kind="stable")[:MOST_ROWS]
    best = [rows[place] for place in order]
    tables = [(f"{says}\n\nThe best {len(best)}; all are in `{TABLE}`:", heads, best)]
    title = f"{study.name}: {ranking.of}"
    boxes = draw_choices(choices, values, ranking.called, title)
    pictures: list[Picture] = [("choices", "score by choice", boxes)]
    # Leave out a choice that only one combination has: the row of the combination shows its score.
    related = {
        where: [each for each in correlations(choices, scores) if each.points > 1]
        for where, scores in ranking.parts.items()
    }
    related = {where: found for where, found in related.items() if found}
    if related:
        tables.append(_correlation_table(related))
    for where, some in related.items():
        bars = [(each.label, each.rho, each.chance) for each in some]
        figure = draw_correlations(bars, ranking.called, less, f"{title}, {where}")
        name = "-".join(["correlations", *where.split()])
        pictures.append((name, f"correlations with the score, {where}", figure))
    return tables, pictures


def _correlation_table(
    related: dict[str, list[Correlation]],
) -> tuple[str, list[str], list[list[str]]]:
    """Return a table of the correlations of choices with the score: sentence, heads and rows.

    related: the correlations on each part of the problems, by the name of the part.
    """
    says = (
        "Spearman's rank correlation of each choice with the score, on problems of each length;"
        " chance: 95% of random assignments of the scores stay below it."
    )
    heads = ["choice", "points", *(f"{w}{of}" for w in related for of in ("", ", chance", ", p"))]
    by_choice = list(zip(*related.values(), strict=True))  # all parts have the same choices
    lines = []
    for parts in sorted(by_choice, key=lambda parts: -abs(parts[0].rho)):
        values = [parts[0].label, f"{parts[0].points}"]
        for each in parts:
            values += [f"{each.rho:+.2f}", f"{each.chance:.2f}", f"{each.p:.4f}"]
        lines.append(values)
    return says, heads, lines


def beside_choices(
    lines: Iterable[tuple[str, dict[str, str], dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return rows of a table: a dictionary from column to value for each row.

    The choices of a combination of settings are before its values. The column of an axis has the
    name of the axis. If a value has a column of this name, the column of the axis is `axis.NAME`.

    lines: for each row, the name of the combination, its choices by axis, and values by column.
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
