"""The command `logicgen study`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from logicgen import library
from logicgen.cli.options import DEVICE, changes_option, engine_options, integer_option, out_option
from logicgen.cli.terminal import progress_bars, put, say, stage_bars


@click.command("study")
@click.argument("name")
@out_option("Folder; runs/studies/NAME if not given.")
@integer_option("--workers", help="Trials at a time; if not given, the number of GPUs or cores.")
@changes_option("teachers=5")
@DEVICE
@engine_options
def command(
    name: str, out: Path | None, workers: int | None, changes: tuple[str, ...], device: str
) -> None:
    """Run the trials of the study NAME, a shipped name or the path of a TOML file.

    A trial trains and scores a model, or computes a part of a published experiment. Its record is
    added to OUT/trials.jsonl.gz. The table and the figures are made from the records alone. After
    an interruption the same command continues: it runs trials without a record, and failed trials.
    """
    library.study(
        name,
        out,
        changes=changes,
        workers=workers,
        device=device,
        bars=stage_bars,
        trial_bar=_trial_bar,
        put=put,
        say=say,
    )


@contextmanager
def _trial_bar(name: str, total: int, done: int) -> Iterator[tuple[Callable[..., None], Any]]:
    """Show a progress bar for the trials of the study `name`.

    total, done: the numbers of all trials, and of trials that an earlier command has finished.
    Yields a function that advances the bar, and a function that prints a line above the bar.
    """
    with progress_bars("trials") as bars:
        bar = bars.add_task(name, total=total, completed=done)

        def advance(text: str = name) -> None:
            """Count a finished trial; `text` becomes the label of the bar."""
            bars.advance(bar)
            if text != name:
                bars.update(bar, description=text)

        # Print lines as they are: not wrapped, and without markup in [brackets].
        above = partial(bars.console.print, soft_wrap=True, markup=False, highlight=False)
        yield advance, above
