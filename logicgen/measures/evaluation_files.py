"""The files of an evaluation on a data set: predictions, and all that is made from them.

predictions.parquet   a row per answer, with its verdict
summary.json          the scores of all answers and of parts of them
cells.csv             the score of every cell
heatmap, symbols, lengths   figures, each as .png and .svg
report.html           a page of all of it, with the answers
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from logicgen.data.shards import check_numbers, fault, read_table
from logicgen.errors import LogicgenError
from logicgen.files import write_atomically
from logicgen.measures.answers_figures import (
    draw_heatmaps,
    draw_lengths,
    draw_symbols,
    draw_verified,
)
from logicgen.measures.predictions import SCHEMA, About
from logicgen.measures.scores import Scores
from logicgen.report.figure_style import save
from logicgen.report.tables import percent, write_csv, write_json
from logicgen.solvers import Verdict

PREDICTIONS, SUMMARY, CELLS = "predictions.parquet", "summary.json", "cells.csv"
HEAT_MAP, SYMBOLS, LENGTHS = "heatmap", "symbols", "lengths"

# Columns that evaluations do not always have, and bytes that a file may take in memory.
OPTIONAL = ("edit_distance", "right_tokens", "verified_prediction", "verified_verdict", "draws")
MOST_BYTES = 1 << 32

PARTS = {
    "overall": "overall",
    "inside_training_region": "inside the training region",
    "beyond_in_symbols_only": "more symbols",
    "beyond_in_length_only": "other lengths",
    "beyond_training_region": "beyond it, in any way",
}
"""Names of the parts of a summary in tables."""


def write_predictions(table: pa.Table, folder: Path) -> None:
    """Write `predictions.parquet`."""
    write_atomically(
        folder / PREDICTIONS, lambda part: pq.write_table(table, part, compression="zstd")
    )


def read_predictions(folder: Path) -> tuple[pa.Table, About]:
    """Read `predictions.parquet`. Raises LogicgenError where there is none or it is damaged."""
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
        if about.step < 1:
            raise ValueError(f"step: {about.step}")
        return table, about
    except FileNotFoundError as error:
        raise LogicgenError(f"{folder}: no {PREDICTIONS}; run logicgen evaluate first") from error
    except (pa.ArrowException, KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        raise LogicgenError(
            f"{path}: damaged, or of another version ({fault(error)}); run logicgen evaluate again"
        ) from error


def write_figures(folder: Path) -> dict[str, Any]:
    """Write all but the page that is made from the predictions in a folder; return the summary.

    Raises LogicgenError where there are no whole predictions.
    """
    table, about = read_predictions(folder)
    scores = Scores.of(table, about)
    summary, cells = scores.summary(), scores.by_cell()
    write_json(summary, folder / SUMMARY)

    rows = [{"symbols": s, "length": n, **score.flat()} for (s, n), score in sorted(cells.items())]
    write_csv(rows, folder / CELLS)

    overall = summary["overall"]
    title = f"{about.model} on {about.data} ({about.split}): {percent(overall)} right"
    if "verified_accuracy" in overall:
        both = f"{title}, {percent(overall, 'verified_accuracy')} verified"
        save(draw_verified(cells, about, both), folder, HEAT_MAP)
    else:
        save(draw_heatmaps([(about.model, cells, about)], title), folder, HEAT_MAP)
    by_symbols = draw_symbols([(about.model, scores)], f"{about.data} ({about.split})")
    save(by_symbols, folder, SYMBOLS)
    save(draw_lengths(scores, title), folder, LENGTHS)
    return summary


def score_lines(summary: dict[str, Any]) -> list[str]:
    """Return the scores of a summary in words."""
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
        lines.append(line)
    return lines
