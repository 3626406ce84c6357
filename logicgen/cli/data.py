"""Commands on data: `logicgen generate`, `list`, `convert` and `export`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logicgen import library
from logicgen.cli.options import (
    DATA,
    PAGE,
    PATH,
    SEED,
    DataPath,
    LocalPath,
    OutPath,
    changes_option,
    engine_options,
    integer_option,
)
from logicgen.cli.terminal import is_standard_output, put, say, stage_bars
from logicgen.errors import LogicgenError, printable

if TYPE_CHECKING:
    from rich.console import Console

SHIPPED = ["tasks", "datasets", "models", "studies", "solvers"]
ENVIRONMENT = "environment"


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
    "--size",
    help="Number of examples in train, validation and test. A smaller number makes the grid"
    " smaller, too.",
)
@changes_option("sizes.train=1000")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    help="All cores if not given.",
)
@engine_options
def generate(recipe: str, out: Path | str | None, **settings: Any) -> None:
    """Make the data set of RECIPE, a shipped name or the path of a TOML file.

    After an interruption the same command continues where it stopped. The bytes depend neither on
    interruptions nor on the number of workers.
    """
    folder = out or Path("data") / Path(recipe).stem
    try:
        library.make_data(recipe, folder, bars=stage_bars, say=say, **settings)
    except KeyboardInterrupt as stopped:
        raise type(stopped)("stopped: run the same command to continue") from None


@click.command("list")
@click.argument("kind", required=False, type=click.Choice([*SHIPPED, ENVIRONMENT]))
@click.option(
    "--html", type=PAGE, metavar="FILE.html", help="Write a page with examples of every recipe."
)
def list_(kind: str | None, html: Path | None) -> None:
    """List the shipped tasks, data-set recipes, model recipes, studies and solvers.

    `generate`, `train` and `study` take the name of a recipe, or the path of a TOML file.
    `logicgen list environment` lists versions, devices and solvers, and how to install missing
    solvers.
    """
    from rich.console import Console

    if html is not None:
        if kind:
            raise LogicgenError("--html: the page always shows all recipes: leave KIND out")
        library.write_gallery(html, stage_bars)
        say(f"gallery: {html}")
        return
    if kind == ENVIRONMENT:
        for label, text in library.environment():
            put(f"{label:<11} {text}")
        return
    console = Console()
    # Capture the text and print it with click: if the output is closed, rich would exit with
    # status 1.
    with console.capture() as captured:
        _print_catalog(console, kind)
    put(captured.get(), nl=False)
    if not kind:
        put("versions, devices and available solvers: logicgen list environment")


def _print_catalog(console: Console, kind: str | None) -> None:
    """Print a table for each kind of shipped things, such as tasks, or only for `kind`."""
    from rich.table import Table
    from rich.text import Text

    for each in [kind] if kind else SHIPPED:
        table = Table(title=each, title_justify="left", box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True, style="bold")
        table.add_column(overflow="fold")
        for row in library.catalog(each):
            # Print the text as it is: no markup in [brackets], no control characters.
            table.add_row(*(Text(printable(cell)) for cell in row))
        console.print(table)
        if not kind:
            console.print()


@click.command("convert")
@click.option("--task", required=True, help="A name from `logicgen list tasks`.")
@click.option("--split", help="The split of a data-set folder [train].")
@click.option(
    "--to",
    "notation",
    type=click.Choice(["infix", "prefix", "unicode", "latex"]),
    help="Write problems in this notation instead.",
)
@click.argument("source", type=DataPath(), metavar="SOURCE|PROBLEM")
@click.argument("target", type=LocalPath(allow_dash=True), metavar="[TARGET]", required=False)
def convert(task: str, split: str | None, notation: Any, source: str, target: str | None) -> None:
    """Turn examples into another format, or (with --to) problems into another notation.

    With --to, convert one PROBLEM, or the file SOURCE into the file TARGET. A file has a problem a
    line, or JSON lines with problem and answer (- is stdin or stdout).

    Without --to, SOURCE is a data-set folder or its URL, a .jsonl file with problem and answer, a
    .txt file, a .cnf file, or a folder of .cnf files. TARGET ends in .txt, in .jsonl, or in / for a
    folder of .cnf files. A .txt file has two lines for each example, as in DeepLTL-style code.

    \b
    logicgen convert --task ltl --to latex "a U b"
    logicgen convert --task ltl --to prefix formulas.txt prefix.txt
    logicgen convert --task ltl data/ltl-35 --split test test.txt
    logicgen convert --task ltl test.txt test.jsonl
    logicgen convert --task propositional data/propositional-cnf --split test test/
    """
    if split is not None and (
        notation is not None or str(source).endswith((".txt", ".jsonl", ".cnf"))
    ):
        raise click.UsageError("--split goes with the folder of a data set, and without --to")
    if notation is not None:
        _convert_notation(task, notation, source, target)
        return
    if target is None:
        raise click.UsageError("give SOURCE and TARGET, or --to NOTATION and a PROBLEM")
    count = library.convert(task, source, target, split=split or "train")
    say(f"{Path(target)}: {count:,} examples")


def _convert_notation(task: str, notation: Any, source: str, target: str | None) -> None:
    """Print the problem `source` in a notation, or convert the lines of the file `source`."""
    if target is None and source != "-":
        put(library.convert_notation(task, source, notation))
        if note := library.reading_note(task, source):
            say(note)
        return
    lines = library.convert_lines(task, source, notation)
    if is_standard_output(target):
        for line in lines:
            put(line)
    else:
        library.write_texts(Path(str(target)), (f"{line}\n" for line in lines))


@click.command("export")
@click.argument("source", type=DATA)
@click.argument("target", type=PATH)
@click.option("--name", help="Name of the model in its card; TARGET's name if not given.")
@click.option(
    "--description", help="Description of the model; the recipe's description if not given."
)
@click.option(
    "--mean",
    metavar="RUN=SHARE",
    multiple=True,
    help="Write a weighted mean of SOURCE's weights and those of RUN. May be repeated; SOURCE"
    " has the remaining share.",
)
@click.option(
    "--for",
    "kind",
    metavar="FORMAT",
    help="Format of prompts: jsonl, lm-eval, openrlhf, sft, trl or verl.",
)
@click.option(
    "--examples", type=click.IntRange(min=0), default=0, help="Worked examples in a prompt [0]."
)
@click.option(
    "--notation",
    type=click.Choice(["infix", "prefix"]),
    default="infix",
    help="Notation of formulas in prompts [infix].",
)
def export(
    source: Path,
    target: Path,
    name: str | None,
    description: str | None,
    mean: tuple[str, ...],
    kind: str | None,
    examples: int,
    notation: str,
) -> None:
    """Write a trained model for publication, or a data set as prompts, into the folder TARGET.

    SOURCE is the folder of a trained model. The weights are written in half precision, with a model
    card. Without --mean, the card contains all scores in SOURCE. With --for, SOURCE is a data set,
    and each split becomes a file of prompts for trainers of language models.

    \b
    logicgen export runs/ltl-symbol-invariant my-model
    logicgen export runs/a mean --mean runs/b=0.4 --mean ltl=0.2
    logicgen export data/ltl-35 prompts --for trl
    """
    if kind is None:
        if examples or notation != "infix":
            raise click.UsageError("--examples and --notation go with --for: give --for, too")
        shares = [_share(each) for each in mean]
        size = library.export_model(source, target, name, description, shares)
        say(f"{target}: {size / 2**20:.2f} MiB")
        return
    for option, given in (("--name", name), ("--description", description), ("--mean", mean)):
        if given:
            raise click.UsageError(f"{option} goes with a model, --for with data: leave one out")
    counts = library.export_prompts(
        source, target, kind, examples=examples, notation=notation, bars=stage_bars
    )
    sizes = ", ".join(f"{split} {count:,}" for split, count in counts.items())
    say(f"{target}: prompts for {kind}: {sizes}")


def _share(text: str) -> tuple[str, float]:
    """Return the run and the share in a text RUN=SHARE."""
    run, equals, share = text.rpartition("=")
    try:
        return run, float(share if equals and run else "")
    except ValueError:
        raise click.UsageError(f"--mean {text}: give RUN=SHARE, such as runs/b=0.4") from None
