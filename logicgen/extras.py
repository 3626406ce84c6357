"""Other packages: extras, which only some uses need, and plugins, which extend logicgen.

`pip install logicgen` brings what makes data, solves, verifies and scores. What trains networks,
draws figures or computes with automata is imported where it is used, and an extra brings it.

A plugin is an entry point of an installed package, in one of the groups `logicgen.tasks`,
`logicgen.solvers`, `logicgen.embeddings`, `logicgen.positions` and `logicgen.measures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
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
"""The extra that brings each package, by the name under which it is imported."""


DECISIVE = ("logicgen", "lark", "pyarrow", "python-sat")
"""The packages on whose versions results depend, also the bytes of data."""


class MissingExtraError(LogicgenError, ImportError):
    """A package is not installed that some uses need; the message says which extra brings it."""


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """Return what to say of a package that is not there; None where no extra brings it."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    return _missing(package)


def need(extra: str) -> None:
    """Raise MissingExtraError where a package of an extra is not installed.

    For what takes a while before it imports the package.
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
    """Raise MissingExtraError in place of the ModuleNotFoundError of such a package."""
    try:
        yield
    except ModuleNotFoundError as error:
        said = missing_extra(error)
        if said is None:
            raise
        raise said from None


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the plugins of an entry-point group by name. Nothing is imported yet.

    No other package can take the name of a plugin of logicgen.
    """
    points = sorted(entry_points(group=group), key=lambda point: (is_own(point), point.name))
    found = {point.name: point for point in points}  # the last of a name
    return dict(sorted(found.items()))


def is_own(point: EntryPoint) -> bool:
    """Return whether a plugin is part of logicgen."""
    return point.value.startswith("logicgen.")


def load_plugin(point: EntryPoint) -> Any:
    """Return the object that a plugin names. Raises LogicgenError if it cannot be imported."""
    try:
        return point.load()
    except Exception as error:
        why = shortened(f"{type(error).__name__}: {error}", 200)
        raise LogicgenError(
            f"plugin {point.name} ({point.value}) cannot be loaded: {why}: repair the package that"
            " registers it, or remove it"
        ) from error
