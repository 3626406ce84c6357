"""`logicgen evaluate`."""

from __future__ import annotations

from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logicgen.cli import options as opt
from logicgen.cli.options import REPLIES, check_no_replies, check_options
from logicgen.cli.terminal import put, say
from logicgen.errors import LogicgenError

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset

_CORPUS = ("context", "beyond")  # options that go with a corpus alone
_OF_REPLIES = (
    *("run", "data", "out", "split", "workers", "timeout", "mode", "mixed_prompts"),
    *("engine", "address"),
)
_BOTH = ("run", "data", "out", "device", "split", "limit", "embedding_seeds")


@click.command("evaluate")
@opt.SCORING
@click.option("--split", help="grid if not given; test of a corpus.")
@opt.integer_option("--limit", help="At most so many examples, over all cells, or sequences [256].")
@opt.integer_option(
    "--context",
    least=2,
    help="Of a corpus: tokens of a sequence; those of training if not given.",
)
@opt.integer_option("--beyond", 100, help="Of a corpus: also tell means from this position on.")
@click.option(
    "--length-normalization",
    type=opt.Number(min=0),
    help="Of beam search: the exponent of the length that log-probabilities are divided by [1].",
)
@click.option("--sample", is_flag=True, help="Draw answers at random.")
@opt.sampling_options("random draws (--sample, --verified)")
@opt.integer_option(
    "--votes",
    metavar="N",
    help="With --sample, of language models: the most frequent of N answers drawn.",
)
@opt.integer_option(
    "--verified",
    metavar="N",
    help="Score also the first of up to N different answers that the solver accepts: the"
    " prediction, then random draws.",
)
@opt.integer_option(
    "--reset-rows",
    least=0,
    metavar="SEED",
    help="Redraw the trained rows of symbols that never occur in training, as those that do.",
)
@opt.WORKERS
@click.option("--timeout", type=opt.POSITIVE, default=10.0, help="Seconds per answer.")
@REPLIES
@opt.engine_options
def command(run: Path, data: Path, out: Path | None, **options: Any) -> None:
    """Score the model in RUN on a split of a data set, with the solver, cell by cell.

    REPLIES is what any other model wrote: JSON lines with `completion` and `row` or `problem`, or a
    log of Inspect (`.eval`).

    Writes predictions.parquet and, made from it alone, summary.json, cells.csv, a heat map,
    pictures by number of symbols and by length, and report.html, a page with all answers. [low,
    high] is a 95% interval over problems.

    A language model is asked look-up and permutation problems as prompts. On a corpus its
    perplexity is measured by position; on one from an automaton, also how far it is from the truth.
    """
    replies = isfile(run)
    if replies:
        check_options(_OF_REPLIES, "replies are given, and no model is asked")
    else:
        check_no_replies(run)
    mode, mixed = options.pop("mode"), options.pop("mixed_prompts")
    _decoding(**options)  # complains

    from logicgen.data.opening import as_corpus, as_dataset, load_dataset

    opened = load_dataset(data)
    if replies:
        kept = {name: options[name] for name in ("split", "workers", "timeout")}
        kept |= {"mode": mode or "strict", "mixed_prompts": mixed}
        return _judge_replies(run, as_dataset(opened), out, **kept)
    problems = opened.holds == "problems"
    for parameter in opt.changed():
        name = str(parameter.name)
        if problems and name in _CORPUS:
            raise LogicgenError(f"{opt.flag(name)}: {data} is not a corpus; leave it out")
        if not problems and name not in _CORPUS + _BOTH:
            raise LogicgenError(f"{opt.flag(name)}: a corpus has no answers; leave it out")
    if problems:
        options["split"] = options["split"] or "grid"
        answering = {name: options[name] for name in options if name not in _CORPUS}
        evaluate_with_bars(run, as_dataset(opened), out, **answering)
    else:
        reading = {name: options[name] for name in options if name in _CORPUS + _BOTH}
        _measure_perplexity(run, as_corpus(opened), out, **reading)


def _judge_replies(path: Path, dataset: Dataset, out: Path | None, **settings: Any) -> None:
    """Judge a file of replies behind a progress bar, and print what came out."""
    from logicgen.cli.terminal import stage_bars
    from logicgen.integrations.reply_files import read_replies
    from logicgen.measures.evaluation import evaluate_replies

    entries = read_replies(path)
    with stage_bars("replies") as bars:
        folder, summary = evaluate_replies(entries, path, dataset, out, progress=bars, **settings)
    split, asked = summary["split"], summary["overall"]["examples"]
    if asked < (there := dataset.splits[split]):
        say(f"{asked:,} of the {there:,} problems of {split} have replies")
    print_scores(summary, folder)


def _measure_perplexity(
    run: Path, corpus: Corpus, out: Path | None, *, split: str | None, **settings: Any
) -> None:
    """Measure perplexity behind a progress bar, and print what came out."""
    from logicgen.cli.terminal import stage_bars
    from logicgen.measures.curves import FIGURE, summary_lines
    from logicgen.measures.evaluation import evaluate_corpus

    settings |= {"split": split or "test", "limit": settings["limit"] or 256}
    with stage_bars("sequences") as bars:
        folder, summary = evaluate_corpus(run, corpus, out, progress=bars, say=say, **settings)
    for line in summary_lines(summary):
        put(line)
    say(f"by position: {folder / FIGURE}.png")


def evaluate_with_bars(
    run: Path,
    dataset: Dataset,
    out: Path | None = None,
    *,
    sample: bool = False,
    verified: int | None = None,
    votes: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Evaluate behind progress bars, print what came out and where, and return the summary."""
    search, random = _decoding(sample=sample, verified=verified, votes=votes, **options)
    others = {name: options[name] for name in options if name not in opt.SEARCH + opt.RANDOM}

    from logicgen.cli.terminal import stage_bars
    from logicgen.measures.evaluation import evaluate_answers
    from logicgen.measures.verified import Verified
    from logicgen.nn.decoding import BeamSearch
    from logicgen.nn.samples import Sampling

    sampling = Sampling(**random)
    with stage_bars("answers") as bars:
        folder, summary = evaluate_answers(
            run,
            dataset,
            out,
            votes=votes,
            decoding=sampling if sample else BeamSearch(**search),
            verified=None if verified is None else Verified(verified, sampling),
            progress=bars,
            say=say,
            **others,
        )
    print_scores(summary, folder)
    return summary


def print_scores(summary: dict[str, Any], folder: Path) -> None:
    """Print the scores of a summary, and where their pictures are."""
    from logicgen.measures.evaluation_files import PARTS
    from logicgen.report.tables import percent

    for name, called in PARTS.items():
        if name in summary:
            score = summary[name]
            line = f"{called:<28} {percent(score):>20} right of {score['examples']:,}"
            if "edit_distance" in score:
                line += f", edit distance {score['edit_distance']:.2f}"
            if "token_accuracy" in score:
                line += f"; tokens {percent(score, 'token_accuracy')}"
            if "verified_accuracy" in score:
                line += f"; verified {percent(score, 'verified_accuracy')}"
                line += f" in {score['draws']:.1f} draws on average"
            put(line)
    for name, called in (("heatmap", "heat map"), ("symbols", "symbols"), ("lengths", "lengths")):
        say(f"{called}: {folder / name}.png")
    say(f"report, with every answer: {folder / 'report.html'}")


def _decoding(
    *, sample: bool = False, verified: int | None = None, votes: int | None = None, **options: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a search and of random draws that are given.

    Raises LogicgenError where options of decoding contradict each other or say nothing.
    """
    search, random = opt.given(options, opt.SEARCH), opt.given(options, opt.RANDOM)
    if sample and search:
        raise LogicgenError(f"--sample and {opt.flag(*search)}: draw answers or search for them")
    if "length_normalization" in search and search.get("beams", 1) == 1:
        raise LogicgenError("--length-normalization: one beam finds one answer; give --beams")
    if random and not sample and verified in (None, 1):
        raise LogicgenError(f"{opt.flag(*random)}: nothing is drawn; give --sample or --verified N")
    if votes is not None and not sample:
        raise LogicgenError("--votes: nothing is drawn; give --sample")
    if votes is not None and verified is not None:
        raise LogicgenError("--votes and --verified: draws elect an answer, or the solver does")
    return search, random
