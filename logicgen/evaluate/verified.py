"""Verified decoding: draw answers until the solver accepts one, and count the draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict

if TYPE_CHECKING:
    from logicgen.nn.decoding import Sampling


@dataclass(frozen=True)
class Verified:
    """Settings of verified decoding: up to `draws` answers, the plain prediction, then samples."""

    draws: int
    sampling: Sampling

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise LogicgenError(f"verified: {self.draws} draws, but there has to be at least 1")


class Outcome(NamedTuple):
    """The first answer that was accepted; where none was, the plain prediction and all draws."""

    prediction: str
    verdict: str
    draws: int


def draw_until_accepted(
    predictions: Sequence[str],
    verdicts: Sequence[str],
    draws: int,
    draw: Callable[[np.ndarray, int], list[str]],
    judge: Callable[[np.ndarray, list[str]], list[str]],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Outcome]:
    """Return the outcome for each row of plain predictions with their verdicts.

    draw: from rows and the number of the draw (from 1; 0 are the plain predictions) to answers.
    judge: from rows and answers to verdicts; expected to remember those it gave before.

    Only right answers are accepted: one on which the solver reached its limit is not.
    """
    outcomes = [
        Outcome(prediction, verdict, 1 if Verdict(verdict).is_right else draws)
        for prediction, verdict in zip(predictions, verdicts, strict=True)
    ]
    rejected = np.array(
        [row for row, verdict in enumerate(verdicts) if not Verdict(verdict).is_right], dtype=int
    )
    for number in range(1, draws):
        progress(number - 1, draws - 1)
        if len(rejected) == 0:
            break
        answers = draw(rejected, number)
        found = judge(rejected, answers)
        accepted = np.array([Verdict(verdict).is_right for verdict in found])
        for place in np.flatnonzero(accepted):
            outcomes[rejected[place]] = Outcome(answers[place], found[place], number + 1)
        rejected = rejected[~accepted]
    progress(draws - 1, draws - 1)
    return outcomes
