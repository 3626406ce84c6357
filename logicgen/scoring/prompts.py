"""Write prompts for language models: a problem, its notation, and the form of the answer.

A prompt depends only on the task, the problem, the notation, the number of worked examples and the
version of the wording. Every change of the wording gets a new version, so that scores of two
wordings are never compared by mistake.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from logicgen.errors import LogicgenError
from logicgen.tasks import load_task
from logicgen.tasks.task import Task, Wording

Notation = Literal["infix", "prefix"]

VERSION = 1
"""The version of the wording of all prompts. It rises when any word of them changes."""

_ANSWER = "Write your final answer between <answer> and </answer>, once, and nothing else in it."


def prompt(
    task: str,
    problem: str,
    *,
    examples: int = 0,
    notation: Notation = "infix",
    version: int = VERSION,
) -> str:
    """Return a prompt that asks a language model for the answer to a problem.

    problem: in infix or in prefix notation.
    examples: the number of worked examples before the problem, up to 3.
    notation: the notation of the problem. Examples and answers are always in infix notation.

    Raises LogicgenError for an unknown task, version or notation, and for too many examples. Raises
    FormatError for a problem that does not parse.
    """
    chosen = load_task(task)
    if version != VERSION:
        raise LogicgenError(f"prompts have version {VERSION}, not {version!r}")
    wording_of(chosen)
    if not isinstance(problem, str):
        raise LogicgenError(f"a problem is {type(problem).__name__}, not text")
    return prompt_of(chosen, chosen.read_problem(problem), examples, notation)


def prompt_of(task: Task, problem: Any, examples: int = 0, notation: Notation = "infix") -> str:
    """Return the prompt of a problem that is given as a value of the task; see `prompt`."""
    wording = wording_of(task)
    if notation not in get_args(Notation):
        raise LogicgenError(f"notation: {notation!r}; prompts are in infix or prefix notation")
    if not 0 <= examples <= len(wording.examples):
        most = len(wording.examples)
        raise LogicgenError(f"examples: {examples}; the task {task.name} has 0 to {most}")
    explained = wording.notation + (wording.prefix if notation == "prefix" else wording.infix)
    parts = [wording.asks, explained, wording.answer, _ANSWER]
    for number, (asked, answer) in enumerate(wording.examples[:examples], start=1):
        shown = written_problem(task, task.read_problem(asked), notation)
        parts.append(f"Example {number}\n{wording.problem}: {shown}\n{answer_text(answer)}")
    written = written_problem(task, problem, notation)
    return "\n\n".join([*parts, f"{wording.problem}: {written}"])


def answer_text(answer: str) -> str:
    """Return an answer between answer tags, as a prompt asks for it."""
    return f"<answer>{answer}</answer>"


def written_problem(task: Task, problem: Any, notation: Notation = "infix") -> str:
    """Return a problem as text in the notation of a prompt."""
    return task.show_problem(problem) if notation == "infix" else task.encode(problem)


def wording_of(task: Task) -> Wording:
    """Return the wording of a task's prompts. Raises LogicgenError if the task has no prompts."""
    if task.wording is None:
        raise LogicgenError(f"task {task.name} has no prompts: its class has to define `wording`")
    return task.wording
