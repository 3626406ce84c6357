"""Results on a suite: the answers of a system to every problem, their verdicts, and scores.

A system is a model, a control, a solver with a limited effort, or a file of replies. With N draws,
a system may answer again until the verifier accepts an answer, N times at most. Rewrites get one
answer each.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from logicgen.callbacks import StageProgress, no_progress
from logicgen.data.suite import FORMS, Suite, ratings_of
from logicgen.errors import LogicgenError, nearest, shown
from logicgen.files import json_object, read_bytes, read_gzip, write_gzip, write_text
from logicgen.measures.outcome_log import OutcomeLog
from logicgen.measures.verified import Outcome
from logicgen.recipes import Table, validate
from logicgen.scoring import Judgement
from logicgen.solvers import Verdict
from logicgen.tasks import Task
from logicgen.tasks.judge import Item, is_missing

Answers = Callable[[Task, int, list[str]], Generator[list[Outcome]] | None]
"""A function that asks a system, and yields the outcomes of a few problems at a time.

It takes a task, the most answers to a problem, and problems. It returns None if the system does not
answer problems of the task.
"""

REMEDY = "run logicgen suite run again"


class PartAnswers(Table):
    """The answers to the problems of a part, in order.

    Attributes:
        answers: in prefix notation; the first right answer, or else the first answer.
        draws: the number of answers that were tried.
        verdicts: the verdicts on `answers`.
        rewrites: the answers to each rewrite of the problems, with their verdicts; may be empty.
    """

    answers: list[str]
    draws: list[int]
    verdicts: list[Annotated[Verdict, Field(strict=False)]]
    rewrites: list[PartAnswers] = Field(default=[])

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], rewrites: Sequence[PartAnswers] = ()) -> PartAnswers:
        """Return the answers of outcomes."""
        return cls(
            answers=[each.prediction for each in outcomes],
            draws=[each.draws for each in outcomes],
            verdicts=[Verdict(each.verdict) for each in outcomes],
            rewrites=list(rewrites),
        )

    def fits(self, count: int, draws: int) -> bool:
        """Return whether these are answers to `count` problems, with at most `draws` tries each.

        A rewrite has one try. The answers must contain both rewrites or no rewrites.
        """
        columns = (self.answers, self.draws, self.verdicts)
        whole = all(len(column) == count for column in columns)
        tries = all(1 <= tried <= draws for tried in self.draws)
        forms = len(self.rewrites) in (0, FORMS - 1)
        rewrites = all(not each.rewrites and each.fits(count, 1) for each in self.rewrites)
        return whole and tries and forms and rewrites

    @property
    def verified(self) -> np.ndarray:
        """Return a mask of the problems with a right answer, bool (problems,)."""
        return np.array([verdict.is_right for verdict in self.verdicts])

    @property
    def plain(self) -> np.ndarray:
        """Return a mask of the problems with a right first answer, bool (problems,)."""
        return np.asarray(self.verified & (np.array(self.draws) == 1))

    @property
    def consistent(self) -> np.ndarray | None:
        """Return a mask of the problems of which all forms are answered right, or all wrong.

        Returns None if the rewrites have no answers.
        """
        if not self.rewrites:
            return None
        same = [rewrite.plain == self.plain for rewrite in self.rewrites]
        return np.asarray(np.all(same, axis=0))


class SuiteResult(Table):
    """The answers of a system to the parts of a suite, as in its JSON file."""

    suite: str
    fingerprint: str
    system: str
    draws: int
    logicgen: str
    parts: dict[str, PartAnswers]

    def write(self, path: Path) -> None:
        """Write the result as JSON, compressed if the name of the file ends in `.gz`."""
        write = write_gzip if path.suffix == ".gz" else write_text
        write(path, self.model_dump_json() + "\n")

    @classmethod
    def read(cls, path: Path, suite: Suite) -> SuiteResult:
        """Read a result. Raises LogicgenError if it is damaged, or of another suite."""
        packed = path.suffix == ".gz"
        content = read_gzip(path, REMEDY).encode() if packed else read_bytes(path)
        found = validate(cls, json_object(content, path, REMEDY), str(path))
        check_version(suite, found.suite, found.fingerprint, str(path))
        for name, answers in found.parts.items():
            if name not in suite.rows or not answers.fits(len(suite.rows[name]), found.draws):
                raise LogicgenError(f"{path}: part {shown(name)} does not fit {suite.name}")
        return found


def check_version(suite: Suite, name: object, fingerprint: object, where: str) -> None:
    """Raise LogicgenError if answers are to the problems of another suite."""
    if name not in (None, suite.name):
        raise LogicgenError(f"{where}: answers to suite {shown(name)}, not to {suite.name}")
    if fingerprint not in (None, suite.fingerprint):
        raise LogicgenError(
            f"{where}: answers to another version of {suite.name}, with the fingerprint"
            f" {str(fingerprint)[:16]} instead of {suite.fingerprint[:16]}: ask the system again"
        )


def run_suite(
    suite: Suite,
    system: str,
    answers: Answers,
    draws: int,
    *,
    parts: Sequence[str] = (),
    progress: StageProgress = no_progress,
    log: OutcomeLog | None = None,
) -> SuiteResult:
    """Return the answers of a system to a suite, without the parts that it does not answer.

    parts: the names of the parts. An empty list means all parts.
    log: outcomes of an interrupted run, which are not computed again. New outcomes are added.

    Raises LogicgenError if the system answers no part.
    """
    found: dict[str, PartAnswers] = {}
    log = log or OutcomeLog()
    for name in parts or suite.rows:
        task = suite.task(name)
        forms: list[PartAnswers] = []
        for form in range(FORMS):
            problems, done = suite.forms(name, form), log.found((name, form))
            asked = answers(task, 1 if form else draws, problems[len(done) :])
            if asked is None:
                break
            label = f"{name}: {'rewrites' if form else 'problems'}"
            with closing(asked):
                for outcomes in asked:
                    log.add((name, form), outcomes)
                    done += outcomes
                    progress(label, len(done), len(problems))
            forms.append(PartAnswers.of(done))
        if forms:
            found[name] = forms[0].model_copy(update={"rewrites": forms[1:]})
    if not found:
        raise LogicgenError(f"{system}: answers no task of {suite.name}")
    return result_of(suite, system, draws, found)


def result_of(
    suite: Suite, system: str, draws: int, parts: Mapping[str, PartAnswers]
) -> SuiteResult:
    """Return a result of this version of logicgen."""
    return SuiteResult(
        suite=suite.name,
        fingerprint=suite.fingerprint,
        system=system,
        draws=draws,
        logicgen=version("logicgen"),
        parts=dict(parts),
    )


def check_verdicts(
    suite: Suite, result: SuiteResult, judged: Callable[[Task, list[Item]], list[str]]
) -> list[str]:
    """Verify all answers of a result again; return a line for each difference.

    judged: a function that returns the verdicts on answers.
    """
    lines = []
    for name, answers in result.parts.items():
        for form, each in enumerate((answers, *answers.rewrites)):
            problems = suite.forms(name, form)
            items = [Item(*pair) for pair in zip(problems, each.answers, strict=True)]
            found = judged(suite.task(name), items)
            for row, (old, new) in enumerate(zip(each.verdicts, found, strict=True)):
                if is_missing(each.answers[row], old):
                    continue  # a verifier would judge the empty answer
                if old.is_right != Verdict(new).is_right:
                    lines.append(f"{name}, row {row}, form {form}: {new}, not {old}")
    return lines


@dataclass(frozen=True)
class PartScore:
    """The scores of a system on a part: shares of the problems.

    Attributes:
        plain: right with one answer.
        verified: right with one of the answers that the system may try; None if it has one try.
        consistency: all three forms are right, or all wrong; None if the rewrites have no answers.
        hard: as `plain`, but only for problems with a rating of HARD or more; None if the
            part has fewer than FEW such problems.
    """

    plain: float
    verified: float | None
    consistency: float | None
    hard: float | None


HARD = 0.75
"""The least rating of a hard problem: three quarters of the listed systems are wrong."""

FEW = 10
"""The least number of hard problems of a part for which a score is given."""


def part_scores(
    result: SuiteResult, rated: Mapping[str, Sequence[float]] | None = None
) -> dict[str, PartScore]:
    """Return the scores of a system on each part. rated: the rating of each problem, by part."""
    scores = {}
    for name, answers in result.parts.items():
        consistent, hard = answers.consistent, np.array(rated[name] if rated else []) >= HARD
        scores[name] = PartScore(
            plain=float(answers.plain.mean()),
            verified=float(answers.verified.mean()) if result.draws > 1 else None,
            consistency=None if consistent is None else float(consistent.mean()),
            hard=float(answers.plain[hard].mean()) if hard.sum() >= FEW else None,
        )
    return scores


def rating_file(suite: Suite, results: Sequence[SuiteResult]) -> dict[str, Any]:
    """Return the content of the file of ratings (see `Suite.listed`)."""
    systems: dict[str, list[str]] = {}
    failures: dict[str, Any] = {}
    for result in results:
        for name, answers in result.parts.items():
            systems.setdefault(name, []).append(result.system)
            failures[name] = failures.get(name, 0) + ~answers.plain
    counts = {name: failed.tolist() for name, failed in failures.items()}
    content = {"fingerprint": suite.fingerprint, "systems": systems, "failures": counts}
    rated = ratings_of(content)
    scores = {
        result.system: {name: asdict(score) for name, score in part_scores(result, rated).items()}
        for result in results
    }
    return {**content, "scores": scores}


def listed_scores(suite: Suite) -> dict[str, dict[str, PartScore]]:
    """Return the scores of the listed systems, by system and part; empty: no file of ratings."""
    listed = suite.listed or {"scores": {}}
    return {
        system: {part: PartScore(**score) for part, score in parts.items()}
        for system, parts in listed["scores"].items()
    }


def read_suite_replies(
    suite: Suite, entries: Sequence[Mapping[str, Any]], where: str
) -> dict[str, list[list[str | None]]]:
    """Return the completions to the problems of a suite: for each part, a list for each form.

    entries: dicts with `part`, `row`, `form` and `completion`, from the prompts of a suite. Other
        keys of the prompts are optional.
    where: the name of the file, for errors.

    Raises LogicgenError if an entry is wrong, or if a form of a part has some replies, but not all.
    """
    found: dict[str, list[list[str | None]]] = {}
    for number, entry in enumerate(entries, 1):
        place = f"{where}, reply {number}"
        check_version(suite, entry.get("suite"), entry.get("fingerprint"), place)
        part, row, form = _problem_of(suite, entry, place)
        text = entry.get("completion", False)  # null: the model gave no text
        if not (text is None or isinstance(text, str)):
            raise LogicgenError(f"{place}: no text as `completion`, which is the model's text")
        forms = found.setdefault(part, [[None] * len(suite.rows[part]) for _ in range(FORMS)])
        if forms[form][row] is not None:
            raise LogicgenError(f"{place}: a second reply to {part}, row {row}, form {form}")
        forms[form][row] = text or ""
    if not found:
        raise LogicgenError(f"{where}: no replies")
    for part, forms in found.items():
        for form, completions in enumerate(forms):
            missing = completions.count(None)
            if missing and (form == 0 or missing < len(completions)):
                raise LogicgenError(
                    f"{where}: {missing:,} of the {len(completions):,} replies to {part}, form"
                    f" {form}, are missing: reply to all prompts"
                )
        if (None in forms[1]) != (None in forms[2]):
            raise LogicgenError(
                f"{where}: {part} has replies to one of forms 1 and 2 only: reply to all prompts"
            )
    return found


def _problem_of(suite: Suite, entry: Mapping[str, Any], place: str) -> tuple[str, int, int]:
    """Return the part, the row and the form of the problem of a reply.

    Raises LogicgenError if the part, the row or the form is missing or wrong.
    """
    part = entry.get("part")
    if not isinstance(part, str) or part not in suite.rows:
        raise LogicgenError(f"{place}: part {shown(part)}; {nearest(str(part), [*suite.rows])}")
    numbers = []
    for key, most in (("row", len(suite.rows[part])), ("form", FORMS)):
        value = entry.get(key)
        if type(value) is not int or not 0 <= value < most:
            raise LogicgenError(f"{place}: {key} {shown(value)}; give 0 to {most - 1}")
        numbers.append(value)
    return part, numbers[0], numbers[1]


def judge_suite_replies(
    suite: Suite,
    system: str,
    completions: Mapping[str, list[list[str | None]]],
    scored: Callable[[Task, list[str], list[Any]], list[Judgement]],
    progress: StageProgress = no_progress,
) -> SuiteResult:
    """Return the result of a file of replies (see `read_suite_replies`).

    scored: a function that returns the judgement on a completion to each problem.
    """
    parts = {}
    for done, (name, forms) in enumerate(completions.items()):
        progress("parts", done, len(completions))
        task, judged = suite.task(name), []
        for form, texts in enumerate(forms):
            if None in texts:
                continue
            outcomes = []
            for found in scored(task, suite.forms(name, form), texts):
                answer = task.encode(task.read_answer(found.answer)) if found.answer else ""
                outcomes.append(Outcome(answer, str(found.verdict), 1))
            judged.append(PartAnswers.of(outcomes))
        parts[name] = judged[0].model_copy(update={"rewrites": judged[1:]})
    progress("parts", len(completions), len(completions))
    return result_of(suite, system, 1, parts)
