"""`logicgen covariance`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from logicgen.cli.options import SCORING, integer_option
from logicgen.cli.terminal import put, say


@click.command("covariance")
@SCORING
@click.option("--split", default="test", show_default=True)
@integer_option(
    "--limit", 100, help="At most so many problems, over all cells; each is asked up to 120 times."
)
def command(
    run: Path,
    data: Path,
    split: str,
    out: Path | None,
    device: str,
    beams: int | None,
    ensemble: int,
    **options: Any,
) -> None:
    """Measure whether renaming a problem's symbols renames the answer of the model in RUN.

    Alpha-covariance is 1 if it does nothing else, 0 if each renaming has another answer. Writes
    covariance.json, a value per problem, a box plot, and all predictions.
    """
    from logicgen.atomic import prepare_folder
    from logicgen.cli.progress import stage_bars
    from logicgen.data.dataset import load_dataset
    from logicgen.evaluate.covariance import predict_renamed
    from logicgen.evaluate.predictions import About, check_fits
    from logicgen.model.checkpoint import load_model, scores_folder
    from logicgen.nn.decoding import BeamSearch
    from logicgen.report.covariance_files import write_covariance

    dataset, model = load_dataset(data), load_model(run, device)
    about = About.of(model, run.resolve().name, dataset, split)
    check_fits(model, dataset, about, ensemble)
    folder = out or scores_folder(run, split)
    prepare_folder(folder)  # before anything slow
    options |= {"decoding": BeamSearch(beams or 1), "ensemble": ensemble}
    with stage_bars("answers") as progress:
        table = predict_renamed(model, dataset, about, progress=progress, **options)
    summary = write_covariance(table, folder)
    put("mean, median [quartiles] of the alpha-covariance of problems")
    put(f"{'symbols':>7} {'problems':>8}  {'exact strings':<27} up to equivalence")
    for symbols, part in [*summary["by_symbols"].items(), ("all", summary["overall"])]:
        texts = [_distribution(part[name]) for name in ("strings", "equivalence")]
        put(f"{symbols:>7} {part['problems']:>8,}  {texts[0]:<27} {texts[1]}")
    if summary["without_renamings"]:
        put(
            f"{summary['without_renamings']:,} further problems can only be named in one way and "
            "have no value"
        )
    say(f"box plot: {folder / 'covariance.png'}")


def _distribution(part: dict[str, float]) -> str:
    return "{mean:.3f}, {median:.3f} [{lower_quartile:.3f}, {upper_quartile:.3f}]".format(**part)
