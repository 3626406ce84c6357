"""The files of an evaluation, all made from `predictions.parquet`: summary, cells, pictures."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from logicgen.atomic import write_text
from logicgen.evaluate.predictions import read_predictions
from logicgen.evaluate.scores import Scores
from logicgen.report.heatmap import draw_heatmaps
from logicgen.report.lengths_figure import draw_lengths
from logicgen.report.symbols_figure import draw_symbols

SUMMARY, CELLS = "summary.json", "cells.csv"
HEAT_MAP, SYMBOLS, LENGTHS = "heatmap", "symbols", "lengths"  # each as .png and .svg


def write_report(folder: Path) -> dict[str, Any]:
    """Write `summary.json`, `cells.csv` and three pictures beside the predictions.

    They are `heatmap`, `symbols` and `lengths`, each as PNG and SVG. Returns the summary.

    Raises LogicgenError where there are no whole predictions.
    """
    table, about = read_predictions(folder)
    scores = Scores.of(table, about)
    summary, cells = summarise(scores), scores.by_cell()
    write_text(folder / SUMMARY, json.dumps(summary, indent=1) + "\n")

    rows = [{"symbols": s, "length": n, **score.flat()} for (s, n), score in sorted(cells.items())]
    write_table(rows, folder / CELLS)

    title = f"{about.model} on {about.data} ({about.split}): {percent(summary['overall'])} right"
    draw_heatmaps([(about.model, cells, about)], title, folder, HEAT_MAP)
    draw_symbols([(about.model, scores)], f"{about.data} ({about.split})", folder, SYMBOLS)
    draw_lengths(scores, title, folder, LENGTHS)
    return summary


def summarise(scores: Scores) -> dict[str, Any]:
    """What was scored, the score of all answers, and that of each part that has some."""
    summary: dict[str, Any] = {**asdict(scores.about), "embedding_seeds": scores.seeds}
    summary["overall"] = scores.score().flat()
    for name, chosen in scores.parts().items():
        if chosen.any():
            summary[name] = scores.select(chosen).score().flat()
    return summary


def write_table(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows as CSV, with a column for each key that one of them has."""
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


PARTS = {
    "overall": "overall",
    "inside_training_region": "inside the training region",
    "beyond_in_symbols_only": "more symbols",
    "beyond_in_length_only": "other lengths",
    "beyond_training_region": "beyond it, in any way",
}
"""What the parts of a summary are called in tables."""


def percent(score: dict[str, Any], key: str = "accuracy") -> str:
    """`97.3% [96.8, 97.7]` of a flat score: the 95% interval over problems.

    With several embedding seeds, `97.3% ± 0.4 [96.8, 97.7]`: the deviation is over the seeds.
    """
    mean, std, low, high = (score[f"{key}{end}"] for end in ("", "_std", "_low", "_high"))
    spread = f" ± {100 * std:.1f}" if std else ""
    return f"{100 * mean:.1f}%{spread} [{100 * low:.1f}, {100 * high:.1f}]"
