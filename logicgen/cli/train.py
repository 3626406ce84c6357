"""`logicgen train`."""

from __future__ import annotations

from pathlib import Path

import click

from logicgen.cli.number import Number


@click.command("train")
@click.argument("model")
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="Folder of a data set."
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Folder; runs/MODEL if not given."
)
@click.option("--steps", type=click.IntRange(min=1), help="Instead of the recipe's number.")
@click.option(
    "--max-minutes",
    type=Number(min=0, min_open=True),
    help="Stop after that long, with a model that can be used or resumed.",
)
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
@click.option("--resume", is_flag=True, help="Go on from the folder's last checkpoint.")
@click.option(
    "--from",
    "start",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Start from the weights of RUN; a learned model becomes a symbol-invariant one.",
)
def command(
    model: str,
    data: Path,
    out: Path | None,
    steps: int | None,
    max_minutes: float | None,
    device: str,
    resume: bool,
    start: Path | None,
) -> None:
    """Train the model of recipe MODEL, a shipped name or the path of a TOML file.

    Interrupted or out of time, it goes on with --resume exactly where it stopped. Watch it with
    tensorboard --logdir OUT/logs.
    """
    folder = out or Path("runs") / Path(model).stem
    train_with_bar(model, data, folder, steps, max_minutes, device, resume, start)
    click.echo(f"{folder}: try logicgen evaluate {folder} --data {data}", err=True)


def train_with_bar(
    model: str,
    data: Path,
    out: Path,
    steps: int | None = None,
    max_minutes: float | None = None,
    device: str = "auto",
    resume: bool = False,
    start: Path | None = None,
) -> None:
    """Train behind a progress bar."""
    from logicgen.data.opening import open_data
    from logicgen.model.model_recipe import read_model_recipe

    recipe, opened = read_model_recipe(model), open_data(data)  # before anything slow

    from logicgen.train.fit import fit, training_data

    fit(
        recipe,
        training_data(recipe, opened),
        out,
        steps=steps,
        max_minutes=max_minutes,
        device=device,
        resume=resume,
        start=start,
    )
