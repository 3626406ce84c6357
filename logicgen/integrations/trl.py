"""A reward function for TRL: pays completions that solve their problem.

    GRPOTrainer(model, reward_funcs=reward, train_dataset=dataset, args=GRPOConfig(...))

where the data set is read from what `logicgen export DATA DIR --for trl` writes.
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
    """A reward function with settings of its own, which are those of `logicgen.Scorer`.

    TRL logs it under the name *logicgen*. It holds nothing but its settings, and so can be pickled.
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
        """Return a reward for each completion: 1.0, 0.0, or None, which TRL leaves out.

        completions: texts, or lists of messages, of which the last one is read.
        problem, task: columns of the data set, a value for each completion. Where task is None, as
            in rows of other data sets, so is the reward.
        Raises LogicgenError for a missing column, an unknown task and a problem that does not
        parse; no completion makes it raise.
        """
        if problem is None or task is None:
            missing = "problem" if problem is None else "task"
            raise LogicgenError(
                f"the data set has no column {missing!r}: take one that `logicgen export DATA DIR"
                " --for trl` wrote, and set remove_unused_columns=False in the configuration"
            )
        found: list[float | None] = [None] * len(completions)
        ours = [place for place, name in enumerate(task) if name is not None]
        asked = [(task[place], problem[place], said(completions[place])) for place in ours]
        paid = rewards(asked, self.mode, self.timeout, self.workers)
        for place, each in zip(ours, paid, strict=True):
            found[place] = each
        return found


reward = Reward()
"""The reward function with strict reading of answers, and a second for each."""
