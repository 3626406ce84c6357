"""Comparisons of evaluations of the same examples: a table, figures on one scale, and a page.

The page shows heat maps on one scale, and the examples on which the models differ.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from logicgen.callbacks import Progress, no_progress
from logicgen.errors import LogicgenError
from logicgen.files import prepare_folder
from logicgen.measures.answers_figures import draw_differences, draw_heatmaps, draw_symbols
from logicgen.measures.evaluation import PREDICTIONS, read_predictions
from logicgen.measures.evaluation_page import PARTS, STORED, are_right, share_map
from logicgen.measures.predictions import About
from logicgen.measures.scores import Scores
from logicgen.measures.statistics import mcnemar
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.figure_style import save
from logicgen.report.rows import (
    LENGTH,
    PROBLEM,
    REPORT,
    ROW,
    SYMBOLS,
    cell_map,
    chosen,
    column,
    explanations,
    page_data,
    problem_rows,
    shown_answers,
    task_facts,
)
from logicgen.report.tables import markdown_table, percent, write_csv
from logicgen.tasks import Task, load_task
from logicgen.tasks.controls import PREFIX

if TYPE_CHECKING:
    from logicgen.measures.perplexity import CurveAbout

Run = tuple[str, pa.Table, About]
"""The label of an evaluation, its predictions, and its description."""

# The page draws and explains the answers of this number of evaluations. For further evaluations,
# the page shows only answers and verdicts.
DRAWN = 4


def write_comparison_page(
    runs: Sequence[Run], folder: Path, *, workers: int = 1, progress: Progress = no_progress
) -> Path:
    """Write the page of evaluations of the same examples; return its path in the folder.

    Heat maps of differences subtract the accuracy of the first evaluation. Heat maps count the
    answers of all embedding seeds. Listed examples show the answers of the first seed only.
    """
    about, labels = runs[0][2], [label for label, _, _ in runs]
    scores = [Scores.of(table, each) for _, table, each in runs]
    answered = _first_seed(runs)
    order = answered[0]["row"]
    right = np.stack([are_right(table) for table in answered])
    places = chosen(np.asarray(right.any(0) & ~right.all(0)))
    listed = [table.take(pa.array(places)).to_pydict() for table in answered]
    who = [_who(labels, right[:, place]) for place in places]
    notes = ["Made by logicgen. Intervals are 95% Wilson intervals over problems."]
    if max(each.seeds for each in scores) > 1:
        notes.append("Examples show answers of the first embedding seed; maps count all seeds.")
    if len(runs) > DRAWN:
        notes.append(f"Answers of the first {DRAWN} evaluations are drawn and explained.")
    task, path = load_task(about.task), folder / REPORT
    document = Document(
        title=f"{' and '.join(labels)} on {about.data} ({about.split})",
        lead=f"{len(order):,} examples, answered by {len(runs)} models. An answer is right if the"
        " solver accepts it.",
        summary=[_scores(labels, scores, about), _paired_table(labels, right)],
        data=page_data(
            {about.task: task_facts(task)},
            *_page_rows(task, dict(zip(labels, listed, strict=True)), who, workers, progress),
            maps=_maps(labels, scores, about),
            total=len(order),
            sampled="first the examples on which the models differ",
        ),
        notes=notes,
    )
    return write_document(document, path)


def _page_rows(
    task: Task,
    listed: dict[str, dict[str, list[Any]]],
    who: list[str],
    workers: int,
    progress: Progress,
) -> tuple[list[Any], dict[str, list[Any]], list[Any]]:
    """Return the columns, the rows, and the answers to each example, for the page's scripts.

    Columns and answers are descriptions. The rows are lists of values, by name of the column.

    listed: for the label of each evaluation, the columns of its listed predictions.
    who: for each example, a text that names the models that are right.
    """
    shared = next(iter(listed.values()))
    rows: dict[str, list[Any]] = {
        "key": [str(row) for row in shared["row"]],
        **{name: shared[name] for name in ("row", "symbols", "length")},
        "who": who,
        **problem_rows(task, shared["problem"]),
        "answer": shown_answers(task, shared["answer"]),
    }
    right = column("who", "right", "choice", facet=True, shown=True)
    columns = [ROW, SYMBOLS, LENGTH, right, PROBLEM, column("answer", "stored answer", "text")]
    answers: list[dict[str, Any]] = [STORED]
    drawn = min(len(listed), DRAWN)
    for number, (label, table) in enumerate(listed.items()):
        name = f"prediction_{number}"
        rows[f"verdict_{number}"] = table["verdict"]
        answer = {"label": label, "text": name, "verdict": f"verdict_{number}"}
        if number < DRAWN:

            def part(done: int, total: int, before: int = number) -> None:
                progress(before * total + done, drawn * total)  # equal answers count once

            items = zip(table["problem"], table["prediction"], table["verdict"], strict=True)
            explained = explanations(task, items, workers, part)
            rows[name] = [text for text, _ in explained]
            rows[f"explained_{number}"] = [found for _, found in explained]
            rows[f"tokens_{number}"] = table["prediction"]
            answer |= {"explanation": f"explained_{number}", "tokens": f"tokens_{number}"}
        else:
            rows[name] = shown_answers(task, table["prediction"], table["verdict"])
        columns.append(column(f"verdict_{number}", f"verdict: {label}", "choice", facet=True))
        columns.append(column(name, label, "text", shown=True))
        answers.append({**answer, "drawn": number < DRAWN})
    return columns, rows, answers


def _who(labels: Sequence[str], right: np.ndarray) -> str:
    """Return a text that names the models that answer an example right."""
    if right.all() or not right.any():
        return "all models" if right.all() else "no model"
    found = [label for label, is_right in zip(labels, right, strict=True) if is_right]
    return f"only {found[0]}" if len(found) == 1 else ", ".join(found)


def _maps(labels: Sequence[str], scores: Sequence[Scores], about: About) -> list[Any]:
    """Return the heat maps of right answers, and of differences to the first evaluation."""
    cells = [each.by_cell() for each in scores]
    maps = [
        share_map(f"{label}: right answers", here, each.about)
        for label, here, each in zip(labels, cells, scores, strict=True)
    ]
    trained = [[*about.symbols], [*about.length]]
    for label, second in zip(labels[1:], cells[1:], strict=True):
        rows = []
        for place in sorted(cells[0].keys() & second.keys()):
            first = cells[0][place]
            a, b = first.accuracy[0], second[place].accuracy[0]
            says = f"{100 * (b - a):+.1f} points\n{100 * b:.1f}% against {100 * a:.1f}%"
            rows.append([*place, b - a, f"{says} of {first.examples:,} examples"])
        title = f"{label} minus {labels[0]}"
        maps.append(cell_map(title, "difference", rows, about.step, trained))
    return maps


def _scores(labels: Sequence[str], scores: Sequence[Scores], about: About) -> FactTable:
    """Return the table of right answers: a row per evaluation.

    A column is a part of the examples, such as those inside the training region.
    """
    found = [{"overall": each.score(), **each.by_part(about)} for each in scores]
    names = list(found[0])
    rows = [
        [label, *(percent(parts[name].flat()) for name in names)]
        for label, parts in zip(labels, found, strict=True)
    ]
    heads = [f"{PARTS[name]} ({found[0][name].examples:,})" for name in names]
    return FactTable("Right answers", ["", *heads], rows)


def _paired(right: np.ndarray) -> list[tuple[int, int, float]]:
    """Compare each evaluation with the first, on the same problems.

    right: bool (evaluations, problems), whether each answer is right.

    Returns for each further evaluation the number of problems on which only it is right, the number
    on which only the first is right, and the p-value of McNemar's test.
    """
    found = []
    for other in right[1:]:
        only, first = int((other & ~right[0]).sum()), int((right[0] & ~other).sum())
        found.append((only, first, mcnemar(only, first)))
    return found


def _paired_table(labels: Sequence[str], right: np.ndarray) -> FactTable:
    first = labels[0]
    rows = [
        [label, f"{only:,}", f"{lost:,}", f"{p:.2g}"]
        for label, (only, lost, p) in zip(labels[1:], _paired(right), strict=True)
    ]
    heads = ["", "only it is right", f"only {first} is right", "p (McNemar)"]
    return FactTable(f"Paired test against {first}", heads, rows, "First embedding seed.")


def paired_lines(runs: Sequence[Run]) -> list[str]:
    """Return lines with McNemar's test of each further evaluation against the first evaluation."""
    labels = [label for label, _, _ in runs]
    right = np.stack([are_right(table) for table in _first_seed(runs)])
    return [
        f"only {label} is right on {only:,} problems, only {labels[0]} on {lost:,}"
        f" (McNemar p = {p:.2g})"
        for label, (only, lost, p) in zip(labels[1:], _paired(right), strict=True)
    ]


def _first_seed(runs: Sequence[Run]) -> list[pa.Table]:
    """Return the answers of the first embedding seed of each evaluation, in the same order."""
    tables = [table.filter(pc.equal(table["embedding_seed"], 0)) for _, table, _ in runs]
    order = tables[0]["row"]
    return [table.take(pc.index_in(order, value_set=table["row"])) for table in tables]


COLUMNS = {
    "inside_training_region": "inside",
    "beyond_in_symbols_only": "more symbols",
    "beyond_in_length_only": "other lengths",
    "overall": "all",
}
"""Parts of the examples that a comparison shows, with the heads of their columns."""


def compare(
    folders: list[Path], out: Path, *, workers: int = 1, progress: Progress = no_progress
) -> list[dict[str, Any]]:
    """Write table, figures and page of a comparison; return the table's rows.

    workers: number of processes that find the reasons of verdicts for the page.
    progress: function to which these processes report.

    `comparison.csv` has a row for each evaluation and each part of the examples. The training
    region of the first evaluation defines the parts, so that a part has the same examples in all
    rows.
    Raises LogicgenError if the folders do not contain evaluations of the same examples, or if `out`
    is one of the folders.
    """
    check_folders(folders, out)
    read = read_runs(folders)
    runs = [(label, Scores.of(table, about)) for label, table, about in read]
    prepare_folder(out)
    rows = [row for label, scores in runs for row in _rows(label, scores, runs[0][1].about)]
    write_csv(rows, out / "comparison.csv")
    for name, _, figure in comparison_figures(runs):
        save(figure, out, name)
    write_comparison_page(read, out, workers=workers, progress=progress)
    return rows


def comparison_figures(runs: list[tuple[str, Scores]]) -> list[tuple[str, str, Figure]]:
    """Return the figures of a comparison, each with its name and caption.

    runs: (label, answers) of each evaluation.

    The figure of differences subtracts the accuracy of the first evaluation. A single evaluation
    has no such figure.
    """
    about = runs[0][1].about
    title = f"{about.data} ({about.split})"
    cells = [(label, scores.by_cell(), scores.about) for label, scores in runs]
    pictures = [("heatmaps", "heat maps", draw_heatmaps(cells, f"{title}: right answers"))]
    (label, first, _), *others = cells
    if others:
        which = f" of {others[0][0]}" if len(others) == 1 else ""
        against = f"{title}: right answers{which} minus those of {label}"
        differences = draw_differences(first, others, against)
        pictures.append(("differences", f"difference to {label}", differences))
    return [*pictures, ("symbols", "accuracy by number of symbols", draw_symbols(runs, title))]


def read_runs(folders: list[Path]) -> list[tuple[str, pa.Table, About]]:
    """Read evaluations; return the label, the predictions and the description of each.

    Raises LogicgenError if the evaluations cannot be compared.
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
    """Raise LogicgenError for fewer than two folders, repeated folders, or `out` among them."""
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
    """Return a label for each evaluation: its model, or its folder if models share a name.

    same: attributes of the descriptions that must be equal for all evaluations.

    If models were trained in different precisions, each label contains the precision. Raises
    LogicgenError if an attribute in `same` differs.
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
    """Return (row, problem, stored answer) of each example in a table of predictions."""
    columns = [table[name].to_pylist() for name in ("row", "problem", "answer")]
    return set(zip(*columns, strict=True))


def part_rows(head: dict[str, Any], scores: Scores, about: About) -> list[dict[str, Any]]:
    """Return the scores of each part of the examples and of all examples, as rows of a table.

    head: values at the beginning of each row.
    about: description of an evaluation. Its training region defines the parts.
    """
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
    """Return the rows of `compare` as a Markdown table: a row per evaluation, a column per part.

    If a model was trained on another region than the first model, its row contains that region.
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
        trained = region != usual and not label.startswith(PREFIX)
        note = f" (trained on {region})" if trained else ""
        lines.append([label + note, *(percent(parts[name]) for name in shown)])
    return markdown_table(["right answers", *shown.values()], lines)
