"""The files of an evaluation on a corpus.

positions.csv   means at each position
summary.json    means over all positions, and from one on
readings.json   the first sequences, with what was measured at each of their tokens
perplexity      a figure, as .png and .svg
report.html     a page of all of it
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from logicgen.errors import LogicgenError
from logicgen.files import prepare_folder, write_text
from logicgen.measures.comparison import check_folders, labels_of
from logicgen.measures.perplexity import CLOSED, MEASURES, Curve, Reading
from logicgen.measures.perplexity_figure import draw_curves
from logicgen.measures.perplexity_page import write_perplexity_page
from logicgen.report.figure_style import save
from logicgen.report.html.example_rows import REPORT
from logicgen.report.tables import percent_interval, write_csv, write_json

POSITIONS, SUMMARY, FIGURE = "positions.csv", "summary.json", "perplexity"
READINGS = "readings.json"


def write_curve(curve: Curve, folder: Path) -> dict[str, Any]:
    """Write all files of an evaluation on a corpus; returns the summary."""
    rows = [
        {
            "position": position,
            "tokens": int(count),
            **{name: float(means[position]) for name, means in curve.means.items()},
        }
        for position, count in enumerate(curve.tokens.tolist())
        if count
    ]
    write_csv(rows, folder / POSITIONS)
    summary = curve.summary()
    write_json(summary, folder / SUMMARY)
    title = f"{curve.about.data} ({curve.about.split})"
    save(draw_curves({"": [(curve.about.model, curve)]}, title), folder, FIGURE)
    readings = [asdict(reading) for reading in curve.readings]
    write_text(folder / READINGS, json.dumps(readings, separators=(",", ":")) + "\n")
    write_perplexity_page(curve, folder / REPORT)
    return summary


def summary_lines(summary: dict[str, Any]) -> list[str]:
    """Return a line for each part and measure of a summary, for people."""
    lines = []
    for part in ("overall", "beyond"):
        if part not in summary:
            continue
        found = summary[part]
        where = part if part == "overall" else f"from position {found['from']} on"
        lines.append(
            f"{where:<24} perplexity {found['perplexity']:.3f} over {found['tokens']:,} tokens"
        )
        for name, called in MEASURES.items():
            if name in found:
                low, high = found[f"{name}_low"], found[f"{name}_high"]
                lines.append(f"{'':<24} {found[name]:.4f} [{low:.4f}, {high:.4f}] {called}")
        if CLOSED in found:
            share = percent_interval(*(found[f"{CLOSED}{end}"] for end in ("", "_low", "_high")))
            lines.append(f"{'':<24} {share} of the way from the counter to the ideal")
    return lines


def read_curve(folder: Path) -> Curve:
    """Read what `write_curve` wrote. Raises LogicgenError where there is none or it is damaged."""
    path = folder / POSITIONS
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        context = int(summary["context"])
        lines = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        tokens = np.zeros(context, dtype=np.int64)
        means = {name: np.full(context, np.nan) for name in MEASURES if name in lines[0]}
        for line in lines:
            position = int(line["position"])
            tokens[position] = int(line["tokens"])
            for name, values in means.items():
                values[position] = float(line[name])
        found = Curve.stored(summary, tokens, means)
        if not (float(found.parts["overall"]["perplexity"]) >= 1 and found.about.sequences > 0):
            raise ValueError("overall")
        return found
    except FileNotFoundError:
        raise LogicgenError(f"{folder}: no {POSITIONS}; run logicgen evaluate first") from None
    except (ValueError, KeyError, TypeError, OSError, IndexError, RecursionError):
        raise LogicgenError(
            f"{path}: damaged, or of another version; run logicgen evaluate again"
        ) from None


def read_readings(folder: Path) -> Curve:
    """Read a curve with the first sequences as they were read. Raises as `read_curve`."""
    curve, path = read_curve(folder), folder / READINGS
    try:
        readings = TypeAdapter(list[Reading]).validate_json(path.read_bytes())
        for each in readings:
            lengths = {len(each.measured[name]) for name in curve.means}
            if lengths != {len(each.tokens)}:
                raise ValueError("as many measures as tokens")
    except (ValidationError, KeyError, ValueError, OSError) as error:
        raise LogicgenError(f"{path}: damaged; run logicgen evaluate again") from error
    return replace(curve, readings=readings)


def compare_curves(folders: list[Path], out: Path) -> list[tuple[str, dict[str, Any]]]:
    """Draw evaluations of the same sequences as one figure; returns label and parts of each.

    Raises LogicgenError where they are not of the same sequences, or `out` is one of the folders.
    """
    check_folders(folders, out)
    curves = [read_curve(folder) for folder in folders]
    abouts = [curve.about for curve in curves]
    labels = labels_of(folders, abouts, ("data", "split", "sequences", "context"))
    labelled = list(zip(labels, curves, strict=True))
    prepare_folder(out)
    save(draw_curves({"": labelled}, f"{abouts[0].data} ({abouts[0].split})"), out, FIGURE)
    return [(label, dict(curve.parts)) for label, curve in labelled]
