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
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import torch

from logicgen.data.dataset import Dataset, Held
from logicgen.data.recipe import DataRecipe, common_key
from logicgen.errors import LogicgenError, at
from logicgen.files import write_text
from logicgen.model.answer_form import grammar_mask
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.model import Request
from logicgen.model.recipe_tables import RewardTable
from logicgen.nn.linear import float32_products
from logicgen.nn.samples import Sampling
from logicgen.processes.pool import MEMORY, Pool
from logicgen.tasks import load_task
from logicgen.tasks.conditions import BEYOND
from logicgen.tasks.judge import Finding, Item, Wants, finding_of, judge
from logicgen.tasks.problem_samples import EFFORT, ProblemSamples
from logicgen.tasks.problems import alpha_class_of
from logicgen.training.attempts import FOLDER, Attempt, Attempts, Round, read_round, written
from logicgen.training.curriculum import Curriculum, kind_of
from logicgen.training.fresh_problems import FreshProblems
from logicgen.training.frontier import Frontier

SECONDS = 60.0
"""Time limit of the verifier for an answer. Most verdicts take milliseconds."""

CHUNK = {"cpu": 256, "cuda": 2048}
"""Number of problems that the model answers in one call, by device.

Meanwhile, worker processes judge the answers of earlier calls.
"""

TOGETHER = {"cpu": 64, "cuda": 1024}
"""Batch size of answering, by device. Problems are sorted by length; a small batch pads less."""

AHEAD = 4
"""Number of problems that are drawn ahead for each problem of a round.

A curriculum keeps about one of three.
"""

CANDIDATES = 1000
"""Most problems drawn for each problem that a round keeps."""


class Rounds:
    """The rounds of a training, and their files.

    Args:
        model: the model that answers; its weights change between rounds.
        table: the recipe's `[reward]`.
        data: data sets of one task, which take turns. A new problem is drawn with the recipe of
            its data set.
        folder: the run folder.
        held_out: data sets. The problems of all their splits except `train` are excluded.
        workers: number of processes that judge, and number of processes that draw problems.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        table: RewardTable,
        data: Sequence[Dataset],
        folder: Path,
        *,
        seed: int = 0,
        held_out: Sequence[Dataset] = (),
        workers: int = 1,
    ) -> None:
        self.model, self.table, self.folder, self.seed = model, table, folder / FOLDER, seed
        self.recipes = [each.recipe for each in data]
        recipe, regions = self.recipes[0], [each.region for each in self.recipes]
        self.task = load_task(recipe.task).limited(EFFORT)
        self.trained = (
            max(each.symbols[1] for each in regions),
            max(each.length[1] for each in regions),
        )
        self.largest = (
            table.symbols[1] if table.symbols else self.trained[0],
            table.length[1] if table.length else self.trained[1],
        )
        self.frontier = self._first_frontier() if table.grow else None
        hard = table.beyond or any(each.difficulty for each in self.recipes)
        if table.unsatisfiable is not None and not hard:
            raise LogicgenError(
                "reward.unsatisfiable: without reward.beyond, and with data without [difficulty],"
                " rounds have problems without an answer anyway: leave it out"
            )
        rows = model.embedding.max_symbols
        if rows is not None and self.largest[0] > rows:
            raise LogicgenError(
                f"reward.symbols: problems of up to {self.largest[0]} symbols, but the"
                f" model has trained rows for {rows}: lower it, or start from a model whose"
                " embedding.method takes any number"
            )
        self.key = common_key(self.recipes)
        self.excluded = {key for each in (*data, *held_out) for key in self._held_out(each)}
        self.stored = max(
            int(each.encoded("train").answers.lengths.max(initial=0)) for each in data
        )
        # The verifier's limit is a number of steps, so that a round is the same on every machine.
        wants = Wants(prefix=True, solver=recipe.verifier, effort=EFFORT)
        self.judges: Pool[Item, Finding] = Pool(
            judge, (recipe.task, wants), count=workers, memory=MEMORY
        )
        self.workers = workers
        self.fresh = self._begin()

    def _first_frontier(self) -> Frontier:
        """Return the frontier of the first round: the largest sizes of the training regions."""
        trained, (symbols, tokens) = self.trained, self.largest
        if symbols <= trained[0] and tokens <= trained[1]:
            raise LogicgenError(
                f"reward.grow: {symbols} symbols and {tokens} tokens, the goals,"
                " are not beyond the training region: raise reward.symbols or reward.length, or"
                " leave grow out"
            )
        few, short = ((each or (0, 0))[0] for each in (self.table.symbols, self.table.length))
        first = min(max(trained[0], few), symbols)
        least = 2 * few - 1  # the fewest tokens of a formula of `few` symbols
        return Frontier((first, min(max(trained[1], short, least), tokens)), self.largest)

    def _begin(self) -> FreshProblems:
        """Return the new problems up to the frontier, and fit the longest answer to them.

        If new problems may be longer than stored problems, the longest answer is assumed to be
        longer by the same factor.
        """
        self.samples = [
            self._samples(recipe, self.seed + place) for place, recipe in enumerate(self.recipes)
        ]
        most = max(each.symbols[1] for each in self.samples)
        longest = max(each.length[1] for each in self.samples)
        stored = math.ceil(self.stored * max(1.0, longest / self.trained[1]))
        self.longest = self.task.answer_limit(stored, most)
        self.mask = grammar_mask(self.task, self.longest)
        return FreshProblems(self.samples, AHEAD * self.table.problems, self.workers)

    def _samples(self, recipe: DataRecipe, seed: int) -> ProblemSamples:
        """Return new problems of a data set, up to the frontier."""
        table, region = self.table, recipe.region
        symbols, length = table.symbols or region.symbols, table.length or region.length
        if self.frontier is not None:
            symbols, length = (
                (min(low, most), min(high, most))
                for (low, high), most in zip((symbols, length), self.frontier.sizes, strict=True)
            )
        conditions = recipe.conditions()
        beyond = tuple(dict.fromkeys((*conditions.beyond, *(table.beyond or ()))))
        share = table.unsatisfiable
        if share is None:
            share = 0 if table.beyond else recipe.unsatisfiable
        with at("[reward]"):
            return ProblemSamples(
                self.task,
                symbols,
                length,
                seed,
                names="first-occurrence" if recipe.names == "first-occurrence" else "shuffled",
                # Many difficult problems have no answer.
                satisfiable=1 - share if beyond or conditions.bands else None,
                difficulty={**recipe.difficulty, BEYOND: beyond},
                **recipe.problem,
            )

    def _grow(self, frontier: Frontier | None) -> None:
        """Draw the next problems up to another frontier."""
        before, self.frontier = self.frontier, frontier
        if frontier is not None and before is not None and frontier.sizes != before.sizes:
            self.fresh.close()
            self.fresh = self._begin()

    def close(self) -> None:
        """End the worker processes."""
        self.judges.close()
        self.fresh.close()

    def _held_out(self, data: Dataset) -> Held:
        """Return the keys of held-out problems. Raises LogicgenError for data of another task."""
        if data.task.name != self.task.name:
            raise LogicgenError(
                f"--held-out {data.folder}: holds problems of {data.task.name}, and the model"
                f" is asked problems of {self.task.name}: leave it out"
            )
        return data.held_out(self.key)

    def round(self, number: int) -> Round:
        """Return a round: read its file, or make the round and write the file.

        Raises LogicgenError if the file, or the file of the round before, is damaged. Raises it
        also if no answer of the first round is right.
        """
        path = self.path(number)
        if path.is_file():
            return read_round(path, self.model.vocabulary)
        following, curriculum = 0, Curriculum()
        if number:
            before = read_round(self.path(number - 1), self.model.vocabulary)
            following = before.following
            curriculum = before.curriculum.after(before.worths(self.task.hard_operators))
            self._grow(before.frontier and before.frontier.after(before.sizes()))
        found = self._made(number, following, curriculum)
        if number == 0 and not any(each.accepted for each in found.asked):
            shortest = min(each.length[0] for each in self.samples)
            longest = max(each.length[1] for each in self.samples)
            raise LogicgenError(
                f"none of {sum(len(each.attempts) for each in found.asked):,} answers to"
                f" {len(found.asked):,} problems was right, so there is nothing to learn from:"
                " start from a model that was trained on stored answers for longer, or with easier"
                f" problems: reward.length is [{shortest}, {longest}], and reward.curriculum ="
                " true prefers problems that the model sometimes answers right"
            )
        write_text(path, json.dumps(written(found)) + "\n")
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
        seconds = time.monotonic() - started, waited
        return Round(number, asked, following, curriculum, self.frontier, seconds)

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
            if (alpha_class_of(text) if self.key == "alpha_class" else text) in self.excluded:
                continue
            chosen[text] = None
        return list(chosen), number

    def _answers(self, problems: list[str], number: int) -> list[list[tuple[str, float]]]:
        """Draw answers to each problem; return their texts and log-probabilities."""
        table, vocabulary = self.table, self.model.vocabulary
        ids = [vocabulary.encode(problem) for problem in problems]
        symbols = max(self.model.training_symbols, self.largest[0])
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
