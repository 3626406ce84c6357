"""Self-consistency: the most frequent of several answers drawn to one question.

Source: Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (ICLR
2023). Of answers that are as frequent, the one with the higher total probability over its draws
wins, and of those with equal ones the one drawn first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T", bound=Hashable)


class Elected(NamedTuple, Generic[T]):
    """The answer that won, and how many of the draws gave it."""

    answer: T
    votes: int


def elect(answers: Sequence[T], log_probabilities: Sequence[float]) -> Elected[T]:
    """Return the most frequent answer; log_probabilities: of each draw, in nats."""
    draws: dict[T, list[float]] = {}
    for answer, log_p in zip(answers, log_probabilities, strict=True):
        draws.setdefault(answer, []).append(log_p)
    totals = {answer: float(np.logaddexp.reduce(each)) for answer, each in draws.items()}
    best = max(draws, key=lambda answer: (len(draws[answer]), totals[answer]))
    return Elected(best, len(draws[best]))
