"""Answers of a model to a split of a data set, with the solver's verdicts on them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter

from logicgen.callbacks import StageProgress, no_progress
from logicgen.data.dataset import Dataset
from logicgen.errors import LogicgenError, at
from logicgen.measures.best_control import add_controls
from logicgen.measures.predictor import Predictor, alphabets
from logicgen.measures.verified import VerifiedSearch, draw_until_accepted
from logicgen.measures.verifier import Verifier
from logicgen.tasks import Task
from logicgen.tokens import Vocabulary

if TYPE_CHECKING:
    from logicgen.data.ranges import Region
    from logicgen.model.model import Answerer
    from logicgen.model.training_data import TrainingRegion
    from logicgen.nn.decoding import Decoding


def schema_of(numbers: str, texts: str) -> pa.Schema:
    """Return the schema of a table without nulls.

    numbers: names of columns of 32-bit numbers, separated by blanks.
    texts: names of columns of texts, separated by blanks. They follow the columns of numbers.
    """
    types = [(name, pa.int32()) for name in numbers.split()]
    types += [(name, pa.string()) for name in texts.split()]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types])


SCHEMA = pa.schema(
    [
        *schema_of("row embedding_seed symbols length", "problem answer prediction verdict"),
        pa.field("edit_distance", pa.int32()),
        pa.field("right_tokens", pa.int32()),
        # The following columns are the results of verified decoding.
        pa.field("verified_prediction", pa.string()),
        pa.field("verified_verdict", pa.string()),
        pa.field("draws", pa.int32()),
        # Names of the controls that are right (`best_control.py`).
        pa.field("controls", pa.string()),
        pa.field("verified_controls", pa.string()),
        # Difficulty of the problem, if the data set has these columns.
        pa.field("positions", pa.int32()),
        pa.field("satisfying", pa.float64()),
    ]
)

MOST_CELLS = 2**20
"""The most cells of a split that are listed. Evaluations may come from an untrusted source."""


@dataclass(frozen=True)
class About:
    """The model, data and split of an evaluation; stored inside `predictions.parquet`.

    A cell of the split contains the problems with one number of symbols and `step` lengths.
    """

    task: str
    model: str
    data: str
    split: str
    symbols: tuple[int, int]  # fewest and most symbols in the training of the model
    length: tuple[int, int]  # shortest and longest length in the training of the model
    decoding: dict[str, Any] = field(default_factory=dict)  # settings of decoding
    shortest: int = 1  # shortest length of the first cell of the split
    step: int = 1  # number of lengths in a cell
    reset_rows: int | None = None  # the seed of redrawn rows (`measures/collapse.py`)
    precision: str | None = None  # precision of the model's training
    split_rows: int | None = None  # number of rows of the split, if only some were answered
    split_symbols: tuple[int, int] | None = None  # fewest and most symbols in the split
    split_lengths: tuple[int, int] | None = None  # shortest length of first and last cell
    controls: tuple[str, ...] = ()  # names of the controls that answered the same problems

    def with_split(self, table: pa.Table) -> About:
        """Return the description with the size and the cells of a split.

        table: all rows of the split, of which only some were answered.
        """
        lengths = self.cell_length(table["length"].to_numpy())
        symbols = table["symbols"].to_numpy()
        return replace(
            self,
            split_rows=len(table),
            split_symbols=(int(symbols.min()), int(symbols.max())),
            split_lengths=(int(lengths.min()), int(lengths.max())),
        )

    def split_cells(self) -> Iterator[tuple[int, int]]:
        """Yield the pair (number of symbols, shortest length) of each cell of the split.

        If the description does not contain the cells (see `with_split`), or more than `MOST_CELLS`,
        yield nothing.
        """
        if self.split_symbols is not None and self.split_lengths is not None:
            (fewest, most), (shortest, longest) = self.split_symbols, self.split_lengths
            symbols = range(fewest, most + 1)
            lengths = range(shortest, longest + 1, self.step)
            if len(symbols) * len(lengths) <= MOST_CELLS:
                yield from product(symbols, lengths)

    def cell_length(self, lengths: np.ndarray) -> np.ndarray:
        """Round the length of each problem down to the shortest length of its cell."""
        return np.asarray(lengths - (lengths - self.shortest) % self.step)

    @staticmethod
    def of_json(content: dict[str, Any]) -> About:
        """Return the description in stored JSON. Raises ValueError for any other content."""
        found = TypeAdapter(About).validate_python(content)
        if found.step < 1:
            raise ValueError(f"step: {found.step}")
        return found

    @staticmethod
    def of(region: Region | TrainingRegion, called: str, data: Dataset, split: str) -> About:
        """Return the description of an evaluation on a split.

        region: the model's training region.
        called: the model's name.
        """
        cells = data.recipe.part(split)
        return About(
            task=data.task.name,
            model=called,
            data=data.name,
            split=split,
            symbols=region.symbols,
            length=region.length,
            shortest=cells.length[0],
            step=cells.step,
        )


def predict_and_verify(
    model: Answerer,
    data: Dataset,
    about: About,
    *,
    limit: int | None = None,
    embedding_seeds: int = 1,
    workers: int = 1,
    seconds: float = 10.0,
    grammar: bool = True,
    decoding: Decoding | None = None,
    ensemble: int = 1,
    verified: VerifiedSearch | None = None,
    controls: Sequence[str] = (),
    progress: StageProgress = no_progress,
) -> pa.Table:
    """Return a table of predictions and verdicts, a row per example and embedding seed.

    Args:
        limit: the largest number of examples, spread evenly over the cells.
        grammar: whether decoding uses the grammar mask, so that every answer parses.
        seconds: limit of the solver per answer; beyond it, the verdict is `unknown`.
        decoding: greedy by default. Samples differ between embedding seeds.
        ensemble: predictions are averaged over this number of draws of the embedding.
        verified: settings of verified decoding, for predictions that are not accepted.
        controls: names of controls that answer the same problems, as often as the model.

    Raises the errors of `check_fits`.
    """
    from logicgen.nn.decoding import GREEDY

    decoding = decoding or GREEDY
    numbers, table = chosen_rows(model, data, about, ensemble, limit)
    examples = list(zip(numbers.tolist(), table.to_pylist(), strict=True))
    rows = [
        {"row": row, "embedding_seed": seed, **example}
        for seed, (row, example) in product(range(embedding_seeds), examples)
    ]
    predictor = Predictor(model, data, table, grammar, ensemble)
    predictions = predictor.answers(np.arange(len(rows)), decoding, partial(progress, "predicting"))
    for row, prediction in zip(rows, predictions, strict=True):
        row |= compared(data.task, prediction, row["answer"])
    with Verifier(data.task, data.recipe.verifier, workers, seconds) as verifier:
        _add_verdicts(rows, predictor, verifier, verified, progress)
        if controls:
            draws = None if verified is None else verified.draws
            add_controls(rows, data, controls, draws, verifier.judge, partial(progress, "controls"))
    how = {"grammar": grammar, "ensemble": ensemble, **_asked(data.task, model, verified)}
    about = replace(about, decoding={**asdict(decoding), **how}, controls=tuple(controls))
    return described(rows, SCHEMA, about)


def _asked(task: Task, model: Answerer, verified: VerifiedSearch | None) -> dict[str, Any]:
    """Return settings for the evaluation's description: votes, shots and verified decoding.

    Settings that are not used are left out. Votes are answers to one problem; the most frequent
    answer is returned. Shots are solved problems in the prompt.
    """
    how: dict[str, Any] = {"votes": model.votes} if model.votes > 1 else {}
    how |= {"shots": model.shots} if model.shots else {}
    if verified is not None:
        how["verified"] = asdict(replace(verified, sampling=verified.candidates(task)))
        if (orders := verified.orders(model, task)) > 1:
            how["verified"]["orders"] = orders
    return how


def _add_verdicts(
    rows: list[dict[str, Any]],
    predictor: Predictor,
    verifier: Verifier,
    verified: VerifiedSearch | None,
    progress: StageProgress,
) -> None:
    """Add the verdicts on the predictions of rows, and perhaps verified answers."""
    predictions = [row["prediction"] for row in rows]
    verdicts = verifier.judge(rows, predictions, partial(progress, "verifying"))
    for row, verdict in zip(rows, verdicts, strict=True):
        row["verdict"] = verdict
    if verified is None:
        return
    again = partial(progress, "drawing again")
    outcomes = draw_until_accepted(
        predictions,
        verdicts,
        verified.draws,
        lambda left: predictor.others(left, predictions, verified, again),
        lambda left, answers: verifier.judge([rows[i] for i in left], answers),
    )
    for row, (prediction, verdict, draws) in zip(rows, outcomes, strict=True):
        row |= {"verified_prediction": prediction, "verified_verdict": verdict, "draws": draws}


def compared(task: Task, prediction: str, answer: str) -> dict[str, Any]:
    """Compare a prediction with the stored answer; return the columns of the prediction.

    The columns contain the edit distance and the number of right tokens if the task defines them.
    """
    found: dict[str, Any] = {"prediction": prediction}
    if task.edit_distance:
        found["edit_distance"] = edit_distance(prediction, answer)
    if task.token_accuracy:
        found["right_tokens"] = right_tokens(prediction, answer)
    return found


def described(rows: list[dict[str, Any]], schema: pa.Schema, about: About) -> pa.Table:
    """Return rows as a table with `about` in its metadata. Missing values are null."""
    metadata = {"logicgen": json.dumps(asdict(about))}
    return pa.Table.from_pylist(rows, schema=schema.with_metadata(metadata))


def chosen_rows(
    model: Answerer, data: Dataset, about: About, ensemble: int, limit: int | None
) -> tuple[np.ndarray, pa.Table]:
    """Return the indices of at most `limit` rows of a split, and a table of these rows.

    Raises the errors of `check_fits`.
    """
    check_fits(model, data, about, ensemble)
    table = data.table(about.split)
    rows = spread(table, about, limit)
    return rows, table.take(pa.array(rows))


def check_fits(model: Answerer, data: Dataset, about: About, ensemble: int = 1) -> None:
    """Raise LogicgenError if the model cannot answer the split.

    Possible reasons: an unknown split, another task or vocabulary, more symbols than embedding
    rows, or an ensemble that the model cannot form.
    """
    if model.task_name != data.task.name or model.vocabulary != data.vocabulary:
        own, theirs = (
            " ".join(each.fixed[Vocabulary.end + 1 :]) or "no tokens but symbols"
            for each in (model.vocabulary, data.vocabulary)
        )
        raise LogicgenError(
            f"{about.model} was trained for {model.task_name} ({own}), but"
            f" {data.folder} holds {data.task.name} ({theirs}): evaluate it on data of its own"
            " task and tokens"
        )
    symbols = alphabets(model, data, data.table(about.split)["symbols"].to_numpy())
    with at(f"{about.model} on {data.folder}"):
        model.check(int(symbols.max(initial=0)), ensemble)


def spread(table: pa.Table, about: About, limit: int | None) -> np.ndarray:
    """Return the indices of all rows, or of `limit` rows, spread evenly over the cells."""
    if limit is None or limit >= table.num_rows:
        return np.arange(table.num_rows)
    cells: dict[tuple[int, int], list[int]] = {}
    lengths = about.cell_length(table["length"].to_numpy()).tolist()
    keys = zip(table["symbols"].to_pylist(), lengths, strict=True)
    for row, key in enumerate(keys):
        cells.setdefault(key, []).append(row)
    rng = Random(0)
    for members in cells.values():
        rng.shuffle(members)
    queues = list(cells.values())
    rng.shuffle(queues)  # if there are more cells than `limit`, choose cells at random
    turns = sorted(
        (turn, place) for place, queue in enumerate(queues) for turn in range(len(queue))
    )
    return np.sort([queues[place][turn] for turn, place in turns[:limit]])


def edit_distance(first: str, second: str) -> int:
    """Return the Levenshtein distance of two answers, in tokens."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(first.split(), second.split())


def right_tokens(prediction: str, answer: str) -> int:
    """Return the number of tokens that prediction and answer share at the same position."""
    pairs = zip(prediction.split(), answer.split(), strict=False)
    return sum(predicted == right for predicted, right in pairs)
