"""A study of tiny models, to be changed by tests."""

from __future__ import annotations

import csv
import gzip
import json

import pytest

from logicgen.study.plan import plan
from logicgen.study.recipe import read_study
from logicgen.study.records import FILE, Record, digest
from logicgen.study.results import TABLE

TINY = """
description = "Two trials"

[base]
model = "copying-interchangeable"
data = "copying-mini"
size = 600

[base.set]
"network.width" = 16
"network.heads" = 2
"network.encoder_layers" = 1
"network.decoder_layers" = 1
"network.feed_forward" = 16
"embedding.random_width" = 8
"training.steps" = 4
"training.batch_size" = 4
"training.warmup_steps" = 1

[evaluate]
split = "test"
limit = 6
"""

AXES = """
[axes]
"embedding.random_part" = ["normal", "hypercube"]
"""


@pytest.fixture
def study_file(tmp_path):
    """Writes a study, with the given axes in place of the two random parts; its path."""

    def write(axes=AXES, top="", tiny=TINY):
        path = tmp_path / "tiny.toml"
        path.write_text(top + tiny + axes)
        return path

    return write


def planned(path, changes=None):
    """Return the plan of a study of trainings in a file, or of a shipped one."""
    return plan(read_study(str(path), changes))


def read_table(folder):
    """Return the lines of the table for programs."""
    with (folder / TABLE).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_lines(folder, contents):
    """Write records as they are given, each with a digest that fits unless it has one."""
    lines = [json.dumps({"sha256": digest(each), **each}) for each in contents]
    (folder / FILE).write_bytes(gzip.compress("\n".join(lines).encode()))


def finished(trial, measures):
    """Return the record of a trial with these findings."""
    training = {"steps": 5, "minutes": 0.5, "parameters": 1000, "validation": {}}
    return Record(
        point=trial.name,
        arguments=trial.arguments,
        found={"training": training, "measures": measures},
        machine="abacus",
        commit="abc",
        versions={"logicgen": "0"},
    )
