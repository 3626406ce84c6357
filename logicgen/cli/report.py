"""`logicgen report`."""

from __future__ import annotations

from functools import partial
from os.path import isdir, isfile
from pathlib import Path

import click

from logicgen.cli import options as opt
from logicgen.cli.terminal import say
from logicgen.errors import LogicgenError


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
def command(folder: Path, out: Path | None, workers: int) -> None:
    """Show an evaluation, a data set or a corpus as one HTML file, which opens from disk.

    EVALUATION is a folder that logicgen evaluate wrote, such as RUN/grid, and DATA one that
    logicgen generate wrote. The page has heat maps, every example behind a cell, and why an answer
    is wrong: the word that falsifies the formula, and the truth of each subformula on it. logicgen
    compare writes such a page of several evaluations.
    """
    from logicgen.cli.progress import stage_bars
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.data.remote_data import cache
    from logicgen.measures import measure_in
    from logicgen.report.html.example_rows import REPORT

    if out is None and folder.is_relative_to(cache() / "data"):
        raise LogicgenError(
            "-o: name the page: the data have been copied from a URL, and a copy may be deleted"
        )
    if not isdir(folder):
        raise LogicgenError(f"{folder}: no such folder: give an evaluation, or a data set")
    measure = measure_in(folder)
    if measure is not None:
        with stage_bars("answers") as bars:
            explaining = partial(bars, "explaining")
            path = measure.write_page(folder, out, workers=workers, progress=explaining)
    elif isfile(folder / Dataset.file):
        path = _dataset(folder, out, workers)
    elif isfile(folder / Corpus.file):
        from logicgen.report.html.corpus_page import write_corpus_page

        path = write_corpus_page(Corpus(folder), out or folder / REPORT)
    else:
        raise LogicgenError(_neither(folder))
    say(f"report: {path}")


def _dataset(folder: Path, out: Path | None, workers: int) -> Path:
    from logicgen.cli.progress import stage_bars
    from logicgen.data.dataset import load_dataset
    from logicgen.report.html.dataset_page import write_dataset_page
    from logicgen.report.html.example_rows import REPORT

    dataset = load_dataset(folder)
    with stage_bars("examples") as bars:
        explaining = partial(bars, "explaining")
        path = out or folder / REPORT
        return write_dataset_page(dataset, path, workers=workers, progress=explaining)


def _neither(folder: Path) -> str:
    """Say why a folder has no report, and what to give instead."""
    from logicgen.measures.evaluation_files import PREDICTIONS

    below = [str(path.parent) for path in sorted(folder.glob(f"*/{PREDICTIONS}"))]
    if below:
        return f"{folder}: no {PREDICTIONS}; did you mean {' or '.join(below)}?"
    return (
        f"{folder}: neither an evaluation (no {PREDICTIONS}) nor a data set (no dataset.json): run"
        " logicgen evaluate or logicgen generate first"
    )
