"""The files of an evaluation of a probe: windows.csv, summary.json, five figures, report.html."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from logicgen.measures.key_figures import (
    draw_guesses,
    draw_key,
    draw_key_so_far,
    draw_occurrences,
    draw_precision,
)
from logicgen.measures.key_page import write_key_page
from logicgen.measures.keys import Keys
from logicgen.report.figure_style import save
from logicgen.report.html.example_rows import REPORT
from logicgen.report.tables import write_csv, write_json
from logicgen.tokens import Tokens

WINDOWS, SUMMARY = "windows.csv", "summary.json"
# Each as .png and .svg
PRECISION, KEY, KEY_SO_FAR, GUESSES, OCCURRENCES = (
    "precision",
    "key",
    "key-so-far",
    "guesses",
    "occurrences",
)


def write_keys(found: Keys, tokens: Tokens, folder: Path) -> dict[str, Any]:
    """Write all files of an evaluation of a probe; returns the summary."""
    about, width = found.about, found.about["window"]
    layers = {f"probe of layer {layer}": some for layer, some in found.layers.items()}
    found_by = {"probe": found.windows, **layers, **found.controls}
    lines = [{"by": by, **asdict(each)} for by, some in found_by.items() for each in some]
    write_csv(lines, folder / WINDOWS)
    last = {by: asdict(some[-1]) for by, some in found.controls.items()}
    summary = {**about, "last": asdict(found.windows[-1]), "controls": last}
    summary["layers"] = {layer: asdict(some[-1]) for layer, some in found.layers.items()}
    write_json(summary, folder / SUMMARY)
    title = f"{about['called']} on {about['data']} ({about['split']})"
    figures = {
        PRECISION: draw_precision(
            found.windows, found.controls, f"{title}, {about['rows']:,} rows"
        ),
        KEY: draw_key(found.example, tokens, width, f"{title}, one row"),
        KEY_SO_FAR: draw_key_so_far(found.example, tokens, f"{title}, one row"),
        GUESSES: draw_guesses(found.guesses, tokens, f"{title}, {about['rows']:,} rows"),
        OCCURRENCES: draw_occurrences(found.example, tokens, width, f"{title}, one row"),
    }
    for name, figure in figures.items():
        if figure is not None:
            save(figure, folder, name)
    write_key_page(found, tokens, folder / REPORT)
    return summary
