"""A measure of trained models: what it computes, and how studies, comparisons and pages show it.

A module of a measure has an object `MEASURE` of a subclass of `Measure`. Its line in the list of
`logicgen/measures/__init__.py` makes it known to `logicgen study`, `compare` and `report`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from logicgen.errors import LogicgenError
from logicgen.measures.statistics import deviation
from logicgen.report.tables import percent_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.data.recipe import CorpusRecipe, DataRecipe
    from logicgen.model.model import Model
    from logicgen.model.recipe import ModelRecipe

Json = dict[str, Any]
"""A tree of plain data, as JSON has it."""

Counted = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""

Picture = tuple[str, str, "Figure"]
"""The name of a file, what it shows, and the figure."""

# Up to this number of points a figure has a panel or a line for each.
MOST_NAMED = 12


class StudyRun(Protocol):
    """The training of a model of a study."""

    steps: int
    minutes: float
    parameters: int
    validation: dict[str, list[tuple[int, float]]]  # steps and values by name


@dataclass(frozen=True)
class Subject:
    """A trained model of a study, of which a measure is taken."""

    model: Model
    name: str
    run: Path  # the folder of its weights and of what is measured
    device: str


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings of a measure in one point of a study, one for each training seed."""

    measure: str  # its name in the study
    settings: Any
    point: str
    choices: dict[str, str]  # names of the alternatives by axis
    data: str  # the name of the data set
    data_folder: str  # the same for equal data
    seeds: list[int]
    runs: Sequence[StudyRun]
    found: list[Json]

    @property
    def label(self) -> str:
        """Return the name of the point: all its choices."""
        return ", ".join(self.choices.values())


@dataclass(frozen=True)
class Ranking:
    """The scores of points, one each, where these are too many to be told apart.

    parts: scores of parts of the problems, by what the parts are called.
    """

    called: str
    less_is_better: bool
    values: list[float]
    of: str  # the data
    parts: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """What a comparison of measurements says, and the files that it wrote, in lines."""

    lines: list[str]
    files: list[str]


class Measure:
    """A measure. A subclass has a `name`; each method makes one more use of the measure possible.

    Attributes:
        noun: what a measurement is called in messages.
        file: which file tells that a folder holds a measurement; none if empty.
        of: what data have to hold: problems, sequences or ciphers.
    """

    name: ClassVar[str]
    noun: ClassVar[str] = "a measurement"
    file: ClassVar[str] = ""
    of: ClassVar[tuple[str, ...]] = ("problems", "sequences", "ciphers")

    # Of one trained model

    def check(
        self, settings: Any, data: DataRecipe | CorpusRecipe, model: ModelRecipe, where: str
    ) -> None:
        """Raise LogicgenError if the data, or the model, lack what the measure needs."""

    def take(self, settings: Any, data: Dataset | Corpus, subject: Subject) -> Json:
        """Return the findings as plain data. Files are written below the folder of the run."""
        raise LogicgenError(f"{self.name}: a study cannot take this measure")

    # Of the points of a study

    def check_found(self, found: Json) -> None:
        """Raise ValueError, KeyError, TypeError or IndexError for findings of another shape."""
        self.headline(found)

    def headline(self, found: Json) -> tuple[float, bool]:
        """Return the one number that ranks models, and whether less is better."""
        raise LogicgenError(f"{self.name}: a study cannot take this measure")

    def says(self, points: list[Findings]) -> str:
        """Return the sentence above the table."""
        return "In brackets 95% intervals over problems or sequences."

    def columns(self, points: list[Findings], prefix: str) -> list[dict[str, str]]:
        """Return the columns of the table for people: values by head, for each point.

        prefix: of heads that do not name the measure.
        """
        return [{} for _ in points]

    def lines(self, found: Json) -> list[Json]:
        """Return the lines of `results.csv` of one trained model, a line for each part."""
        return []

    def rows(self, points: list[Findings]) -> list[list[tuple[int, Json]]]:
        """Return the lines of each point with what was trained, and the number of their seed."""
        return [
            [
                (number, {"seed": seed, **_trained(run), **about, **line})
                for number, (seed, run, found) in enumerate(
                    zip(point.seeds, point.runs, point.found, strict=True)
                )
                for about in [{"measure": point.measure, "data": point.data}]
                for line in self.lines(found)
            ]
            for point in points
        ]

    def pictures(self, study: str, measured: list[list[Findings]]) -> list[Picture]:
        """Return figures of the points of each measure of this kind."""
        return []

    def ranking(self, points: list[Findings]) -> Ranking | None:
        """Return the scores of many points; None if a table shows them all."""
        return None

    # Of folders

    def compare(
        self, folders: list[Path], out: Path, *, workers: int, progress: Counted
    ) -> Comparison:
        """Write measurements of the same data side by side.

        Raises LogicgenError where they are not of the same data.
        """
        raise LogicgenError(f"{folders[0]}: {self.noun} cannot be compared")

    def write_page(
        self, folder: Path, path: Path | None, *, workers: int, progress: Counted
    ) -> Path:
        """Write the page of a measurement; return its path, `report.html` there if not given."""
        raise LogicgenError(f"{folder}: {self.noun} has no page")


def check_reads(called: str, model: ModelRecipe, where: str) -> None:
    """Raise LogicgenError if a model is no language model, which measure `called` needs."""
    if not model.network.reads_sequences:
        raise LogicgenError(
            f"{where}: measure {called}: a model that answers problems is scored by"
            " [evaluate], on data that hold some: give a language model, or such data"
        )


def _trained(run: StudyRun) -> Json:
    return {"steps": run.steps, "minutes": run.minutes, "parameters": run.parameters}


def differing(points: list[Findings]) -> list[str]:
    """Return the axes in which points differ."""
    return [axis for axis in points[0].choices if len({each.choices[axis] for each in points}) > 1]


def labels(points: list[Findings]) -> list[str]:
    """Return names of points in a figure of all: the choices in which they differ."""
    axes = differing(points)
    return [", ".join(each.choices[axis] for axis in axes or each.choices) for each in points]


def mean_share(seeds: list[Json], share: str, low: str, high: str) -> str:
    """Return the mean of a share over training seeds, with its interval and its deviation."""
    mean, least, most = (
        float(np.mean([each[key] for each in seeds])) for key in (share, low, high)
    )
    return percent_interval(mean, least, most, deviation([each[share] for each in seeds]))
