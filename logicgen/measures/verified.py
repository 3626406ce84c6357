"""Verified decoding: draw different answers until the solver accepts an answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict
from logicgen.tasks.meanings import by_meaning

if TYPE_CHECKING:
    from logicgen.model.model import Answerer
    from logicgen.nn.samples import Sampling
    from logicgen.tasks import Task


@dataclass(frozen=True)
class VerifiedSearch:
    """Settings of verified decoding.

    Verified decoding tries the model's prediction first, and then the likeliest of different random
    answers (`different`). It ends when the solver accepts an answer, or after `draws` answers.
    """

    draws: int
    sampling: Sampling

    def __post_init__(self) -> None:
        from logicgen.nn.samples import MOST_PREFIXES

        if not 1 <= self.draws <= MOST_PREFIXES:
            raise LogicgenError(
                f"{self.draws:,} draws of verified answers, but there have to be 1 to"
                f" {MOST_PREFIXES:,}"
            )

    def candidates(self, task: Task) -> Sampling:
        """Return how to draw the answers from which `different` chooses."""
        from logicgen.nn.samples import MOST_PREFIXES

        count = min(ceil(task.candidates * self.draws), MOST_PREFIXES)
        return replace(self.sampling, answers=count)

    def orders(self, model: Answerer, task: Task) -> int:
        """Return how many orders of a problem's operands are answered (`model/orders.py`)."""
        return task.orders if model.reorders else 1


class Outcome(NamedTuple):
    """The result of verified decoding for one problem.

    It contains the first accepted answer, its verdict, and the number of answers tried. If no
    answer was accepted, it contains the model's prediction and its verdict.
    """

    prediction: str
    verdict: str
    draws: int


def different(
    candidates: Iterable[tuple[str, float]], meaning: Callable[[str], Hashable], tried: str
) -> list[str]:
    """Return one answer of each meaning, except the meaning of `tried`, likeliest meaning first.

    A model may write one assignment with its literals in many orders. Verifying one order is
    enough. The probability of a meaning is the sum over its candidates.

    candidates: answers with their log-probabilities.
    meaning: returns the key of an answer: see `Task.meaning`.
    """
    known, found = meaning(tried), by_meaning(candidates, meaning)
    return [answer for what, (answer, _) in found.items() if what != known]


def draw_until_accepted(
    predictions: Sequence[str],
    verdicts: Sequence[str],
    draws: int,
    others: Callable[[np.ndarray], list[list[str]]],
    judge: Callable[[np.ndarray, list[str]], list[str]],
) -> list[Outcome]:
    """Try other answers where a prediction was rejected; return the outcome of each problem.

    predictions, verdicts: the model's prediction for each problem, and its verdict.
    draws: most answers to try for a problem, including the prediction.
    others: a function that takes indices of problems, and returns a list of other answers for each
        problem, in the order of trial.
    judge: a function that takes indices of problems and an answer to each problem, and returns the
        verdicts.

    An answer is accepted if its verdict is `exact` or `correct`.
    """
    outcomes = [
        Outcome(prediction, verdict, 1)
        for prediction, verdict in zip(predictions, verdicts, strict=True)
    ]
    rejected = [row for row, verdict in enumerate(verdicts) if not Verdict(verdict).is_right]
    drawn = others(np.array(rejected)) if rejected and draws > 1 else []
    left = {row: answers[: draws - 1] for row, answers in zip(rejected, drawn, strict=False)}
    for row, answers in left.items():
        outcomes[row] = outcomes[row]._replace(draws=1 + len(answers))
    for number in range(draws - 1):
        left = {row: answers for row, answers in left.items() if number < len(answers)}
        if not left:
            break
        answers = [each[number] for each in left.values()]
        found = judge(np.array(list(left)), answers)
        for row, answer, verdict in zip(list(left), answers, found, strict=True):
            if Verdict(verdict).is_right:
                outcomes[row] = Outcome(answer, verdict, number + 2)
                del left[row]
    return outcomes
