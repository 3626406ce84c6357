"""Write tables as CSV, JSON and Markdown, and write the report of a study."""

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
    """Write rows as CSV. The columns are all keys that occur in a row."""
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write a JSON object with one value on each line."""
    write_text(path, json.dumps(content, indent=1) + "\n")


def percent(score: Mapping[str, Any], key: str = "accuracy") -> str:
    """Return a share with its 95% interval over problems as text, such as `97.3% [96.8, 97.7]`.

    If several embedding seeds were evaluated, the text contains the standard deviation over seeds:
    `97.3% ± 0.4 [96.8, 97.7]`.

    score: the share under the name `key`, and its interval and deviation under names such as
        `accuracy_low`.
    key: the name of the share in the score.
    """
    share, deviation, low, high = (score[f"{key}{end}"] for end in ("", "_std", "_low", "_high"))
    return percent_interval(share, low, high, deviation)


def percent_interval(share: float, low: float, high: float, deviation: float = 0.0) -> str:
    """Return a share with its interval from `low` to `high` as text in percent.

    deviation: the standard deviation of the share; left out if it is 0.
    """
    spread = f" ± {100 * deviation:.1f}" if deviation else ""
    return f"{100 * share:.1f}%{spread} [{100 * low:.1f}, {100 * high:.1f}]"


REPORT = "results.md"


@dataclass(frozen=True)
class Report:
    """The results of a study: texts and tables for readers, and rows for CSV files."""

    title: str
    about: str
    tables: list[tuple[str, list[str], list[list[str]]]]  # (sentence, heads of columns, rows)
    pictures: list[tuple[str, str, Figure]]  # (file name, caption, figure)
    files: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # from CSV file to rows

    def blocks(self) -> list[str]:
        """Return the sentences and tables in Markdown: each sentence before its table."""
        tables = [(says, markdown_table(heads, rows)) for says, heads, rows in self.tables]
        return [text for block in tables for text in block]


def write_page(report: Report, folder: Path, command: str, *notes: str) -> None:
    """Write a report: `results.md`, its pictures and CSV files.

    command: the command that runs the study.
    notes: paragraphs after the tables; the last note ends the page.
    """
    for name, rows in report.files.items():
        write_csv(rows, folder / name)
    for name, _, figure in report.pictures:
        save(figure, folder, name, ("png",))
    shown = [f"![{called}]({name}.png)" for name, called, _ in report.pictures]
    parts = [f"# {report.title}", report.about, f"`{command}`", *report.blocks(), *notes[:-1]]
    write_text(folder / REPORT, "\n\n".join([*parts, *shown, notes[-1]]) + "\n")
