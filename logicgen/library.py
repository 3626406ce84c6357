"""The main commands as functions: `logicgen.generate`, `logicgen.evaluate`, ...

They print nothing and start their workers in processes of their own, which do not import the
calling script: they can be called from scripts without a `__main__` guard and from notebooks.
What needs an extra says which, as MissingExtraError, a LogicgenError.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from os.path import isdir, isfile
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from logicgen.errors import LogicgenError, at, printable
from logicgen.extras import extras_named, need

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.data.recipe import DataRecipe, Recipe
    from logicgen.measures.answering import Answering
    from logicgen.measures.completion import Completion
    from logicgen.model.language_model import LanguageModel
    from logicgen.model.model import Model
    from logicgen.model.prompted import Elected
    from logicgen.scoring import Judgement
    from logicgen.scoring.audit import Audit
    from logicgen.scoring.completions import Mode
    from logicgen.solvers import Solution, Verdict
    from logicgen.tasks.public_task import PublicTask

Progress = Callable[..., None]
"""A function of (stage, done, total)."""

Bars = Callable[..., AbstractContextManager[Progress]]
"""A function of (unit, prefix of the stages) whose context yields the progress of a long work."""

Say = Callable[[str], None]
"""A function that reports a line."""


@contextmanager
def no_bars(unit: str, prefix: str = "") -> Iterator[Progress]:
    """Yield a progress that shows nothing."""
    yield lambda *_: None


def silent(line: str) -> None:
    """Report nothing."""


def task(name: str) -> PublicTask:
    """Return a task: `propositional`, `ltl`, `copying`, `lookup` or `permutation`.

    Raises LogicgenError for an unknown one.
    """
    from logicgen.tasks.public_task import PublicTask

    return PublicTask(name)


def solve(
    task: str, problem: str, *, solver: str | None = None, timeout: float | None = None
) -> Solution:
    """Return the canonical answer to a problem, written for people or in prefix notation.

    timeout: seconds after which reading and solving, in a process of their own, are given up.

    The solution has `status` `sat` and a `witness`, `unsat`, or `unknown` and a `reason`. Raises
    LogicgenError for an unknown task or solver, FormatError (with line and column) for a problem
    that does not parse.
    """
    from logicgen.tasks import judge

    return judge.solve(task, problem, solver, timeout)


def verify(
    task: str,
    problem: str,
    answer: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
) -> Verdict:
    """Return the verdict on an answer: `correct`, `incorrect`, or `invalid` if it does not parse.

    timeout: seconds after which the verdict is `unknown`.

    Raises as `solve` does for everything else.
    """
    return verdict_and_reason(task, problem, answer, solver=solver, timeout=timeout)[0]


def verdict_and_reason(
    task: str,
    problem: str,
    answer: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
) -> tuple[Verdict, str]:
    """Return the verdict as `verify` does, and why the answer does not parse or is undecided."""
    from logicgen.tasks import judge

    return judge.verify(task, problem, answer, solver, timeout)


def shown_answers(
    task: str, problems: Sequence[str], *, model: str | None = None, **settings: Any
) -> Iterator[tuple[str, str]]:
    """Yield the answer to each problem as people read it, and a note on it.

    model: a trained model that answers, verified by the solver; its settings are those of
        `solve_lines`. Raises as `solve` does.
    """
    if model is not None:
        with _answering(task, model, **settings) as answering:
            yield from answering.shown(problems)
        return
    from logicgen.solvers import Status
    from logicgen.tasks import load_task

    for problem in problems:
        solution = solve(task, problem, **settings)
        if solution.status is Status.UNKNOWN:
            yield f"unknown: {solution.reason}", ""
        elif solution.status is Status.UNSAT:
            yield solution.reason or "unsatisfiable", ""
        elif solution.witness is None:
            yield f"satisfiable: {solution.reason}", ""
        else:
            yield load_task(task).drawn(solution.witness), ""


def solve_lines(
    task: str,
    source: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
    workers: int = 1,
    model: str | None = None,
    draws: int = 16,
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file of problems, solved: fields with `status` and `witness`.

    source: `-` is standard input. timeout: seconds for each problem, 10 if not given.
    model: answers instead of the solver, with at most `draws` different answers, all verified.
    """
    from logicgen.processes.pool import MEMORY, Limits
    from logicgen.tasks import lines

    if model is None:
        limits = Limits(timeout or 10.0, MEMORY)
        return lines.solve_lines(task, lines.read_lines(source), solver, workers, limits)
    answering = _answering(task, model, solver, timeout, workers, draws)
    return _answered(answering, lines.read_lines(source))


def _answered(answering: Answering, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    with answering:
        yield from answering.answer_lines(lines)


def _answering(
    task: str,
    model: str,
    solver: str | None = None,
    timeout: float | None = None,
    workers: int = 1,
    draws: int = 16,
) -> Answering:
    from logicgen.tasks import load_task

    load_task(task)  # complains
    with extras_named():
        from logicgen.measures.answering import Answering
        from logicgen.model.checkpoint import as_encoder_decoder
    trained = as_encoder_decoder(load_model(model), model)
    if trained.task_name != task:
        raise LogicgenError(f"{model}: was trained for task {trained.task_name}, not {task}")
    return Answering.of(trained, solver, draws, workers=workers, seconds=timeout or 10.0)


def verify_lines(
    task: str,
    source: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
    workers: int = 1,
) -> Iterator[dict[str, Any]]:
    """Yield the fields of a file's JSON lines with `problem` and `answer`, and their `verdict`.

    The verdict on a line that cannot be read is `error`. timeout: as of `solve_lines`.
    """
    from logicgen.processes.pool import MEMORY, Limits
    from logicgen.tasks import lines

    limits = Limits(timeout or 10.0, MEMORY)
    return lines.verify_lines(task, lines.read_lines(source), solver, workers, limits)


def solve_dimacs(sources: Sequence[str], workers: int, timeout: float | None) -> Iterator[str]:
    """Yield the `s` and `v` lines of each DIMACS file; `-` is standard input."""
    from logicgen.solvers.dimacs import solve_files

    return solve_files(sources, workers, timeout)


def verify_dimacs(source: str, answer: str) -> str:
    """Return the verdict on an answer to a DIMACS file: a file of `v` lines, or their text."""
    from logicgen.solvers.dimacs import verify_file

    return verify_file(source, answer)


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Write texts into a file, which is there when it is complete."""
    from logicgen.files import write_atomically

    def write(part: Path) -> None:
        with open(part, "w", encoding="utf-8") as file:
            file.writelines(texts)

    write_atomically(path, write)


def score(
    task: str, problems: Sequence[str], completions: Sequence[object], **settings: Any
) -> list[Judgement]:
    """Return the judgements on what a language model wrote to problems, in order.

    settings: those of `Scorer`, such as `mode`, `timeout` and `workers`. A Scorer that is kept is
    faster where there are many calls. Raises as it does.
    """
    from logicgen.scoring import Scorer

    with Scorer(task, **settings) as scorer:
        return scorer.score_batch(problems, completions)


def audit(
    function: Callable[[str, str], Any] | Mode, task: str = "propositional", **settings: Any
) -> Audit:
    """Return which wrong completions a verifier pays, with a short example for each class of fault.

    function: takes a problem and a completion, and returns a reward: a number, or None if it cannot
        judge the completion. `strict` and `tolerant` are our own scorer.
    settings: `problems`, `count`, `seed`, `paid`, `dresses` and `only`, as of
        `logicgen.scoring.audit.audit`. Raises as it does.
    """
    from logicgen.scoring.audit import audit, own_verifier

    verifier = own_verifier(task, function) if isinstance(function, str) else function
    return audit(verifier, task, **settings)


def generate(
    recipe: str | Path,
    folder: str | Path,
    *,
    seed: int = 0,
    size: int | None = None,
    workers: int | None = None,
) -> Dataset | Corpus:
    """Make the data set or corpus of a recipe in a folder, or finish it there, and return it.

    recipe: a shipped name, or the path of a TOML file.
    folder: or a URL, as `s3://bucket/folder`, where fsspec's package for it is installed.
    size: examples in train, validation and test together; the recipe's if not given.
    workers: processes that share the work, all cores if not given; the bytes are the same.

    Raises LogicgenError for a recipe that is wrong, and a folder that holds something else.
    """
    make_data(recipe, folder, seed=seed, size=size, workers=workers)
    return load_dataset(folder)


def make_data(
    recipe: str | Path | DataRecipe,
    folder: str | Path,
    *,
    name: str | None = None,
    seed: int = 0,
    size: int | None = None,
    workers: int | None = None,
    bars: Bars = no_bars,
    say: Say = silent,
) -> None:
    """Make data as `generate` does, without opening them, and report what came out.

    name: of the recipe; the stem of its path if not given.
    """
    from logicgen.data.estimate import announcement
    from logicgen.data.opening import kind_of, make, read_data_recipe

    if isinstance(recipe, str | Path):
        read: Recipe = read_data_recipe(str(recipe))
        name = name or Path(recipe).stem
    else:
        read, name = recipe, name or recipe.task
    if size is not None:
        read = read.resized(size, name)
    for line in announcement(read, name):
        say(line)
    count = workers or os.cpu_count() or 1
    with bars(read.progress_unit, f"{printable(name)} ") as progress:
        made = make(read, folder, name=name, seed=seed, workers=count, progress=progress)
    for line in kind_of(read).summary(made, folder):
        say(line)


def load_dataset(folder: str | Path) -> Dataset | Corpus:
    """Return the finished data set or corpus in a folder, or at a URL, of which a copy is kept.

    Raises LogicgenError where there is none, and for unfinished or damaged data.
    """
    from logicgen.data import opening

    return opening.load_dataset(folder)


def train(
    recipe: str | Path,
    data: str | Path,
    run: str | Path,
    *,
    learn: str | None = None,
    held_out: Sequence[str | Path] = (),
    **settings: Any,
) -> Path:
    """Train the model of a recipe on the data in a folder, into the folder `run`; return it.

    recipe: a shipped name, or the path of a TOML file.
    learn: instead of the recipe's `training.learn`.
    held_out: with `accepted`, folders of data sets whose problems, but those of their training
        part, the model must not see.
    settings: `steps`, `max_minutes`, `device`, `devices`, `resume`, `workers` and `start`, as of
        `logicgen train` (`start` is its `--from`); and `quiet=False` for a progress bar.

    Raises LogicgenError for data that do not fit the recipe, and a folder that holds something
    else; KeyboardInterrupt once a checkpoint is saved.
    """
    from logicgen.data.opening import as_dataset
    from logicgen.model.recipe import read_model_recipe

    chosen, opened = read_model_recipe(str(recipe)), load_dataset(data)  # before anything slow
    if learn is not None:
        chosen = chosen.learning(learn)
    if held_out and chosen.learns != "accepted":
        raise LogicgenError(
            "--held-out: only --learn accepted draws problems that could be held-out ones; leave it"
            " out"
        )
    settings = {"quiet": True, **settings}
    settings["held_out"] = [as_dataset(load_dataset(each)) for each in held_out]
    with extras_named():
        from logicgen.training.fit import fit, training_data
    return fit(chosen, training_data(chosen, opened), Path(run), **settings)


def load_model(run: str | Path, device: str = "auto") -> Model:
    """Return the trained model, of any kind, in a run's folder, on `auto`, `cpu` or `cuda`.

    run: folder, or the name of a shipped model.

    Raises LogicgenError for a folder without a finished model, and a damaged file.
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
    """Write the scores of a model on a split into a folder, and return their summary.

    run: folder of a trained model, the name of a shipped one, or a file of what any other model
        wrote: JSON lines, or a log of Inspect.
    folder: a folder in that of the run, or beside the file, if not given.
    beams: of beam search; greedy decoding if 1.
    verified: score also the first of up to so many different answers that the solver accepts.
    settings: `split`, `limit`, `device`, `workers`, `embedding_seeds`, ... as of
        `logicgen evaluate`; of a corpus `context` and `beyond`; of a file `split`, `mode`,
        `timeout`, `workers`, `mixed_prompts`.

    Raises LogicgenError where the model does not fit the data, or the folder holds other things.
    """
    from logicgen.data.corpus import Corpus

    opened, out = load_dataset(data), None if folder is None else Path(folder)
    if isfile(run):
        _check_default({"beams": beams, "verified": verified}, f"{run}: replies are given")
        return judge_replies(Path(run), opened, out, **settings)[1]
    if isinstance(opened, Corpus):
        _check_default({"beams": beams, "verified": verified}, f"{data}: a corpus has no answers")
        return measure_perplexity(run, opened, out, **settings)[1]
    settings |= {"search": {"beams": beams}, "verified": verified}
    return score_answers(run, opened, out, **settings)[1]


def judge_replies(
    path: Path, data: Dataset | Corpus, out: Path | None, *, bars: Bars = no_bars, **settings: Any
) -> tuple[Path, dict[str, Any]]:
    """Judge a file of replies of any model; return the folder and the summary."""
    from logicgen.data.opening import as_dataset
    from logicgen.integrations.reply_files import read_replies

    entries = read_replies(path)
    with extras_named():
        from logicgen.measures.evaluation import evaluate_replies
    with bars("replies") as progress:
        return evaluate_replies(entries, path, as_dataset(data), out, progress=progress, **settings)


def measure_perplexity(
    run: str | Path,
    corpus: Dataset | Corpus,
    out: Path | None,
    *,
    bars: Bars = no_bars,
    say: Say = silent,
    **settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Measure the perplexity of a language model by position; return the folder and the summary."""
    from logicgen.data.opening import as_corpus

    with extras_named():
        from logicgen.measures.evaluation import evaluate_corpus
    with bars("sequences") as progress:
        return evaluate_corpus(run, as_corpus(corpus), out, progress=progress, say=say, **settings)


def score_answers(
    run: str | Path,
    data: str | Path | Dataset | Corpus,
    out: Path | None = None,
    *,
    search: dict[str, Any],
    random: dict[str, Any] | None = None,
    sample: bool = False,
    verified: int | None = None,
    bars: Bars = no_bars,
    say: Say = silent,
    **settings: Any,
) -> tuple[Path, dict[str, Any]]:
    """Score a model's answers with the solver, cell by cell; return the folder and the summary.

    search: settings of beam search. random: settings of random draws.
    sample: draw the answers instead of searching for them. verified: as of `evaluate`.
    """
    from logicgen.data.opening import as_dataset

    with extras_named():
        from logicgen.measures.evaluation import evaluate_answers
        from logicgen.measures.verified import Verified
        from logicgen.nn.decoding import BeamSearch
        from logicgen.nn.samples import Sampling
    opened = load_dataset(data) if isinstance(data, str | Path) else data
    sampling = Sampling(**random or {})
    settings["decoding"] = sampling if sample else BeamSearch(**search)
    settings["verified"] = None if verified is None else Verified(verified, sampling)
    with bars("answers") as progress:
        return evaluate_answers(
            run, as_dataset(opened), out, progress=progress, say=say, **settings
        )


def score_lines(summary: dict[str, Any]) -> list[str]:
    """Return the scores of a summary of answers in words."""
    from logicgen.measures.evaluation_files import score_lines

    return score_lines(summary)


def perplexity_lines(summary: dict[str, Any]) -> list[str]:
    """Return the perplexity of a summary of a corpus in words."""
    from logicgen.measures.curves import summary_lines

    return summary_lines(summary)


def covariance(
    run: Path,
    data: str | Path,
    out: Path | None,
    *,
    split: str | None = None,
    mode: Mode | None = None,
    mixed_prompts: bool = False,
    bars: Bars = no_bars,
    **settings: Any,
) -> tuple[list[str], Path]:
    """Measure whether renaming a problem renames its answer; return it in words, and the folder.

    run: a model, or a file of replies to renamed problems. settings: `device`, `beams`, `ensemble`,
        `limit`, ... as of `logicgen measure covariance`.
    """
    from logicgen.data.opening import as_dataset

    with extras_named():
        from logicgen.measures import covariance as measure
    dataset = as_dataset(load_dataset(data))
    if isfile(run):
        from logicgen.integrations.reply_files import read_replies

        entries = read_replies(run)
        table, folder = measure.covariance_of_replies(
            entries, run, dataset, split, out, mode or "strict", mixed_prompts
        )
    else:
        with bars("answers") as progress:
            table, folder = measure.covariance_of_model(
                run, dataset, split or "test", out, progress=progress, **settings
            )
    return measure.covariance_lines(measure.write_covariance(table, folder), len(table)), folder


def write_renamed_prompts(path: Path, data: str | Path, split: str, limit: int) -> str:
    """Write renamed problems as prompts for another model; return what was written in a line."""
    from logicgen.data.opening import as_dataset
    from logicgen.measures.covariance import write_renamed_prompts

    return write_renamed_prompts(path, as_dataset(load_dataset(data)), split, limit)


def collapse(
    run: Path, data: str | Path, out: Path | None, device: str = "auto"
) -> tuple[list[str], Path]:
    """Measure how alike rows are that training never showed; return it in words, and the file."""
    with extras_named():
        from logicgen.measures.collapse import measure_collapse
    return measure_collapse(run, load_dataset(data), out, device)


def probe(
    run: Path,
    data: str | Path,
    out: Path | None,
    *,
    split: str = "test",
    probe: dict[str, Any],
    bars: Bars = no_bars,
    **settings: Any,
) -> tuple[list[str], Path]:
    """Train a probe to find the keys of ciphers; return their precision in words, and the figure.

    probe: settings of the probe. settings: `context`, `window`, `limit` and `device`.
    """
    from logicgen.data.opening import as_corpus

    with extras_named():
        from logicgen.measures.keys import find_keys
        from logicgen.measures.keys_figures import PRECISION, keys_lines, write_keys
        from logicgen.measures.probe import ProbeSettings
        from logicgen.model.checkpoint import scores_folder
    corpus = as_corpus(load_dataset(data))
    part = "probe" if split == "test" else f"{split}-probe"
    folder = out or scores_folder(run, f"{corpus.name}-{part}")
    chosen, settings = ProbeSettings(**probe), settings | {"split": split}
    with bars("") as progress:
        found = find_keys(
            run, run.resolve().name, corpus, folder, chosen, progress=progress, **settings
        )
    write_keys(found, corpus.tokens, folder)
    return keys_lines(found), folder / f"{PRECISION}.png"


def _check_default(given: dict[str, Any], why: str) -> None:
    """Raise LogicgenError for a setting of decoding where nothing is decoded."""
    for name, value in given.items():
        if value not in (None, 1):
            raise LogicgenError(f"{name}: {value}; {why}: leave it out")


def convert(task: str, source: str | Path, target: str, *, split: str = "train") -> int:
    """Write examples in another format, and return how many there are.

    source: a data-set folder, a text of two lines an example (`.txt`), JSON lines (`.jsonl`), or a
        `.cnf` file or a folder of them.
    target: ends in `.txt`, in `.jsonl`, or in `/` for a folder of `.cnf` files.
    Raises LogicgenError for another source or target, and for DIMACS of another task.
    """
    from logicgen.data.exchange import convert

    return convert(task, Path(source), target, split)


def export_model(run: Path, target: Path, name: str | None, description: str | None) -> int:
    """Write a trained model to be passed on, and return the bytes of its weights."""
    with extras_named():
        from logicgen.measures.export import export
    return export(run, target, name or target.resolve().name, description)


def export_prompts(
    data: Path, target: Path, kind: str, *, bars: Bars = no_bars, **settings: Any
) -> dict[str, int]:
    """Write the splits of a data set as prompts, and return how many each has.

    settings: `examples` and `notation`, as of `logicgen.prompt`.
    """
    from logicgen.data.opening import as_dataset
    from logicgen.data.prompts import write_prompts

    with bars("prompts") as progress:
        dataset = as_dataset(load_dataset(data))
        return write_prompts(dataset, target, kind, progress=progress, **settings)


def catalog(kind: str) -> list[tuple[str, str]]:
    """Return names and one line each of what ships.

    kind: `tasks`, `datasets`, `models`, `studies` or `solvers`.
    """
    from logicgen import recipes
    from logicgen.solvers import solver_facts, solver_plugins
    from logicgen.tasks import CORPORA, load_corpus_task, load_task, task_names

    if kind == "solvers":
        return [(name, solver_facts(name).line) for name in solver_plugins()]
    if kind != "tasks":
        return [
            (name, recipes.read_toml(recipes.find(kind, ".toml", name)).get("description", ""))
            for name in recipes.names(kind, ".toml")
        ]
    rows = []
    for names, load in ((task_names(), load_task), (CORPORA, load_corpus_task)):
        for name in names:
            try:
                with extras_named():
                    rows.append((name, load(name).about))
            except LogicgenError as error:  # a broken plugin disturbs no other task
                rows.append((name, f"(not available: {error})"))
    return sorted(rows)


def write_gallery(path: Path, bars: Bars = no_bars) -> None:
    """Write one HTML page with examples of every recipe."""
    from logicgen.report.gallery_page import write_gallery

    with bars("recipes") as progress:
        write_gallery(path, progress=partial(progress, "drawing"))


def solver_states() -> dict[str, str]:
    """Return by name of each solver whether it can run, or what to install."""
    from logicgen.solvers import solver_facts, solver_plugins

    return {name: solver_facts(name).state for name in solver_plugins()}


def number_formats() -> tuple[list[str], bool]:
    """Return the CPU's bfloat16 instructions, and whether it is faster in it than in float32."""
    import torch

    from logicgen.nn.linear import bfloat16_instructions, faster_in_bfloat16

    return list(bfloat16_instructions()), faster_in_bfloat16(torch.device("cpu"))


def complete(
    run: str | Path,
    prompt: str,
    tokens: int,
    *,
    sampling: dict[str, Any] | None,
    beams: int | None = None,
    vote: bool = False,
    seed: int = 0,
    device: str = "auto",
    **settings: Any,
) -> tuple[list[Completion], Elected[str] | None]:
    """Return what a language model writes after a prompt, and the elected text with `vote`.

    sampling: settings of random draws, or None for the likeliest tokens.
    beams: of a beam search, instead of draws. settings: `count` and `until`.
    """
    with extras_named():
        from logicgen.measures.completion import complete, most_probable
        from logicgen.model.prompted import elect
        from logicgen.nn.samples import Sampling
    model = _language_model(run, device)
    if beams is not None:
        return most_probable(model, prompt, tokens, beams=beams, seed=seed, **settings), None
    if sampling is None and settings.get("count", 1) > 1 and not model.random:
        raise LogicgenError(
            f"--greedy and --count {settings['count']}: this model draws no rows, so that all texts"
            " would be the same; leave one out"
        )
    drawn = None if sampling is None else Sampling(**sampling, seed=seed)
    found = complete(model, prompt, tokens, sampling=drawn, seed=seed, **settings)
    if not vote:
        return found, None
    return found, elect([each.text for each in found], [each.log_probability for each in found])


def text_probability(
    run: str | Path, text: str, *, device: str = "auto", **settings: Any
) -> list[str]:
    """Return, in words, the probability of a text under a language model, as log2.

    settings: `after`, `whole`, `samples` and `seed`, as of `logicgen measure probability`.
    """
    with extras_named():
        from logicgen.measures.tokenisations import text_probability
    return text_probability(_language_model(run, device), text, **settings).lines


def tightness(
    run: str | Path, data: str | Path | None = None, *, device: str = "auto", **settings: Any
) -> list[str]:
    """Return, in words, whether a language model ends every text with probability 1.

    data: a corpus, to look for the least probability of `<end>`. settings: `split`, `limit` and
    `context`, as of `logicgen measure tightness`.
    """
    from logicgen.data.opening import as_corpus

    with extras_named():
        from logicgen.measures.tightness import tightness_lines
    model = _language_model(run, device)
    corpus = None if data is None else as_corpus(load_dataset(data))
    return tightness_lines(model, str(run), corpus, **settings)


def _language_model(run: str | Path, device: str) -> LanguageModel:
    from logicgen.model.checkpoint import as_language_model

    return as_language_model(load_model(run, device), run)


def show_grammar(run: Path, out: Path | None = None) -> tuple[str, str]:
    """Draw the grammar of a run, a data set or a file; return its weights and files in words."""
    with extras_named():
        from logicgen.experiments.grammars import show_grammar
    return show_grammar(run, out)


def cut_grammar(
    run: Path, above: str, below: str, out: Path | None = None
) -> tuple[list[str], str]:
    """Write a grammar without the connection of two units; return what is lost, and the file."""
    with extras_named():
        from logicgen.experiments.grammars import cut_grammar
    return cut_grammar(run, above, below, out)


def sentence_lines(run: Path, prompt: str, **settings: Any) -> Iterator[str]:
    """Yield sentences of a grammar that agree with a prompt.

    settings: `count`, `seed` and `exact`, as of `logicgen inductive generate`.
    """
    with extras_named():
        from logicgen.experiments.grammars import sentence_lines
    return sentence_lines(run, prompt, **settings)


def report(
    folder: str | Path, out: Path | None = None, *, workers: int = 1, bars: Bars = no_bars
) -> Path:
    """Write an evaluation, a data set or a corpus as one HTML page, and return its path.

    out: the page; `report.html` in the folder if not given.
    Raises LogicgenError for a folder that holds something else.
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
            "-o: name the page: the data have been copied from a URL, and a copy may be deleted"
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
    """Return why a folder has no report, and what to give instead."""
    from logicgen.measures.evaluation_files import PREDICTIONS

    below = [str(path.parent) for path in sorted(folder.glob(f"*/{PREDICTIONS}"))]
    if below:
        return f"{folder}: no {PREDICTIONS}; did you mean {' or '.join(below)}?"
    return (
        f"{folder}: neither an evaluation (no {PREDICTIONS}) nor a data set (no dataset.json): run"
        " logicgen evaluate or logicgen generate first"
    )


def compare(
    folders: Sequence[Path], out: Path, *, workers: int = 1, bars: Bars = no_bars
) -> tuple[list[str], list[str]]:
    """Set evaluations of the same examples side by side; return a table, and what was written.

    folders: of evaluations of one data set, or of one corpus. out: for figures and the page.
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
    """Compute the trials of a study that have no record yet, and write its tables and figures.

    name: a shipped name, or the path of a TOML file. out: `runs/studies/NAME` if not given.
    changes: texts `KEY=VALUE` for keys of the study. shown: as of `run_study`.
    """
    need("train")
    from logicgen.recipes import parse_change
    from logicgen.study.engine import run_study
    from logicgen.study.plan import open_study

    with at("--set"):
        parsed = dict(map(parse_change, changes))
    plan = open_study(name, parsed)
    plan.command += "".join(f" --set {quote(each)}" for each in changes)
    run_study(plan, out or Path("runs") / "studies" / plan.name, workers, device, **shown)
