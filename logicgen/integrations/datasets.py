"""Stream random problems without end, as a data set of Hugging Face `datasets`.

    trainer = GRPOTrainer(..., train_dataset=stream("ltl", symbols=(1, 5), length=(5, 20)))

Problems are not stored. A problem is drawn and solved when its row is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from logicgen.data.prompts import FORMATS, Row, sampled_rows
from logicgen.errors import LogicgenError, nearest
from logicgen.integrations.versions import importing
from logicgen.scoring.prompts import Notation
from logicgen.tasks import load_task
from logicgen.tasks.problem_samples import ProblemSamples


def stream(
    task: str,
    kind: str = "trl",
    *,
    examples: int = 0,
    notation: Notation = "infix",
    shards: int = 1,
    **how: Any,
) -> Any:
    """Return a `datasets.IterableDataset` of random problems without end.

    Row `i` depends only on the arguments and on `i`.

    kind: the format of the rows, as in `logicgen export --for`.
    examples, notation: settings of prompts, as in `logicgen.prompt`.
    shards: the number of workers of the data loader. Each worker reads one shard. A shard never
        ends, so a worker with several shards would only read the first shard.
    how: arguments of `ProblemSamples`: `symbols`, `length`, `seed`, `curriculum`, ...

    Raises LogicgenError for a task without prompts, or for an impossible setting.
    """
    with importing("datasets", "2.19"):
        from datasets import IterableDataset
    if shards < 1:
        raise LogicgenError(f"shards: {shards}; give at least 1")
    if kind not in FORMATS:
        raise LogicgenError(f"no format is called {kind!r}: {nearest(kind, list(FORMATS))}")
    asked = {"task": task, "kind": kind, "examples": examples, "notation": notation, **how}
    next(_rows([0], shards, asked))  # report wrong settings here instead of in a worker
    parts = {"parts": list(range(shards)), "shards": shards, "asked": asked}
    return IterableDataset.from_generator(_rows, gen_kwargs=parts)


def _rows(parts: Sequence[int], shards: int, asked: dict[str, Any]) -> Iterator[Row]:
    """Yield the rows of some shards: row i if `i % shards` is in `parts`.

    parts: the numbers of the shards.
    shards: the number of all shards.
    asked: the arguments of `stream`.
    """
    how = dict(asked)
    task, kind = load_task(how.pop("task")), how.pop("kind")
    written = how.pop("examples"), how.pop("notation")
    mine = frozenset(parts)
    numbers = (number for number in count() if number % shards in mine)
    yield from map(FORMATS[kind][1], sampled_rows(ProblemSamples(task, **how), numbers, *written))
