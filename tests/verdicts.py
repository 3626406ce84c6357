"""The verdict on a prediction, as evaluations have it."""

from __future__ import annotations

from logicgen.solvers import Verdict
from logicgen.tasks import Task
from logicgen.tasks.judge import Item, Wants, judge


def verdict(task: Task, problem: str, answer: str, expected: str | None = None) -> Verdict:
    """Return the verdict on an answer to a stored example, all in prefix notation."""
    return judge(task, Wants(prefix=True))(Item(problem, answer, expected)).verdict
