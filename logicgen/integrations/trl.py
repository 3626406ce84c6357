"""Reward completions that solve their problem, for TRL.

    GRPOTrainer(model, reward_funcs=reward, train_dataset=dataset, args=GRPOConfig(...))

Write the data set with `logicgen export DATA DIR --for trl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logicgen.errors import LogicgenError
from logicgen.integrations.scorers import rewards, said
from logicgen.integrations.versions import at_least
from logicgen.scoring.completions import Mode

at_least("trl", "1.16")


class Reward:
    """A reward function with its own settings of `logicgen.Scorer`.

    TRL logs its rewards under the name *logicgen*. The object holds only settings, so it can be
    pickled.
    """

    def __init__(self, mode: Mode = "strict", *, timeout: float = 1.0, workers: int = 1) -> None:
        self.mode, self.timeout, self.workers = mode, timeout, workers
        self.__name__ = "logicgen"

    def __call__(
        self,
        *,
        completions: Sequence[Any],
        problem: Sequence[Any] | None = None,
        task: Sequence[Any] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """Return a reward for each completion: 1.0 (right), 0.0 (wrong) or None (unknown verdict).

        TRL ignores a reward of None.

        completions: texts, or lists of messages; the last message is read.
        problem, task: columns of the data set, with a value for each completion. A row without
            a task belongs to another data set, and its reward is None.

        Raises LogicgenError for a missing column, an unknown task, or a problem that does not
        parse. No completion raises an error.
        """
        if problem is None or task is None:
            missing = "problem" if problem is None else "task"
            raise LogicgenError(
                f"the data set has no column {missing!r}: write it with `logicgen export DATA DIR"
                " --for trl`, and set remove_unused_columns=False in the configuration"
            )
        if not len(completions) == len(problem) == len(task):
            raise LogicgenError(
                f"{len(completions):,} completions, {len(problem):,} problems and {len(task):,}"
                " tasks: give a problem and a task for each completion"
            )
        found: list[float | None] = [None] * len(completions)
        ours = [place for place, name in enumerate(task) if name is not None]
        asked = [(task[place], problem[place], said(completions[place])) for place in ours]
        paid = rewards(asked, self.mode, self.timeout, self.workers)
        for place, each in zip(ours, paid, strict=True):
            found[place] = each
        return found


reward = Reward()
"""The reward function in mode `strict`, with a limit of a second for each completion."""
