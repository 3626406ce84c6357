"""Refuse a package that is older than the one an adapter was tested with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from logicgen.errors import LogicgenError
from logicgen.extras import extras_named


def at_least(package: str, needed: str) -> None:
    """Raise LogicgenError where a package is installed whose version is below `needed`.

    A package that is not installed is not complained of: who imports it will be. Release numbers
    are compared alone, so that 1.16.0.dev0 counts as 1.16.
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
    """Import a package inside. LogicgenError: it is older than `needed`, or not installed."""
    at_least(package, needed)
    with extras_named():
        yield


def _release(text: str) -> list[int]:
    """Return the release numbers that a version begins with, without zeros at their end."""
    match = re.match(r"(?:\d+!)?(\d+(?:\.\d+)*)", text)
    numbers = [int(number) for number in match[1].split(".")] if match else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers
