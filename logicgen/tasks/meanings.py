"""Answers of one meaning, such as an assignment with its literals in another order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from math import exp, inf, log
from typing import TypeVar

AnswerT = TypeVar("AnswerT")


def by_meaning(
    answers: Iterable[tuple[AnswerT, float]], meaning: Callable[[AnswerT], Hashable]
) -> dict[Hashable, tuple[AnswerT, float]]:
    """Return the first answer of each meaning, and the meaning's log-probability, likeliest first.

    A meaning is as probable as all its answers together. Equal probabilities keep their order.

    answers: answers with their log-probabilities.
    meaning: returns the key of an answer: see `Task.meaning`.
    """
    scored = list(answers)
    highest = max((score for _, score in scored if score > -inf), default=0.0)
    found: dict[Hashable, tuple[AnswerT, float]] = {}
    for answer, score in scored:
        what = meaning(answer)
        first, total = found.get(what, (answer, 0.0))
        found[what] = first, total + exp(score - highest)
    return {
        what: (answer, highest + log(total) if total else -inf)
        for what, (answer, total) in sorted(found.items(), key=lambda item: -item[1][1])
    }
