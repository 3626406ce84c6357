"""Worker processes that can be killed: an ordered map with a time and a memory limit per item.

Native code does not answer signals, so a limit is enforced by ending the process that runs it. A
worker is reused until that happens, then replaced, and the rest of its chunk goes on in the new
one.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from logicgen.errors import LogicgenError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Forking a process that runs threads (progress bars, Arrow, torch) can deadlock the child.
_context = multiprocessing.get_context("spawn")

MEMORY = 1 << 30  # bytes that commands allow for one problem unless told otherwise


@dataclass(frozen=True)
class Limits:
    """Limits of one item: wall-clock seconds and bytes of memory; None is no limit."""

    seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Failure:
    """A result of an item that ran into a limit or whose process died, with the reason."""

    reason: str


@dataclass
class _Chunk:
    items: Sequence[object]
    results: list[Any]  # None until known; Failure where a limit was reached
    pending: list[int]  # places in `items` that are not settled


class _Worker:
    def __init__(
        self, setup: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits
    ) -> None:
        self.connection, theirs = _context.Pipe()
        # Which place of its chunk the worker is at, and since when (monotonic clock); -1 is idle.
        self.place = _context.RawValue("l", -1)
        self.since = _context.RawValue("d", 0.0)
        self.process = _context.Process(
            target=_serve,
            args=(theirs, self.place, self.since, setup, arguments, limits.memory),
            daemon=True,
        )
        # A Ctrl-C before the worker is set up must not reach it either.
        here = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if here else None
        try:
            self.process.start()
        finally:
            if here:
                signal.signal(signal.SIGINT, before)
        theirs.close()
        self.chunk: _Chunk | None = None

    def stop(self) -> None:
        """Kill the process and close the connection."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(
    connection: Connection,
    place: Any,
    since: Any,
    setup: Callable[..., Callable[[Any], Any]],
    arguments: tuple[Any, ...],
    memory: int | None,
) -> None:
    # Ctrl-C goes to the whole group; the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if memory is not None:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        function = setup(*arguments)
        while True:
            items = connection.recv()
            results = []
            for number, item in enumerate(items):
                since.value = time.monotonic()
                place.value = number
                try:
                    results.append(function(item))
                except MemoryError:
                    results.append(Failure("out of memory"))
            place.value = -1
            connection.send(results)
    except (EOFError, BrokenPipeError):
        return  # the parent is gone or has closed the pipe
    except LogicgenError as error:
        connection.send(LogicgenError(str(error)))
    except Exception:  # raised again in the parent, with this traceback
        connection.send(RuntimeError(f"in a worker process:\n{traceback.format_exc()}"))


class Workers(Generic[Item, Result]):
    """A pool of `count` processes that each run the function `setup(*arguments)` returns.

    Use as a context manager. An exception in the function is raised by `map` in the parent.
    """

    def __init__(
        self,
        setup: Callable[..., Callable[[Item], Result]],
        arguments: tuple[Any, ...] = (),
        *,
        count: int = 1,
        limits: Limits | None = None,
    ) -> None:
        self._new = partial(_Worker, setup, arguments, limits or Limits())
        self._seconds = limits.seconds if limits else None
        self._workers = [self._new() for _ in range(count)]

    def __enter__(self) -> Workers[Item, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def map(self, items: Iterable[Item], chunk: int = 1) -> Iterator[Result | Failure]:
        """Yield results in the order of the items, at most a few chunks ahead of the consumer.

        Raises the exception of the function, or LogicgenError where a worker ends before its first
        item.
        """
        source = iter(items)
        waiting: deque[_Chunk] = deque()  # parts of chunks whose worker was killed go first
        running: deque[_Chunk] = deque()  # in order, until their results are yielded
        exhausted = False
        while True:
            for worker in self._workers:
                if worker.chunk is not None:
                    continue
                if waiting:
                    self._give(worker, waiting.popleft())
                elif not exhausted and len(running) < 3 * len(self._workers):
                    batch = list(islice(source, chunk))
                    exhausted = not batch
                    if batch:
                        new = _Chunk(batch, [None] * len(batch), list(range(len(batch))))
                        running.append(new)
                        self._give(worker, new)
            while running and not running[0].pending:
                yield from running.popleft().results
            if running:
                waiting.extend(self._collect())
            elif exhausted:
                return

    def _give(self, worker: _Worker, chunk: _Chunk) -> None:
        worker.chunk = chunk
        worker.place.value = -1
        with suppress(BrokenPipeError):  # it died; `_collect` sees that
            worker.connection.send([chunk.items[place] for place in chunk.pending])

    def _collect(self) -> list[_Chunk]:
        """Wait for results or limits; return chunks that need a worker again."""
        busy = [worker for worker in self._workers if worker.chunk is not None]
        ready = wait([worker.connection for worker in busy], self._patience(busy))
        again: list[_Chunk] = []
        for worker in busy:
            chunk = worker.chunk
            assert chunk is not None
            if worker.connection in ready:
                try:
                    results = worker.connection.recv()
                except (EOFError, ConnectionResetError):
                    worker.process.join()
                    reason = f"its process died ({worker.process.exitcode})"
                    again += self._replace(worker, chunk, worker.place.value, reason)
                    continue
                if isinstance(results, BaseException):
                    raise results
                for place, result in zip(chunk.pending, results, strict=True):
                    chunk.results[place] = result
                chunk.pending = []
                worker.chunk = None
            elif self._seconds is not None:
                place = worker.place.value  # before `since`, which the worker sets first
                if place >= 0 and time.monotonic() - worker.since.value > self._seconds:
                    reason = f"time limit of {self._seconds:g} s"
                    again += self._replace(worker, chunk, place, reason)
        return again

    def _patience(self, busy: list[_Worker]) -> float | None:
        if self._seconds is None:
            return None
        ends = [worker.since.value + self._seconds for worker in busy if worker.place.value >= 0]
        left: float = min([*ends, math.inf]) - time.monotonic()
        return max(min(left, self._seconds, 1.0), 0.001)

    def _replace(self, worker: _Worker, chunk: _Chunk, place: int, reason: str) -> list[_Chunk]:
        """Start a worker for one that failed at `place`; return the chunk if it has items left."""
        worker.stop()
        self._workers[self._workers.index(worker)] = self._new()
        if place < 0:
            raise LogicgenError(f"a worker process ended before it began to work: {reason}")
        chunk.results[chunk.pending.pop(place)] = Failure(reason)
        return [chunk] if chunk.pending else []
