"""Points, their records, and the plan of a study: what the engine knows of declarations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from logicgen.checksum import json_sha256
from logicgen.declaration import Table
from logicgen.experiments import Json

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

RUNS = "runs"
"""Folder of data sets, weights, predictions and logs: large, and made anew from the recipes."""


@dataclass(frozen=True)
class Point:
    """A function and its arguments, by a name that is unique in the study.

    Attributes:
        function: at the top level of a module, since a worker process imports it.
        arguments: keyword arguments, plain data; stored with what the function returns.
        after: name of a point that has to be done before.
    """

    name: str
    function: Callable[..., Json]
    arguments: Json
    after: str | None = None


# What a record of the wrong shape raises while it is read.
DAMAGE = (ValueError, KeyError, TypeError, IndexError)


class Record(Table):
    """A point that is done.

    Attributes:
        point: its name.
        arguments, found: the function's arguments, and what it returned.
        machine, commit, versions: of the computer, the source tree and the packages that it ran on.
    """

    point: str
    arguments: Json
    found: Json
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
    that differ in a few keys, and `experiment.ExperimentPlan`.

    Attributes:
        command: the command line that runs the study, for its report.
        impossible: why other points cannot be computed, by name.
        cpu: whether its functions use the CPU whatever the device.
        whole: whether its report needs all points.
        renew: whether a point whose stored arguments are others is computed again, instead of
            refused.
    """

    name: str
    command: str
    points: dict[str, Point] = field(default_factory=dict)
    impossible: dict[str, str] = field(default_factory=dict)
    cpu: bool = False
    whole: bool = False
    renew: bool = False

    def upgraded(self, arguments: Json) -> Json:
        """Return stored arguments as this version writes them, to compare them."""
        return arguments

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
        """Write tables and figures from the records; return the tables for people."""
        raise NotImplementedError
