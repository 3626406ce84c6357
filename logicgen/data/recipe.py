"""Recipes of data sets and corpora: TOML files that, with a seed, fully determine them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from logicgen import recipes
from logicgen.data.ranges import MOST_EXAMPLES, Grid, Region
from logicgen.errors import LogicgenError, at
from logicgen.recipes import Table, changed, read_toml, validate
from logicgen.tasks import Settings, Source, Task, fitting_solver, load_corpus_task, load_task
from logicgen.tasks.conditions import Conditions, read_band
from logicgen.tasks.corpus_task import CORPUS_SPLITS, CorpusTask
from logicgen.tasks.problems import Rules

Holds = Literal["problems", "sequences", "ciphers"]
SPLITS = ("train", "validation", "test", "grid")

Size = Annotated[int, Field(ge=0, le=MOST_EXAMPLES)]

# Default limits for solving one problem, in search steps and in seconds. Most problems take
# microseconds. With a hard LTL formula of 170 tokens, these steps take about eight seconds.
EFFORT, TIMEOUT = 100_000, 60.0


class Recipe(Table):
    """The common part of the recipes of data sets and of corpora."""

    progress_unit: ClassVar[str]  # the things that the progress bar counts

    task: str  # the task's name
    description: str = ""

    @classmethod
    def read(cls, name: str, changes: Mapping[str, Any] | None = None) -> Self:
        """Return a shipped recipe, or the recipe in a TOML file, with some values replaced.

        name: the name of a shipped recipe, or the path of a file.
        changes: the new values by dotted key, such as `sizes.train`.

        Raises LogicgenError naming file and key if the recipe is not valid.
        """
        path = recipes.find("datasets", ".toml", name)
        recipe = validate(cls, changed(read_toml(path), changes or {}, str(path)), str(path))
        recipe.check(str(path))
        return recipe

    def check(self, where: str) -> None:
        """Raise LogicgenError naming `where` and the key if no data can be made from the recipe."""
        with at(f"{where}: task"):
            self.load_task()
        self.settings(where)

    @abstractmethod
    def load_task(self) -> Task | CorpusTask:
        """Return the task."""

    @abstractmethod
    def settings(self, where: str) -> Settings:
        """Return the table of task settings. Raises LogicgenError naming `where` and the key."""

    @property
    @abstractmethod
    def holds(self) -> Holds:
        """Return `problems`, `sequences` or `ciphers`, which determines the available scores."""

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Return the splits of the data."""

    @abstractmethod
    def resized(self, size: int, where: str = "recipe") -> Self:
        """Return the recipe with `size` examples, or raise LogicgenError naming `where`."""


class Sizes(Table):
    """The number of examples of each split."""

    train: Size = 0
    validation: Size = 0
    test: Size = 0


class DataRecipe(Recipe):
    """Everything that determines a data set, except its seed.

    Attributes:
        distinct: `alpha` forbids two problems that are equal up to renaming, `exact` forbids two
            equal problems. None means the task's default.
        names: names of a problem's symbols. `first-occurrence`: a, b, c, ... `shuffled`: at random
            from the alphabet of the training region, or from a larger alphabet if the problem needs
            it. `drawn`: as the source drew them, by frequency. `perturbed`: in order of first
            occurrence in the answer, which destroys the symmetry.
        unsatisfiable: share of problems without a witness.
        solver: plugin that answers; None means the task's default.
        verifier: plugin that checks every answer; None means the task's default.
        effort: search steps after which a solver that counts steps gives a problem up. Then another
            problem is drawn. None means `EFFORT`.
        timeout: seconds after which any other solver gives a problem up; None means `TIMEOUT`.
        problem: settings of the task.
        difficulty: ranges of columns of difficulty, and the controls that have to fail (`beyond`).
    """

    progress_unit = "examples"

    distinct: Literal["alpha", "exact"] | None = None
    names: Literal["first-occurrence", "shuffled", "drawn", "perturbed"] = "shuffled"
    unsatisfiable: Annotated[float, Field(ge=0, le=1)] = 0.0
    solver: str | None = None
    verifier: str | None = None
    effort: Annotated[int, Field(ge=1, lt=2**62)] | None = None
    timeout: Annotated[float, Field(gt=0, le=86_400, strict=False)] | None = None
    problem: dict[str, Any] = Field(default={})
    difficulty: dict[str, list[int | float | str]] = Field(default={})
    region: Region
    sizes: Sizes = Sizes()
    grid: Grid | None = None

    def load_task(self) -> Task:
        return load_task(self.task)

    @model_serializer(mode="wrap")
    def _without_unset(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out `effort`, `timeout` and `difficulty` if they are not set."""
        content: dict[str, Any] = dump(self)
        unset = [key for key in ("effort", "timeout") if getattr(self, key) is None]
        unset += [] if self.difficulty else ["difficulty"]
        return {key: value for key, value in content.items() if key not in unset}

    @property
    def parts(self) -> dict[str, Region | Grid]:
        """Return the tables `region` and `grid` by name, without `grid` if it is missing."""
        return {"region": self.region} | ({"grid": self.grid} if self.grid else {})

    def part(self, split: str) -> Region | Grid:
        """Return the ranges of symbols and lengths of a split."""
        return self.parts["grid" if split == "grid" else "region"]

    @property
    def alpha(self) -> bool:
        """Return whether no two problems may be equal up to renaming."""
        return (self.distinct or self.load_task().distinct) == "alpha"

    def rules(self) -> Rules:
        """Return the rules by which a `Drawer` draws problems."""
        # Without limits, one hard problem could keep a data set from being finished.
        return Rules(
            task=self.load_task().limited(self.effort or EFFORT, self.timeout or TIMEOUT),
            settings=self.settings("recipe"),
            source=self.source("recipe"),
            symbols=self.region.symbols,
            alpha=self.alpha,
            names=self.names,
            unsatisfiable=self.unsatisfiable,
            solver=self.solver,
            verifier=self.verifier,
            conditions=self.conditions(),
        )

    def conditions(self) -> Conditions:
        """Return the conditions on the difficulty of problems.

        Raises LogicgenError naming the key.
        """
        return Conditions.of(self.load_task(), self.difficulty, self.unsatisfiable)

    def source(self, where: str) -> Source:
        """Return the source of the problems."""
        return self.load_task().source(self.settings(where), self.region.symbols)

    def settings(self, where: str) -> Settings:
        return validate(self.load_task().Settings, self.problem, where, "problem")

    @property
    def holds(self) -> Holds:
        return "problems"

    @property
    def splits(self) -> tuple[str, ...]:
        asked = {**self.sizes.model_dump(), "grid": self.grid is not None}
        return tuple(split for split in SPLITS if asked[split])

    def resized(self, size: int, where: str = "recipe") -> Self:
        """Return the recipe with `size` examples in train, validation and test together.

        The splits keep their proportions. A smaller size reduces the grid in the same proportion,
        but to no less than one example per cell. Raises LogicgenError if the recipe has only a grid
        and no sizes.
        """
        if size > MOST_EXAMPLES:
            raise LogicgenError(f"{where}: size: {size:,} examples; {MOST_EXAMPLES:,} are allowed")
        old = self.sizes.model_dump()
        total = sum(old.values())
        if total == 0:
            raise LogicgenError(
                f"{where}: a size cannot be given for a recipe that only has a grid"
            )
        new = {split: size * count // total for split, count in old.items()}
        new[max(old, key=old.__getitem__)] += size - sum(new.values())
        grid = self.grid
        if grid is not None and size < total:
            grid = grid.model_copy(update={"per_cell": max(1, grid.per_cell * size // total)})
        return self.model_copy(update={"sizes": Sizes(**new), "grid": grid})

    def check(self, where: str) -> None:
        """Raise LogicgenError naming `where` and the key if the problems cannot be made."""
        super().check(where)
        with at(f"{where}: problem"):
            source = self.source(where)
        with at(f"{where}: difficulty"):
            self.conditions()
        if self.names == "drawn" and not source.named:
            raise LogicgenError(
                f'{where}: names: "drawn" is for tasks that draw symbols by frequency, and'
                f' {self.task} does not: give "shuffled"'
            )
        for key, part in self.parts.items():
            with at(f"{where}: {key}"):
                for column, (low, high) in part.columns.items():
                    read_band(self.load_task(), column, [low, high], self.unsatisfiable)
                _check_exists(source, part)
        for key, solver in (("solver", self.solver), ("verifier", self.verifier)):
            with at(f"{where}: {key}"):
                fitting_solver(self.task, solver)
        if self.unsatisfiable and self.load_task().refutation is None:
            raise LogicgenError(
                f"{where}: unsatisfiable: task {self.task} has no answer for an unsatisfiable"
                " problem: leave the key out"
            )


def _check_exists(source: Source, part: Region | Grid) -> None:
    """Raise LogicgenError if the ranges of a split contain an impossible value.

    A length is impossible if it fits neither the least nor the greatest number of symbols. The
    least and the greatest number of symbols are impossible if they fit no length.
    """
    least, most = part.symbols
    for cell in part.sizes([None]):
        found = [source.obstacle(replace(cell, symbols=symbols)) for symbols in (most, least)]
        if found[0] and found[1]:
            raise LogicgenError(found[0])
    for symbols in (least, most):
        found = [source.obstacle(cell) for cell in part.sizes([symbols])]
        if found[0] and all(found):
            raise LogicgenError(found[0])


class CorpusRecipe(Recipe):
    """Everything that determines a corpus, except its seed."""

    progress_unit = "parts"

    corpus: dict[str, Any]  # settings of the task

    def load_task(self) -> CorpusTask:
        return load_corpus_task(self.task)

    def settings(self, where: str) -> Settings:
        return validate(self.load_task().Settings, self.corpus, where, "corpus")

    @property
    def holds(self) -> Holds:
        """Return the kind of the data; ciphers are sequences with keys."""
        return "ciphers" if self.task == "cipher" else "sequences"

    @property
    def splits(self) -> tuple[str, ...]:
        """Return the splits of the corpus: all splits if the task has no sizes of splits."""
        asked = self.settings("recipe").model_dump()
        return tuple(split for split in CORPUS_SPLITS if asked.get(split, 1))

    def resized(self, size: int, where: str = "recipe") -> Self:
        """Raise LogicgenError, because the unit of a corpus's size depends on its task."""
        raise LogicgenError(
            f"{where}: size is not for corpora: change the recipe instead (in a study by data_set)"
        )


def common_key(recipes: Iterable[DataRecipe]) -> str:
    """Return the column in which two problems are equal if they count as the same.

    Renamings count as the same problem if they do so in any of the recipes.
    """
    return "alpha_class" if any(each.alpha for each in recipes) else "problem"
