"""Write problems as text for language models, with notation and form of the answer explained.

A prompt is a function of task, problem, version, notation and number of worked examples alone. A
change of any wording is another version, so that scores of two wordings are never taken for one.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from logicgen.errors import LogicgenError
from logicgen.tasks import load_task
from logicgen.tasks.task import Task, Wording

Notation = Literal["infix", "prefix"]

VERSION = 1
"""Number of the wording of all prompts: it rises whenever a word of them changes."""

_ANSWER = "Write your final answer between <answer> and </answer>, once, and nothing else in it."


def prompt(
    task: str,
    problem: str,
    *,
    examples: int = 0,
    notation: Notation = "infix",
    version: int = VERSION,
) -> str:
    """Return a problem as a text that asks a language model for its answer.

    problem: in people's or in prefix notation.
    examples: how many worked examples stand before it, up to 3.
    notation: in which the problem is written; examples and answers are written as people do.

    Raises LogicgenError for a task, a version or a number of examples that there is not, and
    FormatError for a problem that does not parse.
    """
    chosen = load_task(task)
    if version != VERSION:
        raise LogicgenError(f"prompts of version {version!r}: there is version {VERSION} alone")
    wording_of(chosen)
    return prompt_of(chosen, chosen.read_problem(problem), examples, notation)


def prompt_of(task: Task, problem: Any, examples: int = 0, notation: Notation = "infix") -> str:
    """Return the same as `prompt` of a value of the task."""
    wording = wording_of(task)
    if notation not in get_args(Notation):
        raise LogicgenError(f"notation: {notation!r}; prompts are in infix or prefix notation")
    if not 0 <= examples <= len(wording.examples):
        most = len(wording.examples)
        raise LogicgenError(f"examples: {examples}; of {task.name} there are 0 to {most}")
    explained = wording.notation + (wording.prefix if notation == "prefix" else wording.infix)
    parts = [wording.asks, explained, wording.answer, _ANSWER]
    for number, (asked, answer) in enumerate(wording.examples[:examples], start=1):
        shown = written_problem(task, task.read_problem(asked), notation)
        parts.append(f"Example {number}\n{wording.problem}: {shown}\n{answer_text(answer)}")
    written = written_problem(task, problem, notation)
    return "\n\n".join([*parts, f"{wording.problem}: {written}"])


def answer_text(answer: str) -> str:
    """Return an answer as a prompt asks for it."""
    return f"<answer>{answer}</answer>"


def written_problem(task: Task, problem: Any, notation: Notation = "infix") -> str:
    """Return a problem as a prompt writes it."""
    return task.show_problem(problem) if notation == "infix" else task.encode(problem)


def wording_of(task: Task) -> Wording:
    """Return the wording of the prompts of a task. Raises LogicgenError if there is none."""
    if task.wording is None:
        raise LogicgenError(f"task {task.name} has no prompts: its class has to define `wording`")
    return task.wording
