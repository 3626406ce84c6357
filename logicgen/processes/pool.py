"""Call a function in worker processes, with a time and a memory limit per item.

    with Pool(setup, count=2, memory=MEMORY) as pool:
        for result in pool.map(items, seconds=10):
            ...

Native code does not answer signals, so a limit is enforced by killing the process that runs it. The
result of an item that exceeds a limit is a `Failure`. On Linux the killed worker is replaced by a
copy of itself after its setup, on other systems by a new process. If a worker dies, its current
item is tried once more; then its result is a `Failure`, too. The time of an item starts when a
worker begins with it.

A thread of the pool hands items to workers and collects results. Therefore any thread can submit
items and wait for the futures, and a coroutine can await them with `asyncio.wrap_future`. Workers
are helpers (`helper.py`), so they also serve a script without a `__main__` guard and a notebook.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Generic, Self, TypeVar

from logicgen.errors import LogicgenError
from logicgen.processes.worker import (
    FULL,
    OUT_OF_MEMORY,
    SOON,
    UNKNOWN,
    Failure,
    Job,
    JobBatch,
    Worker,
    largest,
    packed,
    unpacked,
)

__all__ = ["MEMORY", "Failure", "Limits", "Pool"]

Item = TypeVar("Item")
Result = TypeVar("Result")

MEMORY = 1 << 30  # the default memory limit of a problem in commands, in bytes

MOST_WORKERS = 512

# A worker is sent at most this number of items at once.
MOST_AT_ONCE = 256

# If more workers than this die in a row before they begin to work, waiting items fail.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Limits:
    """Limits of one item: wall-clock seconds and bytes of memory. None means no limit."""

    seconds: float | None = None
    memory: int | None = None


class Pool(Generic[Item, Result]):
    """A function that is called in up to `count` worker processes, from any thread.

    Args:
        setup: a function of a module that a worker can import; `setup(*arguments)` returns the
            function that is called.
        count: largest number of worker processes.
        memory: bytes that a worker may use. The result of an item that needs more is a `Failure`.

    Workers start when items wait. They end with the program, by `close`, or at the end of a `with`
    block. A process that is forked from this process starts its own workers.
    """

    def __init__(
        self,
        setup: Callable[..., Callable[[Item], Result]],
        arguments: tuple[Any, ...] = (),
        *,
        count: int = 1,
        memory: int | None = None,
    ) -> None:
        if not 1 <= count <= MOST_WORKERS:
            raise LogicgenError(f"workers: {count:,}, but there have to be 1 to {MOST_WORKERS}")
        self._new = partial(Worker, setup, arguments, memory)
        self._count, self._longest = count, largest(memory)
        self._begin()
        atexit.register(self.close)

    def _begin(self) -> None:
        """Make the state that belongs to this process and does not survive a fork."""
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)  # of results
        self._jobs: deque[Job] = deque()  # without a worker
        self._workers: list[Worker] = []
        self._closed = False
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None  # a pipe that the thread listens to
        self._idle = True  # whether the thread waits for jobs
        self._size = 1  # of a chunk
        self._deaths = 0  # in a row, before any result
        self._works = False  # whether any worker could be set up
        self._reason = ""  # of the last death

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, item: Item, seconds: float | None = None) -> Future[Result | Failure]:
        """Return the future of an item's result; after this many seconds it is a `Failure`.

        The future raises the exception of the function, or LogicgenError if no worker can start. It
        can be cancelled until a worker begins with the item. Raises RuntimeError after `close`.
        """
        return self._queue(JobBatch([packed(item)], seconds, single=True))

    def submit_all(
        self, items: Iterable[Item], seconds: float | None = None
    ) -> Future[list[Result | Failure]]:
        """Return a single future of the results of several items, in order; see `submit`."""
        batch = JobBatch(map(packed, items), seconds)
        if not batch.jobs:
            batch.set_result([])
        return self._queue(batch)

    def _queue(self, batch: JobBatch) -> JobBatch:
        """Put a batch to the end of the queue, and return it."""
        if self._owner != os.getpid():
            self._begin()
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            for job in batch.jobs:
                if len(job.item) <= self._longest:
                    self._jobs.append(job)
                else:
                    job.fill(OUT_OF_MEMORY)
            if self._thread is None and self._jobs:
                self._wake = os.pipe()
                os.set_blocking(self._wake[1], False)
                self._thread = threading.Thread(target=self._run, name="logicgen", daemon=True)
                self._thread.start()
            elif self._idle:
                self._rouse()
        return batch

    def call(self, item: Item, seconds: float | None = None) -> Result | Failure:
        """Return the result of an item. Ctrl-C while waiting stops the work on it."""
        (result,) = self.map([item], seconds)
        return result

    def map(
        self, items: Iterable[Item], seconds: float | None = None, chunk: int = 1
    ) -> Iterator[Result | Failure]:
        """Yield results in the order of the items, at most a few chunks ahead of the consumer.

        chunk: most items to read from the source at once. Fewer are read if items are slow.
        """
        source, running = iter(items), deque[JobBatch]()
        exhausted, room = False, 3 * self._count
        try:
            while running or not exhausted:
                while not exhausted and len(running) < room:
                    batch = JobBatch(_some(source, min(self._size, chunk)), seconds)
                    exhausted = not batch.jobs
                    if not exhausted:
                        running.append(self._queue(batch))
                if running:
                    for job in running[0].jobs:
                        self._wait(job)
                        yield job.result
                    running.popleft()
        finally:
            self._drop(running)

    def _wait(self, job: Job) -> None:
        """Wait for the result of a job. Raises the error of its batch."""
        if job.result is UNKNOWN:
            with self._news:
                self._news.wait_for(lambda: job.result is not UNKNOWN or job.batch.done())
            if job.result is UNKNOWN:
                job.batch.result()

    def _drop(self, batches: Iterable[JobBatch]) -> None:
        """Drop batches that nobody waits for. Their current workers are restarted."""
        running = [batch for batch in batches if not batch.done() and not batch.cancel()]
        for batch in running:
            batch.dropped = True
        if running:
            self._rouse()

    def close(self) -> None:
        """End all workers and cancel waiting jobs."""
        if self._owner != os.getpid():
            return
        with self._lock:
            self._closed = True
            thread = self._thread
        self._rouse()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        atexit.unregister(self.close)

    def _rouse(self) -> None:
        """Wake the thread."""
        wake = self._wake
        if wake is not None:
            with suppress(OSError):  # it is awake already, or has ended
                os.write(wake[1], b"x")

    # -- in the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        assert self._wake is not None
        wake = self._wake
        self._selector = DefaultSelector()
        self._selector.register(wake[0], EVENT_READ, None)
        try:
            while not self._closed:
                self._start_missing()
                self._hand_out()
                for key, _ in self._selector.select(self._patience()):
                    if key.data is None:
                        os.read(wake[0], 4096)
                    elif key.data in self._workers:
                        self._collect(key.data)
                self._end_late()
        finally:
            with self._lock:
                self._closed, self._wake = True, None
                waiting = [job for worker in self._workers for job in worker.left] + [*self._jobs]
                self._jobs.clear()
            for worker in list(self._workers):
                self._remove(worker)
            self._selector.close()
            for descriptor in wake:
                os.close(descriptor)
            for batch in {job.batch for job in waiting}:
                if not batch.cancel():
                    batch.fail(LogicgenError("the pool was closed"))
            with self._news:
                self._news.notify_all()

    def _start_missing(self) -> None:
        """Start workers for the jobs that wait, as long as workers do not die at once."""
        if not self._jobs:
            return
        busy = sum(bool(worker.jobs) for worker in self._workers)
        wanted = min(self._count, busy + len(self._jobs))
        while len(self._workers) < wanted and self._deaths <= MOST_DEATHS:
            worker = self._new()
            self._workers.append(worker)
            self._selector.register(worker, EVENT_READ, worker)
        if not self._workers:
            self._give_up()

    def _hand_out(self) -> None:
        """Send jobs to idle workers."""
        self._idle = True  # jobs that are submitted from here on wake the thread
        for worker in self._workers:
            if worker.ready and not worker.jobs and (jobs := self._next()):
                worker.give(jobs)
        with self._lock:
            busy = sum(bool(worker.jobs) for worker in self._workers)
            self._idle = not self._jobs or busy < self._count
            self._news.notify_all()

    def _next(self) -> list[Job]:
        """Return a chunk of jobs with the same time limit, and leave jobs for the other workers.

        The number of jobs and their total length are bounded.
        """
        jobs: list[Job] = []
        length = 0
        with self._lock:
            most = min(self._size, -(-len(self._jobs) // self._count))
            while self._jobs and len(jobs) < most and length < FULL:
                if jobs and self._jobs[0].batch.seconds != jobs[0].batch.seconds:
                    break
                job = self._jobs.popleft()
                if job.batch.begin():
                    jobs.append(job)
                    length += len(job.item)
        return jobs

    def _collect(self, worker: Worker) -> None:
        """Read the messages of a worker."""
        done: list[tuple[Job, bytes]] = []
        try:
            for message in worker.messages():
                if isinstance(message, BaseException):
                    self._fail(worker, message)
                    continue
                worker.ready = self._works = True
                if message:
                    self._deaths = 0
                for result in message:
                    done.append((worker.jobs[worker.received], result))
                    worker.received += 1
                if worker.jobs and not worker.left:
                    soon = time.monotonic() - worker.begun < SOON
                    self._size = min(2 * self._size, MOST_AT_ONCE) if soon else self._size // 2 or 1
                    worker.give([])
        except (EOFError, ConnectionResetError):
            self._replace(worker, worker.at, f"its process died ({worker.ended()})", died=True)
        self._hand_out()  # before results are read, so that the worker need not wait
        for job, result in done:
            job.fill(unpacked(result))

    def _fail(self, worker: Worker, error: BaseException) -> None:
        """Raise an error of the function in its batch, and an error of the setup in all batches."""
        if not worker.ready:
            self._remove(worker)
            self._fail_all(error)
            return
        left = worker.left
        left.pop(max(worker.at - worker.received, 0)).batch.fail(error)
        worker.give([])
        self._wait_again(left)

    def _fail_all(self, reason: BaseException | Failure) -> None:
        with self._lock:
            jobs = [job for job in self._jobs if job.batch.begin()]
            self._jobs.clear()
        for job in jobs:
            if isinstance(reason, Failure):
                job.fill(reason)
            else:
                job.batch.fail(reason)

    def _patience(self) -> float | None:
        """Return the seconds until the next time limit, or None if no job has a limit."""
        ends, now = [], time.monotonic()
        for worker in self._workers:
            if worker.jobs and (seconds := worker.jobs[0].batch.seconds) is not None:
                ends.append((worker.clock.since if worker.at >= 0 else now) + seconds)
        return max(min(ends) - now, 0.001) if ends else None

    def _end_late(self) -> None:
        """Stop jobs that exceed their time limit, and jobs that nobody waits for."""
        for worker in list(self._workers):
            if not worker.jobs:
                continue
            seconds, at = worker.jobs[0].batch.seconds, worker.at
            late = seconds is not None and time.monotonic() - worker.clock.since > seconds
            if at >= 0 and late:
                self._replace(worker, at, f"time limit of {seconds:g} s")
            elif all(job.batch.dropped for job in worker.left):
                if at >= 0:
                    self._restart(worker)
                else:  # it may not have read the jobs, which its copy would read
                    self._remove(worker)

    def _replace(self, worker: Worker, at: int, reason: str, died: bool = False) -> None:
        """Give up the item at a place of a worker's chunk. Its other items return to the queue.

        died: whether the worker died. The item is then tried once more, because the worker may have
            died for another reason.
        """
        jobs, left = worker.jobs, worker.left
        if died:
            self._remove(worker)
            self._reason = reason
        else:
            self._restart(worker)
        if at < 0:
            self._deaths += 1
        elif died and not jobs[at].died:
            jobs[at].died = True
        else:
            left.remove(jobs[at])
            jobs[at].fill(Failure(reason))
            self._deaths = 0
        self._wait_again(left)

    def _give_up(self) -> None:
        """Fail all waiting jobs. The next job makes another attempt to start a worker."""
        self._deaths = MOST_DEATHS
        if self._works:
            self._fail_all(Failure(f"no worker process is left: {self._reason}"))
        else:
            why = "a worker process ended again and again before it began to work: "
            self._fail_all(LogicgenError(why + self._reason))

    def _wait_again(self, jobs: list[Job]) -> None:
        """Put jobs back to the front of the queue."""
        with self._lock:
            self._jobs.extendleft(reversed(jobs))

    def _restart(self, worker: Worker) -> None:
        if not worker.restart():
            self._remove(worker)

    def _remove(self, worker: Worker) -> None:
        self._selector.unregister(worker)
        self._workers.remove(worker)
        worker.stop()


def _some(source: Iterator[Any], most: int) -> Iterator[bytes]:
    """Yield the next items, packed: at most this number, until the chunk is full."""
    length = 0
    for item in islice(source, most):
        sent = packed(item)
        yield sent
        length += len(sent)
        if length > FULL:
            return
