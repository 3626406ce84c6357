"""Optional dependencies (extras) and plugins.

`pip install logicgen` installs all packages that making data, solving, verifying and scoring need.
Training, figures and automata need more packages, which an extra such as `logicgen[train]`
installs. Only the functions that use such a package import it.

A plugin is an entry point of an installed package, in one of the groups `logicgen.tasks`,
`logicgen.solvers`, `logicgen.embeddings`, `logicgen.positions` and `logicgen.measures`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from logicgen.errors import LogicgenError, shortened

EXTRAS = {
    "datasets": "datasets",
    "fsspec": "s3",
    "inspect_ai": "inspect",
    "jinja2": "figures",
    "matplotlib": "figures",
    "rapidfuzz": "figures",
    "ray": "ray",
    "reasoning_gym": "reasoning-gym",
    "s3fs": "s3",
    "safetensors": "train",
    "scipy": "corpora",
    "sympy": "sympy",
    "tensorboard": "train",
    "tokenizers": "corpora",
    "torch": "train",
    "verifiers": "verifiers",
}
"""The import name of each optional package, mapped to the extra that installs the package."""


DECISIVE = ("logicgen", "lark", "pyarrow", "python-sat")
"""The packages whose versions can change results, including the bytes of data."""


class MissingExtraError(LogicgenError, ImportError):
    """An optional package is missing or broken. The message contains the command to install it."""


def missing_extra(error: BaseException) -> MissingExtraError | None:
    """Return a MissingExtraError if a package of an extra caused `error`, else None.

    The package may be missing or incomplete. A package is incomplete if one of its modules or
    dependencies cannot be imported.
    """
    if isinstance(error, LogicgenError):
        return None
    named = error.name or "" if isinstance(error, ImportError) else ""
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        named = error.obj.__name__
    if isinstance(error, ModuleNotFoundError) and named in EXTRAS:
        return _missing(named)
    if (package := named.partition(".")[0]) in EXTRAS:
        return _incomplete(package, error)
    trace = error.__traceback__
    while trace is not None:  # from the outermost frame to the frame that raised the error
        frame = trace.tb_frame
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in EXTRAS and frame.f_code.co_name == "<module>":
            return _incomplete(package, error)
        trace = trace.tb_next
    return None


def _incomplete(package: str, error: BaseException) -> MissingExtraError:
    reason = shortened(" ".join(str(error).split()), 200)
    found = MissingExtraError(
        f"{package} is installed only in part ({reason}): pip install --force-reinstall"
        f" 'logicgen[{EXTRAS[package]}]'"
    )
    found.name = package
    return found


def need(extra: str) -> None:
    """Raise MissingExtraError if a package of an extra is not installed.

    Call this before long work that imports the package late, so that the error comes early.
    """
    for package, bringing in EXTRAS.items():
        if bringing == extra and find_spec(package) is None:
            raise _missing(package)


def _missing(package: str) -> MissingExtraError:
    error = MissingExtraError(
        f"this needs {package}, which is not installed: pip install 'logicgen[{EXTRAS[package]}]'"
    )
    error.name = package
    return error


@contextmanager
def extras_named() -> Iterator[None]:
    """Raise MissingExtraError if the `with` block cannot import a package of an extra."""
    try:
        yield
    except (ImportError, AttributeError, OSError) as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        raise missing from None


def use_one_thread() -> None:
    """Let PyTorch use one thread in this process, if it is imported later.

    A model that answers few problems at a time has small tensors. Several threads would wait for
    each other longer than they work.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return a dict from name to plugin for an entry-point group. No plugin is imported.

    If a plugin of another package has the same name as a plugin of logicgen, the other package's
    plugin is left out. A package that is installed later is found after a restart.
    """
    return dict(_plugins(group, tuple(sys.path)))


@cache
def _plugins(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Return the plugins that the packages on `path` (sys.path) register for a group."""
    points = sorted(entry_points(group=group), key=lambda point: (is_own(point), point.name))
    found = {
        point.name: point for point in points
    }  # if two plugins have the same name, the last is kept: logicgen's plugin
    return dict(sorted(found.items()))


def is_own(point: EntryPoint) -> bool:
    """Return whether logicgen itself installs a plugin."""
    return point.value.startswith("logicgen.")


def load_plugin(point: EntryPoint) -> Any:
    """Import and return the object of a plugin. Raises LogicgenError if the import fails."""
    try:
        return point.load()
    except Exception as error:
        why = shortened(f"{type(error).__name__}: {error}", 200)
        raise LogicgenError(
            f"plugin {point.name} ({point.value}) cannot be loaded: {why}: repair the package that"
            " registers it, or remove it"
        ) from error
