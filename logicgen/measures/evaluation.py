"""Evaluate a trained model on data, and write what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logicgen.files import prepare_folder
from logicgen.measures.answers import write_predictions, write_report
from logicgen.measures.predictions import About, Progress, check_fits, predict_and_verify
from logicgen.measures.replies import judge_replies, replies_to, said_split, scores_folder

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset

Say = Callable[[str], None]
"""Called with a line that a person should read."""


def _silent(*_: Any) -> None:
    """Say nothing."""


def evaluate_answers(
    run: str | Path,
    data: Dataset,
    out: Path | None = None,
    *,
    split: str = "grid",
    device: str = "auto",
    votes: int | None = None,
    reset_rows: int | None = None,
    timeout: float = 10.0,
    progress: Progress = _silent,
    say: Say = _silent,
    **settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Write a model's answers to a split with their verdicts; return the folder and the summary.

    out: folder; `SPLIT` in the run's folder if not given.
    votes: of language models, how many draws elect an answer.
    reset_rows: a seed, with which rows of symbols that never occur in training are drawn anew.
    timeout: seconds per answer.
    settings: further ones of `predict_and_verify`.

    Raises LogicgenError where the model does not fit the data, or the folder holds other things.
    """
    from logicgen.model import checkpoint

    opened = checkpoint.load_model(run, device)
    if reset_rows is not None:
        from logicgen.measures import collapse

        redrawn = collapse.reset_rows(*collapse.trained_rows(Path(run), opened, data), reset_rows)
        say(f"rows redrawn of tokens that never occur in training: {redrawn:,}")
    model = opened.answerer(data, str(run), votes)
    name = Path(run).resolve().name
    about = About.of(model, name, data, split)
    about = replace(about, reset_rows=reset_rows, precision=opened.precision)
    check_fits(model, data, about, settings.get("ensemble", 1))
    # Scores on data of a task that it was not trained on stand beside those of its own.
    scores = split if model.trained_on_task else f"{data.name}-{split}"
    scores += "" if reset_rows is None else f"-reset-rows-{reset_rows}"
    folder = out or checkpoint.scores_folder(run, scores)
    prepare_folder(folder)  # before anything slow
    table = predict_and_verify(model, data, about, seconds=timeout, progress=progress, **settings)
    write_predictions(table, folder)
    return folder, write_report(folder, workers=settings.get("workers", 1), progress=progress)


def evaluate_replies(
    entries: Sequence[Mapping[str, Any]],
    where: Path,
    data: Dataset,
    out: Path | None = None,
    *,
    split: str | None = None,
    mixed_prompts: bool = False,
    progress: Progress = _silent,
    **settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Write the verdicts on what any model wrote to a split; return the folder and the summary.

    entries: replies as plain data (`measures/replies.py`), read from the file `where`.
    out: folder; one called like the file, beside it, if not given.
    split: the one that the replies say if not given, or `grid`.
    settings: those of `judgements`.

    Raises LogicgenError where replies are not of these data, or the folder holds other things.
    """
    split = split or said_split(entries) or "grid"
    replies = replies_to(data, split, entries, str(where), mixed=mixed_prompts)
    folder = out or scores_folder(where)
    prepare_folder(folder)
    judging = partial(progress, "judging")
    table = judge_replies(data, split, replies, where.stem, progress=judging, **settings)
    write_predictions(table, folder)
    return folder, write_report(folder, workers=settings.get("workers", 1), progress=progress)


def evaluate_corpus(
    run: str | Path,
    corpus: Corpus,
    out: Path | None = None,
    *,
    split: str = "test",
    device: str = "auto",
    progress: Progress = _silent,
    say: Say = _silent,
    **settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Write a language model's perplexity by position; return the folder and the summary.

    settings: those of `measure_perplexity`. Others, and errors, as of `evaluate_answers`.
    """
    from logicgen.measures.curves import write_curve
    from logicgen.measures.perplexity import measure_perplexity, without_ideal
    from logicgen.model import checkpoint

    model = checkpoint.as_language_model(checkpoint.load_model(run, device), run)
    folder = out or checkpoint.scores_folder(run, f"{corpus.name}-{split}")
    prepare_folder(folder)
    trained = checkpoint.load_json(checkpoint.find_run(run) / checkpoint.CARD).get("data")
    if trained != corpus.fingerprint:
        say(
            f"{run} was trained on other data ({trained}) than {corpus.folder}: what is read here"
            " may have been trained on"
        )
    if reason := without_ideal(corpus):
        say(f"{corpus.folder}: {reason}")
    reading = partial(progress, "reading")
    name = Path(run).resolve().name
    curve = measure_perplexity(model, corpus, name, split=split, progress=reading, **settings)
    curve = replace(curve, about=replace(curve.about, precision=model.precision))
    return folder, write_curve(curve, folder)
