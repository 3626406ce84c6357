"""`logicgen list`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logicgen.cli.options import PAGE
from logicgen.cli.terminal import say
from logicgen.errors import LogicgenError

if TYPE_CHECKING:
    from logicgen.solvers import Facts

KINDS = ["tasks", "datasets", "models", "studies", "solvers"]


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
@click.option(
    "--html", type=PAGE, metavar="FILE.html", help="Write a gallery: examples of every recipe."
)
def command(kind: str | None, html: Path | None) -> None:
    """Show what ships: tasks, data-set recipes, model recipes, studies, solvers.

    A recipe's name is what `generate`, `train` and `study` take; the path of a TOML file works as
    well.
    """
    if html is not None:
        if kind:
            raise LogicgenError("--html: shows tasks and data sets with examples: leave KIND out")
        return _gallery(html)

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from logicgen.errors import printable

    console = Console()
    for each in [kind] if kind else KINDS:
        table = Table(title=each, title_justify="left", box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True, style="bold")
        table.add_column(overflow="fold")
        for row in _rows(each):
            # As it is: [brackets] are no markup, and nothing commands the terminal.
            table.add_row(*(Text(printable(cell)) for cell in row))
        console.print(table)
        if not kind:
            console.print()


def _gallery(path: Path) -> None:
    """Write the gallery behind a progress bar."""
    from logicgen.cli.progress import stage_bars
    from logicgen.report.html.gallery_page import write_gallery

    with stage_bars("recipes") as bars:
        write_gallery(path, progress=partial(bars, "drawing"))
    say(f"gallery: {path}")


def _rows(kind: str) -> list[tuple[str, str]]:
    from logicgen import recipes
    from logicgen.recipes import read_toml
    from logicgen.solvers import solver_facts, solver_plugins
    from logicgen.tasks import CORPORA, task_names

    if kind == "tasks":
        tasks = [(name, _task_about(name)) for name in task_names()]
        return sorted(tasks + [(name, _corpus_about(name)) for name in CORPORA])
    if kind == "solvers":
        return [(name, _about(solver_facts(name))) for name in solver_plugins()]
    return [
        (name, read_toml(recipes.find(kind, ".toml", name)).get("description", ""))
        for name in recipes.names(kind, ".toml")
    ]


def _task_about(name: str) -> str:
    from logicgen.tasks import load_task

    try:
        return load_task(name).about
    except LogicgenError as error:  # a broken plugin disturbs no other task
        return f"(not available: {error})"


def _corpus_about(task: str) -> str:
    from logicgen.extras import MissingExtraError, extras_named
    from logicgen.tasks import load_corpus_task

    try:
        with extras_named():
            return load_corpus_task(task).about
    except MissingExtraError as error:
        return f"(not available: {error})"


def _about(facts: Facts) -> str:
    if facts.broken:
        return facts.state
    missing = f" (not available: {facts.missing})" if facts.missing else ""
    return f"{facts.logic}: {facts.about}{missing}"
