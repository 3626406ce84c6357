"""The plan of a published experiment: its points and report follow from its settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logicgen.experiments import Experiment, ExperimentSettings, Json, open_experiment
from logicgen.recipes import validate
from logicgen.report.page import write_page
from logicgen.study.point import Plan, Point, Record
from logicgen.study.record import made_with


@dataclass(kw_only=True)
class ExperimentPlan(Plan):
    """The plan of an experiment."""

    experiment: Experiment[Any]
    settings: ExperimentSettings

    def write(self, records: dict[str, Record], folder: Path) -> str:
        """Write the report; return its tables."""
        found = {name: records[name].found for name in self.points}
        report = self.experiment.report(self.settings, found)
        made = made_with([records[name] for name in self.points])
        write_page(report, folder, self.command, made)
        return "\n\n".join(report.blocks())


def plan_experiment(tables: Json, name: str, where: str) -> ExperimentPlan:
    """Return the plan of the study `name` from the tables of its file.

    Raises LogicgenError naming `where` and the key for settings that the experiment has not.
    """
    experiment = open_experiment(str(tables["experiment"]), f"{where}: experiment")
    settings = validate(experiment.settings, tables, where)
    return ExperimentPlan(
        name=name,
        command=f"logicgen study {name}",
        points={each: Point(each, *call) for each, call in experiment.points(settings).items()},
        cpu=True,
        whole=True,
        experiment=experiment,
        settings=settings,
    )
