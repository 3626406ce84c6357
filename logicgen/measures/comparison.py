"""Comparisons of evaluations of the same examples: one table, and figures with one scale."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from matplotlib.figure import Figure

from logicgen.errors import LogicgenError
from logicgen.files import prepare_folder
from logicgen.measures.comparison_page import write_comparison_page
from logicgen.measures.evaluation_files import PREDICTIONS, read_predictions
from logicgen.measures.heatmap import draw_differences, draw_heatmaps
from logicgen.measures.predictions import About
from logicgen.measures.scores import Scores
from logicgen.measures.symbols_figure import draw_symbols
from logicgen.report.figure_style import save
from logicgen.report.html.example_rows import Progress
from logicgen.report.tables import markdown_table, percent, write_csv

if TYPE_CHECKING:
    from logicgen.measures.perplexity import CurveAbout

COMPARISON = "comparison.csv"
HEAT_MAPS, SYMBOLS, DIFFERENCES = "heatmaps", "symbols", "differences"  # each as .png and .svg

COLUMNS = {
    "inside_training_region": "inside",
    "beyond_in_symbols_only": "more symbols",
    "beyond_in_length_only": "other lengths",
    "overall": "all",
}
"""Parts of a summary that a comparison shows, with their names there."""


def compare(
    folders: list[Path], out: Path, *, workers: int = 1, progress: Progress = lambda *_: None
) -> list[dict[str, Any]]:
    """Write table, figures and page of a comparison; returns the table's rows.

    `comparison.csv` has a row for each evaluation and part of the examples: the parts are those of
    the first evaluation's training region, so that a part holds the same examples for all.
    workers: processes that look for the reasons of verdicts; progress: of that, done and total.
    Raises LogicgenError where the folders do not hold evaluations of the same examples, or where
    `out` is one of them, whose own pictures would be lost.
    """
    check_folders(folders, out)
    read = read_runs(folders)
    runs = [(label, Scores.of(table, about)) for label, table, about in read]
    prepare_folder(out)
    rows = [row for label, scores in runs for row in _rows(label, scores, runs[0][1].about)]
    write_csv(rows, out / COMPARISON)
    for name, _, figure in comparison_figures(runs):
        save(figure, out, name)
    write_comparison_page(read, out, workers=workers, progress=progress)
    return rows


def comparison_figures(runs: list[tuple[str, Scores]]) -> list[tuple[str, str, Figure]]:
    """Return name, description and figure of each picture of (label, scores) side by side.

    Differences are to the first; one alone has none.
    """
    about = runs[0][1].about
    title = f"{about.data} ({about.split})"
    cells = [(label, scores.by_cell(), scores.about) for label, scores in runs]
    pictures = [(HEAT_MAPS, "heat maps", draw_heatmaps(cells, f"{title}: right answers"))]
    (label, first, _), *others = cells
    if others:
        which = f" of {others[0][0]}" if len(others) == 1 else ""
        against = f"{title}: right answers{which} minus those of {label}"
        differences = draw_differences(first, others, against)
        pictures.append((DIFFERENCES, f"difference to {label}", differences))
    return [*pictures, (SYMBOLS, "accuracy by number of symbols", draw_symbols(runs, title))]


def read_runs(folders: list[Path]) -> list[tuple[str, pa.Table, About]]:
    """Read label, predictions and description of evaluations.

    Raises LogicgenError where they cannot be compared.
    """
    tables, abouts = zip(*map(_read, folders), strict=True)
    labels = labels_of(folders, abouts, ("task", "data", "split"))
    examples = [_examples(table) for table in tables]
    for folder, here in zip(folders, examples, strict=True):
        if here != examples[0]:
            raise LogicgenError(
                f"{folder} and {folders[0]} have scored different examples of {abouts[0].data} "
                f"({len(here):,} and {len(examples[0]):,}): evaluate both on the same data set, "
                "with the same --limit"
            )
    return list(zip(labels, tables, abouts, strict=True))


def check_folders(folders: Sequence[Path], out: Path) -> None:
    """Raise LogicgenError for fewer than two folders, one named twice, or an `out` among them."""
    if out.resolve() in [folder.resolve() for folder in folders]:
        raise LogicgenError(f"{out}: is one of the evaluations: choose another folder with -o")
    if len(folders) < 2:
        raise LogicgenError("a comparison needs two evaluations or more: name their folders")
    seen: dict[Path, Path] = {}
    for folder in folders:
        if (before := seen.get(folder.resolve())) is not None:
            raise LogicgenError(f"{folder}: the same evaluation as {before}: name each once")
        seen[folder.resolve()] = folder


def labels_of(
    folders: Sequence[Path], abouts: Sequence[About | CurveAbout], same: Sequence[str]
) -> list[str]:
    """Return a label for each evaluation: its model, or its folder where models share a name.

    If models were trained in different precisions, each label contains the precision.
    Raises LogicgenError where the attributes in `same` are not the same for all.
    """
    for folder, about in zip(folders, abouts, strict=True):
        for name in same:
            here, there = getattr(about, name), getattr(abouts[0], name)
            if here != there:
                raise LogicgenError(
                    f"{folder} has scored {name} {here}, but {folders[0]} {name} {there}: "
                    f"compare evaluations of the same {name}"
                )
    models = [about.model for about in abouts]
    labels = models if len(set(models)) == len(models) else [str(folder) for folder in folders]
    if len({about.precision for about in abouts} - {None}) < 2:
        return labels
    named = [about.precision or "unknown precision" for about in abouts]
    return [f"{label} (trained in {each})" for label, each in zip(labels, named, strict=True)]


def _read(folder: Path) -> tuple[pa.Table, About]:
    if not os.path.isfile(folder / PREDICTIONS):
        below = [str(path.parent) for path in sorted(folder.glob(f"*/{PREDICTIONS}"))]
        if below:
            raise LogicgenError(f"{folder}: no {PREDICTIONS}; did you mean {' or '.join(below)}?")
    return read_predictions(folder)


def _examples(table: pa.Table) -> set[tuple[int, str, str]]:
    """Return row, problem and stored answer of each example."""
    columns = [table[name].to_pylist() for name in ("row", "problem", "answer")]
    return set(zip(*columns, strict=True))


def part_rows(head: dict[str, Any], scores: Scores, about: About) -> list[dict[str, Any]]:
    """Return a row for each part of the examples, seen from the region of `about`, and for all."""
    found = {**scores.by_part(about), "overall": scores.score()}
    return [{**head, "part": name, **score.flat()} for name, score in found.items()]


def _rows(label: str, scores: Scores, about: About) -> list[dict[str, Any]]:
    (fewest, most), (shortest, longest) = scores.about.symbols, scores.about.length
    head = {
        "model": label,
        "trained_symbols": f"{fewest}-{most}",
        "trained_length": f"{shortest}-{longest}",
        "embedding_seeds": scores.seeds,
    }
    return [row for row in part_rows(head, scores, about) if row["part"] in COLUMNS]


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table for people: a row per evaluation, a column per part of the examples.

    An evaluation of a model that was trained on another region says so.
    """
    runs: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        runs.setdefault(row["model"], {})[row["part"]] = row
    reference = next(iter(runs.values()))
    shown = {name: called for name, called in COLUMNS.items() if name in reference}
    examples = [format(reference[name]["examples"], ",") for name in shown]
    lines = [["*examples*", *examples]]
    for label, parts in runs.items():
        region, usual = (
            "{trained_symbols} symbols, {trained_length} tokens".format(**each["overall"])
            for each in (parts, reference)
        )
        note = f" (trained on {region})" if region != usual else ""
        lines.append([label + note, *(percent(parts[name]) for name in shown)])
    return markdown_table(["right answers", *shown.values()], lines)
