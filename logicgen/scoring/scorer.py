"""Judge completions: here and now, or in helper processes that are killed at a limit.

A reason is looked for once the verdict is known, as an item of its own: where that takes too long,
the reason is missing, and the verdict stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self, get_args

from logicgen.errors import FormatError, LogicgenError, shortened
from logicgen.processes.pool import MEMORY, Failure, Pool
from logicgen.scoring.completions import LONGEST_COMPLETION, Mode, NoAnswerError, read_completion
from logicgen.solvers import Verdict
from logicgen.syntax.answers import NoAnswer
from logicgen.tasks import load_task
from logicgen.tasks.formula_task import FormulaTask
from logicgen.tasks.judge import Item, Wants, check
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


class Scorer:
    """Judges the completions of one task, from any thread and any event loop.

    Args:
        task: its name.
        mode: `strict` or `tolerant`, which places of a completion may hold the answer.
        timeout: seconds for one completion, from when a helper begins with it; then the verdict is
            `unknown`. As many again for the reason, which is then missing. Waiting for a helper
            does not count.
        memory: bytes that a helper may take.
        workers: how many completions are judged at once.
        reasons: whether a counterexample is looked for where an answer is wrong, which takes longer
            than the verdict.

    No completion makes it raise; a problem that does not parse does. Helpers are started with the
    first score and ended by `close`, at the end of a `with`, or with the program. Raises
    LogicgenError for an unknown task or a setting that cannot be.
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
        load_task(task)  # complain here, not in a worker
        if mode not in get_args(Mode):
            raise LogicgenError(f"mode: {mode!r}; it is 'strict' or 'tolerant'")
        if not (isinstance(timeout, int | float) and 0 < timeout < float("inf")):
            raise LogicgenError(f"timeout: {timeout!r}; it has to be a number of seconds above 0")
        self.task, self.mode, self.timeout, self.reasons = task, mode, timeout, reasons
        self._pool: Pool[Item, Any] = Pool(_judging, (task, mode), count=workers, memory=memory)

    def score(self, problem: str, completion: object) -> Judgement:
        """Return the judgement on a completion. Raises FormatError for a bad problem."""
        return self.score_batch([problem], [completion])[0]

    def score_batch(
        self, problems: Sequence[str], completions: Sequence[object]
    ) -> list[Judgement]:
        """Return the judgements on completions, in order. Raises as `score`.

        Raises LogicgenError where there are not as many problems as completions.
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
        """Return what is refused unread, in its place, and the future of all others."""
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
        """Return the places of answers that are not right, and the future of the reasons."""
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
    """Return all judgements in order: those that were refused unread, and those of helpers."""
    judged = map(_judged, found)
    return [next(judged) if judgement is None else judgement for judgement in refused]


def _explained(found: list[Judgement], places: list[int], reasons: list[Any]) -> list[Judgement]:
    """Return the judgements, those at some places with the reasons that were found."""
    for place, reason in zip(places, reasons, strict=True):
        if isinstance(reason, str):
            found[place] = replace(found[place], reason=reason)
    return found


def _judging(task: str, mode: Mode) -> Callable[[Item], Any]:
    """Return the function that judges a completion, or explains an answer whose verdict is known.

    It returns the error of a problem that does not parse.
    """
    chosen = load_task(task)
    read = lru_cache(256)(chosen.read_problem)  # a trainer asks several completions of a problem
    # Grammars and solvers are made when they are first used: before the first item comes.
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
        except Exception as error:  # a fault of ours must not end a training, nor be paid
            said = f"an error that should not happen: {type(error).__name__}: {error}"
            return Verdict.UNKNOWN.value, "", said
        return judgement.verdict.value, judgement.answer, judgement.reason

    return decide


def _judged(found: Any) -> Judgement:
    """Return what a helper found as a judgement, and raise what is wrong with a problem."""
    if isinstance(found, Failure):
        return Judgement(Verdict.UNKNOWN, reason=found.reason)
    if isinstance(found, Exception):
        raise found
    verdict, answer, reason = found
    return Judgement(Verdict(verdict), answer, reason)
