"""Published experiments, one file each, and their contract.

A study with `experiment = "NAME"` contains settings for `experiments/NAME.py`. The settings
determine the trials: a function and its arguments for each trial. The results of the functions
determine the report.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from pydantic import Field

from logicgen.errors import LogicgenError, nearest
from logicgen.recipes import Table

if TYPE_CHECKING:
    from logicgen.report.tables import Report

Json = dict[str, Any]
"""A tree of plain data, for JSON."""

Call = tuple[Callable[..., Json], Json]
"""A function at the top level of a module and its keyword arguments, plain data."""

Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class ExperimentSettings(Table):
    """The common settings of all experiments."""

    description: str = ""  # one line, for `logicgen list studies`
    experiment: str  # name of the module


S = TypeVar("S", bound=ExperimentSettings)


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """An experiment: `EXPERIMENT` of its module."""

    settings: type[S]  # the schema of the settings
    trials: Callable[[S], dict[str, Call]]  # trials by name, in order
    report: Callable[[S, dict[str, Json]], Report]  # arguments: settings, and results by trial


def open_experiment(name: str, where: str = "experiment") -> Experiment[Any]:
    """Return the experiment called `name`; the message of a LogicgenError begins with `where`."""
    names = [each.name for each in pkgutil.iter_modules(__path__) if each.name != "teachers"]
    if name not in names:
        raise LogicgenError(f"{where}: no experiment is called {name!r}; {nearest(name, names)}")
    experiment: Experiment[Any] = importlib.import_module(f"{__name__}.{name}").EXPERIMENT
    return experiment
