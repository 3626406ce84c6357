"""`logicgen generate`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from logicgen.data.data_recipe import DataRecipe


@click.command("generate")
@click.argument("recipe")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Folder; data/RECIPE if not given."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--size",
    type=click.IntRange(min=1),
    help="Examples in train, validation and test together; the grid shrinks with them.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    help="All cores if not given.",
)
@click.option(
    "--dimacs",
    type=click.Path(path_type=Path),
    help="Also write sets of clauses as .cnf files there, a folder per split.",
)
def command(
    recipe: str,
    out: Path | None,
    seed: int,
    size: int | None,
    workers: int,
    dimacs: Path | None,
) -> None:
    """Make the data set of RECIPE, a shipped name or the path of a TOML file.

    Interrupted, it goes on where it stopped when the same command is run again; the bytes are the
    same as without the interruption, and with any number of workers.
    """
    from logicgen.data.corpus import is_corpus_recipe
    from logicgen.data.data_recipe import read_recipe
    from logicgen.errors import LogicgenError

    if is_corpus_recipe(recipe):
        if size is not None or dimacs is not None:
            option = "--size" if size is not None else "--dimacs"
            raise LogicgenError(f"{recipe}: {option} is not for corpora: change the recipe instead")
        make_with_bars(recipe, out or Path("data") / Path(recipe).stem, seed)
        return
    read = read_recipe(recipe)
    if size is not None:
        read = read.resized(size)
    name = Path(recipe).stem
    folder = out or Path("data") / name
    if dimacs is not None and read.problem.get("source") != "cnf":
        raise LogicgenError(f'{name}: --dimacs goes with recipes of [problem] source = "cnf"')
    generate_with_bars(read, folder, name=name, seed=seed, workers=workers)
    if dimacs is not None:
        _write_dimacs(folder, dimacs)


def make_with_bars(recipe: str, folder: Path, seed: int = 0) -> None:
    """Make the corpus of a recipe with one progress bar per split, and print its size."""
    from logicgen.cli.progress import stage_bars
    from logicgen.data.corpus import make_corpus, read_corpus_recipe

    name, read = Path(recipe).stem, read_corpus_recipe(recipe)
    with stage_bars("parts") as progress:
        made = make_corpus(read, folder, name=name, seed=seed, progress=progress)
    sizes = ", ".join(f"{split} {part['tokens']:,}" for split, part in made["splits"].items())
    click.echo(f"{folder}: {len(made['tokens']['texts']):,} different tokens; {sizes}", err=True)


def _write_dimacs(folder: Path, target: Path) -> None:
    from logicgen.data.dataset import load_dataset
    from logicgen.data.dimacs_export import write_dimacs

    data = load_dataset(folder)
    for split in (split for split, examples in data.splits.items() if examples):
        examples = zip(
            *(c.to_pylist() for c in data.table(split, ["problem", "answer"])), strict=True
        )
        count = write_dimacs(examples, target / split, f"{data.name} {split}")
        click.echo(f"{target / split}: {count:,} .cnf files", err=True)


def generate_with_bars(
    recipe: DataRecipe, folder: Path, *, name: str, seed: int, workers: int
) -> None:
    """Run `generate` with one progress bar per split, and print what was made."""
    from logicgen.cli.progress import stage_bars
    from logicgen.data.generate import generate

    with stage_bars("examples") as bars:
        description = generate(
            recipe,
            folder,
            name=name,
            seed=seed,
            workers=workers,
            progress=lambda split, done, total: bars(f"{name} {split}", done, total),
        )
    splits = description["splits"].values()
    short, cells = (sum(split[key] for split in splits) for key in ("cells_short", "cells"))
    click.echo(f"{folder}: {description['examples']:,} verified examples", err=True)
    for split, content in description["splits"].items():
        if not content["examples"]:
            click.echo(f"  {split} is EMPTY: too few such problems exist", err=True)
    if short:
        click.echo(
            f"  {short:,} of {cells:,} cells hold fewer than asked for, because no more exist or "
            f"were found: see {folder / 'cells.csv'}",
            err=True,
        )
