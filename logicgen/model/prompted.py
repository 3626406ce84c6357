"""A language model that answers problems: it reads a problem as a prompt and continues it.

A model that was trained on the task reads the problem in the task's tokens. A model of text reads
the problem as text, in which fixed tokens and separators are spelled out. Symbol number k is the
k-th token of the model that this spelling does not use. Answers are decoded greedily or drawn. If
several answers are drawn, the most frequent answer counts (`elect`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import torch

from logicgen.data.solved import digest
from logicgen.errors import LogicgenError
from logicgen.model.model import Answer, Request
from logicgen.model.sequences import example_ids
from logicgen.model.training_data import TrainingRegion
from logicgen.nn.decoding import BeamSearch, Decoding
from logicgen.nn.generation import Reader, Texts, generate, summed
from logicgen.nn.samples import Sampling
from logicgen.tasks.string_task import DeterminedTask
from logicgen.tokens import NOTHING, Tokens, Vocabulary

# Most elements of an array (problems, tokens, V), where V is the size of the vocabulary.
AT_A_TIME = 2**24


class Prompting(Protocol):
    """The part of a language model (`language_model.py`) that answers problems."""

    tokens: Tokens
    task_name: str
    region: TrainingRegion | None

    @property
    def random(self) -> bool: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def context(self) -> int: ...

    def check(self, count: int) -> None: ...

    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader: ...


class PromptedModel:
    """A language model that answers the problems of a task (a `model.Answerer`).

    votes: number of answers drawn for each problem. The most frequent answer is returned.

    Raises LogicgenError if the model cannot read the problems of the task.
    """

    canonical = reorders = False
    shots = 0

    def __init__(self, model: Prompting, task: DeterminedTask, votes: int = 1) -> None:
        self.model, self.task, self.votes = model, task, votes
        self.task_name, self.vocabulary = task.name, task.vocabulary
        self.trained_on_task = model.task_name == task.name
        # A model of another task has no training region for this task.
        self.region = model.region or TrainingRegion((0, 0), (0, 0))
        self.largest = self.region.largest
        self.alphabet = 0
        if self.trained_on_task:
            self.alphabet = len(model.tokens) - (len(task.vocabulary) - Vocabulary.end)
        elif model.tokens.kind == "names":
            raise LogicgenError(
                f"a model of {model.task_name} cannot read problems of {task.name}: give a"
                " model that was trained on text, or on this task"
            )
        self._symbols: list[int] = []  # the model's token of each symbol, by number
        self._spelled = {} if self.trained_on_task else self._spelling()
        self._places = {token: place for place, token in enumerate(self._symbols)}

    def _spelling(self) -> dict[int, list[int]]:
        """Return the model's ids that spell each fixed token and the separator (key `NOTHING`)."""
        fixed = list(enumerate(self.vocabulary.fixed))[Vocabulary.end + 1 :]
        texts = dict(fixed) | {NOTHING: self.task.between}
        spelled = {
            number: self.model.tokens.encode(text).tolist() for number, text in texts.items()
        }
        other = 1 if self.model.tokens.by_character else NOTHING
        for number, ids in spelled.items():
            if other in ids:
                raise LogicgenError(
                    f"the model knows no token for {texts[number]!r}, which the problems need"
                )
        needed = {number for ids in spelled.values() for number in ids} | {0, other}
        self._symbols = [each for each in range(len(self.model.tokens)) if each not in needed]
        return spelled

    def check(self, symbols: int, ensemble: int = 1, tokens: int = 0) -> None:
        """Raise LogicgenError if the model cannot answer problems of this number of symbols."""
        if ensemble > 1 and not self.model.random:
            raise LogicgenError("an ensemble averages over random rows, and this model has none")
        if self.trained_on_task:
            self.model.check(self._count(symbols))
        elif symbols > len(self._symbols):
            raise LogicgenError(
                f"the problems have {symbols} symbols, and the model has {len(self._symbols)}"
                " tokens for them: evaluate on a data set of fewer symbols"
            )

    def _count(self, symbols: int) -> int:
        """Return V, the size of the vocabulary, for this number of symbols."""
        count = len(self.vocabulary) - Vocabulary.end + symbols
        return (
            max(count, len(self.model.tokens)) if self.trained_on_task else len(self.model.tokens)
        )

    def _read(self, problem: Sequence[int]) -> list[int]:
        """Return the model's ids of a problem."""
        if self.trained_on_task:
            return [int(number) for number in example_ids(np.array(problem))]
        fixed, read, before = len(self.vocabulary), list[int](), False
        for number in problem:
            symbol = number >= fixed
            if symbol and before:
                read += self._spelled[NOTHING]
            read += [self._symbols[number - fixed]] if symbol else self._spelled[number]
            before = symbol
        return read

    def predict(self, request: Request) -> list[list[Answer]]:
        """Decode `decoding.answers` answers to each problem, and return the different answers.

        Answers are ids of the task and have the length that the problem requires. Random rows
        depend only on problem and seed. With a grammar, only symbols are written. Without a
        grammar, any token may be written, and a token that is not a symbol makes the answer
        invalid.
        """
        found: list[dict[tuple[int, ...], Answer]] = [{} for _ in request.problems]
        for number in range(request.decoding.answers):
            decoding = request.decoding
            if isinstance(decoding, Sampling):
                decoding = replace(decoding, seed=decoding.seed + number, answers=1)
            answers = self._answered(replace(request, decoding=decoding))
            for each, answer in zip(found, answers, strict=True):
                each.setdefault(tuple(answer.ids), answer)
        return [list(each.values()) for each in found]

    def _answered(self, request: Request) -> list[Answer]:
        """Return one answer to each problem: greedy, drawn, or the most frequent of its draws."""
        problems, symbols, decoding = request.problems, request.symbols, request.decoding
        if isinstance(decoding, BeamSearch) and decoding.beams > 1:
            raise LogicgenError("--beams: language models answer greedily, or by --sample")
        if self.votes > 1 and not isinstance(decoding, Sampling):
            raise LogicgenError("--votes: nothing is drawn; give --sample")
        texts = [self.vocabulary.decode(problem) for problem in problems]
        wanted = [self.task.answer_length(self.task.decode_problem(text)) for text in texts]
        prompts = [self._read(problem) for problem in problems]
        count = self._count(symbols)
        answers = [Answer([], 0.0) for _ in problems]
        allowed = self._allowed(count, symbols) if request.grammar is not None else None

        def size(length: int, rows: list[int]) -> int:
            return max(1, AT_A_TIME // ((length + max(wanted[row] for row in rows)) * count))

        for rows in prompt_batches(prompts, size):
            prompt = torch.tensor([prompts[row] for row in rows], device=self.model.device)
            budgets = torch.tensor([wanted[row] for row in rows])
            batch = [texts[row] for row in rows]
            draws = list(self._drawn(request, batch, prompt, budgets, allowed))
            for line, row in enumerate(rows):
                answer = self._elected(draws, line, wanted[row])
                answers[row] = answer._replace(ids=answer.ids[: request.max_length])
        return answers

    def _drawn(
        self,
        request: Request,
        texts: list[str],
        prompt: torch.Tensor,
        budgets: torch.Tensor,
        allowed: torch.Tensor | None,
    ) -> Iterator[Texts]:
        """Yield, for each vote (draw), the answers to a batch of problems."""
        count, decoding = self._count(request.symbols), request.decoding
        seeds = [
            [digest(text, request.embedding_seed, number) for text in texts]
            for number in range(request.ensemble)
        ]
        for vote in range(self.votes):
            # The first vote is the same answer as without votes.
            keys = [(text, vote) if vote else (text,) for text in texts]
            yield generate(
                summed([self.model.reader(each, count) for each in seeds]),
                prompt,
                budgets,
                decoding if isinstance(decoding, Sampling) else None,
                numbers=_numbers(keys, decoding),
                allowed=allowed,
            )

    def _elected(self, draws: list[Texts], line: int, length: int) -> Answer:
        """Return the most frequent of the answers drawn for the problem `line` of a batch."""
        written = [tuple(each.tokens[line, :length].tolist()) for each in draws]
        log_probabilities = [float(each.log_probabilities[line]) for each in draws]
        chosen = elect(written, log_probabilities)
        each = zip(written, log_probabilities, strict=True)
        best = max(p for answer, p in each if answer == chosen.answer)
        return Answer([self._written(token) for token in chosen.answer], best)

    def _allowed(self, count: int, symbols: int) -> torch.Tensor:
        """Return whether each token is a symbol, bool (V,)."""
        allowed = torch.zeros(count, dtype=torch.bool)
        first = len(self.vocabulary) - Vocabulary.end
        chosen = range(first, first + symbols) if self.trained_on_task else self._symbols[:symbols]
        allowed[list(chosen)] = True
        return allowed

    def _written(self, token: int) -> int:
        """Convert a token id of the model to a token id of the task.

        A token that is not a symbol becomes padding, which makes the answer invalid.
        """
        if self.trained_on_task:
            return token + Vocabulary.end
        place = self._places.get(token)
        return self.vocabulary.pad if place is None else len(self.vocabulary) + place


def prompt_batches(
    prompts: list[list[int]], size: Callable[[int, list[int]], int]
) -> Iterator[list[int]]:
    """Yield the numbers of prompts of each batch. The prompts of a batch have the same length.

    size: a function that takes a length and the numbers of all prompts of this length, and returns
        the number of prompts of a batch.
    """
    by_length: dict[int, list[int]] = {}
    for row, prompt in enumerate(prompts):
        by_length.setdefault(len(prompt), []).append(row)
    for length, rows in sorted(by_length.items()):
        count = size(length, rows)
        for first in range(0, len(rows), count):
            yield rows[first : first + count]


def _numbers(
    keys: Sequence[tuple[object, ...]], decoding: Decoding
) -> Callable[[int], torch.Tensor]:
    """Return a function that takes a step of decoding and returns one random number per answer.

    keys: for each answer, (text of its problem,) if it is the first answer drawn for the problem.
        For the further answers i = 1, 2, ... it is (text, i).
    """
    seed = getattr(decoding, "seed", 0)

    def of_step(step: int) -> torch.Tensor:
        chances = [_chance(text, seed, step, *vote) for text, *vote in keys]
        return torch.tensor(chances, dtype=torch.float64)

    return of_step


def _chance(*parts: object) -> float:
    """Return a number in [0, 1), computed from a hash of the parts."""
    return (digest(*parts) >> 10) / 2**53


T = TypeVar("T", bound=Hashable)


class Election(NamedTuple, Generic[T]):
    """The most frequent answer, and the number of draws that gave it."""

    answer: T
    votes: int


def elect(answers: Sequence[T], log_probabilities: Sequence[float]) -> Election[T]:
    """Return the most frequent answer.

    If several answers are equally frequent, the answer with the highest total probability over its
    draws wins. If these are equal, too, the first drawn answer wins. Source: Wang et al.,
    "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (ICLR 2023).

    log_probabilities: the log-probability of each draw, in nats.
    """
    draws: dict[T, list[float]] = {}
    for answer, log_p in zip(answers, log_probabilities, strict=True):
        draws.setdefault(answer, []).append(log_p)
    totals = {answer: float(np.logaddexp.reduce(each)) for answer, each in draws.items()}
    best = max(draws, key=lambda answer: (len(draws[answer]), totals[answer]))
    return Election(best, len(draws[best]))
