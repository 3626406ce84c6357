"""Learning that any right token is right: the verifier's truth table in place of one answer.

At each place of an answer the loss is -log of the probability of all tokens that still lead to a
right answer. What the decoder reads before is a right answer as well: the stored one, or one whose
tokens are drawn evenly from the right ones, anew in each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor

from logicgen.data.encoded import Ragged
from logicgen.errors import at
from logicgen.model.batches import Batch, padded_batch
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.training_data import ProblemData
from logicgen.tasks import load_task
from logicgen.tasks.right_tokens import RightTokens
from logicgen.train.model_learner import ModelLearner

STORED = 0.5
"""Share of the answers read by the decoder that are stored ones."""


class RightTokensLearner(ModelLearner):
    """A model that may write any right answer to a stored problem."""

    model: EncoderDecoder
    data: ProblemData

    def __init__(self, model: EncoderDecoder, data: ProblemData) -> None:
        super().__init__(model, data)
        self.task = load_task(data.task_name)
        with at("training.learn: 'right'"):  # what the task cannot tell is said at once
            self.right(data.train.problems[int(data.train.symbols.argmax())].tolist())

    def loss(
        self, batch: Batch, generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch and, where it is measured, what is logged."""
        pad, end = self.model.vocabulary.pad, self.model.vocabulary.end
        rng = Random(f"{self.seed}/{batch.step}/right")
        problems, answers, allowed = [], [], []
        stored = [[i for i in row if i not in (pad, end)] for row in batch.targets.tolist()]
        for row, answer in zip(batch.problems.tolist(), stored, strict=True):
            ids = [i for i in row if i not in (pad, end)]
            right = self.right(ids)
            decode = self.model.vocabulary.decode
            path = decode(answer).split() if rng.random() < STORED else right.random(rng)
            encode = self.model.vocabulary.encode
            problems.append(ids)
            answers.append(encode(" ".join(path)))
            allowed.append([encode(" ".join(tokens)) for tokens in right.along(path)])
        made = padded_batch(Ragged.of(problems), Ragged.of(answers), self.model.vocabulary)
        rows = len(self.model.vocabulary) + self.model.training_symbols
        mask = torch.zeros(*made.targets.shape, rows, dtype=torch.bool)
        for number, sets in enumerate(allowed):
            for place, tokens in enumerate(sets):
                mask[number, place, tokens] = True
        device = self.model.device
        made = Batch(batch.step, *(each.to(device) for each in made[1:]))
        return self.model.right_loss(made, mask.to(device), generator, measured)

    def right(self, ids: Sequence[int]) -> RightTokens:
        """Return the right tokens of a problem."""
        problem = self.task.decode_problem(self.model.vocabulary.decode(ids))
        return self.task.right_tokens(problem)
