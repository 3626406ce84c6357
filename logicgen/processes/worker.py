"""A worker process, and the handle by which a pool sends jobs to it.

Messages go through pipes: eight bytes of length, then a pickle. Only logicgen writes to these
pipes, so no pickle of a stranger is read. No other file of the project reads pickles.
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

# A chunk is full after this number of bytes, so that long items do not fill the memory.
FULL = 1 << 20

# Seconds after which a worker sends its results, so that few are lost if it dies. Chunks shrink
# until they take at most this time, so that slow items are shared among the workers.
SOON = 0.05

_LENGTH = struct.Struct("<Q")
UNKNOWN: Any = object()


def packed(value: Any) -> bytes:
    """Return a value as bytes, to be sent to a worker or back."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpacked(sent: bytes) -> Any:
    """Return the value of bytes that this process or its worker has packed."""
    return pickle.loads(sent)  # noqa: S301 - from a pipe that only logicgen writes to


@dataclass(frozen=True)
class Failure:
    """The result of an item that exceeded a limit or killed its process, with the reason."""

    reason: str


OUT_OF_MEMORY = Failure("out of memory")


def largest(memory: int | None) -> float:
    """Return the largest size of an item, in bytes, for a worker with this memory limit.

    The worker holds an item at least twice.
    """
    return math.inf if memory is None else memory // 4


class JobBatch(Future[Any]):
    """Items that were submitted together, packed, and the future of their results.

    seconds: time limit of each item, from the moment when a worker begins with it.
    single: the batch has one item, and the future's result is the item's result, not a list.
    """

    def __init__(self, items: Iterable[bytes], seconds: float | None, single: bool = False) -> None:
        super().__init__()
        self.jobs = [Job(item, self) for item in items]
        self.seconds, self.single, self.missing = seconds, single, len(self.jobs)
        self.begun = False
        self.dropped = False  # whether nobody waits for the results any longer

    def begin(self) -> bool:
        """Return whether results are still wanted. The batch cannot be cancelled afterwards."""
        if not self.begun and not self.dropped:
            self.begun = self.set_running_or_notify_cancel()
            self.dropped = not self.begun
        return not self.dropped

    def fail(self, error: BaseException) -> None:
        """Let the future raise an error."""
        if self.begin():
            self.dropped = True
            self.set_exception(error)


class Job:
    """An item of a batch, packed, and its result."""

    __slots__ = ("batch", "died", "item", "result")

    def __init__(self, item: bytes, batch: JobBatch) -> None:
        self.item, self.batch = item, batch
        self.result: Any = UNKNOWN
        self.died = False  # whether a worker has died over the item

    def fill(self, result: Any) -> None:
        """Store the result. The last result completes the batch."""
        self.result = result
        batch = self.batch
        batch.missing -= 1
        if not batch.missing and batch.begin():
            batch.set_result(result if batch.single else [job.result for job in batch.jobs])


class _Clock:
    """Memory shared with a worker: the index and the start time of its current item.

    The index is -1 if the worker is idle.

    child: id of the worker's child process, which does the work; 0 without a child. The parent
        makes it negative before it kills the child.
    """

    SIZE = 24

    def __init__(self, descriptor: int) -> None:
        self._memory = memoryview(mmap.mmap(descriptor, self.SIZE))
        self._place, self._since = self._memory[:8].cast("q"), self._memory[8:16].cast("d")
        self.child = self._memory[16:].cast("q")

    def set(self, place: int) -> None:
        self._since[0] = time.monotonic()  # before the place, which the other side reads first
        self._place[0] = place

    @property
    def place(self) -> int:
        return self._place[0]

    @property
    def since(self) -> float:
        return self._since[0]


def _anonymous_file() -> IO[bytes]:
    """Return a nameless file in memory, or in the folder of temporary files."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("logicgen"), "w+b")
    return tempfile.TemporaryFile()


class Worker:
    """The handle of a process, which takes a chunk of jobs at a time.

    On Linux a child of the process does the work. `restart` replaces the child without a new setup.
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
                tied=True,  # the thread of the pool lives as long as its workers
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
        self._read = bytearray()
        self.ready = False
        self.jobs: list[Job] = []  # the chunk that was sent
        self.received = 0  # how many of these jobs have a result
        self.begun = 0.0
        self._mark = os.urandom(16) if sys.platform == "linux" else b""
        self._restarting = False
        self._send((setup, arguments, memory, self._mark))

    def fileno(self) -> int:
        """Return the descriptor that results come from, for a selector."""
        assert self.process.stdout is not None
        return int(self.process.stdout.fileno())

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        frame = memoryview(_frame(message))
        with suppress(BrokenPipeError):  # the process died; `messages` raises EOFError
            while frame:
                frame = frame[os.write(self.process.stdin.fileno(), frame) :]

    def give(self, jobs: list[Job]) -> None:
        """Send jobs to the idle process. An empty list only marks it as idle."""
        self.jobs, self.received = jobs, 0
        self.begun = time.monotonic()
        if jobs:
            self.clock.set(-1)
            self._send([job.item for job in jobs])

    @property
    def left(self) -> list[Job]:
        """Return the jobs without a result."""
        return self.jobs[self.received :]

    def messages(self) -> Iterator[Any]:
        """Yield the received messages. Raises EOFError if the process has ended."""
        block = os.read(self.fileno(), 1 << 20)
        self._read += block
        if self._restarting and self._mark in self._read:
            # The bytes before the mark may be half a message of the process that was killed.
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
        """Return the place of the job under way; -1 if the process is idle or between two jobs."""
        place = self.clock.place
        return place if self.received <= place < len(self.jobs) else -1

    def ended(self) -> int:
        """Return the exit status of the process. Kill it if it has only closed its output."""
        try:
            return self.process.wait(1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def restart(self) -> bool:
        """Replace the child process by a new process. Return whether that is possible.

        The new process is a copy of the worker after its setup, so it begins at once. Results that
        were not received are lost. An empty message follows when the new process is ready.
        """
        child = self.clock.child[0]
        if not self._mark or child <= 0:
            return False
        self.clock.child[0] = -child  # tells the worker to start a new child
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
    """Answer chunks until the input ends. This is the main function of a worker process.

    clock: descriptor of the shared memory of the `_Clock`.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the parent ends its workers itself
    die_with_parent()
    source, target = private_streams()
    with suppress(EOFError, BrokenPipeError):  # the parent is gone or has closed the pipe
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
                if mark and len(os.listdir("/proc/self/task")) == 1:  # a fork loses other threads
                    _become_child(clock, target, mark)
                send([])
            else:
                _work(function, message, clock, send)
        except (EOFError, BrokenPipeError):
            raise
        except LogicgenError as error:
            send(LogicgenError(str(error)))
        except Exception:  # raised again in the parent, with this traceback
            send(RuntimeError(f"in a worker process:\n{traceback.format_exc()}"))


def _become_child(clock: _Clock, target: IO[bytes], mark: bytes) -> None:
    """Fork, and return in the child. After `restart` has killed the child, return in a new child.

    This process only waits. If a child ends for another reason, this process ends in the same way.
    """
    parent, again = os.getpid(), False
    while child := os.fork():  # the child writes its id into the clock
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
    """Compute the results of items, and send them in order, in one or several messages."""
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
