"""The main commands as functions: `logicgen.generate`, `logicgen.evaluate`, ...

They print nothing and start their workers in processes of their own, which do not import the
calling script: they can be called from scripts without a `__main__` guard and from notebooks.
What needs an extra says which, as MissingExtraError, a LogicgenError.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logicgen.errors import LogicgenError
from logicgen.extras import extras_named

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.model.model import Model
    from logicgen.scoring import Judgement
    from logicgen.scoring.audit import Audit
    from logicgen.solvers import Solution, Verdict
    from logicgen.tasks.public_task import PublicTask


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
    from logicgen.tasks import judge

    return judge.verify(task, problem, answer, solver, timeout)[0]


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
    function: Callable[[str, str], Any], task: str = "propositional", **settings: Any
) -> Audit:
    """Return which wrong completions a verifier pays, with a short example for each class of fault.

    function: takes a problem and a completion, and returns a reward: a number, or None if it cannot
        judge the completion.
    settings: `problems`, `count`, `seed`, `paid`, `dresses` and `only`, as of
        `logicgen.scoring.audit.audit`. Raises as it does.
    """
    from logicgen.scoring.audit import audit

    return audit(function, task, **settings)


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
    from logicgen.data.opening import open_data, read_data_recipe
    from logicgen.data.remote_data import make

    read, name = read_data_recipe(str(recipe)), Path(recipe).stem
    if size is not None:
        read = read.resized(size, name)
    make(read, folder, name=name, seed=seed, workers=workers or os.cpu_count() or 1)
    return open_data(folder)


def load_dataset(folder: str | Path) -> Dataset:
    """Return the finished data set in a folder, or at a URL, of which a copy is kept."""
    from logicgen.data.opening import as_dataset, open_data

    return as_dataset(open_data(folder))


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
    from logicgen.data.opening import as_dataset, open_data
    from logicgen.model.recipe import read_model_recipe

    chosen, opened = read_model_recipe(str(recipe)), open_data(data)  # before anything slow
    if learn is not None:
        chosen = chosen.learning(learn)
    if held_out and chosen.learns != "accepted":
        raise LogicgenError(
            "--held-out: only --learn accepted draws problems that could be held-out ones; leave it"
            " out"
        )
    settings = {"quiet": True, **settings}
    settings["held_out"] = [as_dataset(open_data(each)) for each in held_out]
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
    from logicgen.data.dataset import Dataset
    from logicgen.data.opening import as_dataset, open_data

    opened, out = open_data(data), None if folder is None else Path(folder)
    if os.path.isfile(run):
        _check_default({"beams": beams, "verified": verified}, f"{run}: replies are given")
        from logicgen.integrations.reply_files import read_replies

        entries = read_replies(Path(run))
        with extras_named():
            from logicgen.measures.evaluation import evaluate_replies
        return evaluate_replies(entries, Path(run), as_dataset(opened), out, **settings)[1]
    with extras_named():
        from logicgen.measures.evaluation import evaluate_answers, evaluate_corpus
        from logicgen.measures.verified import Verified
        from logicgen.nn.decoding import BeamSearch
        from logicgen.nn.samples import Sampling
    if not isinstance(opened, Dataset):
        _check_default({"beams": beams, "verified": verified}, f"{data}: a corpus has no answers")
        return evaluate_corpus(run, opened, out, **settings)[1]
    settings["decoding"] = BeamSearch(beams)
    settings["verified"] = None if verified is None else Verified(verified, Sampling())
    return evaluate_answers(run, opened, out, **settings)[1]


def _check_default(given: dict[str, Any], why: str) -> None:
    """Raise LogicgenError for a setting of decoding where nothing is decoded."""
    for name, value in given.items():
        if value not in (None, 1):
            raise LogicgenError(f"{name}: {value}; {why}: leave it out")
