"""Points, their records, and the plan of a study: what the engine knows of declarations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from logicgen.experiments import Json
from logicgen.files import json_sha256
from logicgen.recipes import Table

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

RUNS = "runs"
"""Folder of data sets, weights, predictions and logs: large, and made anew from the recipes."""


@dataclass(frozen=True)
class Point:
    """A function and its arguments, by a name that is unique in the study.

    The arguments, plain data, are stored with what the function returns.
    """

    name: str
    function: Callable[..., Json]  # at the top level of a module: a worker process imports it
    arguments: Json
    after: str | None = None  # name of a point that has to be done before


# What a record of the wrong shape raises while it is read.
DAMAGE = (ValueError, KeyError, TypeError, IndexError)


class Record(Table):
    """A point that is done, and the machine, source tree and packages that it ran on."""

    point: str
    arguments: Json
    found: Json  # what the function returned
    machine: str
    commit: str | None
    versions: dict[str, str]

    def line(self) -> str:
        """Return the record as a line of JSON with its digest."""
        content = self.model_dump()
        return json.dumps({**content, "sha256": digest(content)})


def digest(content: Json) -> str:
    """Return the SHA-256 of all keys but `sha256`."""
    return json_sha256(content, without="sha256")


@dataclass
class Plan:
    """All points of a study in their order, and how they are compared, measured and shown.

    The engine knows no more of a study than this. Subclasses: `plan.TrainingPlan`, of trainings
    that differ in a few keys, and `plan.ExperimentPlan`.
    """

    name: str
    command: str  # that runs the study, for its report
    points: dict[str, Point] = field(default_factory=dict)
    impossible: dict[str, str] = field(default_factory=dict)  # reasons, by name of the point
    cpu: bool = False  # whether its functions use the CPU whatever the device
    whole: bool = False  # whether its report needs all points

    def check(self, record: Record) -> None:
        """Raise ValueError, KeyError, TypeError or IndexError where a report cannot be made."""

    def prepare(
        self, points: list[Point], folder: Path, *, workers: int, progress: Progress
    ) -> dict[str, str]:
        """Make what the points need in common; return why some cannot have it, by name."""
        return {}

    def context(self, point: Point, folder: Path, device: str) -> Json:
        """Return the arguments of a point that its record does not hold: folder, device."""
        return {}

    def score(self, record: Record) -> tuple[float, bool] | None:
        """Return the one number that ranks a point, and whether less is better, if there is one."""
        return None

    def write(self, records: dict[str, Record], folder: Path) -> str:
        """Write tables and figures from the records; return the tables for people.

        Each kind of plan writes its own. A plain Plan runs its points and keeps their records.
        """
        raise NotImplementedError(f"a {type(self).__name__} has points but no tables to write")
