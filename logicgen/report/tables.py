"""Tables for programs (CSV, JSON) and for people (Markdown), and the report of a study."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from logicgen.data.cards import markdown_table
from logicgen.files import write_text
from logicgen.report.figure_style import save

__all__ = ["markdown_table", "percent", "percent_interval", "write_csv", "write_json"]


def write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows as CSV, with a column for each key of any row."""
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write a JSON object with a line for each value."""
    write_text(path, json.dumps(content, indent=1) + "\n")


def percent(score: Mapping[str, Any], key: str = "accuracy") -> str:
    """Return `97.3% [96.8, 97.7]` for a flat score: a share with its 95% interval over problems.

    With several embedding seeds, `97.3% ± 0.4 [96.8, 97.7]` contains their standard deviation.
    """
    share, deviation, low, high = (score[f"{key}{end}"] for end in ("", "_std", "_low", "_high"))
    return percent_interval(share, low, high, deviation)


def percent_interval(share: float, low: float, high: float, deviation: float = 0.0) -> str:
    """Return a share, its interval and its deviation (if not 0) in percent."""
    spread = f" ± {100 * deviation:.1f}" if deviation else ""
    return f"{100 * share:.1f}%{spread} [{100 * low:.1f}, {100 * high:.1f}]"


REPORT = "results.md"


@dataclass(frozen=True)
class Report:
    """The findings of a study, for people and for programs."""

    title: str
    about: str
    tables: list[tuple[str, list[str], list[list[str]]]]  # a sentence, column heads, rows
    pictures: list[tuple[str, str, Figure]]  # name of the file, caption, figure
    files: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # rows by name of CSV file

    def blocks(self) -> list[str]:
        """Return the tables in Markdown, each after its sentence."""
        tables = [(says, markdown_table(heads, rows)) for says, heads, rows in self.tables]
        return [text for block in tables for text in block]


def write_page(report: Report, folder: Path, command: str, *notes: str) -> None:
    """Write `results.md`, its pictures and the tables for programs.

    command: runs the study. notes: paragraphs after the tables; the last note ends the page.
    """
    for name, rows in report.files.items():
        write_csv(rows, folder / name)
    for name, _, figure in report.pictures:
        save(figure, folder, name, ("png",))
    shown = [f"![{called}]({name}.png)" for name, called, _ in report.pictures]
    parts = [f"# {report.title}", report.about, f"`{command}`", *report.blocks(), *notes[:-1]]
    write_text(folder / REPORT, "\n\n".join([*parts, *shown, notes[-1]]) + "\n")
