"""`logicgen train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from logicgen.cli.options import (
    DATA,
    DEVICE,
    PATH,
    POSITIVE,
    data_option,
    integer_option,
    out_option,
)
from logicgen.cli.terminal import say
from logicgen.library import train


@click.command("train")
@click.argument("model")
@data_option()
@out_option("Folder; runs/MODEL if not given.")
@integer_option("--steps", help="Instead of the recipe's number.")
@click.option(
    "--max-minutes",
    type=POSITIVE,
    help="Stop after that long, with a model that can be used or resumed.",
)
@DEVICE
@integer_option(
    "--devices", 1, help="Train on so many of this machine's at once: GPUs, or on a CPU its cores."
)
@click.option("--resume", is_flag=True, help="Go on from the folder's last checkpoint.")
@click.option(
    "--from",
    "start",
    type=PATH,
    metavar="RUN",
    help="Start from the weights of RUN; a learned model becomes a symbol-invariant one.",
)
@click.option(
    "--learn",
    type=click.Choice(["answers", "everything", "right", "accepted"]),
    help="Instead of the recipe's training.learn: stored answers; problems and answers; every token"
    " that leads to a right answer; or, --from a trained model, answers of its own that are"
    " accepted by the verifier ([reward] of the recipe).",
)
@click.option(
    "--held-out",
    type=DATA,
    multiple=True,
    metavar="DATA",
    help="With --learn accepted: a data set whose problems, but those to train on, it must not see;"
    " those of --data it does not, either. May be repeated.",
)
@integer_option("--workers", 1, help="With --learn accepted: processes that judge.")
def command(model: str, data: Path, out: Path | None, **settings: Any) -> None:
    """Train the model of recipe MODEL, a shipped name or the path of a TOML file.

    Interrupted or out of time, it goes on with --resume exactly where it stopped. Watch it with
    tensorboard --logdir OUT/logs.
    """
    folder = out or Path("runs") / Path(model).stem
    train(model, data, folder, quiet=False, torchrun=True, say=say, **settings)
