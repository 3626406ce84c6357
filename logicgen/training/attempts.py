"""Rounds of learning from verdicts: problems, the model's answers, and their verdicts, in files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from logicgen.files import damaged, read_json
from logicgen.solvers import Verdict
from logicgen.tasks.problems import alpha_class_of
from logicgen.tasks.task import symbols_of
from logicgen.tokens import Vocabulary
from logicgen.training.curriculum import Curriculum, Kind, kind_of
from logicgen.training.frontier import Frontier, SolvedSizes

FOLDER = "rounds"
"""The folder of the files in a run folder."""


class Attempt(NamedTuple):
    """An answer of the model to a problem."""

    answer: str  # prefix notation
    score: float  # log-probability in nats
    verdict: Verdict


@dataclass
class Attempts:
    """A new problem and the model's answers, in the order in which they were drawn."""

    problem: str  # prefix notation
    attempts: list[Attempt]

    @property
    def accepted(self) -> list[Attempt]:
        """Return the right answers."""
        return [each for each in self.attempts if each.verdict.is_right]

    @property
    def different(self) -> list[str]:
        """Return the different answers."""
        return list(dict.fromkeys(each.answer for each in self.attempts))

    @property
    def share(self) -> float:
        """Return the share of right answers among decided answers, weighted by probability."""
        known = {a.answer: a for a in self.attempts if a.verdict is not Verdict.UNKNOWN}
        highest = max((each.score for each in known.values()), default=0.0)
        weights = [(math.exp(each.score - highest), each.verdict) for each in known.values()]
        right = sum(weight for weight, verdict in weights if verdict.is_right)
        return right / sum(weight for weight, _ in weights) if weights else 0.0

    @property
    def worth(self) -> float:
        """Return how useful the problem is for learning, from 0 to 1.

        It is 0 if all or no answers are right, and 1 if right answers have half of the probability.
        """
        return 4 * self.share * (1 - self.share)


@dataclass
class Round:
    """New problems with the model's answers.

    Attributes:
        number: the number of the round, from 0.
        following: the number of the first problem that is drawn for the next round. All drawn
            problems of a training are numbered from 0.
        curriculum: the curriculum before the round.
        frontier: the largest problems of the round, if their ranges grow.
        seconds: time of drawing answers, and the part of it spent waiting for verdicts.
    """

    number: int
    asked: list[Attempts]
    following: int
    curriculum: Curriculum
    frontier: Frontier | None = None
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)

    def worths(self, hard: Collection[str]) -> list[tuple[Kind, float]]:
        """Return each problem's kind and worth."""
        return [(kind_of(each.problem, hard), each.worth) for each in self.asked]

    def sizes(self) -> SolvedSizes:
        """Return the symbols and tokens of each problem, and whether an answer was right."""
        return [
            ((len(symbols_of(each.problem)), len(each.problem.split())), bool(each.accepted))
            for each in self.asked
        ]

    def measures(self) -> dict[str, float]:
        """Return the logged measures of a round.

        accepted: share of problems with a right first answer.
        solved: share of problems with a right answer.
        worth: mean of `Attempts.worth`.
        different: mean number of different right answers to a solved problem.
        unknown: share of answers that the verifier could not judge.
        length: mean number of tokens of right answers.
        entropy: mean -log p of the first answer to each problem, in nats.
        symbolless: share of right answers without symbols, such as an empty assignment.
        commonest: largest share of solved problems with the same right answer, up to renaming.
        symbols, tokens: the most symbols and tokens of problems, if their ranges grow.
        """
        attempts = list(chain.from_iterable(each.attempts for each in self.asked))
        firsts = [each.attempts[0] for each in self.asked if each.attempts]
        accepted = [[a.answer for a in each.accepted] for each in self.asked]
        right = list(chain.from_iterable(accepted))
        solved = list(filter(None, accepted))
        common = Counter(chain.from_iterable({*map(alpha_class_of, each)} for each in solved))
        grown = (
            dict(zip(("symbols", "tokens"), map(float, self.frontier.sizes), strict=True))
            if self.frontier
            else {}
        )
        return {
            "accepted": _mean([each.verdict.is_right for each in firsts]),
            "solved": _mean(list(map(bool, accepted))),
            "worth": _mean([each.worth for each in self.asked]),
            "different": _mean([len({*answers}) for answers in solved]),
            "unknown": _mean([each.verdict is Verdict.UNKNOWN for each in attempts]),
            "length": _mean([len(answer.split()) for answer in right]),
            "entropy": _mean([-each.score for each in firsts]),
            "symbolless": _mean([not symbols_of(answer) for answer in right]),
            "commonest": max(common.values(), default=0) / max(len(solved), 1),
            **grown,
        }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def written(made: Round) -> dict[str, Any]:
    """Return a round as the content of its JSON file."""
    return {
        "round": made.number,
        "following": made.following,
        "measures": made.measures(),
        "known": [[*kind, *counts] for kind, counts in made.curriculum.known.items()],
        **({"frontier": asdict(made.frontier)} if made.frontier else {}),
        "problems": [
            [each.problem, [[a.answer, a.score, str(a.verdict)] for a in each.attempts]]
            for each in made.asked
        ],
    }


def read_round(path: Path, vocabulary: Vocabulary | None = None) -> Round:
    """Return the round in a file.

    Raises LogicgenError if the file is damaged, or holds a token that `vocabulary` lacks.
    """
    remedy = "remove the run and train again"
    content = read_json(path, remedy)
    try:
        asked = [
            Attempts(
                _text(problem),
                [Attempt(_text(answer), float(score), Verdict(v)) for answer, score, v in attempts],
            )
            for problem, attempts in content["problems"]
        ]
        if vocabulary is not None:
            for text in chain.from_iterable((each.problem, *each.different) for each in asked):
                _check_tokens(text, vocabulary)
        known = {
            Kind(*map(int, each[:3])): (float(each[3]), float(each[4])) for each in content["known"]
        }
        frontier = content.get("frontier") and Frontier.of(content["frontier"])
        number, following = int(content["round"]), int(content["following"])
        return Round(number, asked, following, Curriculum(known), frontier)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise damaged(path, remedy, error) from None


def _check_tokens(text: str, vocabulary: Vocabulary) -> None:
    try:
        vocabulary.encode(text)
    except KeyError as error:
        raise ValueError(f"unknown token {error}") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def last_round(run: Path) -> Round | None:
    """Return the last round of a run, or None before the first round."""
    path = max((run / FOLDER).glob("*.json"), default=None)
    return None if path is None else read_round(path)
