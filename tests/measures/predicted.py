"""Predictions made up for tests, without a model."""

from __future__ import annotations

from logicgen.measures.predictions import SCHEMA, About, described

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
                rows.append(dict(zip(SCHEMA.names, values, strict=False)))
            number += 1
    return described(rows, SCHEMA, about)
