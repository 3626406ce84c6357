"""Evaluate, compare and export models, and write reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os.path import isdir, isfile
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from logicgen.callbacks import Bars, Say, no_bars, no_progress
from logicgen.errors import LogicgenError
from logicgen.extras import extras_named, need
from logicgen.files import prepare_folder
from logicgen.library.data import load_dataset
from logicgen.tasks.controls import PREFIX

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.measures.predictions import About
    from logicgen.model.model import Answerer, Model


def load_model(run: str | Path, device: str = "auto") -> Model:
    """Load a trained model of any architecture.

    run: folder of the model, or the name of a shipped model.
    device: `auto`, `cpu` or `cuda`.

    Raises LogicgenError if the folder has no finished model, or if a file is damaged.
    """
    with extras_named():
        from logicgen.model import checkpoint
    return checkpoint.load_model(run, device)


def evaluate(
    run: str | Path,
    data: str | Path,
    folder: str | Path | None = None,
    *,
    beams: int = 1,
    verified: int | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Score a model on a split, write the scores into a folder, and return their summary.

    run: folder of a trained model, name of a shipped model, or a file with the replies of any other
        model (JSON lines, or a log of Inspect). `control:NAME` is a program that learns nothing.
    folder: folder for the scores. If not given, a folder inside `run`, or next to the file.
    beams: number of beams; 1 is greedy decoding.
    verified: also draw up to this number of different answers to each problem, and score the first
        answer that the solver accepts.
    settings: `split`, `limit`, `device`, `workers`, `embedding_seeds`, ... as in
        `logicgen evaluate`. A corpus also allows `context` and `beyond`. A file of replies allows
        only `split`, `mode`, `timeout`, `workers`, `controls` and `mixed_prompts`.

    Raises LogicgenError if the model does not fit the data, or if the folder cannot be written.
    """
    from logicgen.data.corpus import Corpus

    opened, out = load_dataset(data), None if folder is None else Path(folder)
    if isfile(run):
        _check_default({"beams": beams, "verified": verified}, f"{run} is a file of replies")
        return judge_replies(Path(run), opened, out, **settings)[1]
    if isinstance(opened, Corpus):
        _check_default({"beams": beams, "verified": verified}, f"{data}: a corpus has no answers")
        return measure_perplexity(run, opened, out, **settings)[1]
    settings |= {"search": {"beams": beams}, "verified": verified}
    return score_answers(run, opened, out, **settings)[1]


def _check_default(given: dict[str, Any], why: str) -> None:
    """Raise LogicgenError if a decoding setting is given that has no effect.

    given: the settings by name.
    why: the reason, for the message.
    """
    for name, value in given.items():
        if value not in (None, 1):
            raise LogicgenError(f"{name}: {value}; {why}: leave it out")


def judge_replies(
    path: Path,
    data: Dataset | Corpus,
    out: Path | None,
    *,
    split: str | None = None,
    mixed_prompts: bool = False,
    controls: bool = True,
    bars: Bars = no_bars,
    **settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Judge a file of replies of any model. Return the folder of the scores and their summary.

    out: folder for the scores. If not given, a folder next to the file, with the name of the file.
    split: the split of the problems. If not given, the split that the file names, else `grid`.
    controls: whether the controls of the task answer the same problems.
    settings: settings of `logicgen.measures.replies.judge_replies`.

    Raises LogicgenError if the replies belong to other data, or if the folder cannot be written.
    """
    from logicgen.data.opening import as_dataset
    from logicgen.integrations.reply_files import read_replies

    entries, dataset = read_replies(path), as_dataset(data)
    with extras_named():
        from logicgen.measures import replies
        from logicgen.measures.best_control import usual_controls
        from logicgen.measures.evaluation import write_evaluation
    split = split or replies.said_split(entries) or "grid"
    given = replies.replies_to(dataset, split, entries, str(path), mixed=mixed_prompts)
    folder = out or replies.reply_scores_folder(path)
    prepare_folder(folder)
    with bars("replies") as progress:
        settings["progress"] = partial(progress, "judging")
        settings["controls"] = usual_controls(dataset.task) if controls else ()
        table = replies.judge_replies(dataset, split, given, path.stem, **settings)
        workers = settings.get("workers", 1)
        return folder, write_evaluation(table, folder, workers=workers, progress=progress)


def measure_perplexity(
    run: str | Path,
    data: Dataset | Corpus,
    out: Path | None,
    *,
    split: str = "test",
    device: str = "auto",
    bars: Bars = no_bars,
    say: Say = no_progress,
    **settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Measure a language model's perplexity at each position of the texts of a corpus.

    Return the folder of the results, and their summary.

    out: folder for the results. If not given, `DATA-SPLIT` in the folder of the model.
    settings: `limit`, `context`, `beyond` and `embedding_seeds`, as in `logicgen evaluate`.
    """
    from logicgen.data.opening import as_corpus

    with extras_named():
        from logicgen.measures import perplexity
        from logicgen.measures.curves import write_curve
        from logicgen.model import checkpoint
    corpus = as_corpus(data)
    if str(run).startswith(PREFIX):
        raise LogicgenError(f"{run}: controls answer problems; {corpus.folder} is a corpus")
    model = checkpoint.as_language_model(checkpoint.load_model(run, device), run)
    folder = out or checkpoint.scores_folder(run, f"{corpus.name}-{split}")
    prepare_folder(folder)
    trained = checkpoint.load_json(checkpoint.find_run(run) / checkpoint.CARD).get("data")
    if trained != corpus.fingerprint:
        say(
            f"{run} was trained on other data ({trained}) than {corpus.folder}: its training data"
            " may contain these sequences"
        )
    if reason := perplexity.without_ideal(corpus):
        say(f"{corpus.folder}: {reason}")
    with bars("sequences") as progress:
        settings |= {"split": split, "progress": partial(progress, "reading")}
        curve = perplexity.measure_perplexity(model, corpus, Path(run).resolve().name, **settings)
        return folder, write_curve(curve, folder)


def score_answers(
    run: str | Path,
    data: str | Path | Dataset | Corpus,
    out: Path | None = None,
    *,
    split: str = "grid",
    device: str = "auto",
    search: dict[str, Any],
    random: dict[str, Any] | None = None,
    sample: bool = False,
    verified: int | None = None,
    votes: int | None = None,
    shots: int | None = None,
    reset_rows: int | None = None,
    controls: bool = True,
    timeout: float = 10.0,
    bars: Bars = no_bars,
    say: Say = no_progress,
    **settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Score a model's answers with the solver. Return the folder of the scores, and their summary.

    out: folder for the scores. If not given, `SPLIT` in the folder of the model.
    search, random: settings of beam search, and of random draws.
    sample: draw the answers at random instead of by beam search.
    verified: as in `evaluate`. controls: whether the controls of the task answer, too.
    votes, shots: for a language model, numbers of drawn answers and of solved examples.
    reset_rows: a seed, to redraw the embeddings of symbols that never occur in training.
    timeout, settings: seconds for each answer, and settings as in `predict_and_verify`.
    Raises LogicgenError if the model does not fit the data, or if the folder cannot be written.
    """
    from logicgen.data.opening import as_dataset

    with extras_named():
        from logicgen.measures import predictions
        from logicgen.measures.best_control import usual_controls
        from logicgen.measures.control_answers import control_scores_folder
        from logicgen.measures.evaluation import write_evaluation
    dataset = as_dataset(load_dataset(data) if isinstance(data, str | Path) else data)
    workers = settings.get("workers", 1)
    settings |= _decoding(search, random, sample, verified)
    settings |= {"seconds": timeout, "controls": usual_controls(dataset.task) if controls else ()}
    model, about, scores = _answerer(run, dataset, split, device, votes, shots, reset_rows, say)
    predictions.check_fits(model, dataset, about, settings.get("ensemble", 1))
    folder = out or control_scores_folder(run, scores)
    prepare_folder(folder)  # an unwritable folder fails before slow predictions
    with bars("answers") as progress:
        table = predictions.predict_and_verify(model, dataset, about, progress=progress, **settings)
        return folder, write_evaluation(table, folder, workers=workers, progress=progress)


def _decoding(
    search: dict[str, Any], random: dict[str, Any] | None, sample: bool, verified: int | None
) -> dict[str, Any]:
    """Return the settings of decoding of `score_answers` as `predict_and_verify` takes them."""
    from logicgen.measures.verified import VerifiedSearch
    from logicgen.nn.decoding import BeamSearch
    from logicgen.nn.samples import Sampling

    sampling = Sampling(**random or {})
    return {
        "decoding": sampling if sample else BeamSearch(**search),
        "verified": None if verified is None else VerifiedSearch(verified, sampling),
    }


def _answerer(
    run: str | Path,
    data: Dataset,
    split: str,
    device: str,
    votes: int | None,
    shots: int | None,
    reset_rows: int | None,
    say: Say,
) -> tuple[Answerer, About, str]:
    """Load the model that an evaluation scores.

    Return the model, a description of the evaluation, and the name of the folder for its scores.

    The arguments have the same meaning as in `score_answers`.
    """
    from logicgen.measures import collapse, control_answers, predictions
    from logicgen.model import checkpoint

    if str(run).startswith(PREFIX):
        for name, value in {"votes": votes, "reset-rows": reset_rows}.items():
            if value is not None:
                raise LogicgenError(f"--{name}: {value}; {run} is no model: leave it out")
        control = control_answers.ControlAnswerer(data, str(run), shots or 0)
        about = predictions.About.of(control.region, str(run), data, split)
        return control, about, f"{data.name}-{split}" + ("" if shots is None else f"-shots-{shots}")
    opened = checkpoint.load_model(run, device)
    if reset_rows is not None:
        redrawn = collapse.reset_rows(*collapse.trained_rows(Path(run), opened, data), reset_rows)
        say(f"rows redrawn of tokens that never occur in training: {redrawn:,}")
    model = opened.answerer(data.task, str(run), votes, shots, data)
    about = predictions.About.of(model.region, Path(run).resolve().name, data, split)
    # Scores on another task than the model's own get a folder with the name of the data set.
    scores = split if model.trained_on_task else f"{data.name}-{split}"
    scores += "" if shots is None else f"-shots-{shots}"
    scores += "" if reset_rows is None else f"-reset-rows-{reset_rows}"
    return model, replace(about, reset_rows=reset_rows, precision=opened.precision), scores


def score_lines(summary: dict[str, Any]) -> list[str]:
    """Return the scores in the summary of an evaluation of answers, as lines of text."""
    from logicgen.measures.evaluation import score_lines

    return score_lines(summary)


def perplexity_lines(summary: dict[str, Any]) -> list[str]:
    """Return the perplexity in the summary of an evaluation on a corpus, as lines of text."""
    from logicgen.measures.curves import summary_lines

    return summary_lines(summary)


def report(
    folder: str | Path, out: Path | None = None, *, workers: int = 1, bars: Bars = no_bars
) -> Path:
    """Write an HTML page on an evaluation, a data set or a corpus, and return its path.

    out: path of the page. If not given, `report.html` in the folder.

    Raises LogicgenError if the folder holds no evaluation, data set or corpus.
    """
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.data.remote import cache
    from logicgen.measures import measure_in
    from logicgen.report.corpus_page import write_corpus_page
    from logicgen.report.dataset_page import write_dataset_page
    from logicgen.report.rows import REPORT

    folder = Path(folder)
    if out is None and folder.is_relative_to(cache() / "data"):
        raise LogicgenError(
            "-o: name the page, because the local copy of data at a URL may be deleted"
        )
    if not isdir(folder):
        raise LogicgenError(f"{folder}: no such folder: give an evaluation, or a data set")
    if (measure := measure_in(folder)) is not None:
        with bars("answers") as progress:
            explaining = partial(progress, "explaining")
            return measure.write_page(folder, out, workers=workers, progress=explaining)
    if isfile(folder / Dataset.file):
        with bars("examples") as progress:
            explaining = partial(progress, "explaining")
            dataset, page = Dataset(folder), out or folder / REPORT
            return write_dataset_page(dataset, page, workers=workers, progress=explaining)
    if isfile(folder / Corpus.file):
        return write_corpus_page(Corpus(folder), out or folder / REPORT)
    raise LogicgenError(_no_report(folder))


def _no_report(folder: Path) -> str:
    """Return the error message for a folder about which no report can be written."""
    from logicgen.measures.evaluation import PREDICTIONS

    below = [str(path.parent) for path in sorted(folder.glob(f"*/{PREDICTIONS}"))]
    if below:
        return f"{folder}: no {PREDICTIONS}; did you mean {' or '.join(below)}?"
    return (
        f"{folder}: is neither an evaluation (no {PREDICTIONS}) nor a data set (no dataset.json):"
        " run logicgen evaluate or logicgen generate first"
    )


def compare(
    folders: Sequence[Path], out: Path, *, workers: int = 1, bars: Bars = no_bars
) -> tuple[list[str], list[str]]:
    """Compare evaluations on the same examples.

    Return the lines of a table, and the paths of the written files.

    folders: folders of evaluations on the same data set or corpus.
    out: folder for the figures and the page.
    """
    from logicgen.measures import compared

    measure = compared(list(folders))
    with bars("answers") as progress:
        explaining = partial(progress, "explaining")
        found = measure.compare(list(folders), out, workers=workers, progress=explaining)
    return found.lines, found.files


def study(
    name: str,
    out: Path | None = None,
    *,
    changes: Sequence[str] = (),
    workers: int | None = None,
    device: str = "auto",
    **shown: Any,
) -> None:
    """Run the trials of a study that have no record yet, and write its tables and figures.

    name: the name of a shipped study, or the path of a TOML file.
    out: folder for the results. If not given, `runs/studies/NAME`.
    changes: texts `KEY=VALUE` that replace values of the study.
    shown: arguments of `run_study`: functions that show progress and results.
    """
    need("train")
    from logicgen.recipes import parse_changes
    from logicgen.study.engine import run_study
    from logicgen.study.plan import open_study

    plan = open_study(name, parse_changes(changes))
    plan.command += "".join(f" --set {quote(each)}" for each in changes)
    run_study(plan, out or Path("runs") / "studies" / plan.name, workers, device, **shown)


def export_model(
    run: Path,
    target: Path,
    name: str | None = None,
    description: str | None = None,
    mean: Sequence[tuple[str, float]] = (),
) -> int:
    """Write a trained model for publication; return the size of its weights in bytes.

    name: the name in its card; the folder's name if not given.
    description: a sentence about it; the recipe's if not given.
    mean: other models with the same network, and their shares in a weighted mean of the weights.
    """
    with extras_named():
        from logicgen.measures.export import export
    return export(run, target, name or target.resolve().name, description, mean)
