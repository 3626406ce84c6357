"""`logicgen export`."""

from __future__ import annotations

from pathlib import Path

import click

from logicgen.cli.options import PATH
from logicgen.cli.terminal import say


@click.command("export")
@click.argument("run", type=PATH)
@click.argument("target", type=PATH)
@click.option("--name", help="What the card calls the model; TARGET's name if not given.")
def command(run: Path, target: Path, name: str | None) -> None:
    """Write the model of RUN into the folder TARGET to be passed on: half precision, with a card.

    The card tells what scores RUN/grid and RUN/test hold, if they do.
    """
    from logicgen.report.export import export

    size = export(run, target, name or target.resolve().name)
    say(f"{target}: {size / 2**20:.2f} MiB")
