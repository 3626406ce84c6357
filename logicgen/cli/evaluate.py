"""The command `logicgen evaluate`, and three commands of `logicgen measure`.

The three commands are `covariance`, `collapse` and `probe`.
"""

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

# Lists of arguments and options of the commands below. A corpus is a data set of texts without
# answers.
# _CORPUS: options of `evaluate` that need a corpus.
# _BOTH: arguments of `evaluate` for a corpus or any other data set.
# _OF_REPLIES: arguments of `evaluate` that may be given with a file of replies.
# _RENAMED_REPLIES: arguments of `covariance` that may be given with a file of replies.
# _OF_PROMPTS: arguments that `covariance --prompts` allows.
_CORPUS = ("context", "beyond")
_OF_REPLIES = (
    *("run", "data", "out", "split", "workers", "timeout", "mode", "mixed_prompts"),
    *("engine", "address", "controls"),
)
# _OF_CIPHERS, _OF_TEXT: arguments of `probe` without and with --text.
_PROBE = ("run", "data", "out", "device", "steps", "hidden", "layer", "last", "context", "seed")
_OF_CIPHERS = (*_PROBE, "split", "window", "matrices", "limit")
_OF_TEXT = (*_PROBE, "text", "symbol", "temperature")
_BOTH = ("run", "data", "out", "device", "split", "limit", "embedding_seeds")
_RENAMED_REPLIES = ("run", "data", "out", "split", "mode", "mixed_prompts")
_OF_PROMPTS = ("run", "data", "split", "limit", "prompts")


@click.command("evaluate")
@opt.SCORING
@click.option("--split", help="Split to evaluate; if not given, grid, and for a corpus test.")
@opt.integer_option(
    "--limit", metavar="N", help="Evaluate at most N examples (for a corpus, N sequences [256])."
)
@opt.integer_option(
    "--context",
    least=2,
    help="For a corpus: tokens in a sequence; as in training if not given.",
)
@opt.integer_option("--beyond", 100, help="For a corpus: also print means from this position on.")
@click.option(
    "--length-normalization",
    type=opt.Number(min=0),
    metavar="A",
    help="For --beams: divide log-probabilities by ((5 + length) / 6)^A [1].",
)
@click.option("--sample", is_flag=True, help="Draw answers at random.")
@opt.sampling_options("random draws (--sample, --verified)")
@opt.integer_option(
    "--votes",
    metavar="N",
    help="With --sample, for language models: take the most frequent of N random answers.",
)
@opt.integer_option(
    "--shots",
    least=0,
    metavar="K",
    help="For language models: K solved training examples before each problem [as in training].",
)
@opt.integer_option(
    "--verified",
    metavar="N",
    help="Also score the first accepted of N answers: the prediction, then likely random answers.",
)
@opt.integer_option(
    "--reset-rows",
    least=0,
    metavar="SEED",
    help="Replace the embeddings of symbols that never occur in training by random draws.",
)
@click.option(
    "--controls/--no-controls",
    default=True,
    help="Whether the task's controls answer the same problems, as often as the model.",
)
@opt.WORKERS
@click.option("--timeout", type=opt.POSITIVE, default=10.0, help="Seconds per answer.")
@REPLIES
@opt.engine_options
def evaluate(run: Path, data: Path, out: Path | None, **options: Any) -> None:
    """Score the model in RUN on a split of a data set, with the solver, cell by cell.

    REPLIES is a file with the answers of any other model: JSON lines with `completion` and `row` or
    `problem`, or a log of Inspect (`.eval`). RUN may also be `control:NAME`, a program that learns
    nothing, such as `control:vote`. Each score contains the best control on the same problems.

    Writes predictions.parquet, summary.json, cells.csv, figures and report.html, a page with all
    answers. [low, high] is a 95% interval over problems.

    A language model gets problems as prompts, after solved examples if it was trained with
    `training.shots`. For a corpus its perplexity is measured by position. If the corpus is from an
    automaton, the model is also compared with the true probabilities.
    """
    replies = isfile(run)
    if replies:
        check_options(_OF_REPLIES, "a file of replies is given, so no model runs")
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
        kept = {name: options[name] for name in ("split", "workers", "timeout", "controls")}
        kept |= {"mode": mode or "strict", "mixed_prompts": mixed}
        folder, summary = library.judge_replies(run, opened, out, bars=stage_bars, **kept)
        split, asked = summary["split"], summary["overall"]["examples"]
        if asked < (size := opened.splits[split]):
            say(f"{asked:,} of the {size:,} problems of {split} have replies")
        if kept["mode"] == "strict" and summary["overall"]["invalid"] == asked:
            say("warning: no reply has an answer in <answer> tags; try --mode tolerant")
    else:
        options["split"] = options["split"] or "grid"
        left_out = _CORPUS + opt.SEARCH + opt.RANDOM
        chosen = {name: options[name] for name in options if name not in left_out}
        folder, summary = library.score_answers(
            run, opened, out, search=search, random=random, bars=stage_bars, say=say, **chosen
        )
    print_scores(summary, folder)


def _print_perplexity(run: Path, corpus: Any, out: Path | None, **options: Any) -> None:
    """Measure and print the perplexity of the language model in `run` on a corpus.

    options: the options of the command `evaluate`; options that a corpus does not allow are
    ignored.
    """
    reading = {name: options[name] for name in options if name in _CORPUS + _BOTH}
    reading |= {"split": options["split"] or "test", "limit": options["limit"] or 256}
    folder, summary = library.measure_perplexity(
        run, corpus, out, bars=stage_bars, say=say, **reading
    )
    for line in library.perplexity_lines(summary):
        put(line)
    say(f"by position: {folder / 'perplexity.png'}")


def _check_kind(data: Path, problems: bool) -> None:
    """Raise LogicgenError if an option is given that has no effect on this kind of data.

    problems: True if the data are problems with answers, False if they are a corpus.
    """
    for parameter in opt.changed():
        name = str(parameter.name)
        if problems and name in _CORPUS:
            raise LogicgenError(f"{opt.flag(name)}: {data} is not a corpus; leave it out")
        if not problems and name not in _CORPUS + _BOTH:
            raise LogicgenError(f"{opt.flag(name)}: a corpus has no answers; leave it out")


def print_scores(summary: dict[str, Any], folder: Path) -> None:
    """Print the scores of an evaluation, and the paths of its figures and its report.

    summary: the content of summary.json.
    folder: the folder of the evaluation.
    """
    for line in library.score_lines(summary):
        put(line)
    figures = {"heatmap": "heat map", "symbols": "symbols", "lengths": "lengths"}
    if "by_difficulty" in summary:
        figures["difficulty"] = "difficulty"
    for name, called in figures.items():
        say(f"{called}: {folder / name}.png")
    say(f"report, with every answer: {folder / 'report.html'}")


def decoding_of(
    *, sample: bool = False, verified: int | None = None, votes: int | None = None, **options: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Select the options of decoding from the options of a command.

    Returns two dictionaries: the options of beam search and the options of random draws that have a
    value. Raises LogicgenError if options of decoding contradict each other or have no effect.
    """
    search, random = opt.given(options, opt.SEARCH), opt.given(options, opt.RANDOM)
    if sample and search:
        raise LogicgenError(f"--sample and {opt.flag(*search)}: draw answers or search for them")
    if "length_normalization" in search and search.get("beams", 1) == 1:
        raise LogicgenError("--length-normalization: has no effect with one beam; give --beams")
    if random and not sample and verified in (None, 1):
        raise LogicgenError(f"{opt.flag(*random)}: nothing is drawn; give --sample or --verified N")
    if votes is not None and not sample:
        raise LogicgenError("--votes: nothing is drawn; give --sample")
    if votes is not None and verified is not None:
        raise LogicgenError("--votes and --verified: each chooses the answer; leave one out")
    return search, random


@click.command("covariance")
@opt.SCORING
@click.option(
    "--split", help="Split to evaluate; test if not given, for REPLIES the split they name."
)
@opt.integer_option(
    "--limit", 100, help="Greatest number of problems. Each has up to 120 renamings."
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

    Alpha-covariance is 1 if renaming a problem only renames its answer, and 0 if the answers to all
    renamings differ. Writes covariance.json, a value for each problem, a box plot, and all
    predictions.

    For any other model, write prompts, let the model answer, then measure its replies:

    \b
    logicgen measure covariance prompts.jsonl --data DIR --prompts
    logicgen measure covariance replies.jsonl --data DIR

    Each line of replies.jsonl is a line of prompts.jsonl with an added `completion`.
    """
    if prompts:
        check_options(_OF_PROMPTS, "has no effect with --prompts")
        say(library.write_renamed_prompts(run, data, split or "test", options["limit"]))
        return
    if isfile(run):
        check_options(_RENAMED_REPLIES, "a file of replies is given, so no model runs")
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
    """Measure how alike the embeddings of symbols are that never occur in training.

    Training can make these rows of the input and output embedding matrices alike. Prints mean
    cosine, relative spread and effective rank of the rows of unseen and of seen symbols. Writes
    collapse.json.
    """
    lines, file = library.collapse(run, data, out, device)
    for line in lines:
        put(line)
    say(f"as JSON: {file}")


@click.command("probe")
@click.argument("run", type=opt.PATH)
@opt.data_option("Folder of a corpus of ciphers, or of an automaton's strings.")
@click.option("--split", default="test", show_default=True, help="Split to decipher.")
@opt.integer_option("--steps", 2000, help="Training steps of the probe.")
@opt.integer_option("--hidden", 256, help="Width of the probe's inner layer.")
@opt.integer_option(
    "--layer",
    help="Probe the hidden states after this layer of a Transformer; every layer if not given.",
)
@opt.integer_option(
    "--last",
    metavar="N",
    help="Train the probe on the last N positions of a row; all if not given.",
)
@opt.integer_option("--context", least=2, help="Tokens of a row to read; all if not given.")
@opt.integer_option("--window", 100, help="Characters in a window; its occurrences vote together.")
@opt.numbers_option(
    "--matrices",
    help="Also draw the guesses in the window after each of these numbers of tokens.",
)
@opt.integer_option("--limit", 1000, help="Greatest number of rows to decipher.")
@click.option("--text", type=opt.PATH, help="Decipher this file instead, whose key is unknown.")
@click.option("--symbol", help="For --text: print the guesses at each occurrence of this symbol.")
@click.option(
    "--temperature", type=opt.POSITIVE, help="For --text: divide the logits of the probe by this."
)
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
    """Train a probe on the frozen language model in RUN to find the keys of ciphers.

    A probe is a network of two layers. For each layer of the model, a probe is trained to read the
    plain character of each symbol from the hidden states. Probes of an earlier run in the folder
    are used again. The results are for the probe with the least training loss.

    In a window, the occurrences of a symbol vote on its plain character. Key precision is the share
    of symbols that get the right character. [low, high] is a 95% interval over rows. The last lines
    are controls that use no model. Writes windows.csv, summary.json, and figures of the precision,
    of a key and of a symbol.

    With --text, the probe reads a file with an unknown key. All occurrences of a symbol vote
    together. Prints the key and the deciphered text, and writes guesses.csv.
    """
    asked = {"steps": steps, "hidden": hidden, "layer": layer, "last": last, "seed": seed}
    text, symbol = options.pop("text"), options.pop("symbol")
    temperature = options.pop("temperature")
    if text is None:
        check_options(_OF_CIPHERS, "needs --text")
    else:
        check_options(_OF_TEXT, "is for ciphers with known keys, and --text gives another text")
    if text is not None:
        settings = {"context": options["context"], "device": options["device"]}
        settings |= {"symbol": symbol, "temperature": temperature or 1.0}
        lines, file = library.decipher(
            run, data, out, text, probe=asked, bars=stage_bars, **settings
        )
        shown = f"every guess: {file}"
    else:
        lines, figure = library.probe(
            run, data, out, split=split, probe=asked, bars=stage_bars, **options
        )
        shown = f"by window: {figure}"
    for line in lines:
        put(line)
    say(shown)
