"""The files of an evaluation of a probe: windows.csv, summary.json, and three figures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from logicgen.evaluate.keys import Keys
from logicgen.report.figure_style import save
from logicgen.report.key_figures import draw_key, draw_occurrences, draw_precision
from logicgen.report.tables import write_csv, write_json
from logicgen.tokens import Tokens

WINDOWS, SUMMARY = "windows.csv", "summary.json"
PRECISION, KEY, OCCURRENCES = "precision", "key", "occurrences"  # each as .png and .svg


def write_keys(found: Keys, tokens: Tokens, folder: Path) -> dict[str, Any]:
    """Write `windows.csv`, `summary.json` and three figures; returns the summary."""
    about, width = found.about, found.about["window"]
    found_by = {"probe": found.windows, **found.controls}
    lines = [{"by": by, **asdict(each)} for by, some in found_by.items() for each in some]
    write_csv(lines, folder / WINDOWS)
    last = {by: asdict(some[-1]) for by, some in found.controls.items()}
    summary = {**about, "last": asdict(found.windows[-1]), "controls": last}
    write_json(summary, folder / SUMMARY)
    title = f"{about['called']} on {about['data']} ({about['split']})"
    figures = {
        PRECISION: draw_precision(
            found.windows, found.controls, f"{title}, {about['rows']:,} rows"
        ),
        KEY: draw_key(found.example, tokens, width, f"{title}, one row"),
        OCCURRENCES: draw_occurrences(found.example, tokens, width, f"{title}, one row"),
    }
    for name, figure in figures.items():
        if figure is not None:
            save(figure, folder, name)
    return summary
