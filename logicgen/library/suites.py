"""Ask systems the problems of a suite, verify their results, and write the leaderboard."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logicgen.callbacks import Bars, no_bars
from logicgen.errors import LogicgenError, shown
from logicgen.extras import DECISIVE, extras_named
from logicgen.files import prepare_folder, write_text
from logicgen.library.models import load_model
from logicgen.tasks.controls import PREFIX

if TYPE_CHECKING:
    from logicgen.data.suite import Suite
    from logicgen.measures.answering import Respondent
    from logicgen.measures.outcome_log import OutcomeLog
    from logicgen.measures.suite_results import Answers
    from logicgen.measures.verified import Outcome
    from logicgen.model.model import Model
    from logicgen.scoring import Judgement
    from logicgen.scoring.completions import Mode
    from logicgen.tasks import Task
    from logicgen.tasks.judge import Item

SUITE = "logicgen-1.0"
"""The name of the suite that ships."""

SECONDS = 10.0
"""The time limit for the verdict on an answer."""


def open_suite(
    name: str = SUITE, folder: Path | None = None, *, workers: int = 1, bars: Bars = no_bars
) -> Suite:
    """Make the problems of a suite, or read them if they exist. See `logicgen.data.suite`."""
    from logicgen.data import suite

    with bars("problems") as progress:
        return suite.open_suite(name, folder, workers=workers, progress=progress)


def suite_lines(suite: Suite) -> list[str]:
    """Return the parts of a suite with their fingerprints, and its fingerprint, as lines."""
    lines = []
    for part, rows in suite.rows.items():
        lines.append(f"{len(rows):>6,}  {part}: {suite.about(part)}")
        lines.append(f'        fingerprint = "{suite.fingerprints[part]}"')
    return [*lines, f"fingerprint of the suite: {suite.fingerprint}"]


def write_suite_prompts(suite: Suite, path: Path) -> int:
    """Write the prompts of a suite as JSON lines; return their number."""
    from logicgen.data.prompts import write_lines

    return write_lines(suite.prompts(), path)


def run_suite(
    suite: Suite,
    system: str,
    out: Path | None = None,
    *,
    parts: Sequence[str] = (),
    draws: int = 16,
    mode: Mode = "strict",
    workers: int = 1,
    bars: Bars = no_bars,
) -> tuple[list[str], Path]:
    """Ask a system all problems of a suite, or judge its replies.

    Return lines with the scores, and the path of the result. Its HTML page has the same name.

    system: the folder or the name of a trained model, `control:NAME`, `solver:STEPS`, or the path
        of a file of replies to the prompts of the suite.
    out: the path of the result, a `.json` or `.json.gz` file; by default
        `runs/suites/SUITE/results/SYSTEM.json`.
    draws: the most answers to try for each problem. Replies are one answer each.

    After an interruption, the same call continues, except for replies.

    Raises LogicgenError if the system is unknown or answers no part.
    """
    for part in parts:
        if part not in suite.rows:
            raise LogicgenError(f"{suite.name} has no part {shown(part)}: {', '.join(suite.rows)}")
    with extras_named():
        from logicgen.data.suite import FOLDER
        from logicgen.measures import leaderboard, suite_page, suite_results
    replies = isfile(system)
    name = Path(system).stem if replies else system.rstrip("/").rpartition("/")[2]
    path = out or FOLDER / suite.name / "results" / f"{name.replace(':', '-')}.json"
    prepare_folder(path.parent)
    with bars("problems") as progress:
        if replies:
            result = _judged(suite, Path(system), name, parts, mode, workers, progress)
            result.write(path)
        else:
            answers, log = _answers(system, workers), _log(suite, system, draws, path)
            settings: dict[str, Any] = {"parts": parts, "progress": progress, "log": log}
            result = suite_results.run_suite(suite, name, answers, draws, **settings)
            result.write(path)
            log.remove()
    listed = suite_results.listed_scores(suite)
    page = path.with_name(path.name.removesuffix(".gz").removesuffix(".json") + ".html")
    suite_page.write_result_page(page, suite, result, listed)
    return leaderboard.score_lines(suite, result, listed), path


def _log(suite: Suite, system: str, draws: int, path: Path) -> OutcomeLog:
    """Return the outcome log of the run with the result `path`, to continue an interrupted run."""
    from logicgen.measures.leaderboard import SOLVER
    from logicgen.measures.outcome_log import OutcomeLog

    versions = {package: version(package) for package in DECISIVE}
    identity: dict[str, Any] = {"versions": versions, "suite": suite.fingerprint}
    identity |= {"system": system, "draws": draws}
    if not system.startswith((PREFIX, SOLVER)):
        from logicgen.model.checkpoint import card_digest

        identity["model"] = card_digest(Path(system))
    return OutcomeLog(path, identity)


def _judged(
    suite: Suite,
    path: Path,
    name: str,
    parts: Sequence[str],
    mode: Mode,
    workers: int,
    progress: Any,
) -> Any:
    """Return the result of a file of replies. parts: the parts to judge; all if empty."""
    from logicgen.integrations.reply_files import read_replies
    from logicgen.measures import suite_results
    from logicgen.scoring import Scorer

    completions = suite_results.read_suite_replies(suite, read_replies(path), str(path))
    if lacking := [part for part in parts if part not in completions]:
        raise LogicgenError(
            f"{path}: no replies to part {lacking[0]}: leave out --part {lacking[0]}"
        )
    completions = {part: completions[part] for part in parts or completions}
    with ExitStack() as stack:
        scorers: dict[str, Scorer] = {}

        def scored(task: Task, problems: list[str], texts: list[Any]) -> list[Judgement]:
            if task.name not in scorers:
                settings: dict[str, Any] = {"timeout": SECONDS, "workers": workers}
                new = Scorer(task.name, mode, reasons=False, **settings)
                scorers[task.name] = stack.enter_context(new)
            return scorers[task.name].score_batch(problems, texts)

        return suite_results.judge_suite_replies(suite, name, completions, scored, progress)


def _answers(system: str, workers: int) -> Answers:
    """Return a function that asks a system, in a number of processes."""
    from logicgen.measures.answering import Respondent, ask
    from logicgen.measures.leaderboard import SOLVER

    steps = system.removeprefix(SOLVER)
    if steps != system and (not steps.isdecimal() or not int(steps)):
        raise LogicgenError(f"{shown(system)}: give a number of steps, such as solver:100")
    model = None if system.startswith((PREFIX, SOLVER)) else load_model(system)

    def answers(task: Task, draws: int, problems: list[str]) -> Generator[list[Outcome]] | None:
        opened = partial(_respondent, system, task.name, draws)
        if (respondent := opened(model=model)) is None:
            return None
        return ask(Respondent.outcomes, respondent, opened, problems, workers)

    return answers


def _respondent(
    system: str, name: str, draws: int, model: Model | None = None
) -> Respondent | None:
    """Return a system that answers problems of a task; None if the system does not answer them.

    model: the system, if it is a model that is loaded.
    """
    from logicgen.measures.answering import Answering, ControlRespondent, SolverRespondent
    from logicgen.measures.leaderboard import SOLVER
    from logicgen.tasks import load_task

    task = load_task(name)
    if system.startswith(PREFIX):
        control = system.removeprefix(PREFIX)
        known = control in task.controls
        return ControlRespondent(name, control, None, draws, seconds=SECONDS) if known else None
    if system.startswith(SOLVER):
        steps = int(system.removeprefix(SOLVER))
        return None if task.logic is None else SolverRespondent(name, steps, seconds=SECONDS)
    model = model or load_model(system)
    if name != model.task_name:
        return None
    return Answering(model.answerer(task, system), None, draws, seconds=SECONDS)


def check_results(
    suite: Suite, paths: Sequence[Path], *, workers: int = 1, bars: Bars = no_bars
) -> Iterator[tuple[Path, int, list[str]]]:
    """Verify all answers of results again.

    Yield the path of each result, the number of its answers, and a line for each other verdict.
    """
    from logicgen.measures.suite_results import SuiteResult, check_verdicts
    from logicgen.measures.verifier import Verifier

    with bars("answers") as progress:
        for path in paths:
            result = SuiteResult.read(path, suite)

            def judged(task: Task, items: list[Item], path: Path = path) -> list[str]:
                with Verifier(task, None, workers, SECONDS) as verifier:
                    return verifier.verdicts(items, partial(progress, path.name))

            wrong = check_verdicts(suite, result, judged)
            parts = result.parts.values()
            count = sum(len(each.answers) * (1 + len(each.rewrites)) for each in parts)
            yield path, count, wrong


def write_leaderboard(
    suite: Suite, paths: Sequence[Path], page: Path, ratings: Path | None = None
) -> int:
    """Write the leaderboard of results as a page of Markdown; return the number of systems.

    ratings: a path for the file of ratings, or None to write no such file.

    Raises LogicgenError if two results are of one system.
    """
    from logicgen.data.suite import ratings_of
    from logicgen.measures.leaderboard import leaderboard
    from logicgen.measures.suite_results import SuiteResult, rating_file

    results = [SuiteResult.read(path, suite) for path in sorted(paths)]
    names = [result.system for result in results]
    for name in names:
        if names.count(name) > 1:
            raise LogicgenError(f"{names.count(name)} results are of {name}: give one of them")
    found = rating_file(suite, results)
    write_text(page, leaderboard(suite, results, ratings_of(found)))
    if ratings is not None:
        write_text(ratings, json.dumps(found, separators=(",", ":")) + "\n")
    return len(results)
