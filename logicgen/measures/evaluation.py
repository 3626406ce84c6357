"""An evaluation of answers: its files, and the page of all answers with the reasons of verdicts.

predictions.parquet   a row per answer, with its verdict
summary.json          the scores of all answers, and of parts such as the training region
cells.csv             the score of each cell (a number of symbols and a range of lengths)
heatmap, symbols, lengths, difficulty   figures, each as .png and .svg
report.html           a page of the scores and the answers
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from logicgen.callbacks import Progress, StageProgress, no_progress
from logicgen.data.shards import check_numbers, fault, read_table
from logicgen.errors import LogicgenError
from logicgen.files import write_atomically
from logicgen.measures.answers_figures import draw_evaluation, draw_lengths, draw_symbols
from logicgen.measures.best_control import comparison_lines, control_text
from logicgen.measures.evaluation_page import PARTS, evaluation_document, title_of
from logicgen.measures.predictions import SCHEMA, About
from logicgen.measures.scores import Scores, level_label
from logicgen.report.document import write_document
from logicgen.report.figure_style import save
from logicgen.report.rows import REPORT
from logicgen.report.tables import percent, write_csv, write_json
from logicgen.solvers import Verdict

PREDICTIONS, SUMMARY, CELLS = "predictions.parquet", "summary.json", "cells.csv"
DIFFICULTY = "difficulty.csv"
MOST_LENGTHS = 30  # the most columns of a heat map of difficulty

# Columns that a table of predictions may lack, and the most bytes of a table in memory.
OPTIONAL = (
    *("edit_distance", "right_tokens", "verified_prediction", "verified_verdict", "draws"),
    *("controls", "verified_controls", "positions", "satisfying"),
)
MOST_BYTES = 1 << 32


def write_predictions(table: pa.Table, folder: Path) -> None:
    """Write a table of predictions to `predictions.parquet`."""
    write_atomically(
        folder / PREDICTIONS, lambda part: pq.write_table(table, part, compression="zstd")
    )


def read_predictions(folder: Path) -> tuple[pa.Table, About]:
    """Read `predictions.parquet`; return the table and its description.

    Raises LogicgenError if the file is missing or damaged.
    """
    path = folder / PREDICTIONS
    try:
        if not path.is_file():
            raise FileNotFoundError(path)
        table = read_table(path, SCHEMA, optional=OPTIONAL, most=MOST_BYTES)
        check_numbers(table)
        seeds = pc.unique(table["embedding_seed"]).sort().to_pylist()
        if seeds != list(range(len(seeds))):
            raise ValueError(f"embedding_seed: {seeds[:3]}...")
        for name in ("verdict", "verified_verdict"):
            for verdict in pc.unique(table[name]).to_pylist() if name in table.column_names else ():
                _ = None if verdict is None else Verdict(verdict)
        about = About.of_json(json.loads((table.schema.metadata or {})[b"logicgen"]))
        return table, about
    except FileNotFoundError as error:
        raise LogicgenError(f"{folder}: no {PREDICTIONS}; run logicgen evaluate first") from error
    except (pa.ArrowException, KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        raise LogicgenError(
            f"{path}: damaged, or of another version ({fault(error)}); run logicgen evaluate again"
        ) from error


def write_evaluation(
    table: pa.Table, folder: Path, *, workers: int, progress: StageProgress
) -> dict[str, Any]:
    """Write predictions and all files that are made from them; return the summary.

    workers: number of processes that find the reasons of verdicts for the page.
    """
    write_predictions(table, folder)
    summary = write_figures(folder)
    write_evaluation_page(folder, workers=workers, progress=partial(progress, "explaining"))
    return summary


def write_figures(folder: Path) -> dict[str, Any]:
    """Write scores and figures from the predictions in a folder; return the summary.

    Raises LogicgenError if the predictions are missing or damaged.
    """
    table, about = read_predictions(folder)
    scores = Scores.of(table, about)
    summary, cells = scores.summary(), scores.by_cell()
    write_json(summary, folder / SUMMARY)

    rows = [{"symbols": s, "length": n, **score.flat()} for (s, n), score in sorted(cells.items())]
    write_csv(rows, folder / CELLS)
    levels = scores.by_difficulty()
    if levels:
        rows = [{scores.difficulty: level, **score.flat()} for level, score in levels.items()]
        write_csv(rows, folder / DIFFICULTY)

    overall = summary["overall"]
    title = f"{title_of(scores)}: {percent(overall)} right"
    if "verified_accuracy" in overall:
        title += f", {percent(overall, 'verified_accuracy')} verified"
    save(draw_evaluation(cells, about, title), folder, "heatmap")
    if levels:
        # One level may have few problems of each length, so a cell may have several lengths.
        lengths = len({length for _, length in cells})
        wider = replace(about, step=about.step * ceil(lengths / MOST_LENGTHS))
        hard = Scores.of(table, wider).by_difficulty_and_length()
        label = level_label(scores.difficulty)
        save(draw_evaluation(hard, wider, title, label), folder, "difficulty")
    by_symbols = draw_symbols([(about.model, scores)], f"{about.data} ({about.split})")
    save(by_symbols, folder, "symbols")
    save(draw_lengths(scores, title), folder, "lengths")
    return summary


def score_lines(summary: dict[str, Any]) -> list[str]:
    """Return the scores of a summary as printed lines."""
    lines = []
    for name, called in PARTS.items():
        if name not in summary:
            continue
        score = summary[name]
        line = f"{called:<28} {percent(score):>20} right of {score['examples']:,}"
        if "edit_distance" in score:
            line += f", edit distance {score['edit_distance']:.2f}"
        if "token_accuracy" in score:
            line += f"; tokens {percent(score, 'token_accuracy')}"
        if "verified_accuracy" in score:
            line += f"; verified {percent(score, 'verified_accuracy')}"
            line += f" in {score['draws']:.1f} draws on average"
        line += _best_controls(score)
        lines.append(line)
    for level in summary.get("by_difficulty", ()):
        line = f"{level['label']:<28} {percent(level):>20} right of {level['examples']:,}"
        if "verified_accuracy" in level:
            line += f"; verified {percent(level, 'verified_accuracy')}"
        lines.append(line + _best_controls(level))
    return lines + comparison_lines(summary["overall"])


def _best_controls(score: Mapping[str, Any]) -> str:
    """Return the best controls of a score as text; empty if no control was evaluated."""
    found = ""
    for before, called in (("", "best control"), ("verified_", "verified")):
        if f"{before}best_control" in score:
            found += f"{',' if before else ';'} {called}: {control_text(score, before)}"
    return found


def write_evaluation_page(
    folder: Path, path: Path | None = None, *, workers: int = 1, progress: Progress = no_progress
) -> Path:
    """Write the HTML page of the evaluation in a folder; return its path.

    path: path of the page; by default `report.html` in the folder.

    Raises LogicgenError if the predictions are missing, damaged or empty.
    """
    table, about = read_predictions(folder)
    if not len(table):
        raise LogicgenError(f"{folder}: holds no answers: evaluate a split that has examples")
    path = path or folder / REPORT
    document = evaluation_document(table, about, workers=workers, progress=progress)
    return write_document(document, path)
