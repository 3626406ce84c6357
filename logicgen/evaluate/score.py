"""Solver-verified scores: what a model answers to a split, and what the solver says of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from logicgen.atomic import write_atomically
from logicgen.data.dataset import Dataset, encode
from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict
from logicgen.tasks import Task, load_task
from logicgen.workers import Failure, Limits, Workers

if TYPE_CHECKING:
    from logicgen.train.model import Model

PREDICTIONS = "predictions.parquet"

# A right answer may be longer than the stored one, but not without end.
ROOM = 8

SCHEMA = pa.schema(
    [
        pa.field("row", pa.int32(), nullable=False),
        pa.field("embedding_seed", pa.int32(), nullable=False),
        pa.field("symbols", pa.int32(), nullable=False),
        pa.field("length", pa.int32(), nullable=False),
        pa.field("problem", pa.string(), nullable=False),
        pa.field("answer", pa.string(), nullable=False),
        pa.field("prediction", pa.string(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("edit_distance", pa.int32()),
    ]
)

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class About:
    """What was scored; it travels inside `predictions.parquet`."""

    task: str
    model: str
    data: str
    split: str
    symbols: tuple[int, int]  # the region the model was trained on
    length: tuple[int, int]

    @staticmethod
    def of(model: Model, called: str, data: Dataset, split: str) -> About:
        """A split of a data set, answered by a model that is called so."""
        region = model.region
        return About(data.task.name, called, data.name, split, region.symbols, region.length)


def predict_and_verify(
    model: Model,
    data: Dataset,
    about: About,
    *,
    limit: int | None = None,
    embedding_seeds: int = 1,
    workers: int = 1,
    seconds: float = 10.0,
    grammar: bool = True,
    progress: Progress = lambda what, done, total: None,
) -> pa.Table:
    """A table with a row per example and embedding seed: prediction, verdict, edit distance.

    Args:
        limit: at most so many examples, spread evenly over the cells.
        grammar: decode under the grammar mask, so that every answer parses.
        seconds: limit per answer; beyond it the verdict is `unknown`.

    Raises LogicgenError where the model was trained for another task or vocabulary.
    """
    check_fits(model, data, about)
    table = data.table(about.split)
    rows = spread(table, limit)
    table = table.take(pa.array(rows))
    predictions = predict(model, data, table, embedding_seeds, grammar, progress)
    verifier = data.recipe.verifier
    return _verify(data.task, verifier, about, rows, table, predictions, workers, seconds, progress)


def check_fits(model: Model, data: Dataset, about: About) -> None:
    """Raise LogicgenError where the model was trained for another task or vocabulary."""
    if model.task_name != data.task.name or model.vocabulary != data.vocabulary:
        raise LogicgenError(
            f"{about.model} was trained for {model.task_name} with {model.vocabulary}, but "
            f"{data.folder} holds {data.task.name} with {data.vocabulary}: evaluate it on data "
            "of its own task and vocabulary"
        )


def spread(table: pa.Table, limit: int | None) -> np.ndarray:
    """Which rows to score: all, or `limit` of them as evenly over the cells as they allow."""
    if limit is None or limit >= table.num_rows:
        return np.arange(table.num_rows)
    cells: dict[tuple[int, int], list[int]] = {}
    keys = zip(table["symbols"].to_pylist(), table["length"].to_pylist(), strict=True)
    for row, key in enumerate(keys):
        cells.setdefault(key, []).append(row)
    rng = Random(0)
    for members in cells.values():
        rng.shuffle(members)
    queues = list(cells.values())
    rng.shuffle(queues)  # where the limit is below the number of cells, any cell may go without
    turns = sorted(
        (turn, place) for place, queue in enumerate(queues) for turn in range(len(queue))
    )
    return np.sort([queues[place][turn] for turn, place in turns[:limit]])


def predict(
    model: Model, data: Dataset, table: pa.Table, seeds: int, grammar: bool, progress: Progress
) -> list[list[str]]:
    """Per embedding seed, the answers to all rows, in prefix notation."""
    import torch

    from logicgen.nn.decoding import GrammarMask

    encoded = encode(table, data.vocabulary)
    longest = int(encoded.answers.lengths.max(initial=0)) + ROOM
    mask = None
    if grammar:
        automaton = data.task.answer_automaton(longest)
        mask = GrammarMask(
            torch.from_numpy(automaton.transition), torch.from_numpy(automaton.distance)
        )
    sizes = alphabets(model, data, encoded.symbols)
    done, total = 0, seeds * len(encoded)
    progress("predicting", 0, total)
    answers: list[list[str]] = []
    for seed in range(seeds):
        texts = [""] * len(encoded)
        for alphabet in np.unique(sizes)[::-1]:  # too large a one fails at once
            members = np.flatnonzero(sizes == alphabet)
            for start in range(0, len(members), 1024):
                batch = members[start : start + 1024]
                problems = [encoded.problems[row].tolist() for row in batch]
                found = model.predict(problems, int(alphabet), seed, longest, mask)
                for row, ids in zip(batch, found, strict=True):
                    texts[row] = data.vocabulary.decode(ids)
                done += len(batch)
                progress("predicting", done, total)
        answers.append(texts)
    return answers


def alphabets(model: Model, data: Dataset, symbols: np.ndarray) -> np.ndarray:
    """How many symbols the model sees with each problem, given the symbols of its cell.

    As many as there were in training, more where the problem's names are drawn from more.
    """
    return np.maximum(symbols, max(data.recipe.region.symbols[1], model.alphabet))


def _verify(
    task: Task,
    verifier: str | None,
    about: About,
    rows: np.ndarray,
    table: pa.Table,
    predictions: list[list[str]],
    workers: int,
    seconds: float,
    progress: Progress,
) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for seed, texts in enumerate(predictions):
        columns["row"] += rows.tolist()
        columns["embedding_seed"] += [seed] * len(rows)
        for name in ("symbols", "length", "problem", "answer"):
            columns[name] += table[name].to_pylist()
        columns["prediction"] += texts
    triples = list(zip(columns["problem"], columns["prediction"], columns["answer"], strict=True))
    # The same answer to the same problem, under another embedding seed, needs no second verdict.
    different = list(dict.fromkeys(triples))
    verdicts: dict[tuple[str, str, str], str] = {}
    limits = Limits(seconds)
    progress("verifying", 0, len(different))
    with Workers[Any, str](verdict_of, (task.name, verifier), count=workers, limits=limits) as pool:
        for triple, verdict in zip(different, pool.map(different, 256), strict=True):
            verdicts[triple] = str(Verdict.UNKNOWN) if isinstance(verdict, Failure) else verdict
            if len(verdicts) % 256 == 0:
                progress("verifying", len(verdicts), len(different))
    progress("verifying", len(different), len(different))
    columns["verdict"] = [verdicts[triple] for triple in triples]
    columns["edit_distance"] = [
        _edit_distance(predicted, answer) if task.edit_distance else None
        for _, predicted, answer in triples
    ]
    metadata = {"logicgen": json.dumps(asdict(about))}
    return pa.table(columns, schema=SCHEMA.with_metadata(metadata))


def _edit_distance(first: str, second: str) -> int:
    """Levenshtein distance in tokens."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(first.split(), second.split())


def verdict_of(task: str, solver: str | None) -> Callable[[tuple[str, str, str]], str]:
    """For worker processes: the verdict on (problem, prediction, answer)."""
    chosen = load_task(task)
    return lambda triple: str(chosen.verdict(*triple, solver))


def prepare_folder(folder: Path) -> None:
    """Make the folder of an evaluation. Raises LogicgenError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogicgenError(
            f"{folder}: cannot be made ({error.strerror}); choose another folder with -o"
        ) from error


def write_predictions(table: pa.Table, folder: Path) -> None:
    """Write `predictions.parquet`."""
    write_atomically(
        folder / PREDICTIONS, lambda part: pq.write_table(table, part, compression="zstd")
    )


def read_predictions(folder: Path) -> tuple[pa.Table, About]:
    """What `write_predictions` wrote. Raises LogicgenError where there is none or it is damaged."""
    path = folder / PREDICTIONS
    try:
        table = pq.read_table(path)
        about = json.loads(table.schema.metadata[b"logicgen"])
    except FileNotFoundError as error:
        raise LogicgenError(f"{folder}: no {PREDICTIONS}; run logicgen evaluate first") from error
    except (pa.ArrowInvalid, KeyError, TypeError, OSError) as error:
        raise LogicgenError(f"{path}: damaged; run logicgen evaluate again") from error
    about["symbols"], about["length"] = tuple(about["symbols"]), tuple(about["length"])
    return table, About(**about)
