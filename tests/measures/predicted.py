"""Predictions made up for tests, without a model."""

from __future__ import annotations

import json
from dataclasses import asdict

import pyarrow as pa

from logicgen.measures.predictions import SCHEMA, About

ABOUT = About("propositional", "some", "data", "grid", (1, 2), (2, 3))


def predicted(verdicts, about=ABOUT, distances=None):
    """A table from the verdicts of each (symbols, length): one per example, or one per seed."""
    rows, number = [], 0
    for (symbols, length), cell in verdicts.items():
        for each in cell:
            by_seed = [each] if isinstance(each, str) else each
            for seed, verdict in enumerate(by_seed):
                distance = None if distances is None else distances[symbols, length]
                problem = f"problem {number}"
                values = (number, seed, symbols, length, problem, "a 1", "b 0", verdict, distance)
                values += (None, None, None, None)  # no tokens counted, nothing verified
                rows.append(dict(zip(SCHEMA.names, values, strict=True)))
            number += 1
    metadata = {"logicgen": json.dumps(asdict(about))}
    return pa.Table.from_pylist(rows, schema=SCHEMA.with_metadata(metadata))
