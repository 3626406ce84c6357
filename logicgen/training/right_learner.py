"""Train on all tokens that lead to a right answer, as listed by a truth table.

At each position the loss is -log of the total probability of the tokens that can still lead to a
right answer. The decoder reads a right answer: the stored answer, or a random answer whose tokens
are drawn uniformly from the right tokens. Each step draws a new random answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor

from logicgen.data.dataset import Ragged
from logicgen.errors import at
from logicgen.model.batches import Batch, padded_batch
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.sequences import ProblemData
from logicgen.tasks import load_task
from logicgen.tasks.right_tokens import NextTokens, RightTokens
from logicgen.training.learner import ModelLearner

STORED = 0.5
"""Share of stored answers among the answers that the decoder reads."""


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
    model: EncoderDecoder, step: int, paths: Sequence[RightPath]
) -> tuple[Batch, Tensor]:
    """Return a batch of the problems and answers of paths, and a mask of the right tokens.

    The mask is bool (answers, positions, vocabulary).
    """
    encode = model.vocabulary.encode
    along = [path.right.along(path.answer) for path in paths]
    answers = [
        encode(" ".join(path.answer[: len(sets) - 1]))
        for path, sets in zip(paths, along, strict=True)
    ]
    problems = Ragged.of([path.problem for path in paths])
    batch = padded_batch(problems, Ragged.of(answers), model.vocabulary, step)
    rows = len(model.vocabulary) + model.training_symbols
    mask = torch.zeros(*batch.targets.shape, rows, dtype=torch.bool)
    for number, sets in enumerate(along):
        for place, tokens in enumerate(sets):
            mask[number, place, encode(" ".join(tokens))] = True
    return batch.to(model.device), mask.to(model.device)


class RightTokensLearner(ModelLearner):
    """A model that may write any right answer to a stored problem."""

    model: EncoderDecoder
    data: ProblemData

    def __init__(self, model: EncoderDecoder, data: ProblemData) -> None:
        super().__init__(model, data)
        self.task = load_task(data.task_name)
        with at("training.learn: 'right'"):  # fail now if the task cannot list right tokens
            self.right(data.train.problems[int(data.train.symbols.argmax())].tolist())

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
            stored = [i for i in answer if i not in (pad, end)]
            path = decode(stored).split() if rng.random() < STORED else right.random(rng)
            rows.append(RightPath(ids, path, right))
        made, mask = right_batch(self.model, batch.step, rows)
        return self.model.right_loss(made, mask, generator, measured)

    def right(self, ids: Sequence[int]) -> RightTokens:
        """Return an object that lists the right next tokens of a problem, given by its ids."""
        problem = self.task.decode_problem(self.model.vocabulary.decode(ids))
        return self.task.right_tokens(problem)
