"""Call a function in worker processes, with a time and a memory limit per item.

    with Pool(setup, count=2, memory=MEMORY) as pool:
        for result in pool.map(items, seconds=10):
            ...

Native code does not answer signals, so the pool enforces a time limit by killing the worker. The
result of an item that exceeds a limit is a `Failure`. On Linux the killed worker is replaced by a
fork that has already run `setup`, on other systems by a new process. If a worker dies, its current
item is tried once more. If this attempt kills a worker too, the result is a `Failure`. The time of
an item starts when a worker begins with it.

A thread of the pool sends chunks of items to workers and collects results. Therefore any thread can
submit items and wait for the futures, and a coroutine can await them with `asyncio.wrap_future`.
`helper.py` starts workers without importing the caller's script. So a pool also works in a
notebook, and in a script without a `__main__` guard.
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

MEMORY = 1 << 30  # bytes: the memory limit that commands set for each problem

MOST_WORKERS = 512
MOST_PATIENCE = 3600.0  # seconds: the longest wait in one system call; it refuses much longer waits

# The largest number of items that are sent to a worker in one message.
MOST_AT_ONCE = 256

# If more than this number of workers in a row die before they begin to work, waiting items fail.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Limits:
    """The limits for one item: wall-clock seconds and bytes of memory. None means no limit."""

    seconds: float | None = None
    memory: int | None = None


class Pool(Generic[Item, Result]):
    """Up to `count` worker processes that call a function on items. Any thread may submit items.

    Args:
        setup: a function of a module that a worker can import. Each worker calls
            `setup(*arguments)` once, which returns the function to call on items.
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
        """Create the lock, queue, workers and thread. A forked process has to create its own."""
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)  # notified when results arrive
        self._jobs: deque[Job] = deque()  # submitted jobs that no worker has yet
        self._workers: list[Worker] = []
        self._closed = False
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None  # a pipe; a byte in it wakes the pool's thread
        self._idle = True  # whether a new job has to wake the thread
        self._size = 1  # the largest number of jobs that are sent to a worker at once
        self._deaths = 0  # number of workers that died in a row without a result
        self._works = False  # whether `setup` has succeeded in any worker
        self._reason = ""  # why the last worker died

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, item: Item, seconds: float | None = None) -> Future[Result | Failure]:
        """Submit an item; return the future of its result.

        seconds: time limit. If the item takes longer, its result is a `Failure`.

        The future raises the exception of the function, or LogicgenError if no worker can start. It
        can be cancelled until a worker begins with the item. Raises RuntimeError after `close`.
        """
        return self._queue(JobBatch([packed(item)], seconds, single=True))

    def submit_all(
        self, items: Iterable[Item], seconds: float | None = None
    ) -> Future[list[Result | Failure]]:
        """Submit several items; return a future of the list of their results, in order."""
        batch = JobBatch(map(packed, items), seconds)
        if not batch.jobs:
            batch.set_result([])
        return self._queue(batch)

    def _queue(self, batch: JobBatch) -> JobBatch:
        """Append the jobs of a batch to the queue, and return the batch."""
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
        """Return the result of an item. Ctrl-C stops the wait and the work on the item."""
        (result,) = self.map([item], seconds)
        return result

    def map(
        self, items: Iterable[Item], seconds: float | None = None, chunk: int = 1
    ) -> Iterator[Result | Failure]:
        """Yield results in the order of the items. Only a few chunks of items are read in advance.

        chunk: the largest number of items in a chunk, which is sent to a worker in one message. If
            items are slow, chunks are smaller.
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
        """Wait until a job has a result. If its batch failed, raise the error of the batch."""
        if job.result is UNKNOWN:
            with self._news:
                self._news.wait_for(lambda: job.result is not UNKNOWN or job.batch.done())
            if job.result is UNKNOWN:
                job.batch.result()

    def _drop(self, batches: Iterable[JobBatch]) -> None:
        """Cancel batches that nobody needs. Workers that compute them are restarted."""
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
        """Wake the thread of the pool by a byte in its pipe."""
        wake = self._wake
        if wake is not None:
            with suppress(OSError):  # a full pipe, or the thread has ended
                os.write(wake[1], b"x")

    # -- methods that run in the pool's thread ---------------------------------------------

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
        """Start workers for waiting jobs, unless more than `MOST_DEATHS` workers died in a row."""
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
        self._idle = True  # a job that is submitted from now on wakes the thread
        for worker in self._workers:
            if worker.ready and not worker.jobs and (jobs := self._next()):
                worker.give(jobs)
        with self._lock:
            busy = sum(bool(worker.jobs) for worker in self._workers)
            self._idle = not self._jobs or busy < self._count
            self._news.notify_all()

    def _next(self) -> list[Job]:
        """Remove a chunk of jobs with the same time limit from the queue, and return it.

        A chunk is at most one worker's share of the queue. `self._size` limits its number of jobs,
        and `FULL` its bytes.
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
        """Read the messages of a worker: store its results, and raise its errors in the futures."""
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
        self._hand_out()  # the worker can begin its next jobs while this thread unpacks results
        for job, result in done:
            job.fill(unpacked(result))

    def _fail(self, worker: Worker, error: BaseException) -> None:
        """Handle an exception in a worker.

        If `setup` raised the exception, all waiting batches fail. If the function raised it for an
        item, only the batch of this item fails.
        """
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
        """Return the seconds until the next time limit of a job; None if no job has a limit.

        They are at least 0.001 and at most `MOST_PATIENCE`.
        """
        ends, now = [], time.monotonic()
        for worker in self._workers:
            if worker.jobs and (seconds := worker.jobs[0].batch.seconds) is not None:
                ends.append((worker.clock.since if worker.at >= 0 else now) + seconds)
        return min(max(min(ends) - now, 0.001), MOST_PATIENCE) if ends else None

    def _end_late(self) -> None:
        """Stop jobs that exceed their time limit, and jobs that nobody needs."""
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
                else:  # the pipe may still contain jobs, and a restarted child would read the jobs
                    self._remove(worker)

    def _replace(self, worker: Worker, at: int, reason: str, died: bool = False) -> None:
        """Restart or remove a worker after its job number `at` failed; its other jobs wait again.

        The failed job gets a `Failure` with `reason`.

        died: whether the worker's process died. Then the job is tried once more before it fails,
            because the job need not be the cause.
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
        """Fail all waiting jobs. The next submitted job starts a worker again."""
        self._deaths = MOST_DEATHS
        if self._works:
            self._fail_all(Failure(f"no worker process is left: {self._reason}"))
        else:
            why = "a worker process ended again and again before it began to work: "
            self._fail_all(LogicgenError(why + self._reason))

    def _wait_again(self, jobs: list[Job]) -> None:
        """Return jobs to the front of the queue."""
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
    """Yield up to `most` items as bytes. Stop early when their total exceeds `FULL` bytes."""
    length = 0
    for item in islice(source, most):
        sent = packed(item)
        yield sent
        length += len(sent)
        if length > FULL:
            return
