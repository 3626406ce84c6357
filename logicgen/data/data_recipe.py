"""Data-set recipes: a TOML file that, with a seed, fully determines a data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from logicgen import shipped
from logicgen.declaration import changed, read_toml, validate
from logicgen.errors import LogicgenError
from logicgen.tasks import Cell, Settings, Source, Task, fitting_solver, load_task

SPLITS = ("train", "validation", "test", "grid")


def _ordered(bounds: tuple[int, int]) -> tuple[int, int]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"the range [{bounds[0]}, {bounds[1]}] is empty: the smaller number first")
    return bounds


Whole = Annotated[int, Field(strict=True)]
Symbols = Annotated[
    tuple[Annotated[Whole, Field(ge=0)], Annotated[Whole, Field(le=1_000_000)]],
    AfterValidator(_ordered),
]
Lengths = Annotated[
    tuple[Annotated[Whole, Field(ge=1)], Annotated[Whole, Field(le=10_000)]],
    AfterValidator(_ordered),
]
Step = Annotated[Whole, Field(ge=1)]
Count = Annotated[Whole, Field(ge=0)]

MOST_CELLS = 1_000_000


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Ranges(_Table):
    """Cells.

    Attributes:
        symbols, length: inclusive ranges.
        step: lengths per cell; more than one where problems come out as long as they do, or only
            some lengths exist.
    """

    symbols: Symbols
    length: Lengths
    step: Step = 1

    def cells(self, symbols: Iterable[int | None]) -> Iterator[Cell]:
        """Every cell, for these numbers of symbols."""
        shortest, longest = self.length
        for count in symbols:
            for length in range(shortest, longest + 1, self.step):
                yield Cell(count, length, min(self.step, longest + 1 - length))


class Region(_Ranges):
    """Where training problems come from; validation and test follow the same distribution.

    Attributes:
        balance: flat over `length`, or over `symbols-and-length`, as far as problems exist.
    """

    balance: Literal["length", "symbols-and-length"] = "length"


class Sizes(_Table):
    """How many examples each split has."""

    train: Count = 0
    validation: Count = 0
    test: Count = 0


class Grid(_Ranges):
    """Cells to evaluate on, beyond the training region: the same number of examples in each."""

    per_cell: Annotated[Whole, Field(ge=1)]

    @model_validator(mode="after")
    def _bounded(self) -> Grid:
        (least, most), (shortest, longest) = self.symbols, self.length
        cells = (most - least + 1) * len(range(shortest, longest + 1, self.step))
        if cells > MOST_CELLS:
            raise ValueError(f"the grid has {cells:,} cells; {MOST_CELLS:,} are allowed")
        return self


class DataRecipe(_Table):
    """What a data set is made of.

    Attributes:
        task: name of the task.
        distinct: `alpha` forbids two problems that are equal up to renaming, `exact` equal ones;
            the task's default if not given.
        names: how a problem's symbols are called: by `first-occurrence` (a, b, c, ...), `shuffled`
            over the alphabet of the training region (a larger one where the problem needs it),
            `drawn`: as the source drew them, some more often than others, or `perturbed`: in order
            of first occurrence in the answer, which destroys the symmetry.
        unsatisfiable: share of problems without a witness, whose answer says so.
        solver: plugin that answers; verifier: plugin that checks every answer. The task's default
            if not given.
        problem: the task's own settings.
    """

    task: str
    description: str = ""
    distinct: Literal["alpha", "exact"] | None = None
    names: Literal["first-occurrence", "shuffled", "drawn", "perturbed"] = "shuffled"
    unsatisfiable: Annotated[float, Field(ge=0, le=1)] = 0.0
    solver: str | None = None
    verifier: str | None = None
    problem: dict[str, Any] = {}
    region: Region
    sizes: Sizes = Sizes()
    grid: Grid | None = None

    def load_task(self) -> Task:
        """The task."""
        return load_task(self.task)

    def source(self, where: str) -> Source:
        """Where its problems come from."""
        return self.load_task().source(self.settings(where), self.region.symbols)

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


def read_recipe(name: str, changes: Mapping[str, Any] | None = None) -> DataRecipe:
    """A shipped recipe by name, or the one in a TOML file.

    changes: values to use instead of the file's, by dotted key.
    Raises LogicgenError naming file and key where it is not a recipe.
    """
    path = shipped.find("datasets", ".toml", name)
    recipe = validate(DataRecipe, changed(read_toml(path), changes or {}, str(path)), str(path))
    try:
        recipe.load_task()
    except LogicgenError as error:
        raise LogicgenError(f"{path}: task: {error}") from None
    recipe.settings(str(path))
    for key, check in (
        ("problem", lambda: recipe.source(str(path))),
        ("names", lambda: _can_name(recipe)),
        ("region", lambda: _can_exist(recipe, recipe.region)),
        ("grid", lambda: _can_exist(recipe, recipe.grid)),
        ("solver", lambda: fitting_solver(recipe.task, recipe.solver)),
        ("verifier", lambda: fitting_solver(recipe.task, recipe.verifier)),
        ("unsatisfiable", lambda: _can_refute(recipe)),
    ):
        try:
            check()
        except LogicgenError as error:
            raise LogicgenError(f"{path}: {key}: {error}") from None
    return recipe


def _can_refute(recipe: DataRecipe) -> None:
    if recipe.unsatisfiable and recipe.load_task().refutation is None:
        raise LogicgenError(
            f"task {recipe.task} has no answer for an unsatisfiable problem: leave the key out"
        )


def _can_name(recipe: DataRecipe) -> None:
    if recipe.names == "drawn" and not recipe.source("recipe").named:
        raise LogicgenError(
            f'"drawn" is for tasks that draw some symbols more often than others, and '
            f'{recipe.task} does not: give "shuffled"'
        )


def _can_exist(recipe: DataRecipe, part: Region | Grid | None) -> None:
    """Every length has to exist for some number of symbols, and the other way round."""
    if part is None:
        return
    source = recipe.source("recipe")
    least, most = part.symbols
    for cell in part.cells([None]):
        found = [source.obstacle(replace(cell, symbols=symbols)) for symbols in (most, least)]
        if found[0] and found[1]:
            raise LogicgenError(found[0])
    for symbols in (least, most):
        found = [source.obstacle(cell) for cell in part.cells([symbols])]
        if found[0] and all(found):
            raise LogicgenError(found[0])
