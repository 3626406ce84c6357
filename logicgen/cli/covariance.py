"""`logicgen measure covariance`."""

from __future__ import annotations

from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logicgen.cli.options import REPLIES, SCORING, check_no_replies, check_options, integer_option
from logicgen.cli.terminal import put, say
from logicgen.errors import LogicgenError

if TYPE_CHECKING:
    from pyarrow import Table

    from logicgen.data.dataset import Dataset
    from logicgen.scoring.completions import Mode


_OF_REPLIES = ("run", "data", "out", "split", "mode", "mixed_prompts")
_OF_PROMPTS = ("run", "data", "split", "limit", "prompts")


@click.command("covariance")
@SCORING
@click.option("--split", help="test if not given; of replies the one that they say.")
@integer_option(
    "--limit", 100, help="At most so many problems, over all cells; each is asked up to 120 times."
)
@REPLIES
@click.option(
    "--prompts",
    is_flag=True,
    help="Write the renamed problems into the file REPLIES, to ask another model.",
)
def command(
    run: Path,
    data: Path,
    split: str | None,
    out: Path | None,
    mode: Mode | None,
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
    from logicgen.data.opening import as_dataset, load_dataset
    from logicgen.measures.covariance import write_covariance

    dataset = as_dataset(load_dataset(data))
    if prompts:
        check_options(_OF_PROMPTS, "writes prompts, and no model is asked")
        _write_prompts(dataset, split or "test", options["limit"], run)
        return
    if isfile(run):
        check_options(_OF_REPLIES, "replies are given, and no model is asked")
        table, folder = _of_replies(run, dataset, split, out, mode or "strict", mixed_prompts)
    else:
        check_no_replies(run)
        table, folder = _of_model(run, dataset, split or "test", out, **options)
    summary = write_covariance(table, folder)
    if unread := summary["decoding"].get("unread"):
        said = f"{unread:,} of {len(table):,} replies have no answer that can be read"
        put(f"{said}; each counts as another one")
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


def _of_model(
    run: Path,
    dataset: Dataset,
    split: str,
    out: Path | None,
    *,
    device: str,
    beams: int | None,
    ensemble: int,
    **options: Any,
) -> tuple[Table, Path]:
    """Return the table of a model's answers to renamed problems, and the folder for it."""
    from logicgen.cli.terminal import stage_bars
    from logicgen.files import prepare_folder
    from logicgen.measures.covariance import predict_renamed
    from logicgen.measures.predictions import About, check_fits
    from logicgen.model.checkpoint import as_encoder_decoder, load_model, scores_folder
    from logicgen.nn.decoding import BeamSearch

    model = as_encoder_decoder(load_model(run, device), run)
    about = About.of(model, run.resolve().name, dataset, split)
    check_fits(model, dataset, about, ensemble)
    folder = out or scores_folder(run, split)
    prepare_folder(folder)  # before anything slow
    options |= {"decoding": BeamSearch(beams or 1), "ensemble": ensemble}
    with stage_bars("answers") as progress:
        return predict_renamed(model, dataset, about, progress=progress, **options), folder


def _of_replies(
    path: Path, dataset: Dataset, split: str | None, out: Path | None, mode: Mode, mixed: bool
) -> tuple[Table, Path]:
    """Return the table of replies to renamed problems, and the folder for it."""
    from logicgen.files import prepare_folder
    from logicgen.integrations.reply_files import read_replies
    from logicgen.measures.covariance import read_renamed
    from logicgen.measures.replies import replies_to, said_split, scores_folder

    entries = read_replies(path)
    split = split or said_split(entries) or "test"
    replies = replies_to(dataset, split, entries, str(path), mixed=mixed, renamed=True)
    folder = out or scores_folder(path)
    prepare_folder(folder)
    return read_renamed(dataset, split, replies, path.stem, mode), folder


def _write_prompts(dataset: Dataset, split: str, limit: int, path: Path) -> None:
    """Write renamed problems as prompts. Raises LogicgenError where there is such a file."""
    if isfile(path):
        raise LogicgenError(
            f"{path}: is there, and may hold what a model wrote: give another name, or remove it"
        )
    from logicgen.data.prompts import write_lines
    from logicgen.files import write_atomically
    from logicgen.measures.covariance import renamed_prompts

    rows = list(renamed_prompts(dataset, split, limit))
    write_atomically(path, lambda part: write_lines(iter(rows), part))
    problems = len({row["row"] for row in rows})
    say(f"{path}: {len(rows):,} prompts, the renamings of {problems:,} problems")


def _distribution(part: dict[str, float]) -> str:
    return "{mean:.3f}, {median:.3f} [{lower_quartile:.3f}, {upper_quartile:.3f}]".format(**part)
