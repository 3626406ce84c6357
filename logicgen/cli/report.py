"""The command `logicgen report`."""

from __future__ import annotations

from pathlib import Path

import click

from logicgen import library
from logicgen.cli import options as opt
from logicgen.cli.terminal import put, say, stage_bars


def _checked_folders(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the given folders, as a callback of click.

    Fails with a usage error if there are several folders and a URL is among them.
    """
    if len(given) > 1:
        for folder in given:
            opt.PATH.convert(folder, parameter, context)
    return given


def _checked_out(
    context: click.Context, parameter: click.Parameter, given: str | None
) -> Path | None:
    """Return the value of --out, as a callback of click.

    For a single folder, it is the path of the page to write, or None. For several folders, it is
    the folder to write into; if it is missing, fail with a usage error.
    """
    several = len(context.params["folders"]) > 1
    if given is not None:
        kind = opt.PATH if several else opt.PAGE
        return Path(kind.convert(given, parameter, context))
    if several:
        raise click.MissingParameter(ctx=context, param=parameter)
    return None


@click.command("report")
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    is_eager=True,  # read before --out: the meaning of --out depends on the number of folders
    callback=_checked_folders,
    metavar="EVALUATION|DATA ...",
)
@click.option(
    "-o",
    "--out",
    callback=_checked_out,
    metavar="FILE.html|DIR",
    help="The page [report.html in the folder]; for several evaluations, a folder.",
)
@opt.WORKERS
def command(folders: tuple[str, ...], out: Path | None, workers: int) -> None:
    """Show an evaluation, a data set or a corpus as one HTML file, or compare evaluations.

    EVALUATION is a folder that logicgen evaluate wrote, such as RUN/grid. DATA is a folder that
    logicgen generate wrote. The page has heat maps, the examples of every cell, and why an answer
    is wrong: a word that falsifies the formula, and the truth of each subformula on the word.

    Several EVALUATIONs of the same examples are compared in the folder --out. It gets a table, heat
    maps with one scale, maps of the difference to the first evaluation, and accuracy by number of
    symbols. The page report.html lists the examples that only some of the models answer right.
    For corpora, one plot shows perplexity by position.

    \b
    logicgen report RUN/grid
    logicgen report RUN/grid OTHER/grid -o comparison
    """
    if out is None or len(folders) == 1:
        folder = Path(opt.DATA.convert(folders[0], None, None))
        say(f"report: {library.report(folder, out, workers=workers, bars=stage_bars)}")
        return
    evaluations = [Path(folder) for folder in folders]
    lines, written = library.compare(evaluations, out, workers=workers, bars=stage_bars)
    for line in lines:
        put(line)
    for line in written:
        say(line)
