"""The base class of measures: a measure scores trained models, and presents the scores.

The module of a measure has an object `MEASURE` of a subclass of `Measure`. `logicgen study` and
`logicgen report` find the modules in the list `MEASURES` of `logicgen/measures/__init__.py`.

A study trains models with several combinations of settings, which are called points. The settings
that a study varies, such as the data set and the model recipe, are its axes. A combination has one
alternative of each axis. For each combination, a model is trained for each training seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from logicgen.callbacks import Progress
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
"""A JSON object."""

Picture = tuple[str, str, "Figure"]
"""A figure with the name of its file, without suffix, and its caption: (name, caption, figure)."""

# If a study has at most MOST_NAMED combinations of settings, a figure shows each of them.
MOST_NAMED = 15


class StudyRun(Protocol):
    """The facts of one training run of a study."""

    steps: int
    minutes: float
    parameters: int
    validation: dict[str, list[tuple[int, float]]]  # pairs (step, score), by name of the score


@dataclass(frozen=True)
class Subject:
    """A trained model of a study that is measured."""

    model: Model
    name: str
    run: Path  # folder of the model's weights and measurements
    device: str


@dataclass(frozen=True, eq=False)
class Findings:
    """The results of a measure for one combination of settings of a study.

    `seeds`, `runs` and `found` have an entry for each training seed.
    """

    measure: str  # the measure's name in the study
    settings: Any
    point: str  # name of the combination of settings
    choices: dict[str, str]  # name of the chosen alternative, by axis
    data: str  # the name of the data set
    data_folder: str  # folder of the data set
    seeds: list[int]
    runs: Sequence[StudyRun]
    found: list[Json]  # results of `Measure.take`

    @property
    def label(self) -> str:
        """Return the name of the combination of settings: its choices, joined by commas."""
        return ", ".join(self.choices.values())


@dataclass(frozen=True)
class Ranking:
    """Scores that rank the combinations of settings of a study, if a figure cannot show them all.

    Attributes:
        called: name of the score.
        values: the score of each combination.
        of: name of the data.
        parts: for the name of each part of the problems, the score of each combination on the part.
    """

    called: str
    less_is_better: bool
    values: list[float]
    of: str
    parts: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison: lines to print, and lines that name the written files."""

    lines: list[str]
    files: list[str]


class Measure:
    """The base class of measures. A subclass has a `name`, and overrides the methods that it needs.

    Attributes:
        noun: name of a measurement in messages.
        file: name of the file by which a folder with a measurement is recognized, or empty.
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
        """Measure a trained model and return the results as JSON data.

        The method writes its files below the folder of the training run.
        """
        raise LogicgenError(f"{self.name}: a study cannot take this measure")

    # Methods for the results of a study

    def check_found(self, found: Json) -> None:
        """Check the shape of results that were read from a file.

        Raises ValueError, KeyError, TypeError or IndexError if a value is missing or has a wrong
        type.
        """
        self.headline(found)

    def headline(self, found: Json) -> tuple[float, bool]:
        """Return the score that ranks models, and whether a lower score is better."""
        raise LogicgenError(f"{self.name}: a study cannot take this measure")

    def says(self, points: list[Findings]) -> str:
        """Return the sentences above the table of a study's results."""
        return "In brackets: 95% intervals over problems or sequences."

    def columns(self, points: list[Findings], prefix: str) -> list[dict[str, str]]:
        """Return a row of the Markdown table for each combination of settings: text by column.

        prefix: beginning of column heads that do not contain the name of the measure.
        """
        return [{} for _ in points]

    def lines(self, found: Json) -> list[Json]:
        """Return one trained model's rows of `results.csv`.

        There is a row for each part of the data.
        """
        return []

    def rows(self, points: list[Findings]) -> list[list[tuple[int, Json]]]:
        """Return the rows of `results.csv` for each combination of settings.

        A row is a pair (index of the training seed, values by column). The values are the
        training seed, facts of the training, and a row of `lines`.
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
        """Return the figures of a study.

        measured: the results for each combination of settings of the study. If the study takes this
            measure several times, on other data for example, there is an entry for each time.
        """
        return []

    def ranking(self, points: list[Findings]) -> Ranking | None:
        """Return scores that rank the combinations of settings of a large study.

        A study is large if it has more than `MOST_NAMED` combinations. Returns None if the measure
        has no ranking.
        """
        return None

    # Methods for folders

    def compare(
        self, folders: list[Path], out: Path, *, workers: int, progress: Progress
    ) -> Comparison:
        """Compare the measurements in folders, and write the comparison into the folder `out`.

        Raises LogicgenError if the measurements are not of the same data.
        """
        raise LogicgenError(f"{folders[0]}: {self.noun} cannot be compared")

    def write_page(
        self, folder: Path, path: Path | None, *, workers: int, progress: Progress
    ) -> Path:
        """Write the HTML page of the measurement in a folder; return the path of the page.

        path: path of the page; by default `report.html` in the folder.
        """
        raise LogicgenError(f"{folder}: {self.noun} has no page")


def check_reads(called: str, model: ModelRecipe, where: str) -> None:
    """Raise LogicgenError if a model is not a language model.

    called: name of the measure in the message.
    where: beginning of the message.
    """
    if not model.network.reads_sequences:
        raise LogicgenError(
            f"{where}: measure {called}: this measure needs a language model; a model that answers"
            " problems is scored by [evaluate] on a data set of problems"
        )


def _trained(run: StudyRun) -> Json:
    return {"steps": run.steps, "minutes": run.minutes, "parameters": run.parameters}


def differing(points: list[Findings]) -> list[str]:
    """Return the axes (settings of a study) in which these combinations of settings differ."""
    return [axis for axis in points[0].choices if len({each.choices[axis] for each in points}) > 1]


def labels(points: list[Findings]) -> list[str]:
    """Return a label for each combination of settings: the choices in which they differ."""
    axes = differing(points)
    return [", ".join(each.choices[axis] for axis in axes or each.choices) for each in points]


def mean_share(seeds: list[Json], share: str, low: str, high: str) -> str:
    """Return a text: the mean share over training seeds, its interval, and the standard deviation.

    share, low, high: keys of the share and of the bounds of its interval in each entry of `seeds`.
    """
    mean, least, most = (
        float(np.mean([each[key] for each in seeds])) for key in (share, low, high)
    )
    return percent_interval(mean, least, most, deviation([each[share] for each in seeds]))
