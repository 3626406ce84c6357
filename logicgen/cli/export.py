"""`logicgen export`."""

from __future__ import annotations

from pathlib import Path

import click

from logicgen.cli.options import DATA, PATH
from logicgen.cli.terminal import say


@click.command("export")
@click.argument("source", type=DATA)
@click.argument("target", type=PATH)
@click.option("--name", help="What the card calls the model; TARGET's name if not given.")
@click.option("--description", help="What it is, in a sentence; that of its recipe if not given.")
@click.option(
    "--for",
    "kind",
    metavar="FORMAT",
    help="A data set as prompts: jsonl, lm-eval, openrlhf, sft, trl or verl.",
)
@click.option(
    "--examples", type=click.IntRange(min=0), default=0, help="Worked examples in each prompt."
)
@click.option(
    "--notation",
    type=click.Choice(["infix", "prefix"]),
    default="infix",
    help="In which prompts write formulas.",
)
def command(
    source: Path,
    target: Path,
    name: str | None,
    description: str | None,
    kind: str | None,
    examples: int,
    notation: str,
) -> None:
    """Write a trained model, or a data set as prompts, into the folder TARGET to be passed on.

    SOURCE is the run of a model, which is written in half precision with a card that tells what
    scores SOURCE/grid and SOURCE/test hold, if they do. With --for it is a data set: each split
    becomes a file of prompts that trainers of language models read.

    \b
    logicgen export runs/ltl-symbol-invariant my-model
    logicgen export data/ltl-35 prompts --for trl
    """
    if kind is None:
        if examples or notation != "infix":
            raise click.UsageError("--examples and --notation are of prompts: give --for, too")
        from logicgen.measures.export import export

        size = export(source, target, name or target.resolve().name, description)
        say(f"{target}: {size / 2**20:.2f} MiB")
        return
    for option, given in (("--name", name), ("--description", description)):
        if given is not None:
            said = f"{option} is of a model, and --for writes prompts: leave one out"
            raise click.UsageError(said)
    from logicgen.cli.progress import stage_bars
    from logicgen.data.dataset import load_dataset
    from logicgen.data.prompts import write_prompts

    with stage_bars("prompts") as progress:
        counts = write_prompts(
            load_dataset(source),
            target,
            kind,
            examples=examples,
            notation=notation,  # type: ignore[arg-type]
            progress=progress,
        )
    said = ", ".join(f"{split} {count:,}" for split, count in counts.items())
    say(f"{target}: prompts for {kind}: {said}")
