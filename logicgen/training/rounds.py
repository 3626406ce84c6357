"""Rounds of learning from verdicts: new problems, the model's own answers, and their verdicts.

A round is a pure function of the recipe, the weights at its start and its number. Its file contains
the whole round:

    RUN/rounds/000012.json    problems, answers, verdicts; the curriculum before the round

A training that is stopped in the middle of a round continues with the answers in the file. Problems
of held-out splits are excluded. If the data set counts renamings of a problem as equal, renamings
of these problems are excluded, too.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch

from logicgen.data.dataset import Dataset
from logicgen.errors import LogicgenError, at
from logicgen.files import damaged, read_json, write_text
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.kinds import grammar_mask
from logicgen.model.model import Request
from logicgen.model.recipe_tables import RewardTable
from logicgen.nn.linear import float32_products
from logicgen.nn.samples import Sampling
from logicgen.processes.pool import MEMORY, Pool
from logicgen.solvers import Verdict
from logicgen.tasks import load_task
from logicgen.tasks.judge import Finding, Item, Wants, finding_of, judge
from logicgen.tasks.problem_samples import EFFORT, ProblemSamples
from logicgen.tasks.problems import alpha_class_of, fingerprint
from logicgen.tasks.task import symbols_of
from logicgen.training.curriculum import Curriculum, Kind, kind_of
from logicgen.training.fresh_problems import FreshProblems

FOLDER = "rounds"

SECONDS = 60.0
"""Time limit of the verifier for an answer. Most verdicts take milliseconds."""

CHUNK = {"cpu": 256, "cuda": 1024}
"""Number of problems that the model answers in one call, by device.

Meanwhile, worker processes judge the answers of earlier calls.
"""

TOGETHER = {"cpu": 64, "cuda": 1024}
"""Batch size of answering, by device. Problems are sorted by length; a small batch pads less."""

ROOM = 8
"""Number of tokens by which an answer may exceed the longest stored answer.

If new problems may be longer than stored problems, the longest answer is assumed to be longer by
the same factor.
"""

AHEAD = 4
"""Number of problems that are drawn ahead for each problem of a round.

A curriculum keeps about one of three.
"""

CANDIDATES = 1000
"""Most problems drawn for each problem that a round keeps."""


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
        """Return the worth of the problem for learning, from 0 to 1.

        It is 0 if all or no answers are right, and 1 if half of them are right.
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
        seconds: time of drawing answers, and the part of it spent waiting for verdicts.
    """

    number: int
    asked: list[Attempts]
    following: int
    curriculum: Curriculum
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)

    def worths(self, hard: Collection[str]) -> list[tuple[Kind, float]]:
        """Return the kind and the worth of each problem."""
        return [(kind_of(each.problem, hard), each.worth) for each in self.asked]

    def measures(self) -> dict[str, float]:
        """Return the logged measures of a round.

        accepted: share of problems whose first answer is right.
        solved: share of problems with a right answer.
        worth: mean worth of the problems.
        different: mean number of different right answers to a solved problem.
        unknown: share of answers that the verifier could not judge.
        length: mean number of tokens of right answers.
        entropy: mean -log p of the first answer to each problem, in nats.
        symbolless: share of right answers without symbols, such as an empty assignment.
        commonest: largest share of solved problems with the same right answer, up to renaming.
        """
        attempts = list(chain.from_iterable(each.attempts for each in self.asked))
        firsts = [each.attempts[0] for each in self.asked if each.attempts]
        accepted = [[a.answer for a in each.accepted] for each in self.asked]
        right = list(chain.from_iterable(accepted))
        solved = list(filter(None, accepted))
        common = Counter(map(alpha_class_of, chain.from_iterable(map(set, solved))))
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
        }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


class Rounds:
    """The rounds of a training, and their files.

    Args:
        model: the model that answers; its weights change between rounds.
        table: the recipe's `[reward]`.
        data: a data set; new problems come from its recipe.
        folder: the run folder.
        held_out: data sets. The problems of all their splits except `train` are excluded.
        workers: number of processes that judge, and of those that draw problems.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        table: RewardTable,
        data: Dataset,
        folder: Path,
        *,
        seed: int = 0,
        held_out: Sequence[Dataset] = (),
        workers: int = 1,
    ) -> None:
        self.model, self.table, self.folder, self.seed = model, table, folder / FOLDER, seed
        recipe = data.recipe
        region = recipe.region
        self.task = load_task(recipe.task)
        self.exact = (recipe.distinct or self.task.distinct) == "exact"
        length = table.length or region.length
        with at("[reward]"):
            self.problems = ProblemSamples(
                self.task,
                table.symbols or region.symbols,
                length,
                seed,
                names="first-occurrence" if recipe.names == "first-occurrence" else "shuffled",
                # Many problems beyond all controls have no answer.
                satisfiable=True if table.beyond and not table.unsatisfiable else None,
                beyond=table.beyond or (),
                **recipe.problem,
            )
        rows = model.embedding.max_symbols
        if rows is not None and self.problems.symbols[1] > rows:
            raise LogicgenError(
                f"reward.symbols: problems of up to {self.problems.symbols[1]} symbols, but the"
                f" model has trained rows for {rows}: lower it, or start from a model whose"
                " embedding.method takes any number"
            )
        self.excluded = {key for each in (data, *held_out) for key in self._keys(each)}
        stored = int(data.encoded("train").answers.lengths.max(initial=0))
        self.longest = ROOM + math.ceil(stored * max(1.0, length[1] / region.length[1]))
        self.mask = grammar_mask(self.task, self.longest)
        # The verifier's limit is a number of steps, so that a round is the same on every machine.
        wants = Wants(prefix=True, solver=recipe.verifier, effort=EFFORT)
        self.judges: Pool[Item, Finding] = Pool(
            judge, (recipe.task, wants), count=workers, memory=MEMORY
        )
        self.fresh = FreshProblems(self.problems, AHEAD * table.problems, workers)

    def close(self) -> None:
        """End the worker processes."""
        self.judges.close()
        self.fresh.close()

    def _keys(self, data: Dataset) -> Iterator[int]:
        """Yield a key of each problem in all splits of a data set except `train`.

        A key is a hash of the problem. Renamings have the same key unless `self.exact` is true.
        Raises LogicgenError for a data set of another task.
        """
        if data.task.name != self.task.name:
            raise LogicgenError(
                f"--held-out {data.folder}: holds problems of {data.task.name}, and the model"
                f" is asked problems of {self.task.name}: leave it out"
            )
        for split in data.splits:
            if split != "train" and data.splits[split]:
                if self.exact:
                    yield from map(fingerprint, data.table(split, ["problem"])[0].to_pylist())
                else:
                    yield from data.table(split, ["alpha_class"])[0].to_pylist()

    def round(self, number: int) -> Round:
        """Return a round: read its file, or make the round and write the file.

        Raises LogicgenError if the file, or the file of the round before, is damaged. Raises it
        also if no answer of the first round is right.
        """
        path = self.path(number)
        if path.is_file():
            return _read(path)
        if number == 0:
            following, curriculum = 0, Curriculum()
        else:
            before = _read(self.path(number - 1))
            following = before.following
            curriculum = before.curriculum.after(before.worths(self.task.hard_operators))
        found = self._made(number, following, curriculum)
        if number == 0 and not any(each.accepted for each in found.asked):
            shortest, longest = self.problems.length
            raise LogicgenError(
                f"none of {sum(len(each.attempts) for each in found.asked):,} answers to"
                f" {len(found.asked):,} problems was right, so there is nothing to learn from:"
                " start from a model that was trained on stored answers for longer, or with easier"
                f" problems: reward.length is [{shortest}, {longest}], and reward.curriculum ="
                " true prefers problems that the model sometimes answers right"
            )
        write_text(path, json.dumps(_written(found)) + "\n")
        return found

    def path(self, number: int) -> Path:
        """Return the file of a round."""
        return self.folder / f"{number:06}.json"

    def _made(self, number: int, following: int, curriculum: Curriculum) -> Round:
        problems, following = self._chosen(following, curriculum)
        started, waited = time.monotonic(), 0.0
        drawn: list[list[tuple[str, float]]] = []
        judged: list[Future[list[Any]]] = []
        training = self.model.training
        with torch.random.fork_rng(devices=[]), float32_products(self.model.device):
            size = CHUNK[self.model.device.type]
            for start in range(0, len(problems), size):
                chunk = problems[start : start + size]
                answers = self._answers(chunk, number)
                drawn += answers
                items = [
                    Item(problem, text)
                    for problem, each in zip(chunk, answers, strict=True)
                    for text in dict(each)
                ]
                judged.append(self.judges.submit_all(items, SECONDS))
        self.model.train(training)
        waiting = time.monotonic()
        verdicts = (finding_of(each).verdict for part in judged for each in part.result())
        asked = []
        for problem, attempted in zip(problems, drawn, strict=True):
            known = {text: next(verdicts) for text in dict(attempted)}
            attempts = [Attempt(text, score, known[text]) for text, score in attempted]
            asked.append(Attempts(problem, attempts))
        waited = time.monotonic() - waiting
        return Round(number, asked, following, curriculum, (time.monotonic() - started, waited))

    def _chosen(self, first: int, curriculum: Curriculum) -> tuple[list[str], int]:
        """Return the problems of a round, and the number of the first problem after them."""
        chosen: dict[str, None] = {}
        number = first
        hard = self.task.hard_operators
        most = first + CANDIDATES * self.table.problems
        texts = self.fresh.texts(first)
        while len(chosen) < self.table.problems:
            if number == most:
                raise LogicgenError(
                    f"only {len(chosen):,} of {most - first:,} drawn problems differ from held-out"
                    " problems and from each other: widen reward.symbols or reward.length"
                )
            text = next(texts)
            kind = kind_of(text, hard)
            luck = Random(f"{self.seed}/kept/{number}").random()
            number += 1
            if self.table.curriculum and luck >= curriculum.probability(kind):
                continue
            if (fingerprint(text) if self.exact else alpha_class_of(text)) in self.excluded:
                continue
            chosen[text] = None
        return list(chosen), number

    def _answers(self, problems: list[str], number: int) -> list[list[tuple[str, float]]]:
        """Draw answers to each problem; return their texts and log-probabilities."""
        table, vocabulary = self.table, self.model.vocabulary
        ids = [vocabulary.encode(problem) for problem in problems]
        symbols = max(self.model.training_symbols, self.problems.symbols[1])
        batch = TOGETHER[self.model.device.type]
        asked = Request(ids, symbols, number, self.longest, self.mask, batch_size=batch)
        together = 1 if table.method == "policy-gradient" else table.draws
        found: list[list[tuple[str, float]]] = [[] for _ in problems]
        for draw in range(table.draws // together):
            sampling = Sampling(
                table.temperature, seed=number * table.draws + draw, answers=together
            )
            drawn = self.model.predict(replace(asked, decoding=sampling))
            for place, answers in enumerate(drawn):
                found[place] += [
                    (vocabulary.decode(each.ids), each.score)
                    for each in answers
                    if math.isfinite(each.score)  # an unfinished answer has -inf
                ]
        return found


def _written(made: Round) -> dict[str, Any]:
    """Return a round as the content of its JSON file."""
    return {
        "round": made.number,
        "following": made.following,
        "measures": made.measures(),
        "known": [[*kind, *counts] for kind, counts in made.curriculum.known.items()],
        "problems": [
            [each.problem, [[a.answer, a.score, str(a.verdict)] for a in each.attempts]]
            for each in made.asked
        ],
    }


def _read(path: Path) -> Round:
    """Return the round in a file. Raises LogicgenError if the file is damaged."""
    remedy = "remove the run and train again"
    content = read_json(path, remedy)
    try:
        asked = [
            Attempts(problem, [Attempt(answer, score, Verdict(v)) for answer, score, v in attempts])
            for problem, attempts in content["problems"]
        ]
        known = {Kind(*each[:3]): (each[3], each[4]) for each in content["known"]}
        return Round(content["round"], asked, content["following"], Curriculum(known))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise damaged(path, remedy, error) from None
