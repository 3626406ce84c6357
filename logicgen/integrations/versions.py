"""Check that the version of a package is at least the version that an adapter needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from logicgen.errors import LogicgenError
from logicgen.extras import extras_named


def at_least(package: str, needed: str) -> None:
    """Raise LogicgenError if a package is installed with a version below `needed`.

    A missing package raises no error here, but later at its import. Only release numbers are
    compared, so 1.16.0.dev0 counts as 1.16.
    """
    try:
        found = version(package)
    except PackageNotFoundError:
        return
    if _release(found) < _release(needed):
        raise LogicgenError(
            f"{package} {found} is installed, and logicgen needs {needed} or later:"
            f" pip install '{package}>={needed}'"
        )


@contextmanager
def importing(package: str, needed: str) -> Iterator[None]:
    """Check the version of a package that the `with` block imports.

    Raises LogicgenError if the package is older than `needed`, or if it is not installed.
    """
    at_least(package, needed)
    with extras_named():
        yield


def _release(text: str) -> list[int]:
    """Return the release numbers of a version without final zeros: [1, 16] for 1.16.0.dev0."""
    match = re.match(r"(?:\d+!)?(\d+(?:\.\d+)*)", text)
    numbers = [int(number) for number in match[1].split(".")] if match else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers
