"""A small data set for tests."""

from __future__ import annotations

from pathlib import Path

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe

RECIPE = {
    "task": "propositional",
    "solver": "truth-table",
    "verifier": "pysat",
    "problem": {"operators": {"!": 1, "&": 1, "^": 1}},
    "region": {"symbols": [1, 3], "length": [1, 9], "balance": "symbols-and-length"},
    "sizes": {"train": 600, "validation": 40, "test": 40},
    "grid": {"symbols": [1, 5], "length": [1, 12], "per_cell": 4},
}

COPYING = {"task": "copying", "solver": None, "verifier": None, "problem": {}}


def make(folder, changes=None, **arguments):
    """Make the data set of the recipe, with some of its tables changed."""
    recipe = DataRecipe.model_validate({**RECIPE, **(changes or {})})
    return generate(recipe, folder, name="some", **arguments)


def opened(folder, content, name="some"):
    """Make the data set of a recipe, and open it."""
    generate(DataRecipe.model_validate(content), folder, name=name)
    return load_dataset(folder)


def contents(folder):
    """Return the bytes of all files."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


class StopError(Exception):
    """What breaks off a run."""


class InThisProcess:
    """A stand-in for a pool: what a test changes in this process holds in the steps, too."""

    def __init__(self, setup, arguments, count=1):
        self.function = setup(*arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def map(self, items):
        return map(self.function, items)


def stopping_pool(left):
    """Return a stand-in for a pool that breaks off when the list `left` is empty.

    Each result of a step takes an item from the list.
    """

    class Stopping(InThisProcess):
        def map(self, items):
            for result in super().map(items):
                if not left:
                    raise StopError
                left.pop()
                yield result

    return Stopping
