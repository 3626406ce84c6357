"""A model that answers the problems of a data set in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from logicgen.callbacks import Progress, no_progress
from logicgen.data.dataset import Dataset, encode
from logicgen.measures.verified import VerifiedSearch, different

if TYPE_CHECKING:
    from logicgen.model.model import Answer, Answerer
    from logicgen.nn.decoding import Decoding


class Predictor:
    """A model that answers the rows of a table, under any embedding seed.

    The answer at place p belongs to row `p % len(table)` of the table. Its embedding seed is
    `p // len(table)`.
    """

    def __init__(
        self, model: Answerer, data: Dataset, table: pa.Table, grammar: bool, ensemble: int
    ) -> None:
        from logicgen.model.answer_form import grammar_mask

        self.model, self.task = model, data.task
        self.vocabulary = data.vocabulary
        self.ensemble = ensemble
        self.encoded = encode(table, data.vocabulary)
        stored = int(self.encoded.answers.lengths.max(initial=0))
        self.longest = data.task.answer_limit(stored, int(self.encoded.symbols.max(initial=0)))
        self.mask = grammar_mask(data.task, self.longest) if grammar else None
        self.alphabets = alphabets(model, data, self.encoded.symbols)

    def answers(
        self, places: np.ndarray, decoding: Decoding, progress: Progress = no_progress
    ) -> list[str]:
        """Return an answer in prefix notation for each place.

        A place is one number for a pair of an embedding seed and a problem. It also determines the
        random numbers if answers are drawn at random.
        """
        found = self._ask(places, decoding, progress)
        return [self.vocabulary.decode(answers[0].ids) for answers in found]

    def others(
        self,
        places: np.ndarray,
        predictions: Sequence[str],
        verified: VerifiedSearch,
        progress: Progress = no_progress,
    ) -> list[list[str]]:
        """Draw answers to each problem that differ from each other and from the prediction."""
        drawn, decode = verified.candidates(self.task), self.vocabulary.decode
        # The predictions may be samples with the same seed. So increase it.
        orders = verified.orders(self.model, self.task)
        found = self._ask(places, replace(drawn, seed=drawn.seed + 1), progress, orders)
        return [
            different(
                ((decode(answer.ids), answer.score) for answer in answers),
                self.task.meaning,
                predictions[place],
            )
            for place, answers in zip(places, found, strict=True)
        ]

    def _ask(
        self, places: np.ndarray, decoding: Decoding, progress: Progress, orders: int = 1
    ) -> list[list[Answer]]:
        """Return the model's answers for each place, a pair of an embedding seed and a problem.

        Random answers differ between embedding seeds.
        """
        from logicgen.model.model import Request
        from logicgen.nn.samples import Sampling

        progress(0, len(places))
        found: dict[int, list[Answer]] = {}
        seeds, rows = np.divmod(places, len(self.encoded))
        for seed in np.unique(seeds).tolist():
            how = decoding
            if isinstance(how, Sampling):
                how = replace(how, seed=how.seed + (seed << 32))
            for alphabet in np.unique(self.alphabets)[::-1]:  # largest first: errors come early
                members = np.flatnonzero((seeds == seed) & (self.alphabets[rows] == alphabet))
                for batch in self._batches(members, rows):
                    problems = [self.encoded.problems[row].tolist() for row in rows[batch]]
                    asked = problems, int(alphabet), seed, self.longest, self.mask
                    answers = self.model.predict(Request(*asked, how, self.ensemble, orders))
                    found.update(zip(batch.tolist(), answers, strict=True))
                    progress(len(found), len(places))
        return [found[place] for place in range(len(places))]

    def _batches(self, places: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield batches of about 1,024 places.

        If `Model.canonical` is set, problems that differ only by names are in the same batch.
        """
        from logicgen.nn.canonical import alpha_class

        groups: dict[object, list[int]] = {}
        for place in places.tolist():
            key: object = place
            if self.model.canonical:
                problem = self.encoded.problems[rows[place]].tolist()
                key = alpha_class(problem, len(self.vocabulary))
            groups.setdefault(key, []).append(place)
        batch: list[int] = []
        for group in groups.values():
            batch += group
            if len(batch) >= 1024:
                yield np.array(batch)
                batch = []
        if batch:
            yield np.array(batch)


def alphabets(model: Answerer, data: Dataset, symbols: np.ndarray) -> np.ndarray:
    """Return the number of symbols in the alphabet that the model sees with each problem.

    symbols: the number of symbols of each problem.

    The number is at least the model's alphabet in training, and the most symbols of the data set.
    If a problem has more symbols, it is the problem's number of symbols.
    """
    seen = max(data.recipe.region.symbols[1], model.alphabet)
    return np.asarray(np.maximum(symbols, seen))
