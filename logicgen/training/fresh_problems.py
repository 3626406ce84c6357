"""New problems of rounds, which worker processes draw ahead while the model answers and learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import count

from logicgen.errors import LogicgenError
from logicgen.processes.pool import MEMORY, Pool
from logicgen.processes.worker import Failure
from logicgen.tasks.problem_samples import ProblemSamples

BLOCK = 64
"""Number of problems that a worker draws at once."""


def drawn(samples: Sequence[ProblemSamples], number: int) -> str:
    """Return a problem in prefix notation. Problems are drawn from each of the samples in turn."""
    index, place = divmod(number, len(samples))
    return samples[place].task.encode(samples[place][index])


def drawer(*samples: ProblemSamples) -> Callable[[int], list[str]]:
    """Return a function that draws a block of problems, numbered from 0, in prefix notation."""

    def draw(block: int) -> list[str]:
        return [drawn(samples, i) for i in range(block * BLOCK, (block + 1) * BLOCK)]

    return draw


class FreshProblems:
    """Problems of one or several `ProblemSamples` in prefix notation, by number.

    The same number always gives the same problem.

    Args:
        samples: the samples, from which problems are drawn in turn.
        ahead: about how many problems are drawn ahead.
        workers: number of processes that draw. If it is 1, this process draws, but not ahead.
    """

    def __init__(self, samples: Sequence[ProblemSamples], ahead: int, workers: int) -> None:
        self._samples, self._ahead = samples, -(-ahead // BLOCK)
        self._pool: Pool[int, list[str]] | None = None
        if workers > 1:
            self._pool = Pool(drawer, tuple(samples), count=workers, memory=MEMORY)
        self._blocks: dict[int, Future[list[str] | Failure]] = {}

    def close(self) -> None:
        """End the worker processes."""
        if self._pool is not None:
            self._pool.close()

    def texts(self, first: int) -> Iterator[str]:
        """Yield the problems from number `first` on, without end.

        Raises LogicgenError if a problem cannot be drawn.
        """
        if self._pool is None:
            yield from (drawn(self._samples, number) for number in count(first))
        for block in count(first // BLOCK):
            texts = self._drawn(block)
            yield from texts[max(first - block * BLOCK, 0) :]

    def _drawn(self, block: int) -> list[str]:
        """Return the problems of a block, and let workers draw the blocks after it."""
        assert self._pool is not None
        wanted = range(block, block + self._ahead + 1)
        known = self._blocks
        self._blocks = {n: known[n] if n in known else self._pool.submit(n) for n in wanted}
        texts = self._blocks[block].result()
        if isinstance(texts, Failure):
            raise LogicgenError(f"new problems could not be drawn: {texts.reason}")
        return texts
