"""Data-set recipes: a TOML file that, with a seed, fully determines a data set."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from logicgen import shipped
from logicgen.declaration import read_toml, validate
from logicgen.errors import LogicgenError
from logicgen.tasks import Settings, Task, load_task

SPLITS = ("train", "validation", "test", "grid")


def _ordered(bounds: tuple[int, int]) -> tuple[int, int]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"the range [{bounds[0]}, {bounds[1]}] is empty: the smaller number first")
    return bounds


Symbols = Annotated[tuple[Annotated[int, Field(ge=0)], int], AfterValidator(_ordered)]
Lengths = Annotated[tuple[Annotated[int, Field(ge=1)], int], AfterValidator(_ordered)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Region(_Table):
    """Where training problems come from; validation and test follow the same distribution.

    Attributes:
        symbols, length: inclusive ranges.
        balance: flat over `length`, or over `symbols-and-length`, as far as problems exist.
    """

    symbols: Symbols
    length: Lengths
    balance: Literal["length", "symbols-and-length"] = "length"


class Sizes(_Table):
    """How many examples each split has."""

    train: int = Field(default=0, ge=0)
    validation: int = Field(default=0, ge=0)
    test: int = Field(default=0, ge=0)


class Grid(_Table):
    """Cells to evaluate on, beyond the training region: the same number of examples in each."""

    symbols: Symbols
    length: Lengths
    per_cell: int = Field(ge=1)


class DataRecipe(_Table):
    """What a data set is made of.

    Attributes:
        task: name of the task.
        distinct: `alpha` forbids two problems that are equal up to renaming, `exact` equal ones;
            the task's default if not given.
        names: how a problem's symbols are called: by `first-occurrence` (a, b, c, ...), `shuffled`
            over the alphabet of the training region (a larger one where the problem needs it), or
            `perturbed`: in order of first occurrence in the answer, which destroys the symmetry.
        solver: plugin that answers; verifier: plugin that checks every answer. The task's default
            if not given.
        problem: the task's own settings.
    """

    task: str
    description: str = ""
    distinct: Literal["alpha", "exact"] | None = None
    names: Literal["first-occurrence", "shuffled", "perturbed"] = "shuffled"
    solver: str | None = None
    verifier: str | None = None
    problem: dict[str, Any] = {}
    region: Region
    sizes: Sizes = Sizes()
    grid: Grid | None = None

    def load_task(self) -> Task:
        """The task."""
        return load_task(self.task)

    def settings(self, where: str) -> Settings:
        """The `[problem]` table, checked by the task."""
        return validate(self.load_task().Settings, self.problem, where, "problem")

    def resized(self, size: int) -> DataRecipe:
        """The recipe with `size` examples in train, validation and test together.

        The splits keep their proportions; a smaller size thins out the grid in the same proportion,
        to no fewer than one example per cell.
        """
        old = self.sizes.model_dump()
        total = sum(old.values())
        if total == 0:
            raise LogicgenError("a size cannot be given for a recipe that only has a grid")
        new = {split: size * count // total for split, count in old.items()}
        largest = max(old, key=lambda split: old[split])
        new[largest] += size - sum(new.values())
        grid = self.grid
        if grid is not None and size < total:
            grid = grid.model_copy(update={"per_cell": max(1, grid.per_cell * size // total)})
        return self.model_copy(update={"sizes": Sizes(**new), "grid": grid})


def read_recipe(name: str) -> DataRecipe:
    """A shipped recipe by name, or the one in a TOML file.

    Raises LogicgenError naming file and key where it is not a recipe.
    """
    path = shipped.find("datasets", ".toml", name)
    recipe = validate(DataRecipe, read_toml(path), str(path))
    try:
        recipe.load_task()
    except LogicgenError as error:
        raise LogicgenError(f"{path}: task: {error}") from None
    recipe.settings(str(path))
    return recipe
