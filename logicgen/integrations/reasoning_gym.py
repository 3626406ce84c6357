"""Data sets for Reasoning Gym: random problems without end, judged by the solver.

    import reasoning_gym
    import logicgen.integrations.reasoning_gym
    data = reasoning_gym.create_dataset("logicgen_ltl", seed=0, size=100, max_length=30)

Importing this registers a data set `logicgen_TASK` with a curriculum for each task with answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar

from logicgen.errors import LogicgenError
from logicgen.integrations.scorers import shared_scorer
from logicgen.integrations.versions import importing
from logicgen.scoring.completions import Mode
from logicgen.scoring.prompts import VERSION, Notation, answer_text, prompt
from logicgen.tasks import load_task, task_names
from logicgen.tasks.public_task import PublicTask

with importing("reasoning_gym", "0.1.25"):
    from reasoning_gym.coaching import BaseCurriculum, RangeAttributeDefinition
    from reasoning_gym.dataset import ProceduralDataset
    from reasoning_gym.factory import register_dataset


@dataclass
class LogicConfig:
    """Which problems are drawn, how they are asked, and how answers are judged.

    Attributes:
        min_symbols, max_symbols: how many symbols a problem has.
        min_length, max_length: how many tokens, in prefix notation.
        examples, notation: of prompts (`logicgen.prompt`).
        mode, timeout: of `logicgen.Scorer`. In mode `strict` an answer is one, or a completion with
            one between tags; in mode `tolerant` it may stand anywhere in a completion.
        seed: of all problems; drawn where it is None.
        size: how many there are said to be; any index can be had.
    """

    min_symbols: int = 2
    max_symbols: int = 4
    min_length: int = 8
    max_length: int = 20
    examples: int = 0
    notation: Notation = "infix"
    mode: Mode = "strict"
    timeout: float = 10.0
    seed: int | None = None
    size: int = 500

    def validate(self) -> None:
        """Raise LogicgenError where a range holds nothing."""
        ranges = {
            "symbols": (self.min_symbols, self.max_symbols),
            "length": (self.min_length, self.max_length),
        }
        for name, (low, high) in ranges.items():
            if not 1 <= low <= high:
                raise LogicgenError(
                    f"min_{name}, max_{name}: {low}, {high}; they have to be at least 1, and the"
                    " first not above the second"
                )


class LogicDataset(ProceduralDataset):
    """Random problems of a task that have an answer; item i depends on the configuration and i."""

    task: ClassVar[str]

    def __init__(self, config: LogicConfig) -> None:
        super().__init__(config=config, seed=config.seed, size=config.size)
        self._task = PublicTask(self.task)
        self._ranges = {
            "symbols": (config.min_symbols, config.max_symbols),
            "length": (config.min_length, config.max_length),
        }
        self._samples = self._task.samples(**self._ranges, seed=self.seed)
        self._scorer = partial(shared_scorer, self.task, config.mode, config.timeout)
        self._scorer()  # complain here of a setting that cannot be

    def __reduce__(self) -> Any:
        """Return what pickle stores: class and configuration, with the seed that was drawn."""
        return _dataset, (self.task, replace(self.config, seed=self.seed))

    @property
    def category(self) -> str:
        """Return the category of Reasoning Gym that the data set belongs to."""
        return "logic"

    def __getitem__(self, idx: int) -> dict[str, Any]:
        """Return problem number `idx`: `question`, `answer` and `metadata`.

        The answer is the canonical one, as people write it; others may be right, too. Raises
        LogicgenError where the ranges hold no problem, and for a number of examples that there is
        not.
        """
        problem, cell = self._samples[idx], self._samples.cell(idx)
        text = self._task.write(problem)
        examples, notation = self.config.examples, self.config.notation
        return {
            "question": prompt(self.task, text, examples=examples, notation=notation),
            "answer": self._task.write(self._task.solve(problem).witness),
            "metadata": {
                "source_dataset": f"logicgen_{self.task}",
                "source_index": idx,
                "problem": text,
                "symbols": cell.symbols,
                "length": cell.length,
                "prompt_version": VERSION,
                "difficulty": dict(self._ranges),
            },
        }

    def score_answer(self, answer: str | None, entry: dict[str, Any]) -> float:
        """Return 1.0 for an answer that solves the problem of an entry, else 0.0.

        answer: as `reasoning_gym.utils.extract_answer` returns it, or a whole completion.

        A score is a number here, so what cannot be decided within `timeout` seconds is 0.0: 1.0
        might be paid for nothing, and the mean of a group would not take NaN. Raises LogicgenError
        for an entry without a problem; no answer makes it raise.
        """
        problem = entry.get("metadata", {}).get("problem")
        if problem is None:
            raise LogicgenError(
                "an entry has no metadata 'problem', which is what an answer is checked against:"
                f" take the entries of logicgen_{self.task}"
            )
        if self.config.mode == "strict" and isinstance(answer, str) and "<answer>" not in answer:
            answer = answer_text(answer)
        judgement = self._scorer().score(problem, answer)
        return judgement.reward or 0.0

    def score_answer_cascade(self, answer: str | None, entry: dict[str, Any]) -> float:
        """Return the same as `score_answer`.

        The method of Reasoning Gym scores a second time, without LaTeX and with a blank for each
        `~`. It would pay `~a, b` for `a & b`.
        """
        return self.score_answer(answer, entry)


class LogicCurriculum(BaseCurriculum):
    """Levels of difficulty of a task: more symbols, longer problems."""

    def __init__(self, task: str) -> None:
        super().__init__(f"{task.capitalize()}Curriculum", LogicConfig)
        said = {"symbols": "Symbols of a problem", "length": "Tokens of a problem"}
        difficulty = load_task(task).difficulty
        levels = {"symbols": [*difficulty.symbols], "length": [*difficulty.length]}
        self._define_attributes(
            *(
                RangeAttributeDefinition(
                    name=name,
                    levels=levels[name],
                    description=said[name],
                    lower_field_name=f"min_{name}",
                    upper_field_name=f"max_{name}",
                )
                for name in levels
            )
        )


@cache
def dataset_class(task: str) -> type[LogicDataset]:
    """Return the class of the data sets of a task, made once."""
    return type(f"{task.capitalize()}Dataset", (LogicDataset,), {"task": task})


def _dataset(task: str, config: LogicConfig) -> LogicDataset:
    return dataset_class(task)(config)


for _task in task_names():
    register_dataset(
        f"logicgen_{_task}", dataset_class(_task), LogicConfig, partial(LogicCurriculum, _task)
    )
