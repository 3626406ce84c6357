"""Choose where work is done: in processes of this machine, or on a Ray cluster.

    with engine("ray", "10.0.0.1:6379"):
        generate(recipe, folder, name="mine")

Inside the `with` block, `pool` returns workers of that engine. Code that uses a pool does not know
which engine it has: results are the same, and come in the order of the items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, Self

from logicgen.errors import LogicgenError, nearest
from logicgen.processes.workers import Failure, Limits, Workers

ENGINES = ("local", "ray")


class Pool(Protocol):
    """Workers that each run the function that a `setup` returns. Use as a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def map(self, items: Iterable[Any], chunk: int = 1) -> Iterator[Any | Failure]:
        """Yield results in the order of the items, as `Workers.map` does."""

    def close(self) -> None:
        """End the workers."""


class Cluster(Protocol):
    """An engine of other machines."""

    def pool(
        self, setup: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits | None
    ) -> Pool:
        """Return workers as `Workers` are, as many as the cluster has room for."""

    def check_folder(self, folder: Path) -> None:
        """Raise LogicgenError where a machine of the cluster does not see a folder of this one."""

    def count(self, gpus: bool) -> int:
        """Return how many CPUs there are, or GPUs."""

    def call(self, function: Callable[..., Any], *arguments: Any, gpu: bool) -> Call:
        """Call a function on a CPU of the cluster, or on a GPU, for as long as it takes."""


class Call(Protocol):
    """A call that is under way on a cluster."""

    def result(self) -> Any:
        """Wait for the result, and return it; a `Failure` if the machine was lost too often."""

    def stop(self) -> None:
        """Raise KeyboardInterrupt in the function."""


_cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def pool(
    setup: Callable[..., Callable[[Any], Any]],
    arguments: tuple[Any, ...] = (),
    *,
    count: int = 1,
    limits: Limits | None = None,
) -> Pool:
    """Return workers of the engine that is in use. Arguments are those of `Workers`.

    count: of local processes.
    """
    if (there := cluster()) is not None:
        return there.pool(setup, arguments, limits)
    return Workers[Any, Any](setup, arguments, count=count, limits=limits)


@contextmanager
def engine(name: str = "local", address: str | None = None) -> Iterator[None]:
    """Have work done by an engine: "local" or "ray".

    address: of a running Ray cluster, as `host:port` or "auto"; without it one is started on this
        machine and ended afterwards.

    Raises LogicgenError where there is no such engine, or no cluster that can be used.
    """
    if name not in ENGINES:
        raise LogicgenError(f"no engine is called {name!r}: {nearest(name, list(ENGINES))}")
    if name == "local":
        if address is not None:
            raise LogicgenError(f"{address}: the local engine has no address; give --engine ray")
        yield
        return
    from logicgen.processes.ray_pool import RayCluster

    with RayCluster(address) as started:
        token = _cluster.set(started)
        try:
            yield
        finally:
            _cluster.reset(token)


def cluster() -> Cluster | None:
    """Return the cluster that is in use; None if work is done on this machine."""
    return _cluster.get()


def shared(folder: Path) -> Path:
    """Return the path by which all workers know a folder of this machine.

    Raises LogicgenError where a machine of the cluster does not see it.
    """
    there = cluster()
    if there is None:
        return folder
    there.check_folder(folder)
    return folder.absolute()
