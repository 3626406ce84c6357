"""The files of an evaluation, all made from `predictions.parquet`: summary, cells, heat map."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from logicgen.atomic import write_text
from logicgen.evaluate.cells import Scores
from logicgen.evaluate.heatmap import draw_heatmap
from logicgen.evaluate.score import read_predictions

SUMMARY, CELLS = "summary.json", "cells.csv"


def write_report(folder: Path) -> dict[str, Any]:
    """Write `summary.json`, `cells.csv`, `heatmap.png` and `heatmap.svg` beside the predictions.

    Returns the summary. Raises LogicgenError where there are no whole predictions.
    """
    table, about = read_predictions(folder)
    scores = Scores.of(table, about)
    overall, cells = scores.score(), scores.by_cell()
    summary: dict[str, Any] = {**asdict(about), "embedding_seeds": scores.seeds}
    summary["overall"] = overall.flat()
    for name, chosen in scores.parts().items():
        if chosen.any():
            summary[name] = scores.select(chosen).score().flat()
    write_text(folder / SUMMARY, json.dumps(summary, indent=1) + "\n")

    rows = [{"symbols": s, "length": n, **score.flat()} for (s, n), score in sorted(cells.items())]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(folder / CELLS, text.getvalue())

    mean, deviation = overall.accuracy
    spread = f" ± {100 * deviation:.1f}" if scores.seeds > 1 else ""
    title = f"{about.model} on {about.data} ({about.split}): {100 * mean:.1f}%{spread} right"
    draw_heatmap(cells, about, title, [folder / "heatmap.png", folder / "heatmap.svg"])
    return summary


PARTS = {
    "overall": "overall",
    "inside_training_region": "inside the training region",
    "beyond_in_symbols_only": "more symbols",
    "beyond_in_length_only": "other lengths",
    "beyond_training_region": "beyond it, in any way",
}
"""What the parts of a summary are called in tables."""


def percent(score: dict[str, Any], key: str = "accuracy") -> str:
    """`97.3% ± 0.4` of a flat score."""
    mean, deviation = score[key], score[f"{key}_std"]
    return f"{100 * mean:.1f}%" + (f" ± {100 * deviation:.1f}" if deviation else "")
