"""Judge a completion: find its answer, read it, and have the task check it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from logicgen.errors import FormatError, shortened
from logicgen.scoring.completions import LONGEST_COMPLETION, Mode, read_completion
from logicgen.scoring.lexer import NoAnswerError
from logicgen.solvers import Verdict
from logicgen.syntax.answers import NoAnswer
from logicgen.tasks.formula_task import FormulaTask
from logicgen.tasks.judge import Wants, check
from logicgen.tasks.task import Task


@dataclass(frozen=True)
class Judgement:
    """A verdict on a completion, with the answer that was found and, if it is not right, why.

    Attributes:
        verdict: `correct`, `incorrect`, `invalid` (no answer is found, it does not parse, stands
            for nothing, or names other symbols than the problem), or `unknown` (a limit).
        answer: as people write it; empty if none was read.
    """

    verdict: Verdict
    answer: str = ""
    reason: str = ""

    @property
    def reward(self) -> float | None:
        """Return 1.0 for a right answer, None for a verdict that is not known, else 0.0."""
        return self.verdict.reward


def judge(
    task: Task, problem: Any, completion: object, mode: Mode = "strict", reasons: bool = True
) -> Judgement:
    """Return the judgement on a completion, here and now, without limits.

    problem: a value of the task.
    completion: anything but text is `invalid`, as is text without an answer.
    reasons: whether a reason is looked for where an answer that was read is not right.
    """
    if (refused := refusal(completion)) is not None:
        return refused
    assert isinstance(completion, str)
    try:
        answer = read_completion(task, completion, mode)
    except (NoAnswerError, FormatError) as error:
        return Judgement(Verdict.INVALID, reason=str(error).partition("\n")[0])
    if foreign := _foreign(task, problem, answer, mode):
        names = shortened(", ".join(foreign))
        return Judgement(Verdict.INVALID, reason=f"the problem does not contain {names}")
    found = check(task, Wants(shown=True, reason=reasons), problem, answer)
    reason = "the solver gave up" if found.verdict is Verdict.UNKNOWN else found.reason
    return Judgement(found.verdict, found.answer or "", reason)


def _foreign(task: Task, problem: Any, answer: Any, mode: Mode) -> list[str]:
    """Return the symbols of an answer that make it no answer to the problem.

    Words of prose can be read as symbols: "a=1, this is false" gives `this` a value, and `unknown`
    would be right for every tautology.
    """
    if isinstance(task, FormulaTask):
        named, known = () if isinstance(answer, NoAnswer) else answer.symbols, {*problem.symbols}
        return [symbol for symbol in named if symbol not in known]
    # Between tags a string with other symbols is a wrong answer; elsewhere it can be any sentence.
    known = {*problem} if mode == "tolerant" else {*answer}
    return [symbol for symbol in dict.fromkeys(answer) if symbol not in known]


def answer_of(task: Task, completion: object, mode: Mode = "strict") -> Any:
    """Return the answer that a completion holds, unchecked; None where none can be read.

    Answers that differ are none; a task of limited effort takes for different what it cannot tell.
    """
    if refusal(completion) is not None:
        return None
    try:
        return read_completion(task, str(completion), mode)
    except (NoAnswerError, FormatError):
        return None


def refusal(completion: object) -> Judgement | None:
    """Return the judgement on what is no text, or is too long to be read; None for all else."""
    reason = ""
    if not isinstance(completion, str):
        reason = f"the completion is {type(completion).__name__}, not text"
    elif len(completion) > LONGEST_COMPLETION:
        size = f"{len(completion):,} characters"
        reason = f"the completion has {size}; {LONGEST_COMPLETION:,} are read"
    return Judgement(Verdict.INVALID, reason=reason) if reason else None
