"""The best control of an evaluation: the answers of programs without training to its problems.

Each control (`tasks/controls.py`) answers each problem of an evaluation. With verified decoding,
the verifier checks the same number of answers of the control as of the model. Two columns of the
predictions have the names of the controls that are right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from logicgen.callbacks import Progress, no_progress
from logicgen.data.dataset import Dataset
from logicgen.measures.control_answers import prepared
from logicgen.measures.statistics import mcnemar
from logicgen.measures.verified import draw_until_accepted
from logicgen.solvers import Verdict
from logicgen.tasks import Task
from logicgen.tasks.controls import Control, load_control

PLAIN, VERIFIED = "controls", "verified_controls"
"""Columns of predictions: names of the controls that are right, separated by blanks.

For PLAIN, a control gives one answer. For VERIFIED, it has the same number of tries as the model.
"""

COMPARED = (
    *("best_control", "best_control_accuracy", "hard_examples", "hard_accuracy"),
    *("model_only", "control_only", "mcnemar_p"),
)
"""Columns of a score that compare a model with the controls (see `ControlScore`)."""

Rows = Sequence[dict[str, Any]]
Judge = Callable[[Rows, list[str]], list[str]]
"""Return the verdicts on an answer to the problem of each row."""


def usual_controls(task: Task) -> tuple[str, ...]:
    """Return the names of the controls of a task that need no solved problems."""
    return tuple(name for name in task.controls if not load_control(task, name).needs_shots)


def add_controls(
    rows: Rows,
    data: Dataset,
    names: Sequence[str],
    draws: int | None,
    judge: Judge,
    progress: Progress = no_progress,
) -> None:
    """Add the columns PLAIN and, with `draws`, VERIFIED to rows of predictions.

    rows: rows of one or several embedding seeds. A control answers each problem once.
    draws: the most answers that verified decoding tries; None if it is not used.
    """
    asked = list({row["row"]: row for row in rows}.values())
    right: dict[str, dict[int, list[str]]] = {PLAIN: {}, VERIFIED: {}}
    for done, name in enumerate(names):
        progress(done, len(names))
        for column, rights in _rights(asked, prepared(data, name), draws or 1, judge).items():
            for row, is_right in zip(asked, rights, strict=True):
                right[column].setdefault(row["row"], []).extend([name] if is_right else [])
    progress(len(names), len(names))
    for row in rows:
        for column in (PLAIN,) if draws is None else (PLAIN, VERIFIED):
            row[column] = " ".join(right[column].get(row["row"], []))


def _rights(asked: Rows, control: Control, draws: int, judge: Judge) -> dict[str, list[bool]]:
    """Return whether a control is right on each problem, with one and with `draws` answers."""
    answers = [control.answers(row["problem"], draws) or [""] for row in asked]
    firsts = [each[0] for each in answers]
    verdicts = judge(asked, firsts)
    outcomes = draw_until_accepted(
        firsts,
        verdicts,
        draws,
        lambda left: [answers[place][1:] for place in left],
        lambda left, drawn: judge([asked[place] for place in left], drawn),
    )
    return {
        PLAIN: [Verdict(verdict).is_right for verdict in verdicts],
        VERIFIED: [Verdict(outcome.verdict).is_right for outcome in outcomes],
    }


@dataclass(frozen=True)
class ControlScore:
    """A comparison of a model's answers with the answers of the controls, for a set of problems.

    Attributes:
        shares: for each control, the share of problems on which it is right.
        best: the name of the control that is right most often.
        hard: the number of problems on which no control is right.
        hard_accuracy: the model's share of right answers to these problems; None if `hard` is 0.
        model_only: the number of problems on which the model is right, and the best control wrong.
        control_only: the number of problems on which the best control is right, the model wrong.
    """

    shares: Mapping[str, float]
    best: str
    hard: int
    hard_accuracy: float | None
    model_only: int
    control_only: int

    @property
    def p(self) -> float:
        """Return the two-sided p-value of McNemar's exact test: model against best control."""
        return mcnemar(self.model_only, self.control_only)

    def flat(self, before: str = "") -> dict[str, Any]:
        """Return the content as values by column name. before: the beginning of each name."""
        found = {
            "best_control": self.best,
            "best_control_accuracy": self.shares[self.best],
            "hard_examples": self.hard,
            "hard_accuracy": self.hard_accuracy,
            "model_only": self.model_only,
            "control_only": self.control_only,
            "mcnemar_p": self.p,
            **{f"control_{name}": share for name, share in self.shares.items()},
        }
        return {f"{before}{name}": value for name, value in found.items()}


def control_text(score: Mapping[str, Any], before: str = "") -> str:
    """Return the best control of a score with its share of right answers, as text."""
    name, share = (score[f"{before}best_control{end}"] for end in ("", "_accuracy"))
    return f"{name} {100 * share:.1f}%"


def comparison_lines(score: Mapping[str, Any]) -> list[str]:
    """Return the comparison of a model with the controls as lines of text.

    score: the content of `ControlScore.flat`, for plain answers and perhaps for verified answers.
    """
    lines = []
    for before, called in (("", "one answer"), ("verified_", "verified answers")):
        if f"{before}best_control" not in score:
            continue
        found = {name: score[f"{before}{name}"] for name in COMPARED}
        line = f"{called}: some control is right on each problem"
        if found["hard_examples"]:
            line = (
                f"{called}: no control is right on {found['hard_examples']:,} problems, this"
                f" system on {100 * found['hard_accuracy']:.1f}% of them"
            )
        lines.append(
            f"{line}; only this system is right: {found['model_only']:,}, only"
            f" {found['best_control']}: {found['control_only']:,}"
            f" (McNemar p = {found['mcnemar_p']:.2g})"
        )
    return lines


def control_score(right: np.ndarray, controls: Mapping[str, np.ndarray]) -> ControlScore | None:
    """Compare the answers of a model with the answers of controls.

    Returns None if there is no control or no answer.

    right: for each answer, whether the model is right. controls: the same for each control.
    """
    if not controls or not len(right):
        return None
    shares = {name: float(mask.mean()) for name, mask in controls.items()}
    best = max(shares, key=lambda name: shares[name])
    none = ~np.any(list(controls.values()), axis=0)
    return ControlScore(
        shares=shares,
        best=best,
        hard=int(none.sum()),
        hard_accuracy=float(right[none].mean()) if none.any() else None,
        model_only=int((right & ~controls[best]).sum()),
        control_only=int((~right & controls[best]).sum()),
    )
