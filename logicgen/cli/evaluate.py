"""`logicgen evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from logicgen.cli.number import Number
from logicgen.cli.scoring import scoring_options
from logicgen.errors import LogicgenError


@click.command("evaluate")
@scoring_options
@click.option("--split", default="grid", show_default=True)
@click.option(
    "--limit", type=click.IntRange(min=1), help="At most so many examples, over all cells."
)
@click.option(
    "--length-normalization",
    type=Number(min=0),
    help="Of beam search: the exponent of the length that log-probabilities are divided by [1].",
)
@click.option("--sample", is_flag=True, help="Draw answers at random.")
@click.option(
    "--temperature",
    type=Number(min=0, min_open=True),
    help="Of random draws (--sample, --verified) [1].",
)
@click.option("--top-k", type=click.IntRange(min=1), help="Draw from the K likeliest tokens.")
@click.option(
    "--top-p",
    type=Number(min=0, max=1, min_open=True),
    help="Draw from the nucleus: the fewest tokens with this probability.",
)
@click.option(
    "--verified",
    metavar="N",
    type=click.IntRange(min=1),
    help="Score also the first of up to N answers that the solver accepts: the prediction, then"
    " random draws.",
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--timeout",
    type=Number(min=0, min_open=True),
    default=10.0,
    help="Seconds per answer.",
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
    beams: int | None = None,
    length_normalization: float | None = None,
    sample: bool = False,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    verified: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Evaluate behind progress bars, say what came out and where it is; returns the summary."""
    random = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    random = {name: value for name, value in random.items() if value is not None}
    search = {"beams": beams, "length_normalization": length_normalization}
    search = {name: value for name, value in search.items() if value is not None}
    _fit_together(search, random, sample, verified)

    from logicgen.cli.progress import progress_bars
    from logicgen.data.dataset import load_dataset
    from logicgen.evaluate.report import PARTS, percent, write_report
    from logicgen.evaluate.score import (
        About,
        check_fits,
        predict_and_verify,
        prepare_folder,
        write_predictions,
    )
    from logicgen.evaluate.verified import Verified
    from logicgen.nn.decoding import BeamSearch, Decoding, Sampling
    from logicgen.train.checkpoint import load_model, scores_folder

    sampling = Sampling(**random)  # type: ignore[arg-type]
    decoding: Decoding = sampling if sample else BeamSearch(**search)  # type: ignore[arg-type]

    dataset = load_dataset(data)
    model = load_model(run, device)
    about = About.of(model, run.resolve().name, dataset, split)
    check_fits(model, dataset, about, options.get("ensemble", 1))
    folder = out or scores_folder(run, split)
    prepare_folder(folder)  # before anything slow
    with progress_bars("answers") as bars:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        table = predict_and_verify(
            model,
            dataset,
            about,
            seconds=timeout,
            decoding=decoding,
            verified=None if verified is None else Verified(verified, sampling),
            progress=progress,
            **options,
        )
    write_predictions(table, folder)
    summary = write_report(folder)
    for name, called in PARTS.items():
        if name in summary:
            score = summary[name]
            line = f"{called:<28} {percent(score):>20} right of {score['examples']:,}"
            if "edit_distance" in score:
                line += f", edit distance {score['edit_distance']:.2f}"
            if "verified_accuracy" in score:
                line += f"; verified {percent(score, 'verified_accuracy')}"
                line += f" in {score['draws']:.1f} draws on average"
            click.echo(line)
    for name, called in (("heatmap", "heat map"), ("symbols", "symbols"), ("lengths", "lengths")):
        click.echo(f"{called}: {folder / name}.png", err=True)
    return summary


def _fit_together(
    search: dict[str, Any], random: dict[str, Any], sample: bool, verified: int | None
) -> None:
    """Raises LogicgenError where options of decoding contradict each other or say nothing."""

    def named(options: dict[str, Any]) -> str:
        return "--" + next(iter(options)).replace("_", "-")

    if sample and search:
        raise LogicgenError(f"--sample and {named(search)}: draw answers or search for them")
    if "length_normalization" in search and search.get("beams", 1) == 1:
        raise LogicgenError("--length-normalization: one beam finds one answer; give --beams")
    if random and not sample and verified in (None, 1):
        raise LogicgenError(f"{named(random)}: nothing is drawn; give --sample or --verified N")
