"""Endless random problems as a data set of Hugging Face `datasets`.

    trainer = GRPOTrainer(..., train_dataset=stream("ltl", symbols=(1, 5), length=(5, 20)))

Nothing is written to a disk, and no problem is stored: each is drawn and solved when it is read.
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
from logicgen.tasks.problems import ProblemSamples


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

    kind: whose rows they are like, a format of `logicgen export --for`.
    examples, notation: of prompts.
    shards: as many as a data loader has workers: each reads a part of the problems, without end, so
        one worker alone would never leave the first part.
    how: arguments of `ProblemSamples`: `symbols`, `length`, `seed`, `curriculum`, ...

    Row `i` depends on the arguments and on `i` alone. Raises LogicgenError for a task without
    prompts, and a setting that cannot be.
    """
    with importing("datasets", "2.19"):
        from datasets import IterableDataset
    if shards < 1:
        raise LogicgenError(f"shards: {shards}; there is at least 1")
    if kind not in FORMATS:
        raise LogicgenError(f"no format is called {kind!r}: {nearest(kind, list(FORMATS))}")
    asked = {"task": task, "kind": kind, "examples": examples, "notation": notation, **how}
    next(_rows([0], shards, asked))  # what cannot be is said here, not in a worker
    parts = {"parts": list(range(shards)), "shards": shards, "asked": asked}
    return IterableDataset.from_generator(_rows, gen_kwargs=parts)


def _rows(parts: Sequence[int], shards: int, asked: dict[str, Any]) -> Iterator[Row]:
    """Yield the rows whose number leaves one of some remainders, in order."""
    how = dict(asked)
    task, kind = load_task(how.pop("task")), how.pop("kind")
    written = how.pop("examples"), how.pop("notation")
    mine = frozenset(parts)
    numbers = (number for number in count() if number % shards in mine)
    yield from map(FORMATS[kind][1], sampled_rows(ProblemSamples(task, **how), numbers, *written))
