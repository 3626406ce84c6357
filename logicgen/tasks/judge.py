"""Judge an item (a problem and an answer): parse both, solve the problem, check the answer.

    decide = judge("propositional", Wants())
    decide(Item("a | b", "a=1")).verdict  # correct

The function `decide` runs in this process or in the worker processes of a pool
(`processes/pool.py`). A pool limits seconds and bytes, so its verdicts depend on the machine. An
effort limits the steps of a solver, so the verdicts are the same on every machine. Therefore the
makers of data sets use an effort.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from logicgen.errors import FormatError, LogicgenError, shown
from logicgen.processes.pool import MEMORY, Failure, Pool
from logicgen.solvers import Solution, Status, Verdict
from logicgen.tasks import Task, fitting_solver, load_task
from logicgen.tasks.task import Explanation

# A judge caches this number of parsed problems, because data sets often repeat a problem.
REMEMBERED = 16
MOST_SECONDS = 2**63  # the longest time limit: Python cannot convert much larger integers to float


_UNKNOWN = Verdict.UNKNOWN  # cached, because Python looks up enumeration members slowly


class Item(NamedTuple):
    """A problem and an answer to it, as text.

    Attributes:
        expected: a right answer in prefix notation; an equal answer is `exact`.
        verdict: the verdict on the answer, if it is known. The answer is then not checked.
    """

    problem: str
    answer: str = ""
    expected: str | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Wants:
    """The findings that a judge has to return, and how it computes them.

    Attributes:
        verdict: whether to return the verdict on the item's answer.
        solution: whether to return the canonical answer to the problem.
        shown: whether to return an answer in infix notation: the item's answer if `verdict` is
            true, otherwise the canonical answer.
        reason: whether to return why an answer is incorrect.
        explanation: whether to return the explanation of an answer, which contains the reason.
        prefix: items are in prefix notation, as in data sets; otherwise in any notation.
        effort: steps after which a solver gives up; None means no limit.
    """

    verdict: bool = True
    solution: bool = False
    shown: bool = False
    reason: bool = False
    explanation: bool = False
    prefix: bool = False
    solver: str | None = None
    effort: int | None = None


class Finding(NamedTuple):
    """The findings about an item; see `Wants`.

    Attributes:
        verdict: the verdict on the answer; `unknown` if no verdict is wanted.
        reason: why the answer is not right, does not parse, or why its verdict is unknown.
        picture: a drawing of the answer on several lines; part of the explanation.
        error: the error of a problem that does not parse. The other findings are then empty.
    """

    verdict: Verdict = _UNKNOWN
    solution: Solution | None = None
    answer: str | None = None
    reason: str = ""
    explanation: Explanation | None = None
    picture: str = ""
    error: LogicgenError | None = None


def judge(task: str | Task, wants: Wants) -> Callable[[Item], Finding]:
    """Return a function that judges an item.

    Raises LogicgenError for an unknown task, or a solver that does not fit the task. The returned
    function raises the errors of the solver.
    """
    chosen = load_task(task) if isinstance(task, str) else task
    fitting_solver(chosen.name, wants.solver)
    if wants.effort is not None:
        chosen = chosen.limited(wants.effort)
    read_problem, read_answer = chosen.read_problem, chosen.read_answer
    if wants.prefix:
        read_problem = lru_cache(REMEMBERED)(chosen.decode_problem)
        read_answer = chosen.decode_answer

    def decide(item: Item) -> Finding:
        try:
            problem = read_problem(item.problem)
        except LogicgenError as error:
            # A copy does not refer to the variables of the parser, which can be large.
            return Finding(
                error=copy(error) if type(error) is FormatError else LogicgenError(str(error))
            )
        if not wants.verdict:
            solution = chosen.solve(problem, wants.solver)
            shown = wants.shown and solution.witness is not None
            canonical = chosen.show(solution.witness) if shown else None
            return Finding(_UNKNOWN, solution, canonical, solution.reason)
        try:
            answer = read_answer(item.answer)
        except FormatError as error:
            return Finding(Verdict.INVALID, reason=str(error))
        return check(chosen, wants, problem, answer, item.expected, item.verdict)

    return decide


def is_missing(answer: str, verdict: Verdict) -> bool:
    """Return whether an empty text means that no answer was found in a reply.

    It can also be an empty answer, such as the assignment without a symbol, which is never invalid.
    """
    return not answer and verdict is Verdict.INVALID


def check(
    task: Task,
    wants: Wants,
    problem: Any,
    answer: Any,
    expected: str | None = None,
    verdict: Verdict | None = None,
) -> Finding:
    """Return the findings about an answer to a problem.

    The problem and the answer are values of the task, not texts. For `expected` and `verdict` see
    `Item`.
    """
    solution = task.solve(problem, wants.solver) if wants.solution else None
    if verdict is None:
        verdict = task.check(problem, answer, wants.solver)
        if expected is not None and verdict is Verdict.CORRECT:
            exact = task.same(answer, task.decode_answer(expected))
            verdict = Verdict.EXACT if exact else verdict
    reason, picture, explanation = "", "", None
    if wants.explanation:
        try:
            explanation = task.explain(problem, answer, verdict)
        except MemoryError:
            raise
        except Exception as error:  # for example, logicgen contradicts another solver's verdict
            explanation = Explanation(f"no explanation: {error}")
        reason, picture = explanation.reason, task.picture(answer)
    elif verdict is Verdict.INVALID or (wants.reason and verdict is Verdict.INCORRECT):
        reason = task.reason(problem, answer, verdict)
    shown = task.show(answer) if wants.shown else None
    return Finding(verdict, solution, shown, reason, explanation, picture)


def finding_of(result: Finding | Failure) -> Finding:
    """Return the finding that a pool computed; its verdict is `unknown` if the pool hit a limit.

    Raises the error of a problem that does not parse.
    """
    if isinstance(result, Failure):
        unknown = Solution(Status.UNKNOWN, reason=result.reason)
        return Finding(solution=unknown, reason=result.reason)
    if result.error is not None:
        raise result.error
    return result


def solve(task: str, problem: str, solver: str | None, seconds: float | None) -> Solution:
    """Return the solution of a problem, with the canonical answer.

    The status is `unknown` if parsing and solving take longer than `seconds`. Raises LogicgenError
    for an unknown task or solver, FormatError for a problem that does not parse.
    """
    wants = Wants(verdict=False, solution=True, solver=solver)
    solution = _judge_within(task, wants, Item(problem), seconds).solution
    assert solution is not None
    return solution


def verify(
    task: str, problem: str, answer: str, solver: str | None, seconds: float | None
) -> tuple[Verdict, str]:
    """Return the verdict on an answer and a reason.

    The reason is empty unless the answer is invalid or a limit was reached. Raises the same
    errors as `solve`. A faulty answer raises no error.
    """
    found = _judge_within(task, Wants(solver=solver), Item(problem, answer), seconds)
    return found.verdict, found.reason


def check_seconds(timeout: object) -> None:
    """Raise LogicgenError if a time limit is not a number of seconds."""
    seconds = timeout if isinstance(timeout, int | float) else 0
    if not seconds > 0 or (isinstance(seconds, int) and seconds > MOST_SECONDS):
        raise LogicgenError(
            f"timeout: {shown(timeout)}; it has to be a number of seconds above 0 (inf: no limit)"
        )


def _judge_within(task: str, wants: Wants, item: Item, seconds: float | None) -> Finding:
    """Judge an item in this process or, if `seconds` is given, in a worker process."""
    decide = judge(task, wants)  # raise errors in this process, not in a worker
    for text in (item.problem, item.answer):
        if not isinstance(text, str):
            raise LogicgenError(f"{shown(text)} is not a text")
    if seconds is None:
        return finding_of(decide(item))
    check_seconds(seconds)
    return finding_of(_pool(task, wants).call(item, seconds))


@cache
def _pool(task: str, wants: Wants) -> Pool[Item, Finding]:
    return Pool(judge, (task, wants), count=os.cpu_count() or 1, memory=MEMORY)
