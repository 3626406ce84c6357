"""Published experiments, with a module for each, and the interface that these modules implement.

A study is a TOML file for `logicgen study`. If it contains `experiment = "NAME"`, its other keys
are settings of the experiment in `experiments/NAME.py`. The experiment turns the settings into
trials: a function and its arguments for each trial. It turns the results of the functions into a
report.
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
"""A dictionary that can be written as JSON."""

Call = tuple[Callable[..., Json], Json]
"""A trial: a function at the top level of a module, and its keyword arguments."""

Positive = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class ExperimentSettings(Table):
    """The common settings of all experiments."""

    description: str = ""  # one line, for `logicgen list studies`
    experiment: str  # name of the module


S = TypeVar("S", bound=ExperimentSettings)


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """An experiment. Its module stores it as `EXPERIMENT`."""

    settings: type[S]  # the schema of the settings
    trials: Callable[[S], dict[str, Call]]  # turns settings into trials by name, in order
    # Turns settings, and the results by name of the trial, into the report
    report: Callable[[S, dict[str, Json]], Report]


def open_experiment(name: str, where: str = "experiment") -> Experiment[Any]:
    """Import the experiment called `name`.

    Raises LogicgenError if there is no such experiment; the message begins with `where`.
    """
    parts = ("grammars", "teachers")  # shared modules, not experiments
    names = [each.name for each in pkgutil.iter_modules(__path__) if each.name not in parts]
    if name not in names:
        raise LogicgenError(f"{where}: no experiment is called {name!r}; {nearest(name, names)}")
    experiment: Experiment[Any] = importlib.import_module(f"{__name__}.{name}").EXPERIMENT
    return experiment
