"""Tasks and a scorer for Inspect: a model answers problems, and the solver judges the answers.

    inspect eval logicgen/solve -T data=data/ltl-mini --model openai/gpt-4o
    inspect eval logicgen/ask -T prompts=prompts.jsonl --model openai/gpt-4o

Metrics count only samples with a known verdict. The metadata of a sample contain the name and the
fingerprint (a checksum) of its data set, its split and its row.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from logicgen.data.opening import as_dataset, load_dataset
from logicgen.data.prompts import prompt_rows
from logicgen.errors import LogicgenError
from logicgen.integrations.reply_files import read_rows
from logicgen.integrations.scorers import shared_scorer
from logicgen.integrations.versions import importing
from logicgen.scoring.completions import Mode
from logicgen.scoring.prompts import Notation, answer_text

with importing("inspect_ai", "0.3.285"):
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, grouped, scorer, stderr
    from inspect_ai.solver import generate


@task
def solve(
    data: str,
    split: str = "test",
    examples: int = 0,
    notation: Notation = "infix",
    mode: Mode = "strict",
    timeout: float = 10.0,
    limit: int | None = None,
) -> Any:
    """Return an Inspect task: a model has to solve the problems of a data set.

    data: the folder of the data set.
    examples, notation: settings of prompts, as in `logicgen.prompt`.
    mode, timeout: settings of `logicgen.Scorer`.
    limit: the largest number of samples; the first samples are taken. None means all samples.

    Raises LogicgenError if the data set or the split does not exist, if the task has no prompts, or
    for an impossible setting.
    """
    made = as_dataset(load_dataset(data))
    rows = islice(prompt_rows(made, split, examples, notation), limit)
    source = {"dataset": made.name, "fingerprint": made.fingerprint}
    samples = MemoryDataset([_sample(row, source) for row in rows], made.name, str(data))
    return Task(
        dataset=samples,
        solver=generate(),
        scorer=verified(made.task_name, mode, timeout),
        metadata={"task": made.task_name, "split": split, **source},
    )


def _sample(row: dict[str, Any], source: dict[str, str]) -> Any:
    """Return an Inspect sample for a problem. Its target is the stored answer.

    row: the problem with its prompt, as `prompt_rows` yields it.
    source: name and fingerprint of the data set, for the metadata.
    """
    kept = {key: value for key, value in row.items() if key not in ("prompt", "answer")}
    return Sample(
        id=f"{row['split']}-{row['row']}",
        input=row["prompt"],
        target=answer_text(row["answer"]),
        metadata={**kept, **source},
    )


@task
def ask(prompts: str, mode: Mode = "strict", timeout: float = 10.0) -> Any:
    """Return an Inspect task with the prompts of a file. All must be prompts of one logicgen task.

    prompts: JSON lines, as `logicgen measure covariance --prompts` and `logicgen export --for
        jsonl` write them.
    mode, timeout: settings of `logicgen.Scorer`.

    Raises LogicgenError with the number of a line that lacks a field.
    """
    samples, tasks = [], set()
    for number, row in enumerate(read_rows(Path(prompts)), start=1):
        needed = ("prompt", "problem", "task", "symbols", "length")
        if missing := [key for key in needed if key not in row]:
            raise LogicgenError(
                f"{prompts}, row {number}: no {missing[0]!r}: give a file that logicgen measure"
                " covariance --prompts or logicgen export --for jsonl wrote"
            )
        kept = {key: value for key, value in row.items() if key not in ("prompt", "answer")}
        samples.append(Sample(id=number, input=row["prompt"], metadata=kept))
        tasks.add(row["task"])
    if len(tasks) != 1:
        raise LogicgenError(f"{prompts}: prompts of {len(tasks)} tasks: give prompts of one task")
    scorer = verified(tasks.pop(), mode, timeout)
    dataset = MemoryDataset(samples, Path(prompts).stem, prompts)
    return Task(dataset=dataset, solver=generate(), scorer=scorer)


@scorer(
    metrics=[
        accuracy(),
        stderr(),
        grouped(accuracy(), "symbols", all=False, name_template="symbols {group_name}"),
        grouped(accuracy(), "length", all=False, name_template="length {group_name}"),
    ]
)
def verified(task: str, mode: Mode = "strict", timeout: float = 10.0) -> Any:
    """Return the Inspect scorer of a logicgen task: "C" for a right answer, else "I".

    The metadata of a sample need `problem`, `symbols` and `length`. If the judge cannot decide
    within `timeout` seconds, the sample stays unscored, and no metric counts it.

    Raises LogicgenError for an unknown task or an impossible setting. The scorer raises
    LogicgenError for a sample without a problem.
    """
    judge = shared_scorer(task, mode, timeout, reasons=True)

    async def score(state: Any, target: Any) -> Any:
        problem = state.metadata.get("problem")
        if problem is None:
            raise LogicgenError(
                f"sample {state.sample_id}: no metadata 'problem', so the answer cannot be checked:"
                " take the samples of logicgen/solve"
            )
        judgement = await judge.score_async(problem, state.output.completion)
        said: dict[str, Any] = {
            "answer": judgement.answer,
            "explanation": judgement.reason,
            "metadata": {"verdict": judgement.verdict.value},
        }
        if judgement.reward is None:
            return Score.unscored(reason="scoring_failed", **said)
        reason = "invalid_response_format" if judgement.verdict == "invalid" else None
        return Score(value=CORRECT if judgement.reward else INCORRECT, reason=reason, **said)

    return score
