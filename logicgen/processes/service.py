"""Call a function in worker processes, from any thread and event loop, with a limit per item.

A thread of its own hands items to the workers and collects results; whoever submits items gets one
future of all, which a thread waits for and a coroutine awaits (`asyncio.wrap_future`). A worker
that exceeds its item's time is replaced by a copy of itself as it was when it was ready; an item
over which a worker dies is tried once more. One more worker than work at a time is kept ready, so
that the next item need not wait until another has started. Seconds count from when a worker begins
with an item: waiting in line costs nothing.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Generic, TypeVar

from logicgen.errors import LogicgenError
from logicgen.processes.worker import (
    FULL,
    OUT_OF_MEMORY,
    SOON,
    Chunk,
    Failure,
    Worker,
    largest,
    packed,
    unpacked,
)
from logicgen.processes.workers import MOST_DEATHS, check_count

__all__ = ["Failure", "Service"]

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_AT_ONCE = 256
"""Items that a worker is sent at once, at most."""


@dataclass(eq=False)
class _Request:
    """Items that were submitted together, and what is known of their results."""

    results: list[Any]
    future: Future[list[Any]]
    missing: int = 0

    def begin(self) -> bool:
        """Return whether the results are still wanted; from then on they cannot be cancelled."""
        return self.future.running() or (
            not self.future.done() and self.future.set_running_or_notify_cancel()
        )

    def fill(self, place: int, result: Any) -> None:
        """Take a result; with the last one, hand them all over."""
        self.results[place] = result
        self.missing -= 1
        if not self.missing and not self.future.done():
            self.future.set_result(self.results)

    def fail(self, error: BaseException) -> None:
        """Hand an error over in place of the results."""
        if self.begin():
            self.future.set_exception(error)


@dataclass(eq=False)
class _Job:
    """An item that waits for its result."""

    item: bytes
    seconds: float | None
    request: _Request
    place: int
    again: bool = False  # whether a worker has died over it before


@dataclass(eq=False)
class _Server:
    """A worker, and the jobs that it was sent."""

    worker: Worker
    ready: bool = False
    jobs: list[_Job] = field(default_factory=list)

    def left(self) -> list[_Job]:
        """Return the jobs without a result."""
        return self.jobs[self.worker.received :]


class Service(Generic[Item, Result]):
    """A function that is called in `count` worker processes, from any thread, without blocking.

    Args:
        setup: a function of a module that a worker can import; `setup(*arguments)` returns the
            function that is called.
        count: how many items are worked on at once.
        memory: bytes that a worker may take; an item that needs more is a `Failure`.

    Workers are started with the first item, replaced when they die, and ended with the program or
    by `close`. A process that is forked from this one starts its own.
    """

    def __init__(
        self,
        setup: Callable[..., Callable[[Item], Result]],
        arguments: tuple[Any, ...] = (),
        *,
        count: int = 1,
        memory: int | None = None,
    ) -> None:
        check_count(count)
        self._new = partial(Worker, setup, arguments, memory, tied=True, forks=True)
        self._count, self._longest = count, largest(memory)
        self._begin()
        atexit.register(self.close)

    def _begin(self) -> None:
        """Make what belongs to this process: nothing of it survives a fork."""
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._jobs: deque[_Job] = deque()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None

    def submit(
        self, items: Sequence[Item], seconds: float | None = None
    ) -> Future[list[Result | Failure]]:
        """Return a future of all results, in order: a `Failure` after so many seconds of work.

        The future raises what the function raises, and LogicgenError where workers cannot be
        started; it can be cancelled before its first item begins. Raises RuntimeError after
        `close`.
        """
        if self._owner != os.getpid():
            self._begin()
        request = _Request([OUT_OF_MEMORY] * len(items), Future())
        jobs = [_Job(packed(item), seconds, request, place) for place, item in enumerate(items)]
        new = [job for job in jobs if len(job.item) <= self._longest]
        request.missing = len(new)
        if not new:
            request.future.set_result(request.results)
            return request.future
        with self._lock:
            if self._closed:
                raise RuntimeError("the service is closed")
            self._jobs.extend(new)
            if self._thread is None:
                self._wake = os.pipe()
                os.set_blocking(self._wake[1], False)
                self._thread = threading.Thread(target=self._run, name="logicgen", daemon=True)
                self._thread.start()
            self._rouse()
        return request.future

    def close(self) -> None:
        """End all workers; what waits is cancelled."""
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
        if self._wake is not None:
            with suppress(BlockingIOError):  # it is awake already
                os.write(self._wake[1], b"x")

    # -- in the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        assert self._wake is not None
        wake = self._wake
        self._selector = DefaultSelector()
        self._selector.register(wake[0], EVENT_READ, None)
        self._servers: list[_Server] = []
        self._size, self._deaths = 1, 0
        try:
            while not self._closed:
                self._hand_out()
                self._start_missing()
                for key, _ in self._selector.select(self._patience()):
                    if key.data is None:
                        os.read(wake[0], 4096)
                    elif key.data in self._servers:
                        self._collect(key.data)
                self._end_late()
        finally:
            with self._lock:
                self._closed = True
                waiting = [job for server in self._servers for job in server.left()]
                waiting += self._jobs
                self._jobs.clear()
                self._wake = None
            for server in list(self._servers):
                self._remove(server)
            self._selector.close()
            for descriptor in wake:
                os.close(descriptor)
            for job in waiting:
                if not job.request.future.cancel():
                    job.request.fail(LogicgenError("the service was closed"))

    def _start_missing(self) -> None:
        """Keep one more worker than may be at work, once there is work."""
        if not self._jobs and not any(server.ready for server in self._servers):
            self._deaths = 0 if not self._servers else self._deaths
            return
        while len(self._servers) <= self._count and self._deaths <= MOST_DEATHS:
            server = _Server(self._new())
            self._servers.append(server)
            self._selector.register(server.worker, EVENT_READ, server)
        if not self._servers:
            self._give_up()

    def _give_up(self) -> None:
        """Fail what waits, since workers die before they begin; the next item tries again."""
        self._deaths = 0
        self._fail_all(
            LogicgenError("a worker process ended again and again before it began to work")
        )

    def _fail_all(self, error: BaseException) -> None:
        with self._lock:
            jobs = list(self._jobs)
            self._jobs.clear()
        for job in jobs:
            job.request.fail(error)

    def _hand_out(self) -> None:
        busy = sum(bool(server.left()) for server in self._servers)
        for server in self._servers:
            if busy >= self._count or not self._jobs:
                return
            if server.ready and not server.left() and (jobs := self._next()):
                server.jobs = jobs
                server.worker.give(Chunk([job.item for job in jobs]))
                busy += 1

    def _next(self) -> list[_Job]:
        """Return the next jobs that one worker is sent: of one limit, not too many, not too long.

        Fewer than wait, so that all workers have some.
        """
        jobs: list[_Job] = []
        size = 0
        with self._lock:
            most = min(self._size, -(-len(self._jobs) // self._count), MOST_AT_ONCE)
            while self._jobs and len(jobs) < most and size < FULL:
                job = self._jobs[0]
                if jobs and job.seconds != jobs[0].seconds:
                    break
                self._jobs.popleft()
                if job.request.begin():
                    jobs.append(job)
                    size += len(job.item)
        return jobs

    def _collect(self, server: _Server) -> None:
        worker = server.worker
        done: list[tuple[_Job, bytes]] = []
        try:
            for message in worker.messages():
                if isinstance(message, BaseException):
                    self._fail(server, message)
                    continue
                server.ready = True
                if message:
                    self._deaths = 0
                for result in message:
                    done.append((server.jobs[worker.received], result))
                    worker.received += 1
                if server.jobs and not server.left():
                    soon = time.monotonic() - worker.begun < SOON
                    self._size = 2 * self._size if soon else max(self._size // 2, 1)
                    self._size = min(self._size, MOST_AT_ONCE)
                    self._rest(server)
        except (EOFError, ConnectionResetError):
            self._replace(server, f"its process died ({worker.ended()})", again=True)
        self._hand_out()  # before results are looked at, so that the worker need not wait
        for job, result in done:
            job.request.fill(job.place, unpacked(result))

    def _fail(self, server: _Server, error: BaseException) -> None:
        """Hand an exception of the function to whose item it was; one of its setup to all."""
        if server.ready:
            at, left = server.worker.at, server.left()
            failed = server.jobs[at] if at >= 0 else left[0]
            failed.request.fail(error)
            self._rest(server)
            self._wait_again(job for job in left if job is not failed)
            return
        self._remove(server)
        self._fail_all(error)

    def _rest(self, server: _Server) -> None:
        server.jobs, server.worker.chunk, server.worker.received = [], None, 0

    def _patience(self) -> float | None:
        """Return how long to wait before the clocks are looked at; None is for ever."""
        limits = [server.jobs[0].seconds for server in self._servers if server.left()]
        given = [seconds for seconds in limits if seconds is not None]
        if not given:
            return None
        now = time.monotonic()
        ends = [now + min(given)]  # of what has not begun yet
        for server in self._servers:
            if server.left() and server.worker.at >= 0 and server.jobs[0].seconds is not None:
                ends.append(server.worker.clock.since + server.jobs[0].seconds)
        return max(min(ends) - now, 0.001)

    def _end_late(self) -> None:
        for server in list(self._servers):
            seconds = server.jobs[0].seconds if server.left() else None
            if seconds is None or server.worker.at < 0:
                continue
            if time.monotonic() - server.worker.clock.since > seconds:
                self._replace(server, f"time limit of {seconds:g} s")

    def _replace(self, server: _Server, reason: str, again: bool = False) -> None:
        """Give up the item that a worker works on; its other items return to the queue.

        The worker is restarted if it lives, and removed if it died. again: the item is tried once
        more, since the worker may have died for another reason.
        """
        at, left = server.worker.at, server.left()
        jobs = server.jobs
        if not again and server.worker.restart():
            server.ready = False
            self._rest(server)
        else:
            self._remove(server)
        if at < 0:
            self._deaths += 1
        elif again and not jobs[at].again:
            jobs[at].again = True
        else:
            failed = jobs[at]
            failed.request.fill(failed.place, Failure(reason))
            left = [job for job in left if job is not failed]
            self._deaths = 0
        self._wait_again(left)

    def _wait_again(self, jobs: Iterable[_Job]) -> None:
        """Put jobs back to the front of the line."""
        with self._lock:
            self._jobs.extendleft(reversed(list(jobs)))

    def _remove(self, server: _Server) -> None:
        self._selector.unregister(server.worker)
        self._servers.remove(server)
        server.worker.stop()
