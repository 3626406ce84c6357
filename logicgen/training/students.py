"""Train many inductive Transformers (students) at once, each from its own random start.

The first dimension of each parameter is the student. The loss is a sum over students, and Adam
treats every number separately, so students do not influence each other.

This module does not use the loop of `loop.py`: it has no batches, logs or checkpoints, and removes
the weights of weak starts from the tensors during training. It uses the same schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from logicgen.model.inductive import ambiguity
from logicgen.nn.inductive_transformer import Embedding, InductiveTransformer, LogWeights
from logicgen.productions import Grammar
from logicgen.training.optimizer import Schedule


class Sentences(NamedTuple):
    """Different sentences and their frequencies.

    ids: token ids, (sentences, positions).
    shares: frequencies, (sentences,); their sum is 1.
    """

    ids: np.ndarray
    shares: np.ndarray

    @staticmethod
    def of(ids: np.ndarray) -> Sentences:
        """Return the different sentences of a sample of token ids, (sentences, positions)."""
        different, counts = np.unique(ids, axis=0, return_counts=True)
        return Sentences(different, counts / counts.sum())

    @staticmethod
    def all_of(grammar: Grammar) -> Sentences:
        """Return all sentences of a grammar with their probabilities."""
        return Sentences(*grammar.sentences())


# `Lesson.crispness` is part of the loss from the first to the second of these shares of the steps.
CRISP = 0.3, 0.7

# After FIRST_HEAT percent of the steps, only the FINALISTS best starts of each student are trained.
FINALISTS, FIRST_HEAT = 5, 20


@dataclass(frozen=True)
class Lesson:
    """The settings of a training of students.

    Attributes:
        steps, learning_rate: for Adam on all sentences at once. The rate falls to 0 as a cosine.
        starts: random starts of each student; the start with the least loss is kept. A start in
            which two units of a layer become equal cannot recover.
        crispness: weight of `ambiguity`, in nats, in the loss in the middle of the training. If
            several grammars explain the sentences equally well, the term prefers one in which each
            word determines its unit. The last steps train on the sentences alone.
        nudge, embedding, dimension, perceptron: see `InductiveTransformer`.
    """

    steps: int = 500
    learning_rate: float = 0.1
    starts: int = 5
    crispness: float = 0.0
    nudge: float = 0.0
    embedding: Embedding = "indicator"
    dimension: int | None = None
    perceptron: int = 0


def teach(
    lessons: Sequence[Sentences],
    *,
    words: int,
    width: int,
    lesson: Lesson,
    seed: int = 0,
) -> tuple[LogWeights, np.ndarray]:
    """Train an inductive Transformer (student) on each set of sentences.

    Returns the weights of each student's best start, and its losses in nats per sentence,
    (students,).

    lessons: the sentences of each student.
    words: number of words.
    width: number of units of a layer.
    seed: seed of the random starts.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = InductiveTransformer(
            words=words,
            positions=lessons[0].ids.shape[1],
            width=width,
            students=len(lessons) * lesson.starts,
            embedding=lesson.embedding,
            dimension=lesson.dimension,
            perceptron=lesson.perceptron,
            nudge=lesson.nudge,
        ).double()
    course = _Course(lessons, lesson)
    first = 0
    if lesson.starts > FINALISTS:
        first = lesson.steps * FIRST_HEAT // 100
        course.train(network, 0, first)
        _keep(network, course.ranked(network)[:, :FINALISTS].flatten())
    course.train(network, first, lesson.steps)
    best = course.ranked(network)[:, 0]
    with torch.no_grad():
        loss = course.loss(network)[best]
        return LogWeights(*(each[best] for each in network.weights())), loss.numpy()


class _Course:
    """The sentences of all students (inductive Transformers), and methods to train on them."""

    def __init__(self, lessons: Sequence[Sentences], lesson: Lesson) -> None:
        self.lesson = lesson
        most = max(len(each.ids) for each in lessons)
        # Pad shorter sets of sentences with repeated sentences of weight 0.
        ids = np.stack([np.resize(each.ids, (most, each.ids.shape[1])) for each in lessons])
        shares = np.stack([np.pad(each.shares, (0, most - len(each.shares))) for each in lessons])
        # (students, sentences, positions) and (students, sentences)
        self.ids, self.shares = torch.from_numpy(ids), torch.from_numpy(shares)
        self.same = bool((self.ids == self.ids[0]).all())

    def loss(self, network: InductiveTransformer) -> Tensor:
        """Return the losses of all starts in nats per sentence, (students * starts,)."""
        starts = network.students // len(self.ids)
        read = self.ids[0] if self.same else self.ids.repeat_interleave(starts, 0)
        weight = self.shares.repeat_interleave(starts, 0)
        return -(weight * network.log_probabilities(read)).sum(-1)

    def train(self, network: InductiveTransformer, begin: int, end: int) -> None:
        """Train from step `begin` to step `end`."""
        lesson = self.lesson
        optimizer = torch.optim.Adam(network.parameters(), lr=lesson.learning_rate)
        schedule = Schedule(lesson.steps, lesson.learning_rate)
        for step in range(begin, end):
            done = step / lesson.steps
            schedule.set_rate(optimizer, step)
            optimizer.zero_grad()
            loss = self.loss(network)
            if lesson.crispness and CRISP[0] <= done < CRISP[1]:
                loss = loss + lesson.crispness * ambiguity(network.weights())
            torch.autograd.backward(loss.sum())
            optimizer.step()

    @torch.no_grad()
    def ranked(self, network: InductiveTransformer) -> Tensor:
        """Return the numbers of the starts of each student, best first: (students, starts).

        Starts are numbered through all students, as in the parameters of the network.
        """
        # If starts have equal losses, prefer the start with the least ambiguity.
        loss = self.loss(network) + self.lesson.crispness / 50 * ambiguity(network.weights())
        table = loss.view(len(self.ids), -1)
        return table.argsort(1) + torch.arange(len(self.ids))[:, None] * table.shape[1]


def _keep(network: InductiveTransformer, starts: Tensor) -> None:
    """Keep only the parameters of the starts with these numbers."""
    for parameter in network.parameters():
        parameter.data, parameter.grad = parameter.data[starts], None
    network.students = len(starts)
