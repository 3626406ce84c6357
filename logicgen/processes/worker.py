"""A worker process, and the handle by which a pool sends jobs to it.

A message in a pipe is a length of eight bytes and a pickle of that length. Only logicgen writes to
these pipes, so no untrusted pickle is read. No other module of the project reads pickles.
"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from logicgen.errors import LogicgenError
from logicgen.processes.helper import die_with, die_with_parent, private_streams, start_helper

# The number of bytes after which a chunk of items is full. It limits the memory for long items.
FULL = 1 << 20

# Seconds after which a worker sends its finished results. If the worker dies, few results are lost.
# The pool makes chunks of items smaller until a chunk takes at most this time. So slow items are
# shared among the workers.
SOON = 0.05

_LENGTH = struct.Struct("<Q")
UNKNOWN: Any = object()


def packed(value: Any) -> bytes:
    """Return a value as bytes (a pickle), to send it between the pool and a worker."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpacked(sent: bytes) -> Any:
    """Return the value that `packed` turned into these bytes, in this process or in a worker."""
    return pickle.loads(sent)  # noqa: S301 - from a pipe that only logicgen writes to


@dataclass(frozen=True)
class Failure:
    """The result of an item if it exceeded a limit or its process died, with the reason."""

    reason: str


OUT_OF_MEMORY = Failure("out of memory")


def largest(memory: int | None) -> float:
    """Return the largest permitted size of an item, in bytes, for a worker with a memory limit.

    The size is a quarter of the limit, because the worker stores an item at least twice. Without a
    limit, it is infinite.
    """
    return math.inf if memory is None else memory // 4


class JobBatch(Future[Any]):
    """A future of the results of items that were submitted together. `jobs` holds the items.

    seconds: time limit of each item, from the moment when a worker begins with the item.
    single: True if the batch has one item, and its result becomes the result of the future. If
        False, the result of the future is a list of results.
    """

    def __init__(self, items: Iterable[bytes], seconds: float | None, single: bool = False) -> None:
        super().__init__()
        self.jobs = [Job(item, self) for item in items]
        self.seconds, self.single, self.missing = seconds, single, len(self.jobs)
        self.begun = False
        self.dropped = False  # whether nobody needs the results any more

    def begin(self) -> bool:
        """Return whether the results are needed. If True, the batch can no longer be cancelled."""
        if not self.begun and not self.dropped:
            self.begun = self.set_running_or_notify_cancel()
            self.dropped = not self.begun
        return not self.dropped

    def fail(self, error: BaseException) -> None:
        """End the batch: its future raises `error`."""
        if self.begin():
            self.dropped = True
            self.set_exception(error)


class Job:
    """An item of a batch, as bytes, and its result (`UNKNOWN` until it is computed)."""

    __slots__ = ("batch", "died", "item", "result")

    def __init__(self, item: bytes, batch: JobBatch) -> None:
        self.item, self.batch = item, batch
        self.result: Any = UNKNOWN
        self.died = False  # whether a worker has died while it computed the item

    def fill(self, result: Any) -> None:
        """Store the result. The last result completes the batch."""
        self.result = result
        batch = self.batch
        batch.missing -= 1
        if not batch.missing and batch.begin():
            batch.set_result(result if batch.single else [job.result for job in batch.jobs])


class _Clock:
    """Memory that the pool shares with a worker, so that the pool can check time limits.

    place: the index of the current item in its chunk; -1 if the worker is idle.
    since: the time, by `time.monotonic`, at which the worker began with the item.
    child: process id of the worker's child, which does the work; 0 without a child. Before the pool
        kills the child, the pool makes this number negative.
    """

    SIZE = 24

    def __init__(self, descriptor: int) -> None:
        self._memory = memoryview(mmap.mmap(descriptor, self.SIZE))
        self._place, self._since = self._memory[:8].cast("q"), self._memory[8:16].cast("d")
        self.child = self._memory[16:].cast("q")

    def set(self, place: int) -> None:
        self._since[0] = time.monotonic()  # written first, because the pool reads the place first
        self._place[0] = place

    @property
    def place(self) -> int:
        return self._place[0]

    @property
    def since(self) -> float:
        return self._since[0]


def _anonymous_file() -> IO[bytes]:
    """Return a file without a name: in memory if possible, else on the disk."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("logicgen"), "w+b")
    return tempfile.TemporaryFile()


class Worker:
    """The pool's handle of a worker process, which computes one chunk of jobs at a time.

    On Linux the process runs `setup` and forks a child that does the work. `restart` replaces only
    the child, so `setup` does not run again.
    """

    def __init__(
        self, setup: Callable[..., Any], arguments: tuple[Any, ...], memory: int | None
    ) -> None:
        with _anonymous_file() as shared:
            shared.truncate(_Clock.SIZE)
            self.clock = _Clock(shared.fileno())
            self.clock.set(-1)
            self.process = start_helper(
                "logicgen.processes.worker:serve",
                shared.fileno(),
                files=[shared.fileno()],
                # Linux kills a tied process when the thread that started it ends. Here that is a
                # thread of the pool, which outlives all workers.
                tied=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
        self._read = bytearray()
        self.ready = False
        self.jobs: list[Job] = []  # the current chunk of jobs
        self.received = 0  # the number of results that have arrived for the chunk
        self.begun = 0.0
        self._mark = os.urandom(16) if sys.platform == "linux" else b""
        self._restarting = False
        self._send((setup, arguments, memory, self._mark))

    def fileno(self) -> int:
        """Return the file descriptor of the pipe with the results. A selector calls this method."""
        assert self.process.stdout is not None
        return int(self.process.stdout.fileno())

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        frame = memoryview(_frame(message))
        with suppress(BrokenPipeError):  # the process has died; `messages` will raise EOFError
            while frame:
                frame = frame[os.write(self.process.stdin.fileno(), frame) :]

    def give(self, jobs: list[Job]) -> None:
        """Send a chunk of jobs to the idle process. An empty list marks the worker as idle."""
        self.jobs, self.received = jobs, 0
        self.begun = time.monotonic()
        if jobs:
            self.clock.set(-1)
            self._send([job.item for job in jobs])

    @property
    def left(self) -> list[Job]:
        """Return the jobs of the current chunk that have no result yet."""
        return self.jobs[self.received :]

    def messages(self) -> Iterator[Any]:
        """Yield the complete messages that arrived. Raises EOFError if the process has ended."""
        block = os.read(self.fileno(), 1 << 20)
        self._read += block
        if self._restarting and self._mark in self._read:
            # The bytes before the mark may be an incomplete message of the killed child.
            del self._read[: self._read.index(self._mark) + len(self._mark)]
            self._restarting = False
            yield []
        while not self._restarting and len(self._read) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._read)[0]
            if len(self._read) < end:
                break
            frame = bytes(self._read[_LENGTH.size : end])
            del self._read[:end]
            yield unpacked(frame)
        if not block:
            raise EOFError

    @property
    def at(self) -> int:
        """Return the index of the current job in the chunk; -1 if the process computes no job."""
        place = self.clock.place
        return place if self.received <= place < len(self.jobs) else -1

    def ended(self) -> int:
        """Return the exit status of the process. Kill the process if it does not end within 1 s."""
        try:
            return self.process.wait(1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def restart(self) -> bool:
        """Kill the child, so that the worker forks a new child. Return False if it has no child.

        The new child begins at once, because the worker has already run `setup`. Results that were
        not received are lost. When the new child is ready, `messages` yields an empty message.
        """
        child = self.clock.child[0]
        if not self._mark or child <= 0:
            return False
        self.clock.child[0] = -child  # makes the worker start a new child
        self._restarting, self.ready = True, False
        self.give([])
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        return True

    def stop(self) -> None:
        """Kill the process and close the pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def _frame(message: Any) -> bytes:
    content = packed(message)
    return _LENGTH.pack(len(content)) + content


def serve(clock: int) -> None:
    """Run a worker process: compute the chunks that arrive, until standard input ends.

    clock: file descriptor of the memory of the `_Clock`, which this process shares with the pool.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the pool ends its workers itself
    die_with_parent()
    source, target = private_streams()
    with suppress(EOFError, BrokenPipeError):  # the pool's process has ended or has closed the pipe
        _serve(source, target, _Clock(clock))


def _serve(source: IO[bytes], target: IO[bytes], clock: _Clock) -> None:
    def send(message: Any) -> None:
        target.write(_frame(message))
        target.flush()

    def receive() -> Any:
        head = source.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise EOFError
        return unpacked(source.read(_LENGTH.unpack(head)[0]))

    function: Callable[[Any], Any] | None = None
    while True:
        try:
            message = receive()
            if function is None:
                setup, arguments, memory, mark = message
                if memory is not None:
                    import resource

                    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
                function = setup(*arguments)
                # A fork would lose other threads.
                if mark and len(os.listdir("/proc/self/task")) == 1:
                    _become_child(clock, target, mark)
                send([])
            else:
                _work(function, message, clock, send)
        except (EOFError, BrokenPipeError):
            raise
        except LogicgenError as error:
            send(LogicgenError(str(error)))
        except Exception:  # the pool raises this error, with the traceback, in the caller's process
            send(RuntimeError(f"in a worker process:\n{traceback.format_exc()}"))


def _become_child(clock: _Clock, target: IO[bytes], mark: bytes) -> None:
    """Fork a child that does the work; this function returns only in the child.

    The parent waits for the child. If `Worker.restart` has killed it, the parent forks a new child.
    If the child ends for another reason, the parent ends with the same status or signal.

    mark: bytes that a new child sends first, so that the pool finds the start of its messages.
    """
    parent, again = os.getpid(), False
    while child := os.fork():  # the child leaves this loop and writes its process id
        _, status = os.waitpid(child, 0)
        if clock.child[0] != -child:
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                os.kill(os.getpid(), -code)
            os._exit(code & 0xFF)
        clock.set(-1)
        again = True
    die_with(parent)
    clock.child[0] = os.getpid()
    if again:
        target.write(mark)
        target.flush()


def _work(
    function: Callable[[Any], Any],
    items: list[bytes],
    clock: _Clock,
    send: Callable[[list[bytes]], None],
) -> None:
    """Compute the results of a chunk. Send them in order, in several messages if items are slow."""
    results: list[bytes] = []
    size, last = 0, time.monotonic()
    for place, item in enumerate(items):
        clock.set(place)
        try:
            result = packed(function(unpacked(item)))
        except MemoryError:
            result = packed(OUT_OF_MEMORY)
        results.append(result)
        size += len(result)
        if size > FULL or clock.since - last > SOON:
            send(results)
            results, size, last = [], 0, clock.since
    clock.set(-1)
    send(results)
