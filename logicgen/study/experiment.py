"""The plan of a published experiment: its points and report follow from its settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logicgen.declaration import validate
from logicgen.experiments import Experiment, ExperimentSettings, open_experiment
from logicgen.report.evaluation_files import write_table
from logicgen.report.tables import markdown_table
from logicgen.study.point import Json, Plan, Point
from logicgen.study.record import Record
from logicgen.study.report import write_page


@dataclass(kw_only=True)
class ExperimentPlan(Plan):
    """The plan of an experiment."""

    experiment: Experiment[Any]
    settings: ExperimentSettings

    def write(self, records: dict[str, Record], folder: Path) -> str:
        """Write the report; return its tables."""
        done = [records[name] for name in self.points]
        found = {record.point: record.found for record in done}
        report = self.experiment.report(self.settings, found)
        for name, rows in report.files.items():
            write_table(rows, folder / name)
        blocks = []
        for says, heads, lines in report.tables:
            blocks += [says, markdown_table(heads, lines)]
        pictures = report.pictures
        write_page(folder, report.title, report.about, self.command, blocks, pictures, done)
        return "\n\n".join(blocks)


def plan_experiment(tables: Json, name: str, where: str) -> ExperimentPlan:
    """Return the plan of the study `name` from the tables of its file.

    Raises LogicgenError naming `where` and the key for settings that the experiment has not.
    """
    experiment = open_experiment(str(tables["experiment"]), f"{where}: experiment")
    settings = validate(experiment.settings, tables, where)
    points = {
        point: Point(point, function, arguments)
        for point, (function, arguments) in experiment.points(settings).items()
    }
    return ExperimentPlan(
        name=name,
        command=f"logicgen study {name}",
        points=points,
        cpu=True,
        whole=True,
        experiment=experiment,
        settings=settings,
    )
