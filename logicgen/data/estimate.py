"""Estimates of the disk space and memory that data need, before they are made.

The estimate of disk space is within a factor of two for most tasks. Estimates tend to be too small,
because a command is refused only if it cannot succeed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from logicgen.data.plan import CellPlan
from logicgen.data.recipe import DataRecipe, Recipe
from logicgen.errors import LogicgenError
from logicgen.tasks.corpus_task import CorpusSource, RowCounts

# Bytes of memory: SLOT for each example, and SETTLED for each example of the most frequent length.
# Repeated problems are searched among all examples of a length at once. Each of these examples has
# a key of 8 bytes, which is in memory three times while the keys are sorted.
SLOT, SETTLED = 2, 24

# Compressed bytes on disk: HASHED for each example (its hash cannot be compressed), and TOKEN for
# each token of its problem and answer.
HASHED, TOKEN = 10, 0.75

# The factor by which a data set needs more room on disk while it is made, because of work files.
MAKING = 2.5

# A corpus is made in parts. While a part is made, its arrays are in memory this many times, with 64
# bits for each number.
COPIES = 2

# If data exceed one of these limits, their estimated size is printed before they are made.
MANY_EXAMPLES, MANY_BYTES = 1_000_000, 1_000_000_000


@dataclass(frozen=True)
class SizeEstimate:
    """An estimate of the size of data."""

    counted: int  # number of examples of a data set, or of rows of a corpus
    unit: str  # name of the counted things, such as `examples` or `rows`
    disk: int  # bytes
    memory: int  # bytes

    def __str__(self) -> str:
        takes = {"on disk": self.disk, "of memory": self.memory}
        said = [f"{size / 1e9:,.1f} GB {where}" for where, size in takes.items() if size]
        return f"{self.counted:,} {self.unit}, about {' and '.join(said)}"

    @property
    def large(self) -> bool:
        """Return whether the data are large enough to announce their size."""
        return self.counted > MANY_EXAMPLES or max(self.disk, self.memory) > MANY_BYTES

    def check(self, folder: Path, where: str) -> None:
        """Raise LogicgenError naming `where` if the data do not fit on the disk or into memory.

        Files that are already in the folder are part of the estimate and need no further room.
        """
        held = 0
        for path in folder.rglob("*"):
            with suppress(OSError):  # another process may delete the file; this is reported later
                held += path.stat().st_size if path.is_file() else 0
        for takes, there, what, remedy in (
            (
                self.disk - held,
                free_disk(folder),
                "free on the disk",
                "or choose another folder with -o",
            ),
            (self.memory, free_memory(), "of memory available", "or use another machine"),
        ):
            if there is not None and takes > there:
                raise LogicgenError(
                    f"{where}: takes {self}, and there are {there / 1e9:,.1f} GB {what}: ask for"
                    f" fewer {self.unit}, {remedy}"
                )


def of_examples(sizes: Iterable[tuple[float, float]]) -> SizeEstimate:
    """Return the estimate for a data set.

    sizes: pairs of a number of examples and their mean length in tokens.
    """
    of_length: dict[float, float] = {}
    for count, length in sizes:
        of_length[length] = of_length.get(length, 0) + count
    examples = round(sum(of_length.values()))
    tokens = sum(count * length for length, count in of_length.items())
    together = max(of_length.values(), default=0)
    return SizeEstimate(
        examples,
        "examples",
        int((examples * HASHED + tokens * TOKEN) * MAKING),
        int(examples * SLOT + together * SETTLED),
    )


def of_plans(plans: Iterable[CellPlan]) -> SizeEstimate:
    """Return the estimate for the examples that are planned for some cells."""
    return of_examples((plan.quota, plan.cell.length + (plan.cell.width - 1) / 2) for plan in plans)


def of_corpus(source: CorpusSource) -> SizeEstimate:
    """Return the estimate for a corpus."""
    itemsize = np.min_scalar_type(len(source.tokens) - 1).itemsize
    counted, numbers, in_part = source.extent()
    return SizeEstimate(
        counted, source.counted, numbers * itemsize, in_part * COPIES * np.dtype(np.int64).itemsize
    )


def of_recipe(recipe: Recipe) -> SizeEstimate | None:
    """Estimate the largest size of a recipe's data; None if the recipe does not determine it."""
    if isinstance(recipe, DataRecipe):
        asked = [(sum(recipe.sizes.model_dump().values()), recipe.region.length)]
        if recipe.grid is not None:
            grid = recipe.grid
            asked.append((grid.check_cells() * grid.per_cell, grid.length))
        spread = ((count, range(low, high + 1)) for count, (low, high) in asked)
        return of_examples((count / len(by), n) for count, by in spread for n in by)
    settings = recipe.settings(recipe.task)
    if not isinstance(settings, RowCounts):
        return None
    rows = settings.train + settings.validation + settings.test
    return SizeEstimate(rows, "rows", rows * getattr(settings, "length", 1), 0)


def announcement(recipe: Recipe, name: str) -> list[str]:
    """Return one line with the estimated size of a recipe's data; no line if they are small."""
    found = of_recipe(recipe)
    return [f"{name}: asks for {found}"] if found is not None and found.large else []


def free_disk(folder: Path) -> int | None:
    """Return the free bytes of the disk of a folder; None if the disk reports no size."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    usage = shutil.disk_usage(there)
    return usage.free if usage.total else None


def free_memory() -> int | None:
    """Return the bytes of memory that this process may still take, or None if it is unknown."""
    found: list[int] = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        found.append(int(line.split()[1]) * 1024)
    with suppress(ImportError, ValueError, OSError):
        import resource  # not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            found.append(limit)
    if not found:
        with suppress(AttributeError, ValueError, OSError):
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(found, default=None)
