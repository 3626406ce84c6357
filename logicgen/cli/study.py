"""`logicgen study`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from logicgen import library
from logicgen.cli.options import DEVICE, engine_options, integer_option, out_option
from logicgen.cli.terminal import progress_bars, put, say, stage_bars


@click.command("study")
@click.argument("name")
@out_option("Folder; runs/studies/NAME if not given.")
@integer_option("--workers", help="Trials at a time; one per GPU, or else per core, if not given.")
@click.option(
    "--set",
    "changes",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change a key of the study, such as lesson.steps=300; may be repeated.",
)
@DEVICE
@engine_options
def command(
    name: str, out: Path | None, workers: int | None, changes: tuple[str, ...], device: str
) -> None:
    """Compute the trials of study NAME, a shipped name or the path of a TOML file.

    A trial trains and scores a model, or computes a part of a published experiment. Leaves a
    record of each in OUT/trials.jsonl.gz, and a table and figures made from the records alone. A
    trial that has its record is not computed again. So the same command continues after an
    interruption, and tries failed trials again.
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
    """Yield a function that advances the bar of the trials, and one that prints above it."""
    with progress_bars("trials") as bars:
        bar = bars.add_task(name, total=total, completed=done)

        def advance(text: str = name) -> None:
            bars.advance(bar)
            if text != name:
                bars.update(bar, description=text)

        # As it is: not wrapped, and [embedding] is no markup.
        above = partial(bars.console.print, soft_wrap=True, markup=False, highlight=False)
        yield advance, above
