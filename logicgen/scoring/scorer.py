"""Judge completions: in this process, or in helper processes that are killed at a limit.

If an answer is wrong, the reason is computed after the verdict, with its own time limit. If this
takes too long, the reason is missing and the verdict is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

from logicgen.errors import FormatError, LogicgenError, shortened, shown
from logicgen.processes.pool import MEMORY, Failure, Pool
from logicgen.scoring.completions import (
    LONGEST_COMPLETION,
    Mode,
    NoAnswerError,
    check_mode,
    read_completion,
)
from logicgen.solvers import Verdict
from logicgen.syntax.answers import NoAnswer
from logicgen.tasks import load_task
from logicgen.tasks.formula_task import FormulaTask
from logicgen.tasks.judge import Item, Wants, check, check_seconds
from logicgen.tasks.task import Task

LEAST_MEMORY = 1 << 28
"""The fewest bytes of a helper: it needs nearly 200 MB to start."""


@dataclass(frozen=True)
class Judgement:
    """A verdict on a completion, with the answer that was found and, if it is wrong, the reason.

    Attributes:
        verdict: `correct`, `incorrect`, `invalid`, or `unknown` (a limit was reached). It is
            `invalid` if the completion has no answer, or if the answer does not parse, cannot be
            satisfied, or contains symbols that the problem does not have.
        answer: in infix notation; empty if no answer was read.
    """

    verdict: Verdict
    answer: str = ""
    reason: str = ""

    @property
    def reward(self) -> float | None:
        """Return 1.0 for a right answer, None for an unknown verdict, else 0.0."""
        return self.verdict.reward


def judge(
    task: Task, problem: Any, completion: object, mode: Mode = "strict", reasons: bool = True
) -> Judgement:
    """Return the judgement on a completion, in this process and without limits.

    problem: a value of the task.
    completion: a completion that is not a text, or has no answer, is `invalid`.
    reasons: whether to compute the reason if the answer is wrong.
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
    """Return the symbols of an answer that the problem does not contain.

    A word of prose can look like a symbol: "a=1, this is false" gives `this` a value. The answer
    `unknown`, read as a literal, would be right for every tautology. So an answer with symbols that
    the problem does not contain is `invalid`.
    """
    if isinstance(task, FormulaTask):
        named, known = () if isinstance(answer, NoAnswer) else answer.symbols, {*problem.symbols}
        return [symbol for symbol in named if symbol not in known]
    # In tolerant mode, a string with other symbols may be prose. Between tags it is a wrong answer.
    known = {*problem} if mode == "tolerant" else {*answer}
    return [symbol for symbol in dict.fromkeys(answer) if symbol not in known]


def answer_of(task: Task, completion: object, mode: Mode = "strict") -> Any:
    """Return the answer in a completion, unchecked, or None if no answer can be read.

    Returns None also if the completion gives several different answers. Two answers count as
    different if a task with a limited effort cannot prove them equal.
    """
    if refusal(completion) is not None:
        return None
    try:
        return read_completion(task, str(completion), mode)
    except (NoAnswerError, FormatError):
        return None


def refusal(completion: object) -> Judgement | None:
    """Return the judgement on a completion that is not text or is too long, otherwise None."""
    reason = ""
    if not isinstance(completion, str):
        reason = f"the completion is {type(completion).__name__}, not text"
    elif len(completion) > LONGEST_COMPLETION:
        size = f"{len(completion):,} characters"
        reason = f"the completion has {size}; the limit is {LONGEST_COMPLETION:,}"
    return Judgement(Verdict.INVALID, reason=reason) if reason else None


class Scorer:
    """Judges the completions of one task, from any thread and any event loop.

    No completion raises an error. A problem that does not parse raises FormatError. The first
    score starts the helpers. They end with `close`, with the `with` block, or with the program.
    Raises LogicgenError for an unknown task or an invalid setting.

    Args:
        task: the name of the task.
        mode: `strict` reads an answer only between answer tags; `tolerant` also reads an answer
            from the whole completion.
        timeout: seconds that a helper process may take for one completion. If it takes longer, the
            verdict is `unknown`. The reason of a wrong answer has the same limit. If it takes
            longer, the reason is missing.
        memory: the most bytes that a helper may use, at least `LEAST_MEMORY`.
        workers: the number of completions that are judged at the same time.
        reasons: whether to look for a counterexample if an answer is wrong. This takes longer than
            the verdict.
    """

    def __init__(
        self,
        task: str,
        mode: Mode = "strict",
        *,
        timeout: float = 1.0,
        memory: int = MEMORY,
        workers: int = 1,
        reasons: bool = True,
    ) -> None:
        load_task(task)  # raise errors in this process, not in a worker
        check_mode(mode)
        check_seconds(timeout)
        if not (isinstance(memory, int) and LEAST_MEMORY <= memory < 2**63):
            raise LogicgenError(
                f"memory: {shown(memory)}; it has to be a whole number of bytes, at least"
                f" {LEAST_MEMORY:,}, because a helper needs about as much to start"
            )
        self.task, self.mode, self.timeout, self.reasons = task, mode, timeout, reasons
        self._pool: Pool[Item, Any] = Pool(_judging, (task, mode), count=workers, memory=memory)

    def score(self, problem: str, completion: object) -> Judgement:
        """Return the judgement on a completion. Raises FormatError for a bad problem."""
        return self.score_batch([problem], [completion])[0]

    def score_batch(
        self, problems: Sequence[str], completions: Sequence[object]
    ) -> list[Judgement]:
        """Return the judgements on completions, in order. Raises the errors of `score`.

        Raises LogicgenError if the numbers of problems and completions differ.
        """
        refused, sent = self._submit(problems, completions)
        found = _merged(refused, sent.result())
        unexplained, sent = self._ask_reasons(problems, found)
        return _explained(found, unexplained, sent.result())

    async def score_async(self, problem: str, completion: object) -> Judgement:
        """Return the same as `score`, without blocking the event loop."""
        return (await self.score_batch_async([problem], [completion]))[0]

    async def score_batch_async(
        self, problems: Sequence[str], completions: Sequence[object]
    ) -> list[Judgement]:
        """Return the same as `score_batch`, without blocking the event loop."""
        refused, sent = self._submit(problems, completions)
        found = _merged(refused, await asyncio.wrap_future(sent))
        unexplained, sent = self._ask_reasons(problems, found)
        return _explained(found, unexplained, await asyncio.wrap_future(sent))

    def close(self) -> None:
        """End the helpers."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(
        self, problems: Sequence[str], completions: Sequence[object]
    ) -> tuple[list[Judgement | None], Future[list[Any]]]:
        """Send completions to the helpers, except completions that are too long or not text.

        Returns a list and a future. The list has the judgement on each refused completion, and None
        for each submitted completion. The future returns the results of submitted completions.
        """
        if len(problems) != len(completions):
            raise LogicgenError(
                f"{len(problems):,} problems and {len(completions):,} completions: give one"
                " completion for each problem"
            )
        for problem in problems:
            if not isinstance(problem, str):
                raise LogicgenError(f"a problem is {type(problem).__name__}, not text")
        refused = [refusal(completion) for completion in completions]
        asked = zip(problems, completions, refused, strict=True)
        items = [
            Item(problem, str(text)) for problem, text, judgement in asked if judgement is None
        ]
        return refused, self._pool.submit_all(items, self.timeout)

    def _ask_reasons(
        self, problems: Sequence[str], found: list[Judgement]
    ) -> tuple[list[int], Future[list[Any]]]:
        """Request the reasons of wrong answers.

        Returns the places of these answers in `found`, and a future that returns the reasons.
        """
        places = [
            place
            for place, each in enumerate(found)
            if self.reasons and not each.reason and each.reward == 0.0
        ]
        items = [
            Item(problems[place], found[place].answer, verdict=found[place].verdict)
            for place in places
        ]
        return places, self._pool.submit_all(items, self.timeout)


def _merged(refused: list[Judgement | None], found: list[Any]) -> list[Judgement]:
    """Return `refused` with each None replaced by the next judgement of `found`."""
    judged = map(_judged, found)
    return [next(judged) if judgement is None else judgement for judgement in refused]


def _explained(found: list[Judgement], places: list[int], reasons: list[Any]) -> list[Judgement]:
    """Return the judgements `found`; add the computed reasons to the judgements at `places`."""
    for place, reason in zip(places, reasons, strict=True):
        if isinstance(reason, str):
            found[place] = replace(found[place], reason=reason)
    return found


def _judging(task: str, mode: Mode) -> Callable[[Item], Any]:
    """Return a function that judges a completion, or returns the reason of a wrong answer.

    If a problem does not parse, the function returns the error.
    """
    chosen = load_task(task)
    # A trainer scores several completions of a problem; parse the problem only once.
    read = lru_cache(256)(chosen.read_problem)

    # Build the grammars and the solvers now, before the first item comes.
    for completion in ("<answer>unsat</answer>", "<answer>(</answer>", "<answer>{a}</answer>"):
        with suppress(LogicgenError):
            judge(chosen, chosen.read_problem("a"), completion, mode)

    def decide(item: Item) -> Any:
        try:
            parsed = read(item.problem)
        except LogicgenError as error:
            return error
        try:
            if item.verdict is not None:
                answer = chosen.read_answer(item.answer)
                return check(chosen, Wants(reason=True), parsed, answer, None, item.verdict).reason
            judgement = judge(chosen, parsed, item.answer, mode, reasons=False)
        except MemoryError:
            raise
        except Exception as error:  # a bug in logicgen must not end a training or be rewarded
            said = f"an error that should not happen: {type(error).__name__}: {error}"
            return Verdict.UNKNOWN.value, "", said
        return judgement.verdict.value, judgement.answer, judgement.reason

    return decide


def _judged(found: Any) -> Judgement:
    """Return the judgement that a helper process sent. If it sent an error, raise the error."""
    if isinstance(found, Failure):
        return Judgement(Verdict.UNKNOWN, reason=found.reason)
    if isinstance(found, Exception):
        raise found
    verdict, answer, reason = found
    return Judgement(Verdict(verdict), answer, reason)
