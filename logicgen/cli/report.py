"""`logicgen report` and `logicgen compare`."""

from __future__ import annotations

from pathlib import Path

import click

from logicgen.cli import options as opt
from logicgen.cli.terminal import put, say, stage_bars


@click.command("report")
@click.argument("folder", type=opt.DATA, metavar="EVALUATION|DATA")
@click.option(
    "-o",
    "--out",
    type=opt.PAGE,
    metavar="FILE.html",
    help="[report.html in the folder]",
)
@opt.WORKERS
def report(folder: Path, out: Path | None, workers: int) -> None:
    """Show an evaluation, a data set or a corpus as one HTML file, which opens from disk.

    EVALUATION is a folder that logicgen evaluate wrote, such as RUN/grid, and DATA one that
    logicgen generate wrote. The page has heat maps, every example behind a cell, and why an answer
    is wrong: the word that falsifies the formula, and the truth of each subformula on it. logicgen
    compare writes such a page of several evaluations.
    """
    from logicgen import library

    say(f"report: {library.report(folder, out, workers=workers, bars=stage_bars)}")


@click.command("compare")
@click.argument("folders", nargs=-1, required=True, type=opt.PATH)
@opt.out_option(required=True)
@opt.WORKERS
def compare(folders: tuple[Path, ...], out: Path, workers: int) -> None:
    """Set evaluations of the same examples side by side.

    FOLDERS are what logicgen evaluate wrote, such as RUN/grid. Writes a table, heat maps with one
    scale, maps of the difference to the first evaluation, accuracy by number of symbols, and
    report.html, a page with the examples that one gets right and another does not. Of
    corpora, perplexity by position in one plot.
    """
    from logicgen import library

    lines, written = library.compare(folders, out, workers=workers, bars=stage_bars)
    for line in lines:
        put(line)
    for line in written:
        say(line)
