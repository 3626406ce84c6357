"""The files of a study's results, all made from its records: a page, tables, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from logicgen.atomic import write_text
from logicgen.errors import LogicgenError
from logicgen.report.figure_style import save
from logicgen.report.tables import write_csv
from logicgen.study.cell_tables import show_cells
from logicgen.study.measure import EVALUATION
from logicgen.study.measure_tables import show_measures
from logicgen.study.point import Record
from logicgen.study.result import Result, by_point
from logicgen.study.study_recipe import Study

TABLE, REPORT = "results.csv", "results.md"


def write_page(
    folder: Path,
    title: str,
    about: str,
    command: str,
    blocks: Sequence[str],
    pictures: Sequence[tuple[str, str, Figure]],
    records: Sequence[Record],
) -> None:
    """Write `results.md` and its pictures.

    blocks: paragraphs and tables. pictures: name of each file, what it shows, figure.
    records: what all is made from; they know machine, commit and versions.
    """
    shown = []
    for name, called, figure in pictures:
        save(figure, folder, name, ("png",))
        shown.append(f"![{called}]({name}.png)")
    values = {
        "Machine": {record.machine for record in records},
        "Commit": {record.commit for record in records if record.commit},
    }
    made = [f"{key}: {'; '.join(sorted(each))}." for key, each in values.items() if each]
    versions = records[0].versions
    made.append(", ".join(f"{name} {value}" for name, value in versions.items()) + ".")
    parts = [f"# {title}", about, f"`{command}`", *blocks, *shown, "\n".join(made)]
    write_text(folder / REPORT, "\n\n".join(parts) + "\n")


def write_results(
    study: Study, results: list[Result], folder: Path, *, combinations: int, missing: list[str]
) -> str:
    """Write the tables and figures of a study of trainings; return the table for people.

    combinations: how many points there are. missing: names of the trials that are not done.
    Raises LogicgenError where no trial is done.
    """
    if not results:
        raise LogicgenError(f"{study.name}: no trial is done: there is nothing to show")
    points = by_point(results)
    show = show_cells if EVALUATION in results[0].measures else show_measures
    shown = show(study, points)
    write_csv(shown.lines, folder / TABLE)
    counted = f"{len(points):,} points of {combinations:,}, {len(results):,} trials. {shown.says}"
    blocks = [counted, shown.table, *shown.more]
    if missing:
        blocks.append(f"Not done: {', '.join(missing)}.")
    write_page(
        folder,
        study.name,
        study.description,
        f"logicgen study {study.name}",
        blocks,
        shown.pictures,
        [result.record for result in results],
    )
    return shown.table
