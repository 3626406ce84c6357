"""What data will take, before any of it is made: about how many bytes on disk and of memory.

Numbers are rough: of the disk within a factor of two for most tasks, and rather too small than too
large, for only what cannot be is refused.
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

# Bytes of memory for an example: its slot; and for one of the length that most examples have, which
# are settled together: its key, and twice more while they are sorted.
SLOT, SETTLED = 2, 24

# Bytes on disk for an example beside its tokens (its hash does not compress), and for a token, of
# a problem and its answer, compressed.
HASHED, TOKEN = 10, 0.75

# While examples are made, work files take more room than what comes of them.
MAKING = 2.5

# Arrays of a part are held as 64-bit numbers, and once or twice more while it is made.
COPIES = 2

# What takes less than both is made without a word.
MANY_EXAMPLES, MANY_BYTES = 1_000_000, 1_000_000_000


@dataclass(frozen=True)
class SizeEstimate:
    """About what data take."""

    counted: int  # examples of a data set, rows of a corpus
    unit: str  # what these are called
    disk: int  # bytes
    memory: int  # bytes

    def __str__(self) -> str:
        takes = {"on disk": self.disk, "of memory": self.memory}
        said = [f"{size / 1e9:,.1f} GB {where}" for where, size in takes.items() if size]
        return f"{self.counted:,} {self.unit}, about {' and '.join(said)}"

    @property
    def large(self) -> bool:
        """Return whether they are so many that one should be told before."""
        return self.counted > MANY_EXAMPLES or max(self.disk, self.memory) > MANY_BYTES

    def check(self, folder: Path, where: str) -> None:
        """Raise LogicgenError naming `where` if they do not fit on the disk or into memory.

        What the folder holds already was counted, too, and needs no further room.
        """
        held = 0
        for path in folder.rglob("*"):
            with suppress(OSError):  # gone: another run may be at work, which is said later
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
    """Return what so many examples of such a mean length take."""
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
    """Return what the examples of a plan take: those that exist, of those that are asked for."""
    return of_examples((plan.quota, plan.cell.length + (plan.cell.width - 1) / 2) for plan in plans)


def of_corpus(source: CorpusSource) -> SizeEstimate:
    """Return what a corpus takes."""
    itemsize = np.min_scalar_type(len(source.tokens) - 1).itemsize
    counted, numbers, in_part = source.extent()
    return SizeEstimate(
        counted, source.counted, numbers * itemsize, in_part * COPIES * np.dtype(np.int64).itemsize
    )


def of_recipe(recipe: Recipe) -> SizeEstimate | None:
    """Return what a recipe takes at most, by its numbers alone; None where these do not say it."""
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
    """Return a line that says what a recipe takes, where that is much."""
    found = of_recipe(recipe)
    return [f"{name}: asks for {found}"] if found is not None and found.large else []


def free_disk(folder: Path) -> int | None:
    """Return the free bytes of the disk that a folder is on, or will be; None if it has no size."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    usage = shutil.disk_usage(there)
    return usage.free if usage.total else None


def free_memory() -> int | None:
    """Return the bytes of memory that this process may still take; None where nobody says it."""
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
