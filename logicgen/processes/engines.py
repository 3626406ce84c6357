"""Choose the engine that runs worker processes: this machine, or a Ray cluster.

    with engine("ray", "10.0.0.1:6379"):
        generate(recipe, folder, name="mine")

Inside the `with` block, `open_pool` returns a pool with workers on that engine. The results
and their order do not depend on the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from logicgen.errors import LogicgenError, nearest
from logicgen.processes.pool import Pool

if TYPE_CHECKING:
    from logicgen.processes.ray_pool import RayCluster, RayPool

ENGINES = ("local", "ray")

AnyPool: TypeAlias = "Pool[Any, Any] | RayPool"

_cluster: ContextVar[RayCluster | None] = ContextVar("cluster", default=None)


def open_pool(
    setup: Callable[..., Callable[[Any], Any]],
    arguments: tuple[Any, ...] = (),
    *,
    count: int = 1,
    memory: int | None = None,
) -> AnyPool:
    """Return a pool with workers on the current engine. Takes the arguments of `Pool`.

    count: largest number of worker processes on this machine. A cluster uses all its CPUs.
    """
    if (there := cluster()) is not None:
        return there.pool(setup, arguments, memory)
    return Pool(setup, arguments, count=count, memory=memory)


@contextmanager
def engine(name: str = "local", address: str | None = None) -> Iterator[None]:
    """Use the engine "local" or "ray" inside the context.

    address: address of a running Ray cluster, as `host:port` or "auto". If it is not given, a
        cluster is started on this machine and stopped at the end.

    Raises LogicgenError if the engine is unknown, or if the cluster cannot be used.
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


def cluster() -> RayCluster | None:
    """Return the current Ray cluster, or None if the engine is local."""
    return _cluster.get()


def shared(folder: Path) -> Path:
    """Return a path that leads to the folder on every machine that runs workers.

    Raises LogicgenError if a machine of the cluster cannot read the folder.
    """
    there = cluster()
    if there is None:
        return folder
    there.check_folder(folder)
    return folder.absolute()
