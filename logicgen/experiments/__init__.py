"""Published experiments, one file each, and their contract.

A study with `experiment = "NAME"` is settings for `experiments/NAME.py`: from these follow its
points (a function and its arguments each), and from what the functions returned its report.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from logicgen.errors import LogicgenError, nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Json = dict[str, Any]
Call = tuple[Callable[..., Json], Json]
"""A function at the top level of a module and its keyword arguments, plain data."""

Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class SettingsTable(BaseModel):
    """A table of settings: no unknown keys, no conversions ("12" is not a number)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class ExperimentSettings(SettingsTable):
    """What the settings of all experiments have.

    Attributes:
        description: one line, for `logicgen list studies`.
        experiment: its name, that of the module.
    """

    description: str = ""
    experiment: str


class LessonTable(SettingsTable):
    """How students learn: the keys that experiments change of a `train.students.Lesson`."""

    steps: Count
    starts: Count
    learning_rate: Annotated[Number, Field(gt=0)] = 0.1
    crispness: Annotated[Number, Field(ge=0, le=1e6)] = 0.0
    nudge: Annotated[Number, Field(ge=-100, le=100)] = 0.0

    def arguments(self, **changes: Any) -> Json:
        """Return all keys of the lesson, as an argument of a point."""
        from logicgen.train.students import Lesson

        return asdict(Lesson(**{**self.model_dump(), **changes}))


@dataclass(frozen=True)
class Report:
    """What an experiment found, for people and for programs.

    Attributes:
        tables: a sentence, column heads, rows.
        pictures: name of each file, what it shows, figure.
        files: rows of each table for programs, by the name of its CSV file.
    """

    title: str
    about: str
    tables: list[tuple[str, list[str], list[list[str]]]]
    pictures: list[tuple[str, str, Figure]]
    files: dict[str, list[Json]] = field(default_factory=dict)


S = TypeVar("S", bound=ExperimentSettings)


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """An experiment: `EXPERIMENT` of its module.

    Attributes:
        settings: the table its settings are checked against.
        points: its points by name, in order.
        report: from the settings and what was found at each point.
    """

    settings: type[S]
    points: Callable[[S], dict[str, Call]]
    report: Callable[[S, dict[str, Json]], Report]


def open_experiment(name: str, where: str = "experiment") -> Experiment[Any]:
    """Return the experiment of that name. Raises LogicgenError, with `where`, if there is none."""
    names = [each.name for each in pkgutil.iter_modules(__path__) if each.name[0] != "_"]
    if name not in names:
        raise LogicgenError(f"{where}: none is called {name!r}; {nearest(name, names)}")
    experiment: Experiment[Any] = importlib.import_module(f"{__name__}.{name}").EXPERIMENT
    return experiment
