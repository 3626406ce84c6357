"""Processes of a solver that judge answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from logicgen.callbacks import Progress, no_progress
from logicgen.processes.engines import open_pool
from logicgen.tasks import Task
from logicgen.tasks.judge import Item, Wants, finding_of, judge


class Verifier:
    """Worker processes that judge each different answer once. Use as a context manager."""

    def __init__(self, task: Task, solver: str | None, workers: int, seconds: float) -> None:
        self._known: dict[Item, str] = {}
        self._seconds = seconds
        wants = Wants(prefix=True, solver=solver)
        self._pool = open_pool(judge, (task.name, wants), count=workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def verdicts(self, items: list[Item], progress: Progress = no_progress) -> list[str]:
        """Return the verdict on each answer: `unknown` if the solver reached a limit."""
        new = [item for item in dict.fromkeys(items) if item not in self._known]
        progress(0, len(new))
        found = zip(new, self._pool.map(new, self._seconds, 256), strict=True)
        for done, (item, result) in enumerate(found, 1):
            self._known[item] = str(finding_of(result).verdict)
            if done % 256 == 0 or done == len(new):
                progress(done, len(new))
        return [self._known[item] for item in items]

    def judge(
        self, rows: Sequence[dict[str, Any]], answers: list[str], progress: Progress = no_progress
    ) -> list[str]:
        """Return the verdict on an answer to the problem of each row."""
        pairs = zip(rows, answers, strict=True)
        items = [Item(row["problem"], answer, row["answer"]) for row, answer in pairs]
        return self.verdicts(items, progress)
