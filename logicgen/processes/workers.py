"""Worker processes that can be killed: an ordered map with a time and a memory limit per item.

Native code does not answer signals, so a limit is enforced by ending the process that runs it. A
worker is reused until that happens, then replaced, and the rest of its chunk goes on in the new
one. Workers are helpers (`helper.py`), so they also serve a script without a `__main__` guard, a
notebook, and a script on standard input.
"""

from __future__ import annotations

import atexit
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Generic, TypeVar

from logicgen.errors import LogicgenError
from logicgen.processes.worker import (
    FULL,
    OUT_OF_MEMORY,
    SOON,
    UNKNOWN,
    Chunk,
    Failure,
    Worker,
    largest,
    packed,
    unpacked,
)

__all__ = ["MEMORY", "Calls", "Failure", "Limits", "Workers"]

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_WORKERS = 512

MEMORY = 1 << 30  # bytes that commands allow for one problem unless told otherwise

# So many deaths in a row without any result, and workers are not started again.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Limits:
    """Limits of one item: wall-clock seconds and bytes of memory; None is no limit."""

    seconds: float | None = None
    memory: int | None = None


def check_count(workers: int) -> None:
    """Raise LogicgenError where there cannot be so many workers."""
    if not 1 <= workers <= MOST_WORKERS:
        raise LogicgenError(f"workers: {workers:,}, but there have to be 1 to {MOST_WORKERS}")


class Workers(Generic[Item, Result]):
    """A pool of `count` processes that each run the function `setup(*arguments)` returns.

    setup: a function of a module that a worker can import.

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
        check_count(count)
        limits = limits or Limits()
        self._new = partial(Worker, setup, arguments, limits.memory)
        self._longest = largest(limits.memory)
        self.seconds = limits.seconds
        self._selector = DefaultSelector()
        self._deaths = 0  # in a row, without a result
        self._ready = False  # whether any worker could be set up
        self._gone = ""  # why the last worker that was replaced ended
        self._workers: list[Worker] = []
        for _ in range(count):
            self._add()

    def _add(self) -> None:
        worker = self._new()
        self._workers.append(worker)
        self._selector.register(worker, EVENT_READ, worker)

    def __enter__(self) -> Workers[Item, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Return whether any worker is left."""
        return bool(self._workers)

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._workers):
            self._remove(worker)

    def _remove(self, worker: Worker) -> None:
        self._selector.unregister(worker)
        self._workers.remove(worker)
        worker.stop()

    def map(self, items: Iterable[Item], chunk: int = 1) -> Iterator[Result | Failure]:
        """Yield results in the order of the items, at most a few chunks ahead of the consumer.

        chunk: most items that a worker is sent at once. Slow or large ones are sent in fewer.

        A worker that dies is replaced; the item that was under way is a `Failure`. Where workers
        die again and again without giving a result, all further items are.
        Raises the exception of the function, or LogicgenError where no worker could begin to work.
        """
        source = iter(items)
        waiting: deque[Chunk] = deque()  # parts of chunks whose worker was killed go first
        running: deque[Chunk] = deque()  # in order, until their results are yielded
        exhausted, size = False, 1
        while self._workers:
            for worker in list(self._workers):
                if worker.chunk is not None:
                    continue
                if waiting:
                    worker.give(waiting.popleft())
                elif not exhausted and len(running) < 3 * len(self._workers):
                    new = _chunk_of(source, size, self._longest)
                    exhausted = not new.items
                    if new.items:
                        running.append(new)
                    if new.pending():
                        worker.give(new)
            while running:
                first = running[0]
                for result in first.results[first.yielded :]:
                    if result is UNKNOWN:
                        break
                    first.yielded += 1
                    yield result
                if first.yielded < len(first.results):
                    break
                running.popleft()
            if running and any(worker.chunk is not None for worker in self._workers):
                ended, seconds = self._collect()
                waiting.extend(ended)
                if seconds is not None:
                    size = min(2 * size, chunk) if seconds < SOON else max(size // 2, 1)
            elif exhausted and not running:
                return
        reason = Failure(f"no worker process is left: {self._gone}")
        for each in running:
            results = each.results[each.yielded :]
            yield from (reason if result is UNKNOWN else result for result in results)
        yield from (reason for _ in source)

    def _collect(self) -> tuple[list[Chunk], float | None]:
        """Wait for results or limits.

        Returns chunks that need a worker again, and how long the last chunk to be done took.
        """
        again: list[Chunk] = []
        seconds: float | None = None
        for key, _ in self._selector.select(self._patience()):
            worker: Worker = key.data
            try:
                for message in worker.messages():
                    if isinstance(message, BaseException):
                        worker.chunk = None
                        raise message
                    self._ready = True
                    if message:
                        self._deaths = 0
                    if (chunk := worker.chunk) is None:
                        continue
                    for result in message:
                        chunk.results[worker.sent[worker.received]] = unpacked(result)
                        worker.received += 1
                    if worker.received == len(worker.sent):
                        seconds = time.monotonic() - worker.begun
                        worker.chunk = None
            except (EOFError, ConnectionResetError):
                again += self._replace(worker, f"its process died ({worker.ended()})")
        for worker in list(self._workers):
            late = self.seconds is not None and worker.at >= 0
            if late and time.monotonic() - worker.clock.since > (self.seconds or 0):
                again += self._replace(worker, f"time limit of {self.seconds:g} s")
        return again, seconds

    def _patience(self) -> float | None:
        """Return how long to wait for results before the clocks are looked at; None is for ever."""
        if self.seconds is None:
            return None
        ends = [each.clock.since + self.seconds for each in self._workers if each.at >= 0]
        left: float = min([*ends, math.inf]) - time.monotonic()
        return max(min(left, self.seconds, 1.0), 0.001)

    def _replace(self, worker: Worker, reason: str) -> list[Chunk]:
        """Start a worker for one that failed; return its chunk if that has items left."""
        chunk, at = worker.chunk, worker.at
        self._remove(worker)
        if at >= 0:
            assert chunk is not None
            chunk.results[worker.sent[at]] = Failure(reason)
            self._deaths = 0  # each costs an item, so they end
        else:
            self._deaths += 1
        if self._deaths <= MOST_DEATHS:
            self._add()
        elif not self._ready:
            raise LogicgenError(f"a worker process ended before it began to work: {reason}")
        self._gone = reason
        return [chunk] if chunk is not None and chunk.pending() else []


class Calls(Generic[Item, Result]):
    """A function that is called in worker processes, one item at a time, from any thread.

    Workers are started when they are needed, kept for the next call, and ended with the program.
    """

    def __init__(
        self,
        setup: Callable[..., Callable[[Item], Result]],
        arguments: tuple[Any, ...] = (),
        memory: int | None = None,
    ) -> None:
        limits = Limits(memory=memory)
        self._new = partial(Workers[Item, Result], setup, arguments, limits=limits)
        self._idle: list[Workers[Item, Result]] = []
        self._owner = os.getpid()
        atexit.register(self.close)

    def __call__(self, item: Item, seconds: float | None = None) -> Result | Failure:
        """Return the result of an item within so many seconds. Raises what the function raises."""
        if self._owner != os.getpid():  # a fork, whose workers are still its parent's
            self._idle, self._owner = [], os.getpid()
        try:
            pool = self._idle.pop()
        except IndexError:
            pool = self._new()
        pool.seconds = seconds
        try:
            (result,) = pool.map([item])
        except BaseException:  # Ctrl-C: the answer on its way must not meet the next question
            pool.close()
            raise
        if pool.alive and len(self._idle) < (os.cpu_count() or 1):
            self._idle.append(pool)
        else:
            pool.close()
        return result

    def close(self) -> None:
        """End the workers that are not at work."""
        while self._idle and self._owner == os.getpid():
            self._idle.pop().close()


def _chunk_of(source: Iterator[Any], most: int, longest: float) -> Chunk:
    """Return the next items as a chunk that is not too long and not too large.

    Items of more than `longest` bytes are in it with their failure.
    """
    items: list[bytes] = []
    too_long: list[int] = []
    size = 0
    for item in source:
        sent = packed(item)
        if len(sent) > longest:
            too_long.append(len(items))
            sent = b""
        items.append(sent)
        size += len(sent)
        if len(items) >= most or size > FULL:
            break
    chunk = Chunk(items)
    for place in too_long:
        chunk.results[place] = OUT_OF_MEMORY
    return chunk
