"""Reports of studies: tables and pictures, and the files that show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from logicgen.files import write_text
from logicgen.report.figure_style import save
from logicgen.report.tables import markdown_table, write_csv

REPORT = "results.md"


@dataclass(frozen=True)
class Report:
    """The findings of a study, for people and for programs."""

    title: str
    about: str
    tables: list[tuple[str, list[str], list[list[str]]]]  # a sentence, column heads, rows
    pictures: list[tuple[str, str, Figure]]  # name of the file, what it shows, figure
    files: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # rows by name of CSV file

    def blocks(self) -> list[str]:
        """Return the tables in Markdown, each behind its sentence."""
        tables = [(says, markdown_table(heads, rows)) for says, heads, rows in self.tables]
        return [text for block in tables for text in block]


def write_page(report: Report, folder: Path, command: str, *notes: str) -> None:
    """Write `results.md`, its pictures and the tables for programs.

    command: what runs the study. notes: paragraphs behind the tables; the last ends the page.
    """
    for name, rows in report.files.items():
        write_csv(rows, folder / name)
    for name, _, figure in report.pictures:
        save(figure, folder, name, ("png",))
    shown = [f"![{called}]({name}.png)" for name, called, _ in report.pictures]
    parts = [f"# {report.title}", report.about, f"`{command}`", *report.blocks(), *notes[:-1]]
    write_text(folder / REPORT, "\n\n".join([*parts, *shown, notes[-1]]) + "\n")
