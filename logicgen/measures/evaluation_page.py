"""The page of an evaluation: heat maps, and every answer behind them with why it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logicgen.errors import LogicgenError
from logicgen.measures.evaluation_files import PARTS, read_predictions
from logicgen.measures.predictions import About
from logicgen.measures.scores import VERDICTS, Score, Scores
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.rows import (
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
from logicgen.solvers import Verdict
from logicgen.tasks import Task, load_task

SAMPLED = "answers that are not right first, then right ones at random"


def write_evaluation_page(
    folder: Path,
    path: Path | None = None,
    *,
    workers: int = 1,
    progress: Progress = lambda *_: None,
) -> Path:
    """Write the page of the evaluation in a folder; return its path, `report.html` there or `path`.

    Raises LogicgenError where there are no whole predictions, or none at all.
    """
    table, about = read_predictions(folder)
    if not len(table):
        raise LogicgenError(f"{folder}: holds no answers: evaluate a split that has examples")
    path = path or folder / REPORT
    document = evaluation_document(table, about, workers=workers, progress=progress)
    write_document(document, path)
    return path


def evaluation_document(
    table: pa.Table,
    about: About,
    *,
    most: int = MOST,
    workers: int = 1,
    progress: Progress = lambda *_: None,
) -> Document:
    """Return the page of predictions; `most`: answers that it holds, those not right first."""
    task, scores = load_task(about.task), Scores.of(table, about)
    places = chosen(~are_right(table), most)
    listed = table.take(pa.array(places)).to_pydict()
    items = zip(listed["problem"], listed["prediction"], listed["verdict"], strict=True)
    rows = _rows(task, listed, explanations(task, items, workers, progress), scores.seeds)
    columns, answers, cells = _columns(rows), list(ANSWERS), scores.by_cell()
    maps = [share_map("right answers", cells, about)]
    if listed.get("verified_prediction", [None])[:1] != [None]:
        rows["verified"] = shown_answers(task, listed["verified_prediction"])
        rows["verified_verdict"] = listed["verified_verdict"]
        columns.append(column("verified_verdict", "verdict after drawing", "choice", facet=True))
        answers.append(VERIFIED)
        accepted = "right among several draws"
        maps.append(share_map(accepted, cells, about, verified=True))
    data = {
        "tasks": {about.task: task_facts(task)},
        "maps": maps,
        "columns": columns,
        "rows": rows,
        "answers": answers,
        "problem": "problem",
        "noun": "example" if scores.seeds == 1 else "answer",
        "total": len(table),
        "sampled": SAMPLED,
    }
    overall = scores.score()
    return Document(
        title=f"{about.model} on {about.data} ({about.split})",
        lead=f"{percent(overall.flat())} of {len(table):,} answers are right, as the solver says.",
        summary=[_scores(scores)],
        data=data,
        facts=[_facts(about, scores)],
        notes=["Made by logicgen. Intervals are Wilson's, of 95%, over problems."],
    )


ANSWERS: list[dict[str, Any]] = [
    {"label": "stored answer", "text": "answer"},
    {
        "label": "prediction",
        "text": "prediction",
        "verdict": "verdict",
        "explanation": "explained",
        "tokens": "tokens",
        "drawn": True,
    },
]
"""The answers to each problem, as the scripts read them."""

VERIFIED: dict[str, Any] = {
    "label": "first accepted of several draws",
    "text": "verified",
    "verdict": "verified_verdict",
}


def _rows(
    task: Task, listed: dict[str, list[Any]], explained: list[tuple[str, Any]], seeds: int
) -> dict[str, list[Any]]:
    """Return what the page holds of each answer, by column. seeds: of the embedding."""
    of_seed = [""] if seeds == 1 else [f"-{seed}" for seed in range(seeds)]
    keys = zip(listed["row"], listed["embedding_seed"], strict=True)
    rows: dict[str, list[Any]] = {
        "key": [f"{row}{of_seed[seed]}" for row, seed in keys],
        **{name: listed[name] for name in ("row", "symbols", "length", "verdict")},
        **problem_rows(task, listed["problem"]),
        "answer_length": [len(text.split()) for text in listed["prediction"]],
        "answer": shown_answers(task, listed["answer"]),
        "prediction": [text for text, _ in explained],
        "explained": [found for _, found in explained],
        "tokens": listed["prediction"],
    }
    return rows | ({"embedding_seed": listed["embedding_seed"]} if seeds > 1 else {})


def _columns(rows: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the columns of the table of answers, as the scripts read them."""
    columns = [
        column("row", "row", "number", shown=True),
        column("symbols", "symbols", "number", facet=True, shown=True),
        column("length", "length", "number", facet=True, shown=True),
        column("verdict", "verdict", "choice", facet=True, shown=True),
        column("problem", "problem", "text", shown=True),
        column("prediction", "prediction", "text", shown=True),
        column("answer", "stored answer", "text"),
        column("answer_length", "tokens of the prediction", "number", facet=True),
    ]
    if "embedding_seed" in rows:
        columns.insert(1, column("embedding_seed", "embedding seed", "number", facet=True))
    if "operators" in rows:
        columns.append(column("operators", "operators", "choices", facet=True))
    return columns


def are_right(table: pa.Table) -> np.ndarray:
    """Return which answers are right, as a mask."""
    right = pa.array([str(each) for each in Verdict if each.is_right])
    return np.asarray(pc.is_in(table["verdict"], value_set=right))


def share_map(
    title: str, cells: dict[tuple[int, int], Score], about: About, *, verified: bool = False
) -> dict[str, Any]:
    """Return the heat map of right answers, as the scripts read it; of verified ones if so."""
    rows = []
    for (symbols, length), score in sorted(cells.items()):
        value = score.verified_accuracy if verified else score.accuracy
        there = sum(score.counts.values())
        says = f"{score.examples:,} example{'' if score.examples == 1 else 's'}"
        says += f", {there:,} answers" if there != score.examples else ""
        if not verified:
            low, high = (100 * bound for bound in score.interval)
            counts = ", ".join(f"{name} {count:,}" for name, count in score.counts.items() if count)
            says = f"{100 * score.accuracy[0]:.1f}% [{low:.1f}, {high:.1f}]\n{says}: {counts}"
        elif value is not None:
            says = f"{100 * value[0]:.1f}%\n{says}"
        rows.append([symbols, length, None if value is None else value[0], says])
    return {
        "title": title,
        "kind": "share",
        "cells": rows,
        "trained": [list(about.symbols), list(about.length)],
        "step": about.step,
    }


def _scores(scores: Scores) -> FactTable:
    """Return the table of scores by part."""
    rows = []
    parts = {"overall": scores.score(), **scores.by_part()}
    flats = {name: score.flat() for name, score in parts.items()}
    verified = "verified_accuracy" in flats["overall"]
    heads = ["", "examples", "right", *VERDICTS]
    heads += ["verified"] if verified else []
    for name, flat in flats.items():
        row = [PARTS.get(name, name), f"{flat['examples']:,}", percent(flat)]
        row += [f"{flat[verdict]:,}" for verdict in VERDICTS]
        rows.append(row + ([percent(flat, "verified_accuracy")] if verified else []))
    return FactTable("Scores", heads, rows)


def _facts(about: About, scores: Scores) -> FactTable:
    """Return the table of what was evaluated, and how."""
    said: dict[str, Any] = {
        "task": about.task,
        "model": about.model,
        "data set": f"{about.data}, split {about.split}",
        "symbols it was trained on": "{} to {}".format(*about.symbols),
        "lengths it was trained on": "{} to {}".format(*about.length),
        "embedding seeds": scores.seeds,
        **{f"decoding: {name}": value for name, value in about.decoding.items()},
    }
    if about.precision is not None:
        said["precision of the training"] = about.precision
    if about.reset_rows is not None:
        said["seed of redrawn rows"] = about.reset_rows
    return FactTable("What was evaluated", ["", ""], [[name, str(said[name])] for name in said])
