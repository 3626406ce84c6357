"""`logicgen train`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from logicgen.cli.options import DEVICE, PATH, POSITIVE, data_option, integer_option, out_option
from logicgen.cli.terminal import say


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
    type=PATH,
    multiple=True,
    metavar="DATA",
    help="With --learn accepted: a data set whose test problems it must not see, beside those of"
    " --data. May be repeated.",
)
@integer_option("--workers", 1, help="With --learn accepted: processes that judge.")
def command(model: str, data: Path, out: Path | None, **settings: Any) -> None:
    """Train the model of recipe MODEL, a shipped name or the path of a TOML file.

    Interrupted or out of time, it goes on with --resume exactly where it stopped. Watch it with
    tensorboard --logdir OUT/logs.
    """
    folder = out or Path("runs") / Path(model).stem
    train(model, data, folder, **settings)
    say(f"{folder}: try logicgen evaluate {folder} --data {data}")


def train(
    model: str,
    data: Path,
    out: Path,
    *,
    learn: str | None = None,
    held_out: Sequence[Path] = (),
    **settings: Any,
) -> None:
    """Train the model of a recipe on the data in a folder, with the settings of `fit`.

    learn: instead of the recipe's `training.learn`. held_out: folders of data sets.
    """
    from logicgen.data.opening import as_dataset, open_data
    from logicgen.model.model_recipe import read_model_recipe

    recipe, opened = read_model_recipe(model), open_data(data)  # before anything slow
    if learn is not None:
        recipe = recipe.learning(learn)
    settings["held_out"] = [as_dataset(open_data(folder)) for folder in held_out]

    from logicgen.train.fit import fit, training_data

    fit(recipe, training_data(recipe, opened), out, **settings)
