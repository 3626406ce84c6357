"""`logicgen compare`."""

from __future__ import annotations

from functools import partial
from os.path import isfile
from pathlib import Path

import click

from logicgen.cli.options import PATH, WORKERS, out_option
from logicgen.cli.terminal import put, say
from logicgen.errors import LogicgenError


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
    from logicgen.measures.perplexity_figures import POSITIONS, compare_curves, summary_lines

    of_corpora = [folder for folder in folders if isfile(folder / POSITIONS)]
    if of_corpora:
        if others := [folder for folder in folders if folder not in of_corpora]:
            raise LogicgenError(
                f"{of_corpora[0]} is an evaluation on a corpus, and {others[0]} is not: compare"
                " evaluations of the same data"
            )
        for label, summary in compare_curves(list(folders), out):
            put("\n  ".join([label, *summary_lines(summary)]))
        say(f"figure: {out / 'perplexity.png'}")
        return
    from logicgen.cli.progress import stage_bars
    from logicgen.measures.comparison import compare, markdown

    with stage_bars("answers") as bars:
        explaining = partial(bars, "explaining")
        rows = compare(list(folders), out, workers=workers, progress=explaining)
    put(markdown(rows))
    say(f"figures: {out / 'heatmaps.png'}, differences.png, symbols.png")
    say(f"report, with every answer: {out / 'report.html'}")
