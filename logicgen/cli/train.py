"""The command `logicgen train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from logicgen.cli.options import (
    DATA,
    DEVICE,
    PATH,
    POSITIVE,
    changes_option,
    data_option,
    integer_option,
    out_option,
)
from logicgen.cli.terminal import say
from logicgen.library import train


@click.command("train")
@click.argument("model")
@data_option(
    "Folder of a data set, or its URL. May be repeated: the model learns the training examples of"
    " all, except problems that another one holds out. Validation examples come from the first.",
    multiple=True,
)
@out_option("Folder; runs/MODEL if not given.")
@changes_option("embedding.max_symbols=10")
@integer_option("--steps", help="Training steps; the recipe's number if not given.")
@click.option(
    "--max-minutes",
    type=POSITIVE,
    help="Stop after this time. The model can then be used, or trained further with --resume.",
)
@DEVICE
@integer_option("--devices", 1, help="Number of GPUs, or of processes on a CPU, to train on.")
@click.option("--resume", is_flag=True, help="Continue from the last checkpoint in the folder.")
@click.option(
    "--from",
    "start",
    type=PATH,
    metavar="RUN",
    help="Start from the weights of RUN. Turns learned into symbol-invariant embeddings.",
)
@click.option(
    "--learn",
    type=click.Choice(["answers", "everything", "right", "accepted"]),
    help="Learn stored answers (answers), problems and answers (everything), or every token that"
    " leads to a right answer (right). With --from, accepted learns the model's own answers that"
    " the verifier accepts ([reward] of the recipe). If not given, training.learn of the recipe.",
)
@click.option(
    "--held-out",
    type=DATA,
    multiple=True,
    metavar="DATA",
    help="With --learn accepted: exclude the held-out splits of this data set from training. The"
    " held-out splits of --data are always excluded. May be repeated.",
)
@integer_option(
    "--workers",
    1,
    help="With --learn accepted: processes that verify answers and draw problems.",
)
def command(model: str, data: tuple[Path, ...], out: Path | None, **settings: Any) -> None:
    """Train the model of recipe MODEL, a shipped name or the path of a TOML file.

    After an interruption, or after --max-minutes, --resume continues exactly where training
    stopped. Watch the loss with tensorboard --logdir OUT/logs.
    """
    folder = out or Path("runs") / Path(model).stem
    train(model, data, folder, quiet=False, torchrun=True, say=say, **settings)
