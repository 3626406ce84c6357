"""`logicgen evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("evaluate")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="Folder of a data set."
)
@click.option("--split", default="grid", show_default=True)
@click.option(
    "--limit", type=click.IntRange(min=1), help="At most so many examples, over all cells."
)
@click.option(
    "--embedding-seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Repeat with so many draws of the random parts of the embedding.",
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Folder; RUN/SPLIT if not given."
)
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    help="Seconds per answer.",
)
@click.option(
    "--grammar/--no-grammar", default=True, help="Whether decoding only writes what parses [yes]."
)
def command(run: Path, data: Path, out: Path | None, **options: Any) -> None:
    """Score the model in RUN on a split of a data set, with the solver, cell by cell.

    Writes predictions.parquet and, made from it alone, summary.json, cells.csv, a heat map, and
    pictures by number of symbols and by length. [low, high] is a 95% interval over problems.
    """
    evaluate_with_bars(run, data, out, **options)


def evaluate_with_bars(
    run: Path,
    data: Path,
    out: Path | None = None,
    *,
    split: str = "grid",
    device: str = "auto",
    timeout: float = 10.0,
    **options: Any,
) -> dict[str, Any]:
    """Evaluate behind progress bars, say what came out and where it is; returns the summary."""
    from logicgen.cli.progress import progress_bars
    from logicgen.data.dataset import load_dataset
    from logicgen.evaluate.report import PARTS, percent, write_report
    from logicgen.evaluate.score import (
        About,
        predict_and_verify,
        prepare_folder,
        write_predictions,
    )
    from logicgen.train.checkpoint import load_model

    dataset = load_dataset(data)
    model = load_model(run, device)
    about = About.of(model, run.resolve().name, dataset, split)
    folder = out or run / split
    prepare_folder(folder)  # before anything slow
    with progress_bars("answers") as bars:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        table = predict_and_verify(
            model, dataset, about, seconds=timeout, progress=progress, **options
        )
    write_predictions(table, folder)
    summary = write_report(folder)
    for name, called in PARTS.items():
        if name in summary:
            score = summary[name]
            line = f"{called:<28} {percent(score):>20} right of {score['examples']:,}"
            if "edit_distance" in score:
                line += f", edit distance {score['edit_distance']:.2f}"
            click.echo(line)
    for name, called in (("heatmap", "heat map"), ("symbols", "symbols"), ("lengths", "lengths")):
        click.echo(f"{called}: {folder / name}.png", err=True)
    return summary
