"""Give verifiers a taskset: the problems of a data set, with rewards for right answers.

verifiers finds a taskset by its id: for the id `my-logic`, it imports a module *my_logic*. An id
has no dots, so it cannot name a module of logicgen. Write *my_logic.py* on the import path:

    from logicgen.integrations.verifiers import LogicTaskset

    __all__ = ["LogicTaskset"]

Then run:

    vf-eval my-logic --env.taskset.data data/ltl-mini --env.agent.harness.id null
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from logicgen.data.opening import as_dataset, load_dataset
from logicgen.data.prompts import prompt_rows
from logicgen.errors import LogicgenError
from logicgen.integrations.scorers import shared_scorer
from logicgen.integrations.versions import importing
from logicgen.scoring.completions import Mode
from logicgen.scoring.prompts import Notation, answer_text

with importing("verifiers", "0.4"):
    import verifiers.v1 as vf


class LogicData(vf.TaskData):
    """A problem with its prompt, and with the data set, the split and the row that contain it.

    Attributes:
        logic: name of the logicgen task, such as *ltl*.
        answer: the stored answer, written for people. Other answers may be right, too.
    """

    problem: str
    logic: str
    answer: str
    dataset: str
    fingerprint: str
    split: str
    row: int
    symbols: int
    length: int
    alpha_class: int
    prompt_version: int


class LogicTaskConfig(vf.TaskConfig):
    """Settings of `logicgen.Scorer`, which judges the completions."""

    mode: Mode = "strict"
    timeout: float = 10.0


class LogicTask(vf.Task[LogicData, vf.State, LogicTaskConfig]):
    """A problem with a reward of 1.0 for a right answer, else 0.0."""

    @property
    def key(self) -> str:
        """Return a text that identifies the example among all data sets."""
        return f"{self.data.dataset}-{self.data.fingerprint}-{self.data.id}"

    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        """Return the reward of the model's last reply. Store verdict and reason in `trace.info`.

        Raises LogicgenError if the judge reaches a limit of time or memory. The rollout then has an
        error and no reward.
        """
        judgement = await self._judge(trace.last_reply)
        trace.info["judgement"] = {
            "verdict": judgement.verdict.value,
            "answer": judgement.answer,
            "reason": judgement.reason,
        }
        if judgement.reward is None:
            raise LogicgenError(f"the answer could not be judged: {judgement.reason}")
        return float(judgement.reward)

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Return whether the stored answer is right; None if the judge reaches a limit."""
        reward = (await self._judge(answer_text(self.data.answer))).reward
        return None if reward is None else reward == 1.0

    async def _judge(self, completion: str) -> Any:
        scorer = shared_scorer(self.data.logic, self.config.mode, self.config.timeout, reasons=True)
        return await scorer.score_async(self.data.problem, completion)


class VerifiersConfig(vf.TasksetConfig):
    """Settings of the problems and the prompts.

    Attributes:
        data: folder of a data set.
        examples: worked examples in each prompt, up to 3.
        notation: `infix`, or `prefix`.
    """

    data: str = ""
    split: str = "train"
    examples: int = 0
    notation: Notation = "infix"
    task: LogicTaskConfig = LogicTaskConfig()


class LogicTaskset(vf.Taskset[LogicTask, VerifiersConfig]):
    """The problems of a split of a data set, in order."""

    def load(self) -> Iterator[LogicTask]:
        """Yield a task for each problem of the split.

        Raises LogicgenError if the data set or the split does not exist, if the task has no
        prompts, or for an impossible setting.
        """
        config = self.config
        if not config.data:
            raise LogicgenError("no data set is given: set --env.taskset.data to its folder")
        data = as_dataset(load_dataset(config.data))
        shared_scorer(data.task_name, config.task.mode, config.task.timeout, reasons=True)
        for row in prompt_rows(data, config.split, config.examples, config.notation):
            row["logic"] = row.pop("task")
            source = {"dataset": data.name, "fingerprint": data.fingerprint}
            yield LogicTask(
                LogicData(id=f"{row['split']}-{row['row']}", **row, **source), config.task
            )
