"""The page of a comparison: heat maps on one scale, and what one gets right and another wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from logicgen.measures.evaluation_files import PARTS
from logicgen.measures.evaluation_page import are_right, share_map
from logicgen.measures.predictions import About
from logicgen.measures.scores import Score, Scores
from logicgen.report.html.document import Document, Facts, write_document
from logicgen.report.html.example_rows import (
    MOST,
    REPORT,
    Progress,
    chosen,
    column,
    explanations,
    problem_rows,
    shown_answers,
    task_facts,
)
from logicgen.report.tables import percent
from logicgen.tasks import load_task

Run = tuple[str, pa.Table, About]
"""The label of an evaluation, its predictions, and what they are of."""

# Evaluations whose answers are drawn; of more, only texts and verdicts stand on the page.
DRAWN = 4


def write_comparison_page(
    runs: Sequence[Run], folder: Path, *, workers: int = 1, progress: Progress = lambda *_: None
) -> Path:
    """Write the page of evaluations of the same examples; return its path in the folder."""
    path = folder / REPORT
    write_document(comparison_document(runs, workers=workers, progress=progress), path)
    return path


def comparison_document(
    runs: Sequence[Run],
    *,
    most: int = MOST,
    workers: int = 1,
    progress: Progress = lambda *_: None,
) -> Document:
    """Return the page of evaluations of the same examples; differences are to the first.

    most: examples that it holds, those first of which one is right and another is not. Of several
    embedding seeds the first stands for all in the examples, not in the maps.
    """
    about = runs[0][2]
    task, labels = load_task(about.task), [label for label, _, _ in runs]
    scores = [Scores.of(table, each) for _, table, each in runs]
    first, *others = [_of_first_seed(table) for _, table, _ in runs]
    answered = [first, *(_in_order_of(first, table) for table in others)]
    right = np.stack([are_right(table) for table in answered])
    differ = np.asarray(right.any(0) & ~right.all(0))
    places = chosen(differ, most)
    listed = [table.take(pa.array(places)).to_pydict() for table in answered]
    shared = listed[0]

    rows: dict[str, list[Any]] = {
        "key": [str(row) for row in shared["row"]],
        **{name: shared[name] for name in ("row", "symbols", "length")},
        "who": [_who(labels, right[:, place]) for place in places],
        **problem_rows(task, shared["problem"]),
        "answer": shown_answers(task, shared["answer"]),
    }
    columns = [
        column("row", "row", "number", shown=True),
        column("symbols", "symbols", "number", facet=True, shown=True),
        column("length", "length", "number", facet=True, shown=True),
        column("who", "right", "choice", facet=True, shown=True),
        column("problem", "problem", "text", shown=True),
        column("answer", "stored answer", "text"),
    ]
    answers: list[dict[str, Any]] = [{"label": "stored answer", "text": "answer"}]
    for number, (label, table) in enumerate(zip(labels, listed, strict=True)):
        name, drawn = f"prediction_{number}", number < DRAWN
        rows[f"verdict_{number}"] = table["verdict"]
        answer = {"label": label, "text": name, "verdict": f"verdict_{number}"}
        if drawn:
            items = list(zip(table["problem"], table["prediction"], table["verdict"], strict=True))
            explained = explanations(task, items, workers, _part_of(progress, number, labels))
            rows[name] = [text for text, _ in explained]
            rows[f"explained_{number}"] = [found for _, found in explained]
            rows[f"tokens_{number}"] = table["prediction"]
            answer |= {"explanation": f"explained_{number}", "tokens": f"tokens_{number}"}
        else:
            rows[name] = shown_answers(task, table["prediction"])
        columns.append(column(f"verdict_{number}", f"verdict: {label}", "choice", facet=True))
        columns.append(column(name, label, "text", shown=True))
        answers.append({**answer, "drawn": drawn})
    cells = [each.by_cell() for each in scores]
    maps = [
        share_map(f"{label}: right answers", here, each.about)
        for label, here, each in zip(labels, cells, scores, strict=True)
    ]
    maps += [
        _difference_map(f"{label} minus {labels[0]}", cells[0], here, about)
        for label, here in zip(labels[1:], cells[1:], strict=True)
    ]
    notes = ["Made by logicgen. Intervals are Wilson's, of 95%, over problems."]
    if max(each.seeds for each in scores) > 1:
        notes.append("The examples hold answers with the first embedding seed; maps count all.")
    if len(runs) > DRAWN:
        notes.append(f"Answers of the first {DRAWN} evaluations are drawn and explained.")
    data = {
        "tasks": {about.task: task_facts(task)},
        "maps": maps,
        "columns": columns,
        "rows": rows,
        "answers": answers,
        "problem": "problem",
        "total": len(first),
        "sampled": "first those that one gets right and another does not",
    }
    return Document(
        title=f"{' and '.join(labels)} on {about.data} ({about.split})",
        lead=f"{len(first):,} examples, answered by {len(runs)} models; right is what the solver"
        " accepts.",
        summary=[_scores(labels, scores, about)],
        data=data,
        notes=notes,
    )


def _part_of(progress: Progress, number: int, labels: Sequence[str]) -> Progress:
    """Return the progress of one evaluation of several, of which equal answers count once."""
    parts = min(len(labels), DRAWN)
    return lambda done, total: progress(number * total + done, parts * total)


def _of_first_seed(table: pa.Table) -> pa.Table:
    return table.filter(pa.array(table["embedding_seed"].to_numpy() == 0))


def _in_order_of(first: pa.Table, table: pa.Table) -> pa.Table:
    """Return the answers to the same examples in the order of another table."""
    at = {row: place for place, row in enumerate(table["row"].to_pylist())}
    return table.take(pa.array([at[row] for row in first["row"].to_pylist()], pa.int64()))


def _who(labels: Sequence[str], right: np.ndarray) -> str:
    """Return who answers an example right, in words."""
    if right.all() or not right.any():
        return "all models" if right.all() else "no model"
    found = [label for label, is_right in zip(labels, right, strict=True) if is_right]
    return f"only {found[0]}" if len(found) == 1 else ", ".join(found)


def _difference_map(
    title: str,
    first: dict[tuple[int, int], Score],
    second: dict[tuple[int, int], Score],
    about: About,
) -> dict[str, Any]:
    rows = []
    for place in sorted(first.keys() & second.keys()):
        a, b = first[place].accuracy[0], second[place].accuracy[0]
        says = f"{100 * (b - a):+.1f} points\n{100 * b:.1f}% against {100 * a:.1f}%"
        rows.append([*place, b - a, f"{says} of {first[place].examples:,} examples"])
    return {
        "title": title,
        "kind": "difference",
        "cells": rows,
        "trained": [list(about.symbols), list(about.length)],
        "step": about.step,
    }


def _scores(labels: Sequence[str], scores: Sequence[Scores], about: About) -> Facts:
    """Return the table of right answers: a row for each evaluation, a column for each part."""
    found = [{"overall": each.score(), **each.by_part(about)} for each in scores]
    names = list(found[0])
    rows = [
        [label, *(percent(parts[name].flat()) for name in names)]
        for label, parts in zip(labels, found, strict=True)
    ]
    heads = [f"{PARTS[name]} ({found[0][name].examples:,})" for name in names]
    return Facts("Right answers", ["", *heads], rows)
