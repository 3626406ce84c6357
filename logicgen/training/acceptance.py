"""Train a model on its own answers, which the verifier has judged.

    expert iteration    imitate the accepted answers (Anthony et al. 2017)
    policy gradient     an answer's advantage is its reward minus the mean reward of its problem,
                        in standard deviations (GRPO: Shao et al. 2024), with one ratio of
                        probabilities for each answer (GSPO: Zheng et al. 2025)
    right tokens        imitate all tokens that are right next, along each answer up to its first
                        wrong token, if the task can judge them (similar to DAgger, in which an
                        expert corrects the learner's actions: Ross et al. 2011)

`reward.steps` training steps follow each round (`rounds.py`). Each batch contains some stored
examples, to prevent forgetting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from logicgen.data.dataset import Dataset, Ragged
from logicgen.errors import at
from logicgen.model.batches import Batch, moved, padded_batch
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.recipe_tables import RewardTable
from logicgen.model.training_data import ProblemData
from logicgen.nn.linear import float32_products
from logicgen.tasks.right_tokens import KnownAnswers, NextTokens, RightTokens
from logicgen.tasks.right_traces import RightTraces
from logicgen.training.attempts import Attempts, Round, last_round
from logicgen.training.learner import ModelLearner
from logicgen.training.right_learner import RightPath, right_batch, right_mask
from logicgen.training.rounds import Rounds

EASY = 0.05
"""For answers other than `any`, a problem is drawn with the weight `EASY` plus its worth.

So problems with worth 0 are drawn, too. For `right-tokens` in propositional logic, the share of
wrong answers replaces the worth. For `policy-gradient`, answers are taken in turn.
"""

WATCHED = 128
"""In each round, the initial weights compute the log-probability of this number of answers."""


class Row(NamedTuple):
    """An answer to a problem, from which the model learns."""

    problem: list[int]
    answer: list[int]
    advantage: float = 1.0  # reward minus mean reward of the problem, in standard deviations
    score: float = 0.0  # log-probability with which the answer was drawn
    right: NextTokens | None = None  # all right next tokens, not only the answer's tokens


class RewardLesson(NamedTuple):
    """The answers to one problem that the model learns from.

    weight: the probability of drawing this problem is proportional to it.
    """

    rows: list[Row]
    weight: float


class AcceptanceLearner(ModelLearner):
    """A model that learns from verdicts on its own answers.

    `close` ends the worker processes that judge the answers.
    """

    model: EncoderDecoder
    data: ProblemData

    def __init__(
        self,
        model: EncoderDecoder,
        data: ProblemData,
        folder: Path,
        held_out: Sequence[Dataset] = (),
        workers: int = 1,
    ) -> None:
        super().__init__(model, data)
        assert model.recipe.reward is not None
        self.reward: RewardTable = model.recipe.reward
        self.start = deepcopy(model)  # a copy with the initial weights
        self.rounds = Rounds(
            model,
            self.reward,
            data.datasets,
            folder,
            seed=self.seed,
            held_out=held_out,
            workers=workers,
        )
        if self.reward.grow:
            self._note_growth(last_round(folder))
        if self.reward.method == "right-tokens":
            most = int(data.train.symbols.argmax())
            self._next(model.vocabulary.decode(data.train.problems[most].tolist()), [])
        self.current: tuple[int, list[RewardLesson]] = (-1, [])
        self.measures: dict[str, Tensor] = {}

    def _note_growth(self, found: Round | None) -> None:
        """Remember in the model how large new problems have been."""
        frontier = self.rounds.frontier if found is None else found.frontier
        self.model.grown = None if frontier is None else frontier.sizes

    def close(self) -> None:
        """End the worker processes that judge answers."""
        self.rounds.close()

    def batches(self, step: int) -> Iterator[int]:
        """Yield the numbers of the steps, because each batch depends on the weights before it."""
        return count(step)

    def loss(
        self, batch: int, generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a step, and the logged measures if `measured` is true."""
        own, stored = self._rows(batch)
        rows = own + stored
        if self.reward.method == "policy-gradient" and own:
            loss, measures = self._policy_gradient(batch, own, measured)
            if stored:
                imitated = self._imitated(batch, stored, generator, measured)
                loss = (len(own) * loss + len(stored) * imitated[0]) / len(rows)
                measures |= imitated[1]
        elif all(row.right is not None for row in rows):
            loss, measures = self._right_tokens(batch, rows, generator, measured)
        else:
            loss, measures = self._imitated(batch, rows, generator, measured)
        return loss, {**measures, **self.measures} if measured else {}

    # -- rows ---------------------------------------------------------------------------------

    def _rows(self, step: int) -> tuple[list[Row], list[Row]]:
        """Return the rows of a step: the model's own answers, and stored answers.

        If a round has no answer to learn from, all rows are stored answers.
        """
        number, place = divmod(step, self.reward.steps)
        if self.current[0] != number:
            found = self.rounds.round(number)
            self.current = number, self._learnt(found)
            self.measures = self._measured(found)
            self._note_growth(found)
        lessons = self.current[1]
        rng = np.random.default_rng((self.seed, step))
        size = self.table.batch_size
        wanted = max(size - round(size * self.reward.stored), 1) if lessons else 0
        own: list[Row] = []
        if lessons and self.reward.method == "policy-gradient":
            # The steps of a round take its answers in turn, in a random order.
            rows = [row for lesson in lessons for row in lesson.rows]
            order = np.random.default_rng((self.seed, number, 1)).permutation(len(rows))
            places = range(place * wanted, (place + 1) * wanted)
            own = [rows[order[i % len(rows)]] for i in places]
        elif lessons:
            weights = np.array([lesson.weight for lesson in lessons])
            for taken in rng.choice(len(lessons), wanted, p=weights / weights.sum()):
                answers = lessons[taken].rows
                own.append(answers[rng.integers(len(answers))])
        train = self.data.train
        chosen = rng.integers(len(train), size=size - wanted)
        return own, [self._stored(train.problems[i], train.answers[i]) for i in chosen]

    def _stored(self, problem: np.ndarray, answer: np.ndarray) -> Row:
        """Return a stored example as a row: its problem, its answer and the right next tokens."""
        decode = self.model.vocabulary.decode
        text, written = decode(problem.tolist()), decode(answer.tolist())
        (ordered,) = self._ordered(text, [written])
        right = self._next(text, [ordered])
        return Row(problem.tolist(), self.model.vocabulary.encode(ordered), right=right)

    def _learnt(self, found: Round) -> list[RewardLesson]:
        """Return the problems of a round that have answers to learn from, with these answers."""
        encode = self.model.vocabulary.encode
        lessons: list[RewardLesson] = []
        for asked in found.asked:
            problem, weight = encode(asked.problem), EASY + asked.worth
            if self.reward.method == "policy-gradient":
                rows = [
                    Row(problem, encode(each.answer), advantage, each.score)
                    for each, advantage in zip(asked.attempts, advantages(asked), strict=True)
                    if advantage
                ]
            else:
                answers = self._ordered(asked.problem, self._imitable(asked))
                right = self._next(asked.problem, answers)
                if isinstance(right, RightTokens):
                    # A satisfiable problem that is never solved has the largest weight.
                    weight = EASY + 1 - asked.share
                    answers = asked.different if right.satisfiable else []
                elif isinstance(right, RightTraces):
                    # With few right answers in its batches, a model forgets its earlier training.
                    weight, answers = 1.0, asked.different
                elif right is not None:
                    weight = 1.0
                rows = [Row(problem, encode(answer), right=right) for answer in answers]
            if rows:
                lessons.append(RewardLesson(rows, weight))
        return lessons

    def _next(self, problem: str, answers: Sequence[str]) -> NextTokens | None:
        """Return an object that lists the right next tokens of an answer to a problem.

        Return None if the model imitates only the tokens of `answers`.
        """
        if self.reward.method == "right-tokens":
            task = self.rounds.task
            with at("reward.method: 'right-tokens'"):
                return task.right_tokens(task.decode_problem(problem))
        return KnownAnswers(answers) if self.reward.answers == "any" else None

    def _ordered(self, problem: str, answers: Sequence[str]) -> list[str]:
        """Return the different answers to a problem, in the order that the model learns."""
        if self.reward.answers != "any":
            return list(answers)
        return list(dict.fromkeys(self.rounds.task.in_order(problem, each) for each in answers))

    def _imitable(self, asked: Attempts) -> list[str]:
        """Return the accepted answers to a problem that are imitated."""
        accepted = list({each.answer: each for each in asked.accepted}.values())
        which = self.reward.answers or "likeliest"
        if which == "shortest":
            accepted.sort(key=lambda each: (len(each.answer.split()), -each.score))
        elif which == "likeliest":
            accepted.sort(key=lambda each: -each.score)
        several = which in ("all", "any")
        return [each.answer for each in (accepted if several else accepted[:1])]

    def _batch(self, step: int, rows: Sequence[Row]) -> Batch:
        problems = Ragged.of([row.problem for row in rows])
        answers = Ragged.of([row.answer for row in rows])
        batch = padded_batch(problems, answers, self.model.vocabulary, step)
        return moved(batch, self.model.device)

    # -- losses -------------------------------------------------------------------------------

    def _imitated(
        self, step: int, rows: Sequence[Row], generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        return self.model.training_loss(self._batch(step, rows), generator, measured)

    def _policy_gradient(
        self, step: int, rows: Sequence[Row], measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        batch = self._batch(step, rows)
        # The answers of the round were drawn with the random embedding rows of this seed.
        rows_of_round = torch.Generator().manual_seed(step // self.reward.steps)
        logs = self.model.log_probabilities(batch, rows_of_round)  # (answers, tokens)
        lengths = (batch.targets != self.model.vocabulary.pad).sum(1)
        advantage, before = (
            torch.tensor(each, dtype=torch.float32, device=logs.device)
            for each in zip(*((row.advantage, row.score) for row in rows), strict=True)
        )
        ratio = ((logs.sum(1) - before) / lengths).exp()
        clip = self.reward.clip or 0.2
        kept = ratio.clamp(1 - clip, 1 + clip)
        loss = -torch.minimum(ratio * advantage, kept * advantage).mean()
        if not measured:
            return loss, {}
        clipped = (ratio != kept).float().mean()
        return loss, {
            "policy_loss": loss.detach(),
            "ratio": ratio.detach().mean(),
            "clipped": clipped,
        }

    def _right_tokens(
        self, step: int, rows: Sequence[Row], generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        decode = self.model.vocabulary.decode
        paths = [
            RightPath(row.problem, decode(row.answer).split(), row.right)
            for row in rows
            if row.right is not None
        ]
        batch = right_batch(self.model, step, paths)
        mask = partial(right_mask, self.model, paths)
        return self.model.right_loss(batch, mask, generator, measured)

    # -- logs ---------------------------------------------------------------------------------

    @torch.no_grad()
    def _measured(self, found: Round) -> dict[str, Tensor]:
        """Return the logged measures of a round: `Round.measures` and three more measures.

        distance: mean increase of the log-probability of an answer since the training began, in
            nats. Only the first answer to each problem counts.
        verdicts: verdicts per second; only if the round was not read from its file.
        waiting: share of the time that was spent waiting for verdicts; missing like `verdicts`.
        """
        measures = found.measures()
        firsts = [each for each in found.asked if each.attempts][:WATCHED]
        encode = self.model.vocabulary.encode
        rows = [Row(encode(each.problem), encode(each.attempts[0].answer)) for each in firsts]
        if rows:
            seed = torch.Generator().manual_seed(found.number)
            batch = self._batch(0, rows)
            # The answers were also drawn with products in float32.
            with float32_products(self.model.device):
                start = self.start.to(self.model.device).log_probabilities(batch, seed).sum(1)
            now = torch.tensor([each.attempts[0].score for each in firsts])
            measures["distance"] = float((now - start.cpu()).mean())
        drawing, waiting = found.seconds
        if drawing:
            judged = sum(len(each.attempts) for each in found.asked)
            measures |= {"verdicts": judged / drawing, "waiting": waiting / drawing}
        return {f"round_{name}": torch.tensor(value) for name, value in measures.items()}


def advantages(asked: Attempts) -> list[float]:
    """Return each answer's reward minus the mean reward, in standard deviations.

    Undecided answers have the advantage 0. If all rewards are equal, every advantage is 0.
    """
    rewards = [each.verdict.reward for each in asked.attempts]
    known = [reward for reward in rewards if reward is not None]
    if len({*known}) < 2:
        return [0.0] * len(rewards)
    mean = sum(known) / len(known)
    deviation = math.sqrt(sum((reward - mean) ** 2 for reward in known) / len(known))
    return [0.0 if reward is None else (reward - mean) / deviation for reward in rewards]
