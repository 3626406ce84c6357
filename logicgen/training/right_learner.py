"""Train on all tokens that lead to a right answer, listed by a truth table or judged by a solver.

At each position the loss is -log of the total probability of the tokens that can still lead to a
right answer. The decoder reads the stored answer or, in propositional logic, sometimes a random
right answer. Each token of a random answer is drawn uniformly from the right tokens. Each step
draws a new random answer.

With `training.right_answers`, it reads several random answers to each problem, which the encoder
reads once. Their symbols have the order in which they first occur in the problem, and only the next
symbol of this order counts as right (why: docs/learning-from-acceptance.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor

from logicgen.data.dataset import Ragged
from logicgen.errors import LogicgenError, at
from logicgen.model.batches import Batch, moved, padded_batch
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.training_data import ProblemData
from logicgen.tasks import load_task
from logicgen.tasks.problem_samples import EFFORT
from logicgen.tasks.right_tokens import NextTokens, RightTokens
from logicgen.training.learner import ModelLearner

STORED = 0.5
"""Share of stored answers among the answers that the decoder reads."""

LIKELY = 0.01
"""In LTL, a solver judges tokens with a larger probability (`NextTokens.also`)."""


class RightPath(NamedTuple):
    """An answer that the decoder reads up to its first wrong token.

    problem: token ids of the problem.
    answer: tokens of the answer.
    right: an object that lists the right next tokens.
    """

    problem: list[int]
    answer: list[str]
    right: NextTokens


def right_batch(
    model: EncoderDecoder, step: int, paths: Sequence[RightPath], answers: int = 1
) -> Batch:
    """Return a batch of the problems of paths, and their answers up to the first wrong token.

    answers: number of consecutive paths of each problem.
    """
    encode = model.vocabulary.encode
    written = [
        encode(" ".join(path.answer[: len(path.right.along(path.answer)) - 1])) for path in paths
    ]
    problems = Ragged.of([path.problem for path in paths[::answers]])
    return moved(padded_batch(problems, Ragged.of(written), model.vocabulary, step), model.device)


def right_mask(model: EncoderDecoder, paths: Sequence[RightPath], probability: Tensor) -> Tensor:
    """Return a mask of the right tokens, bool (answers, positions, vocabulary).

    probability: float (answers, positions, vocabulary), of each token of a batch of `right_batch`.
    """
    vocabulary = model.vocabulary
    likely = (probability > LIKELY).cpu()
    mask = torch.zeros_like(likely)
    for number, path in enumerate(paths):
        for place, tokens in enumerate(path.right.along(path.answer)):
            others = map(vocabulary.token, likely[number, place].nonzero().flatten().tolist())
            right = (*tokens, *path.right.also(path.answer[:place], [*tokens, *others]))
            mask[number, place, [vocabulary.id(token) for token in right]] = True
    return mask.to(probability.device)


class RightTokensLearner(ModelLearner):
    """A learner that lets its model write any right answer to a stored problem."""

    model: EncoderDecoder
    data: ProblemData

    def __init__(self, model: EncoderDecoder, data: ProblemData) -> None:
        super().__init__(model, data)
        self.task = load_task(data.task_name).limited(EFFORT)  # the same tokens on every machine
        self.answers = self.table.right_answers
        with at("training.learn: 'right'"):  # fail now if the task cannot list right tokens
            found = self.right(data.train.problems[int(data.train.symbols.argmax())].tolist())
        if self.answers is not None and not isinstance(found, RightTokens):
            raise LogicgenError(
                f"training.right_answers: random right answers to problems of {data.task_name}"
                " cannot be drawn, only to those of propositional: leave it out"
            )

    def loss(
        self, batch: Batch, generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        pad, end = self.model.vocabulary.pad, self.model.vocabulary.end
        decode = self.model.vocabulary.decode
        rng = Random(f"{self.seed}/{batch.step}/right")
        rows = []
        for problem, answer in zip(batch.problems.tolist(), batch.targets.tolist(), strict=True):
            ids = [i for i in problem if i not in (pad, end)]
            right = self.right(ids)
            stored = decode([i for i in answer if i not in (pad, end)]).split()
            rows += [RightPath(ids, path, right) for path in self._paths(right, stored, rng)]
        made = right_batch(self.model, batch.step, rows, self.answers or 1)
        mask = partial(right_mask, self.model, rows)
        return self.model.right_loss(made, mask, generator, measured)

    def _paths(self, right: NextTokens, stored: list[str], rng: Random) -> list[list[str]]:
        """Return the answers to a problem that the decoder reads."""
        count = self.answers or 1
        if not (isinstance(right, RightTokens) and right.satisfiable):
            return [stored] * count
        if self.answers is None and rng.random() < STORED:
            return [stored]
        return [right.random(rng) for _ in range(count)]

    def right(self, ids: Sequence[int]) -> NextTokens:
        """Return an object that computes the right next tokens of a problem, given by its ids."""
        problem = self.task.decode_problem(self.model.vocabulary.decode(ids))
        right = self.task.right_tokens(problem)
        if isinstance(right, RightTokens):
            right.in_order = self.answers is not None
        return right
