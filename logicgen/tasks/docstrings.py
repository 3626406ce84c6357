"""English that an installation of Python carries: its documentation, and packages' docstrings.

Nothing is imported: the sources of a package are parsed where they lie.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

from logicgen.errors import LogicgenError, reading

# Folders whose functions are written for the package itself.
_TESTS = {"test", "tests"}

# What doctest would run, with what that prints: up to the next empty line.
_EXAMPLE = re.compile(r"^[ \t]*>>>.*?(?:\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)


def topics() -> dict[str, bytes]:
    """Return the topics of Python's own documentation by name, in order."""
    found: dict[str, str] = import_module("pydoc_data.topics").topics
    return {name: found[name].encode() for name in sorted(found)}


def docstrings(packages: Iterable[str]) -> dict[str, bytes]:
    """Return the docstrings of each source of installed packages, by its place, in order.

    Examples that doctest would run are left out. A docstring that occurs again is taken once.
    Raises LogicgenError for a package that is not installed as a folder of sources.
    """
    found: dict[str, bytes] = {}
    known: set[str] = set()
    for package in packages:
        root = _folder(package)
        for path in sorted(root.rglob("*.py")):
            place = path.relative_to(root.parent)
            if _TESTS.isdisjoint(place.parts):
                new = [text for text in _docstrings_of(path) if text not in known]
                known.update(new)
                if new:
                    found[place.as_posix()] = ("\n\n".join(dict.fromkeys(new)) + "\n").encode()
    return found


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of installed packages, where they have one."""
    distributions = packages_distributions()
    return {
        package: version(distributions[package][0])
        for package in packages
        if package in distributions
    }


def _folder(package: str) -> Path:
    """Return the folder of a package's sources."""
    spec = None
    if package.isidentifier():  # a dot would import what stands before it
        with suppress(ValueError):  # of modules that were not found in any place
            spec = find_spec(package)
    if spec is None:
        raise LogicgenError(
            f"packages: {package!r} is not installed, or not the name that it is imported by:"
            " install it, or leave it out of packages"
        )
    if not spec.submodule_search_locations or spec.origin is None:
        raise LogicgenError(f"packages: {package!r} is no folder of sources: leave it out")
    return Path(spec.origin).parent


def _docstrings_of(path: Path) -> list[str]:
    """Return the docstrings of a source, without examples; none if this Python cannot parse it."""
    with reading(path):
        data = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes and the like in others' sources
            tree = ast.parse(data)
    except (SyntaxError, ValueError):  # templates, and sources for another version of Python
        return []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
    # A lone surrogate can be written in a docstring, and is no character.
    whole = [text.encode(errors="replace").decode() for text in texts if text]
    return [text for text in (_EXAMPLE.sub("\n", text).strip() for text in whole) if text]
