"""`logicgen compare`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from logicgen.cli.options import PATH, WORKERS, out_option
from logicgen.cli.terminal import put, say


@click.command("compare")
@click.argument("folders", nargs=-1, required=True, type=PATH)
@out_option(required=True)
@WORKERS
def command(folders: tuple[Path, ...], out: Path, workers: int) -> None:
    """Set evaluations of the same examples side by side.

    FOLDERS are what logicgen evaluate wrote, such as RUN/grid. Writes a table, heat maps with one
    scale, maps of the difference to the first evaluation, accuracy by number of symbols, and
    report.html, a page with the examples that one gets right and another does not. Of
    corpora, perplexity by position in one plot.
    """
    from logicgen.cli.progress import stage_bars
    from logicgen.measures import compared

    measure = compared(list(folders))
    with stage_bars("answers") as bars:
        explaining = partial(bars, "explaining")
        found = measure.compare(list(folders), out, workers=workers, progress=explaining)
    for line in found.lines:
        put(line)
    for line in found.files:
        say(line)
