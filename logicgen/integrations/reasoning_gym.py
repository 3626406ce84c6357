"""Data sets for Reasoning Gym: endless random problems, judged by the solver.

    import reasoning_gym
    import logicgen.integrations.reasoning_gym
    data = reasoning_gym.create_dataset("logicgen_ltl", seed=0, size=100, max_length=30)

Importing this module registers a data set `logicgen_TASK`, with a curriculum, for each task.
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
    """Settings of the problems, the prompts and the judge.

    In mode `strict`, `score_answer` reads a bare answer, or a completion with an answer between the
    tags <answer> and </answer>. In mode `tolerant` the answer may be anywhere in a completion.

    Attributes:
        min_symbols: least number of symbols in a problem.
        max_symbols: greatest number of symbols in a problem.
        min_length: least number of tokens in prefix notation.
        max_length: greatest number of tokens in prefix notation.
        examples: number of worked examples in a prompt, as in `logicgen.prompt`.
        notation: notation of problems, as in `logicgen.prompt`.
        mode: how answers are found in completions, as in `logicgen.Scorer`.
        timeout: time limit of the judge in seconds, as in `logicgen.Scorer`.
        seed: seed of all problems; random if not given.
        size: the length that the data set reports. Problems with higher indices exist, too.
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
        """Raise LogicgenError if the range of symbols or of lengths is empty."""
        ranges = {
            "symbols": (self.min_symbols, self.max_symbols),
            "length": (self.min_length, self.max_length),
        }
        for name, (low, high) in ranges.items():
            if not 1 <= low <= high:
                raise LogicgenError(
                    f"min_{name}, max_{name}: {low}, {high}; both must be at least 1, and the first"
                    " must not be above the second"
                )


class LogicDataset(ProceduralDataset):
    """Random solvable problems of a task. Problem `i` depends only on the configuration and `i`."""

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
        self._scorer()  # raises LogicgenError for an impossible setting

    def __reduce__(self) -> Any:
        """Make pickle store only the task and the configuration, which includes the seed."""
        return _dataset, (self.task, replace(self.config, seed=self.seed))

    @property
    def category(self) -> str:
        """Return the Reasoning Gym category of the data set."""
        return "logic"

    def __getitem__(self, idx: int) -> dict[str, Any]:
        """Return problem number `idx` as a dict of `question`, `answer` and `metadata`.

        The answer is the canonical answer as readable text. Other answers may be right, too.
        Raises LogicgenError if no problem is in the ranges, or if `examples` is too large.
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

        If the judge cannot decide within `timeout` seconds, the score is 0.0: Reasoning Gym needs a
        number, 1.0 could reward a wrong answer, and NaN would spoil the mean of a group.

        answer: the result of `reasoning_gym.utils.extract_answer`, or a whole completion.
        entry: the item of the data set that contains the problem.

        Raises LogicgenError if the entry has no problem. No answer raises an error.
        """
        problem = entry.get("metadata", {}).get("problem")
        if problem is None:
            raise LogicgenError(
                "an entry has no metadata 'problem', so the answer cannot be checked: take the"
                f" entries of logicgen_{self.task}"
            )
        if self.config.mode == "strict" and isinstance(answer, str) and "<answer>" not in answer:
            answer = answer_text(answer)
        judgement = self._scorer().score(problem, answer)
        return judgement.reward or 0.0

    def score_answer_cascade(self, answer: str | None, entry: dict[str, Any]) -> float:
        """Return the score of `score_answer`.

        This replaces a method that scores each answer again without LaTeX and with a blank for each
        `~`. That method would reward `~a, b` as an answer to `a & b`.
        """
        return self.score_answer(answer, entry)


class LogicCurriculum(BaseCurriculum):
    """Levels of difficulty of a task. A higher level has more symbols or longer problems."""

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
    """Return the data-set class of a task. Later calls return the same class."""
    return type(f"{task.capitalize()}Dataset", (LogicDataset,), {"task": task})


def _dataset(task: str, config: LogicConfig) -> LogicDataset:
    return dataset_class(task)(config)


for _task in task_names():
    register_dataset(
        f"logicgen_{_task}", dataset_class(_task), LogicConfig, partial(LogicCurriculum, _task)
    )
