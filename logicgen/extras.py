"""Packages that only some uses need: which extra of logicgen brings each.

`pip install logicgen` brings what makes data, solves, verifies and scores. What trains networks,
draws figures or computes with automata is imported where it is used, and an extra brings it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from logicgen.errors import LogicgenError

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
