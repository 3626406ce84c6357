"""The engine "ray": run the function of a pool on the CPUs of a Ray cluster.

Items are sent in chunks, as stateless Ray tasks. If a worker or a node is lost, Ray runs its tasks
again, so the results do not change. If a task is lost more than `RETRIES` times, the result of its
items is a `Failure`.
"""

from __future__ import annotations

import os
import platform
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Self

from logicgen.errors import LogicgenError
from logicgen.extras import DECISIVE, need
from logicgen.processes.pool import Pool
from logicgen.processes.worker import OUT_OF_MEMORY, Failure, packed, unpacked

# How often Ray runs a task again after its worker or node was lost.
RETRIES = 5

# The number of tasks sent to each CPU of the cluster: a running task and a waiting task.
AHEAD = 2

# SECONDS: the time limit for a connection to the address of a cluster, and for an answer of Ray.
# STARTS: additional seconds in which the process of the health check may start.
SECONDS, STARTS = 5.0, 15.0


class RayCluster:
    """A connection to a running Ray cluster, or to a new cluster on this machine.

    Use it as a context manager.

    Raises LogicgenError if the address does not answer, or if a node has other versions of Python
    or logicgen.
    """

    def __init__(self, address: str | None = None) -> None:
        need("ray")
        ray: Any = import_module("ray")
        if address is not None and address != "auto":
            _check_answers(address)
        # Hide Ray's own messages, such as messages about retries.
        how: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        if address is None:
            how["include_dashboard"] = False
        try:
            with _same_signals():
                ray.init(address=address or "local", **how)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            ray.shutdown()  # the failed call may have left a partial connection
            reason = _line(error)
            if "version mismatch" in reason.lower():  # the versions follow the first line
                reason = " ".join(str(error).split()) + ": install the same on all nodes"
            raise LogicgenError(f"Ray at {address or 'this machine'}: {reason}") from None
        self._ray = ray
        self._run = ray.remote(max_retries=RETRIES, num_cpus=1)(_run)

    def __enter__(self) -> Self:
        try:
            self._check_versions()
        except BaseException:
            self._ray.shutdown()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def pool(
        self, setup: Callable[..., Any], arguments: tuple[Any, ...], memory: int | None
    ) -> RayPool:
        """Return a pool that uses all CPUs of the cluster."""
        return RayPool(self._ray, self._run, packed((setup, arguments, memory)))

    def count(self, gpus: bool) -> int:
        """Return the number of GPUs in the cluster if `gpus`, else the number of CPUs."""
        return int(self._ray.cluster_resources().get("GPU" if gpus else "CPU", 0))

    def call(self, function: Callable[..., Any], *arguments: Any, gpu: bool) -> RayCall:
        """Start a call of a function on a CPU or a GPU of the cluster, without a time limit."""
        # A call on a GPU also reserves a CPU, which feeds the GPU.
        remote = self._ray.remote(max_retries=RETRIES, num_cpus=1, num_gpus=int(gpu))(_call)
        return RayCall(self._ray, remote.remote(function, *arguments))

    def check_folder(self, folder: Path) -> None:
        """Raise LogicgenError if a node cannot read a folder of this machine."""
        with NamedTemporaryFile(dir=folder, prefix=".", suffix=".part") as file:
            path = os.path.abspath(file.name)
            for node, there in self._each_node(os.path.exists, path):
                if not there:
                    raise LogicgenError(
                        f"{folder}: the Ray node {node} does not see this folder: give a folder"
                        " that all nodes share, such as on NFS"
                    )

    def _check_versions(self) -> None:
        mine = _versions()
        for node, theirs in self._each_node(_versions):
            if theirs != mine:
                raise LogicgenError(_other_versions(node, theirs, mine))

    def _each_node(
        self, function: Callable[..., Any], *arguments: Any
    ) -> Iterator[tuple[str, Any]]:
        """Call a function on each node, and yield the node's address and the result."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        asked = []
        for node in self._ray.nodes():
            if node["Alive"]:
                there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                remote = self._ray.remote(num_cpus=0, scheduling_strategy=there)(function)
                asked.append((node["NodeManagerAddress"], remote.remote(*arguments)))
        for address, result in asked:
            try:
                yield address, self._ray.get(result)
            except self._ray.exceptions.RayError as error:
                raise LogicgenError(
                    f"the Ray node {address} cannot run logicgen: {_line(error)}: install the same"
                    " version of it there"
                ) from None


class RayCall:
    """A running call of a function on the cluster."""

    def __init__(self, ray: Any, result: Any) -> None:
        self._ray, self._result = ray, result

    def result(self) -> Any:
        """Wait for the call. Return its result, or a `Failure` if Ray could not complete it."""
        try:
            return self._ray.get(self._result)
        except self._ray.exceptions.RayError as error:
            return Failure(f"Ray gave it up: {_line(error)}")

    def stop(self) -> None:
        """Stop the call: raise KeyboardInterrupt in its function."""
        self._ray.cancel(self._result, force=False)


class RayPool:
    """A pool of workers on a Ray cluster, with the methods `map` and `close` of `Pool`."""

    def __init__(self, ray: Any, run: Any, function: bytes) -> None:
        self._ray, self._run, self._function = ray, run, function
        self._under_way: set[Any] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the running tasks, and wait at most `SECONDS` until they have ended."""
        results = list(self._under_way)
        for result in results:
            self._ray.cancel(result, force=True)
        if results:
            self._ray.wait(results, num_returns=len(results), timeout=SECONDS)
        self._under_way.clear()

    def map(
        self, items: Iterable[Any], seconds: float | None = None, chunk: int = 1
    ) -> Iterator[Any | Failure]:
        """Yield results in the order of the items. `AHEAD` chunks for each CPU are sent in advance.

        Raises the LogicgenError that the function raises. For any other exception of the function,
        raises a RuntimeError that contains its traceback.
        """
        source, sent = iter(items), deque[tuple[Any, int]]()
        while True:
            # The number of CPUs changes when nodes join or leave the cluster.
            room = AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            while len(sent) < room and (some := list(islice(source, chunk))):
                sent.append((self._send(some, seconds), len(some)))
            if not sent:
                return
            yield from self._results(*sent.popleft())

    def _send(self, items: list[Any], seconds: float | None) -> Any:
        task = self._run.remote(self._function, seconds, _versions(), list(map(packed, items)))
        self._under_way.add(task)
        return task

    def _results(self, task: Any, count: int) -> list[Any]:
        """Wait for a task. Return the results of its `count` items, or raise its error."""
        try:
            found = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            found = Failure(f"Ray gave it up after {RETRIES} retries: {_line(error)}")
        self._under_way.discard(task)
        if isinstance(found, Failure):
            return [found] * count
        if isinstance(found, BaseException):
            raise found
        return list(map(unpacked, found))


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function so that `RayCall.stop` can interrupt it.

    The interruption needs Python's handler of SIGINT. Ray's workers do not have this handler if the
    program that started Ray ignores SIGINT.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return function(*arguments)


def _run(
    function: bytes, seconds: float | None, versions: str, items: list[bytes]
) -> list[bytes] | BaseException:
    """Run a task in a worker of the cluster: return the packed results of items, or an exception.

    versions: the versions of Python and packages that the worker must have. They are checked again
        here, because a node may have joined the cluster after the check of all nodes.
    """
    try:
        if _versions() != versions:
            raise LogicgenError(_other_versions(platform.node(), _versions(), versions))
        results = _function(function, seconds)(list(map(unpacked, items)))
        return [packed(result) for result in results]
    except LogicgenError as error:
        return LogicgenError(str(error))
    except Exception:  # `RayPool` raises this error, with the traceback, on the caller's machine
        return RuntimeError("in a Ray worker:\n" + traceback.format_exc())


_pools = ExitStack()  # closes the pool of the last task of this worker


@lru_cache(maxsize=1)
def _function(function: bytes, seconds: float | None) -> Callable[[list[Any]], list[Any]]:
    """Return a function that takes a list of items and returns the list of their results.

    The function is kept for later tasks, until there is another. If a time or memory limit is
    given, the items are computed in a separate process, which can be killed.

    function: `setup`, its arguments and the memory limit, as the bytes that `packed` returns.
    """
    _function.cache_clear()  # the cached function would ask a closed pool if `setup` fails
    _pools.close()
    setup, arguments, memory = unpacked(function)
    if seconds is not None or memory is not None:
        pool: Pool[Any, Any] = _pools.enter_context(Pool(setup, arguments, memory=memory))
        return lambda items: list(pool.map(items, seconds, len(items)))
    one = setup(*arguments)

    def result(item: Any) -> Any:
        try:
            return one(item)
        except MemoryError:
            return OUT_OF_MEMORY

    return lambda items: list(map(result, items))


def _versions() -> str:
    """Return the versions of Python and packages, which must be the same on all nodes, as text."""
    return f"Python {platform.python_version()}, {_packages()}"


@lru_cache(maxsize=1)
def _packages() -> str:
    return ", ".join(f"{name} {version(name)}" for name in DECISIVE)


def _other_versions(node: str, theirs: str, mine: str) -> str:
    return (
        f"the Ray node {node} has {theirs}; this machine has {mine}: install the same on all nodes"
    )


def _check_answers(address: str) -> None:
    """Raise LogicgenError if no Ray cluster answers at the address `host:port`.

    If no cluster answers, `ray.init` waits for minutes. A connection is not enough, because another
    server may use the port. So Ray's health check runs, in a process that can be killed.
    """
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()):
        raise LogicgenError(f"{address!r} is no address of a Ray cluster: give HOST:PORT, or auto")
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        socket.create_connection((host, int(port)), SECONDS).close()
        subprocess.run(  # noqa: S603 - the program is this Python interpreter
            command, capture_output=True, timeout=SECONDS + STARTS, check=True
        )
        return
    except (OSError, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    except subprocess.SubprocessError:
        reason = "something else may be there"
    raise LogicgenError(
        f"{address}: no Ray cluster answers there ({reason}): start one with ray start --head, or"
        " leave --address out"
    )


@contextmanager
def _same_signals() -> Iterator[None]:
    """Restore the handler of SIGTERM at the end of the context, because `ray.init` replaces it."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _line(error: BaseException) -> str:
    """Return the first line of an error message."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
