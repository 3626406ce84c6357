"""`logicgen evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logicgen.cli.number import Number
from logicgen.cli.scoring import scoring_options
from logicgen.errors import LogicgenError

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset


@click.command("evaluate")
@scoring_options
@click.option("--split", help="grid if not given; test of a corpus.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="At most so many examples, over all cells, or sequences [256].",
)
@click.option(
    "--context",
    type=click.IntRange(min=2),
    help="Of a corpus: tokens of a sequence; those of training if not given.",
)
@click.option(
    "--beyond",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Of a corpus: also tell means from this position on.",
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
    "--votes",
    metavar="N",
    type=click.IntRange(min=1),
    help="With --sample, of language models: the most frequent of N answers drawn.",
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

    A language model is asked look-up and permutation problems as prompts. On a corpus its
    perplexity is measured by position; on one from an automaton, also how far it is from the truth.
    """
    _check_decoding(**{name: options[name] for name in _DECODING})

    from logicgen.data.opening import as_corpus, as_dataset, open_data

    opened = open_data(data)
    corpus = {name: options.pop(name) for name in ("context", "beyond")}
    if opened.holds == "problems":
        for name, default in (("context", None), ("beyond", 100)):
            if corpus[name] != default:
                raise LogicgenError(f"--{name}: {data} is not a corpus; leave it out")
        options["split"] = options["split"] or "grid"
        evaluate_with_bars(run, as_dataset(opened), out, **options)
    else:
        read_with_bars(run, as_corpus(opened), out, **options, **corpus)


def read_with_bars(
    run: Path,
    corpus: Corpus,
    out: Path | None,
    *,
    split: str | None,
    limit: int | None,
    context: int | None,
    beyond: int,
    embedding_seeds: int,
    device: str,
    **others: Any,
) -> dict[str, Any]:
    """Measure perplexity behind a progress bar, print what came out, and return the summary."""
    given = {name: value for name, value in others.items() if value != _DEFAULTS.get(name)}
    if given:
        name = next(iter(given)).replace("_", "-")
        raise LogicgenError(f"--{name}: a corpus has no answers; leave it out")

    from logicgen.atomic import prepare_folder
    from logicgen.cli.progress import stage_bars
    from logicgen.evaluate.perplexity import measure_perplexity
    from logicgen.model.checkpoint import (
        CARD,
        find_run,
        load_json,
        load_language_model,
        scores_folder,
    )
    from logicgen.report.perplexity_files import FIGURE, summary_lines, write_curve

    model = load_language_model(run, device)
    split = split or "test"
    folder = out or scores_folder(run, f"{corpus.name}-{split}")
    prepare_folder(folder)
    if (trained := load_json(find_run(run) / CARD).get("data")) != corpus.fingerprint:
        click.echo(
            f"{run} was trained on other data ({trained}) than {corpus.folder}: what is read here"
            " may have been trained on",
            err=True,
        )
    with stage_bars("sequences") as progress:
        curve = measure_perplexity(
            model,
            corpus,
            run.resolve().name,
            split=split,
            limit=limit or 256,
            context=context,
            embedding_seeds=embedding_seeds,
            beyond=beyond,
            progress=lambda done, total: progress("reading", done, total),
        )
    summary = write_curve(curve, folder)
    for line in summary_lines(summary):
        click.echo(line)
    click.echo(f"by position: {folder / FIGURE}.png", err=True)
    return summary


# What options of answers are when they are not given.
_DEFAULTS: dict[str, Any] = {
    "ensemble": 1,
    "grammar": True,
    "sample": False,
    "workers": 1,
    "timeout": 10.0,
}


def evaluate_with_bars(
    run: Path,
    dataset: Dataset,
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
    votes: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Evaluate behind progress bars, print what came out and where, and return the summary."""
    search, random = _check_decoding(
        beams, length_normalization, sample, temperature, top_k, top_p, verified, votes
    )

    from logicgen.atomic import prepare_folder
    from logicgen.cli.progress import progress_bars
    from logicgen.evaluate.predictions import About, check_fits, predict_and_verify
    from logicgen.evaluate.verified import Verified
    from logicgen.model.checkpoint import open_model, scores_folder
    from logicgen.nn.decoding import BeamSearch, Decoding, Sampling
    from logicgen.report.evaluation_files import PARTS, write_predictions, write_report
    from logicgen.report.tables import percent

    sampling = Sampling(**random)
    decoding: Decoding = sampling if sample else BeamSearch(**search)

    model = open_model(run, device).answerer(dataset, str(run), votes)
    about = About.of(model, run.resolve().name, dataset, split)
    check_fits(model, dataset, about, options.get("ensemble", 1))
    # Scores on data of a task that it was not trained on stand beside those of its own.
    folder = out or scores_folder(
        run, split if model.trained_on_task else f"{dataset.name}-{split}"
    )
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


_DECODING = (
    "beams",
    "length_normalization",
    "sample",
    "temperature",
    "top_k",
    "top_p",
    "verified",
    "votes",
)


def _check_decoding(
    beams: int | None,
    length_normalization: float | None,
    sample: bool,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    verified: int | None,
    votes: int | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the given options of a search and of random draws, once they fit together."""
    random = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    random = {name: value for name, value in random.items() if value is not None}
    search = {"beams": beams, "length_normalization": length_normalization}
    search = {name: value for name, value in search.items() if value is not None}
    _fit_together(search, random, sample, verified, votes)
    return search, random


def _fit_together(
    search: dict[str, Any],
    random: dict[str, Any],
    sample: bool,
    verified: int | None,
    votes: int | None,
) -> None:
    """Raise LogicgenError where options of decoding contradict each other or say nothing."""

    def named(options: dict[str, Any]) -> str:
        return "--" + next(iter(options)).replace("_", "-")

    if sample and search:
        raise LogicgenError(f"--sample and {named(search)}: draw answers or search for them")
    if "length_normalization" in search and search.get("beams", 1) == 1:
        raise LogicgenError("--length-normalization: one beam finds one answer; give --beams")
    if random and not sample and verified in (None, 1):
        raise LogicgenError(f"{named(random)}: nothing is drawn; give --sample or --verified N")
    if votes is not None and not sample:
        raise LogicgenError("--votes: nothing is drawn; give --sample")
    if votes is not None and verified is not None:
        raise LogicgenError("--votes and --verified: draws elect an answer, or the solver does")
