"""A mixture of sources: each problem comes from one of several sources, chosen at random."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

from logicgen.errors import LogicgenError
from logicgen.tasks.task import Cell, Draw, Source


class Mixture(Source):
    """A source that draws each problem from a random source that has problems in the cell.

    sources: the sources with their weights, by name.
    """

    def __init__(
        self, sources: Mapping[str, tuple[Source, float]], symbols: tuple[int, int]
    ) -> None:
        super().__init__(symbols)
        self._sources = {name: each for name, each in sources.items() if each[1] > 0}

    def _fitting(self, cell: Cell) -> list[tuple[Source, float]]:
        return [
            (source, weight)
            for source, weight in self._sources.values()
            if source.obstacle(cell) is None and any(source.count(cell).values())
        ]

    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        fitting = self._fitting(cell)
        if not fitting:
            raise LogicgenError(f"no source of {', '.join(self._sources)} has problems in {cell}")
        (source, _), *_ = rng.choices(fitting, [weight for _, weight in fitting])
        return source.sample(rng, cell)

    def count(self, cell: Cell) -> Mapping[int, float]:
        """Return infinity for each number of symbols that a source allows."""
        return {
            symbols: math.inf
            for source, _ in self._fitting(cell)
            for symbols, count in source.count(cell).items()
            if count
        }

    def obstacle(self, cell: Cell) -> str | None:
        obstacles = [source.obstacle(cell) for source, _ in self._sources.values()]
        return None if None in obstacles else obstacles[0]
