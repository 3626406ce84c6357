"""A study by its name: the one place that asks which kind it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logicgen.study.experiment import plan_experiment
from logicgen.study.plan import plan
from logicgen.study.point import Plan
from logicgen.study.study_recipe import read_study, read_tables


def open_study(name: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan of a shipped study, or of the one in a TOML file.

    changes: values to use instead of the file's, by dotted key.
    Raises LogicgenError, in one line that names file, key and what is allowed.
    """
    path, tables = read_tables(name, changes)
    if "experiment" not in tables:
        return plan(read_study(name, changes))
    return plan_experiment(tables, path.stem, str(path))
