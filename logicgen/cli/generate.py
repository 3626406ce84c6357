"""`logicgen generate`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logicgen.cli.options import SEED, OutPath, engine_options, integer_option
from logicgen.cli.terminal import say
from logicgen.errors import printable

if TYPE_CHECKING:
    from logicgen.data.recipe import Recipe


@click.command("generate")
@click.argument("recipe")
@click.option(
    "-o",
    "--out",
    type=OutPath(path_type=Path),
    help="Folder, or a URL such as s3://bucket/folder; data/RECIPE if not given.",
)
@SEED
@integer_option(
    "--size", help="Examples in train, validation and test together; the grid shrinks with them."
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    help="All cores if not given.",
)
@engine_options
def command(
    recipe: str,
    out: Path | str | None,
    seed: int,
    size: int | None,
    workers: int,
) -> None:
    """Make the data set of RECIPE, a shipped name or the path of a TOML file.

    Interrupted, it goes on where it stopped when the same command is run again; the bytes are the
    same as without the interruption, and with any number of workers.
    """
    from logicgen.data.opening import read_data_recipe

    read, name = read_data_recipe(recipe), Path(recipe).stem
    if size is not None:
        read = read.resized(size, name)
    folder = out or Path("data") / name
    generate_with_bars(read, folder, name=name, seed=seed, workers=workers)


def generate_with_bars(
    recipe: Recipe, folder: Path | str, *, name: str, seed: int = 0, workers: int = 1
) -> None:
    """Make the data of a recipe behind one progress bar per split, and print what came out."""
    from logicgen.cli.progress import stage_bars
    from logicgen.data.estimate import announcement
    from logicgen.data.remote_data import kind_of, make

    for line in announcement(recipe, name):
        say(line)
    with stage_bars(recipe.progress_unit, f"{printable(name)} ") as progress:
        try:
            made = make(recipe, folder, name=name, seed=seed, workers=workers, progress=progress)
        except KeyboardInterrupt as stopped:
            raise type(stopped)("stopped: the same command goes on from there") from None
    for line in kind_of(recipe).summary(made, folder):
        say(line)
