"""The base class of measures: it computes scores, and shows them in studies, comparisons and pages.

A module of a measure has an object `MEASURE` of a subclass of `Measure`. `logicgen study` and
`report` find it in the list of `logicgen/measures/__init__.py`.
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
"""A function that reports progress: called with the finished number and the total."""

Picture = tuple[str, str, "Figure"]
"""The name of a file, its caption, and the figure."""

# Up to this number of points, a figure has a panel or a line for each point.
MOST_NAMED = 12


class StudyRun(Protocol):
    """The training of a model of a study."""

    steps: int
    minutes: float
    parameters: int
    validation: dict[str, list[tuple[int, float]]]  # steps and values by name


@dataclass(frozen=True)
class Subject:
    """A trained model of a study that is measured."""

    model: Model
    name: str
    run: Path  # the folder of its weights and its measurements
    device: str


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings of a measure at one point of a study, an entry for each training seed."""

    measure: str  # its name in the study
    settings: Any
    point: str
    choices: dict[str, str]  # names of the alternatives by axis
    data: str  # the name of the data set
    data_folder: str  # equal for equal data
    seeds: list[int]
    runs: Sequence[StudyRun]
    found: list[Json]

    @property
    def label(self) -> str:
        """Return the name of the point: all its choices."""
        return ", ".join(self.choices.values())


@dataclass(frozen=True)
class Ranking:
    """The scores of points, for a study with more points than a figure can distinguish.

    parts: scores on parts of the problems, by the name of the part.
    """

    called: str
    less_is_better: bool
    values: list[float]
    of: str  # name of the data
    parts: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """The printed lines of a comparison of measurements, and lines that name its files."""

    lines: list[str]
    files: list[str]


class Measure:
    """A measure. A subclass has a `name`. Each method that it overrides adds a use of the measure.

    Attributes:
        noun: name of a measurement in messages.
        file: a folder with this file contains a measurement; empty if folders are not recognized.
        of: kinds of data that can be measured: problems, sequences or ciphers.
    """

    name: ClassVar[str]
    noun: ClassVar[str] = "a measurement"
    file: ClassVar[str] = ""
    of: ClassVar[tuple[str, ...]] = ("problems", "sequences", "ciphers")

    # Methods for one trained model

    def check(
        self, settings: Any, data: DataRecipe | CorpusRecipe, model: ModelRecipe, where: str
    ) -> None:
        """Raise LogicgenError if the measure cannot be taken with these data or this model."""

    def take(self, settings: Any, data: Dataset | Corpus, subject: Subject) -> Json:
        """Return the findings as plain data. Write files below the folder of the run."""
        raise LogicgenError(f"{self.name}: a study cannot take this measure")

    # Methods for the points of a study

    def check_found(self, found: Json) -> None:
        """Raise ValueError, KeyError, TypeError or IndexError if findings have a wrong shape."""
        self.headline(found)

    def headline(self, found: Json) -> tuple[float, bool]:
        """Return the number that ranks models, and whether less is better."""
        raise LogicgenError(f"{self.name}: a study cannot take this measure")

    def says(self, points: list[Findings]) -> str:
        """Return the sentence above the table."""
        return "In brackets: 95% intervals over problems or sequences."

    def columns(self, points: list[Findings], prefix: str) -> list[dict[str, str]]:
        """Return the columns of the Markdown table for each point: values by head.

        prefix: text before heads that do not contain the name of the measure.
        """
        return [{} for _ in points]

    def lines(self, found: Json) -> list[Json]:
        """Return one trained model's lines of `results.csv`, a line for each part of the data."""
        return []

    def rows(self, points: list[Findings]) -> list[list[tuple[int, Json]]]:
        """Return each point's lines of `results.csv` with facts of the training.

        Each line follows the index of its training seed.
        """
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
        """Return the figures of all measures of this class in a study.

        measured: for each of these measures, the findings at each point of the study.
        """
        return []

    def ranking(self, points: list[Findings]) -> Ranking | None:
        """Return the scores of over `MOST_NAMED` points; None if the measure has no ranking."""
        return None

    # Methods for folders

    def compare(
        self, folders: list[Path], out: Path, *, workers: int, progress: Counted
    ) -> Comparison:
        """Write a comparison of measurements.

        Raises LogicgenError if they are not of the same data.
        """
        raise LogicgenError(f"{folders[0]}: {self.noun} cannot be compared")

    def write_page(
        self, folder: Path, path: Path | None, *, workers: int, progress: Counted
    ) -> Path:
        """Write the page of a measurement and return its path, by default `report.html` there."""
        raise LogicgenError(f"{folder}: {self.noun} has no page")


def check_reads(called: str, model: ModelRecipe, where: str) -> None:
    """Raise LogicgenError if a model is not a language model; `called`: name of the measure."""
    if not model.network.reads_sequences:
        raise LogicgenError(
            f"{where}: measure {called}: this measure needs a language model; a model that answers"
            " problems is scored by [evaluate] on a data set of problems"
        )


def _trained(run: StudyRun) -> Json:
    return {"steps": run.steps, "minutes": run.minutes, "parameters": run.parameters}


def differing(points: list[Findings]) -> list[str]:
    """Return the axes on which points differ."""
    return [axis for axis in points[0].choices if len({each.choices[axis] for each in points}) > 1]


def labels(points: list[Findings]) -> list[str]:
    """Return the labels of points in one figure: the choices in which they differ."""
    axes = differing(points)
    return [", ".join(each.choices[axis] for axis in axes or each.choices) for each in points]


def mean_share(seeds: list[Json], share: str, low: str, high: str) -> str:
    """Return the mean share over training seeds as text, with its interval and deviation.

    share, low, high: keys of a finding.
    """
    mean, least, most = (
        float(np.mean([each[key] for each in seeds])) for key in (share, low, high)
    )
    return percent_interval(mean, least, most, deviation([each[share] for each in seeds]))
