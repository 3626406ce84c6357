"""A language model that can read solved problems ("shots") before it answers a problem.

This is for tasks with answers of unknown length, such as propositional logic. The model reads
`problem <end> answer <end>` for each shot, then the problem and `<end>`. It continues with an
answer and `<end>`, which `nn/decoding.py` decodes as it does for encoder-decoders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from logicgen.data.solved import SolvedProblems, digest
from logicgen.errors import LogicgenError
from logicgen.model.model import Answer, Request, read_answers
from logicgen.model.prompted import Prompting, elect, prompt_batches
from logicgen.model.sequences import example_tokens
from logicgen.model.training_data import TrainingRegion
from logicgen.nn.decoding import BeamSearch, Decoding, decode
from logicgen.nn.generation import ReaderNetwork
from logicgen.nn.samples import Sampling
from logicgen.tasks import Task
from logicgen.tokens import Vocabulary

# Most answers that are continued together. Each answer needs memory for its keys and values.
MOST_ROWS = 1024


class FewShotModel:
    """A language model that answers the problems of a task (a `model.Answerer`).

    called: the model's name in messages.
    votes: number of answers drawn for each problem. The most frequent answer is returned.
    solved: draws the solved problems before each problem. The problem and the embedding seed
        determine the draw. If `solved` is None, the model reads no solved problems.

    Raises LogicgenError if the model was not trained on this task.
    """

    canonical = reorders = False
    trained_on_task = True

    def __init__(
        self,
        model: Prompting,
        task: Task,
        called: str,
        votes: int = 1,
        solved: SolvedProblems | None = None,
    ) -> None:
        self.model, self.votes, self._solved = model, votes, solved
        self.shots = 0 if solved is None else solved.shots
        self.task_name, self.vocabulary = task.name, task.vocabulary
        fixed = example_tokens(task.vocabulary, 0).texts
        if model.task_name != task.name or model.tokens.texts[: len(fixed)] != fixed:
            raise LogicgenError(
                f"{called} was trained on {model.task_name} with other tokens, and cannot read"
                f" problems of {task.name}: give a model that was trained on this task"
            )
        self.alphabet = len(model.tokens) - len(fixed)
        self.region = model.region or TrainingRegion((0, 0), (0, 0))
        self.largest = self.region.largest

    def check(self, symbols: int, ensemble: int = 1, tokens: int = 0) -> None:
        """Raise LogicgenError if the model cannot answer problems of this number of symbols."""
        if ensemble > 1 and not self.model.random:
            raise LogicgenError("an ensemble averages over random rows, and this model has none")
        self.model.check(self._count(symbols))

    def _count(self, symbols: int) -> int:
        """Return V, the number of tokens of the model, for this number of symbols."""
        count = len(self.vocabulary) - Vocabulary.end + symbols
        return max(count, len(self.model.tokens))

    def predict(self, request: Request) -> list[list[Answer]]:
        """Return at most `decoding.answers` different answers to each problem, in order.

        Random rows depend only on problem and embedding seed. With votes, the most frequent of the
        drawn answers is returned.
        """
        if self.votes == 1:
            return self._decoded(request, request.decoding)
        if not isinstance(request.decoding, Sampling):
            raise LogicgenError("--votes: nothing is drawn; give --sample")
        seeds = range(request.decoding.seed, request.decoding.seed + self.votes)
        draws = [
            self._decoded(request, replace(request.decoding, seed=seed, answers=1))
            for seed in seeds
        ]
        return [[_elected([draw[row][0] for draw in draws])] for row in range(len(draws[0]))]

    def _decoded(self, request: Request, decoding: Decoding) -> list[list[Answer]]:
        prompts = [self._prompt(each, request) for each in request.problems]
        found: list[list[Answer]] = [[] for _ in prompts]
        prefixes = decoding.beams if isinstance(decoding, BeamSearch) else decoding.answers
        size = max(1, min(request.batch_size, MOST_ROWS // prefixes))
        for rows in prompt_batches(prompts, lambda *_: size):
            seeds = [
                [digest(prompts[row], request.embedding_seed, draw) for row in rows]
                for draw in range(request.ensemble)
            ]
            count = self._count(request.symbols)
            decoded = decode(
                ReaderNetwork(Vocabulary.end),
                [self.model.reader(each, count) for each in seeds],
                torch.tensor([prompts[row] for row in rows], device=self.model.device),
                self.vocabulary,
                request.max_length,
                request.grammar,
                decoding,
            )
            for row, answers in zip(rows, read_answers(decoded, self.vocabulary), strict=True):
                found[row] = answers
        return found

    def _prompt(self, problem: Sequence[int], request: Request) -> list[int]:
        """Return the ids of the shots, the problem and `<end>`.

        Raises LogicgenError if the shots, the problem and an answer exceed the model's context.
        """
        end, prompt = self.vocabulary.end, list[int]()
        shown = self._solved.before(problem, request.embedding_seed) if self._solved else ()
        for solved, answer in shown:
            prompt += [*solved, end, *answer, end]
        length = len(prompt) + len(problem) + request.max_length + 2
        if prompt and length > self.model.context:
            raise LogicgenError(
                f"--shots: {self.shots} solved problems, a problem and its answer have up to"
                f" {length} tokens, and the model was trained with training.context ="
                f" {self.model.context}: lower it"
            )
        return [int(number) for number in (*prompt, *problem, end)]


def _elected(answers: Sequence[Answer]) -> Answer:
    """Return the most frequent answer, with its best score."""
    texts = [tuple(answer.ids) for answer in answers]
    chosen = elect(texts, [answer.score for answer in answers]).answer
    return max((each for each in answers if tuple(each.ids) == chosen), key=lambda a: a.score)
