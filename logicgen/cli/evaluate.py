"""`logicgen evaluate`, and `covariance`, `collapse` and `probe` of `logicgen measure`."""

from __future__ import annotations

from os.path import isfile
from pathlib import Path
from typing import Any

import click

from logicgen import library
from logicgen.cli import options as opt
from logicgen.cli.options import REPLIES, check_no_replies, check_options
from logicgen.cli.terminal import put, say, stage_bars
from logicgen.errors import LogicgenError

_CORPUS = ("context", "beyond")  # options that go with a corpus alone
_OF_REPLIES = (
    *("run", "data", "out", "split", "workers", "timeout", "mode", "mixed_prompts"),
    *("engine", "address"),
)
_BOTH = ("run", "data", "out", "device", "split", "limit", "embedding_seeds")
_RENAMED_REPLIES = ("run", "data", "out", "split", "mode", "mixed_prompts")
_OF_PROMPTS = ("run", "data", "split", "limit", "prompts")


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
def evaluate(run: Path, data: Path, out: Path | None, **options: Any) -> None:
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
    search, random = decoding_of(**options)

    opened = library.load_dataset(data)
    if not replies:
        _check_kind(data, opened.holds == "problems")
    if not replies and opened.holds != "problems":
        _print_perplexity(run, opened, out, **options)
        return
    if replies:
        kept = {name: options[name] for name in ("split", "workers", "timeout")}
        kept |= {"mode": mode or "strict", "mixed_prompts": mixed}
        folder, summary = library.judge_replies(run, opened, out, bars=stage_bars, **kept)
        split, asked = summary["split"], summary["overall"]["examples"]
        if asked < (there := opened.splits[split]):
            say(f"{asked:,} of the {there:,} problems of {split} have replies")
    else:
        options["split"] = options["split"] or "grid"
        left_out = _CORPUS + opt.SEARCH + opt.RANDOM
        chosen = {name: options[name] for name in options if name not in left_out}
        folder, summary = library.score_answers(
            run, opened, out, search=search, random=random, bars=stage_bars, say=say, **chosen
        )
    print_scores(summary, folder)


def _print_perplexity(run: Path, corpus: Any, out: Path | None, **options: Any) -> None:
    """Measure and print the perplexity of a language model on a corpus."""
    reading = {name: options[name] for name in options if name in _CORPUS + _BOTH}
    reading |= {"split": options["split"] or "test", "limit": options["limit"] or 256}
    folder, summary = library.measure_perplexity(
        run, corpus, out, bars=stage_bars, say=say, **reading
    )
    for line in library.perplexity_lines(summary):
        put(line)
    say(f"by position: {folder / 'perplexity.png'}")


def _check_kind(data: Path, problems: bool) -> None:
    """Raise LogicgenError for an option that does not go with the kind of the data."""
    for parameter in opt.changed():
        name = str(parameter.name)
        if problems and name in _CORPUS:
            raise LogicgenError(f"{opt.flag(name)}: {data} is not a corpus; leave it out")
        if not problems and name not in _CORPUS + _BOTH:
            raise LogicgenError(f"{opt.flag(name)}: a corpus has no answers; leave it out")


def print_scores(summary: dict[str, Any], folder: Path) -> None:
    """Print the scores of a summary, and where their pictures are."""
    for line in library.score_lines(summary):
        put(line)
    for name, called in (("heatmap", "heat map"), ("symbols", "symbols"), ("lengths", "lengths")):
        say(f"{called}: {folder / name}.png")
    say(f"report, with every answer: {folder / 'report.html'}")


def decoding_of(
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


@click.command("covariance")
@opt.SCORING
@click.option("--split", help="test if not given; of replies the one that they say.")
@opt.integer_option(
    "--limit", 100, help="At most so many problems, over all cells; each is asked up to 120 times."
)
@REPLIES
@click.option(
    "--prompts",
    is_flag=True,
    help="Write the renamed problems into the file REPLIES, to ask another model.",
)
def covariance(
    run: Path,
    data: Path,
    split: str | None,
    out: Path | None,
    mode: Any,
    mixed_prompts: bool,
    prompts: bool,
    **options: Any,
) -> None:
    """Measure whether renaming a problem's symbols renames the answer of the model in RUN.

    Alpha-covariance is 1 if it does nothing else, 0 if each renaming has another answer. Writes
    covariance.json, a value per problem, a box plot, and all predictions.

    \b
    Of any other model, in two commands, between which it is asked:
    logicgen measure covariance prompts.jsonl --data DIR --prompts
    logicgen measure covariance replies.jsonl --data DIR
    Each line of the second file is one of the first, with `completion`.
    """
    if prompts:
        check_options(_OF_PROMPTS, "writes prompts, and no model is asked")
        say(library.write_renamed_prompts(run, data, split or "test", options["limit"]))
        return
    if isfile(run):
        check_options(_RENAMED_REPLIES, "replies are given, and no model is asked")
    else:
        check_no_replies(run)
    options |= {"split": split, "mode": mode, "mixed_prompts": mixed_prompts}
    lines, folder = library.covariance(run, data, out, bars=stage_bars, **options)
    for line in lines:
        put(line)
    say(f"box plot: {folder / 'covariance.png'}")


@click.command("collapse")
@click.argument("run", type=opt.PATH)
@opt.data_option("Folder of the data that the model was trained on.")
@opt.out_option("Folder; RUN/collapse if not given.")
@opt.DEVICE
def collapse(run: Path, data: Path, out: Path | None, device: str) -> None:
    """Tell how alike the rows are of symbols that the training of RUN never showed.

    Such rows can become alike, as inputs and as outputs. Their mean cosine, relative spread and
    effective rank stand beside those of the symbols that occur in training. Writes collapse.json.
    """
    lines, file = library.collapse(run, data, out, device)
    for line in lines:
        put(line)
    say(f"as JSON: {file}")


@click.command("probe")
@click.argument("run", type=opt.PATH)
@opt.data_option("Folder of a corpus of ciphers, or of an automaton's strings.")
@click.option("--split", default="test", show_default=True, help="Whose rows are deciphered.")
@opt.integer_option("--steps", 2000, help="Of training the probe.")
@opt.integer_option("--hidden", 256, help="Width of the probe's inner layer.")
@opt.integer_option(
    "--layer",
    help="Probe the hidden states after this layer of a Transformer alone; after every layer if not"
    " given.",
)
@opt.integer_option(
    "--last", help="Let the probe learn from so many last positions of a row; all if not given."
)
@opt.integer_option("--context", least=2, help="Tokens of a row that are read; all if not given.")
@opt.integer_option("--window", 100, help="Characters whose occurrences vote together.")
@opt.integer_option("--limit", 1000, help="At most so many rows.")
@opt.SEED
@opt.out_option("Folder; RUN/DATA-probe if not given.")
@opt.DEVICE
def probe(
    run: Path,
    data: Path,
    split: str,
    steps: int,
    hidden: int,
    layer: int | None,
    last: int | None,
    seed: int,
    out: Path | None,
    **options: Any,
) -> None:
    """Ask the language model in RUN, left as it is, for the keys of ciphers.

    Trains a probe for each layer, a network of two layers, to say from the model's hidden states
    what each character stands for, or takes those that are in the folder. Shown is the probe with
    the least loss in training. Key precision is the share of the
    symbols in a window whose majority is right; [low, high] is a 95% interval over rows. Below
    stand the controls: what can be found without a model. Writes windows.csv, summary.json and
    pictures of the precision, of a key and of a symbol.
    """
    asked = {"steps": steps, "hidden": hidden, "layer": layer, "last": last, "seed": seed}
    lines, figure = library.probe(
        run, data, out, split=split, probe=asked, bars=stage_bars, **options
    )
    for line in lines:
        put(line)
    say(f"by window: {figure}")
