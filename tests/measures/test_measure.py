"""The list of measures, and a measure of one file that studies, comparisons and pages show."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from logicgen.cli.group import group
from logicgen.errors import LogicgenError
from logicgen.measures import MEASURES, compared, find_measure, measure_in
from logicgen.study.plan import plan
from logicgen.study.recipe import read_study
from logicgen.study.records import Record
from logicgen.study.trial import make_data

AUTOMATON = """
task = "automaton"
[corpus]
symbols = 3
states = 2
expected_length = 1e3
length = 30
train = 20
validation = 5
test = 10
"""
STUDY = """
[base]
model = "language-trigram"
data = "{folder}/automaton.toml"
[[measure]]
name = "next"
measure = "letters"
settings = {{ times = 2 }}
[[measure]]
name = "strings"
context = 20
[axes]
"network.order" = [2, 3]
"""


@pytest.fixture
def letters(monkeypatch):
    monkeypatch.setitem(MEASURES, "letters", "tests.measures.letters")
    return find_measure("letters")


@pytest.fixture
def study(letters, tmp_path):
    (tmp_path / "automaton.toml").write_text(AUTOMATON)
    path = tmp_path / "own.toml"
    path.write_text(STUDY.format(folder=tmp_path))
    return path


def test_everything_in_the_list_is_a_measure():
    for name in MEASURES:
        assert find_measure(name).name == name
    with pytest.raises(LogicgenError, match=r"here: no measure 'kyes'; did you mean keys\?"):
        find_measure("kyes", "here")


@pytest.mark.slow
def test_a_measure_of_one_file_is_seen_everywhere(letters, study, tmp_path):
    made = plan(read_study(str(study)))
    assert made.impossible == {}
    out = tmp_path / "out"
    trials = list(made.trials.values())
    trainings = [trial.training for trial in trials]
    assert make_data(trainings, out, workers=1, progress=lambda *_: None) == {}
    records = {}
    for trial in trials:
        found = trial.function(**trial.arguments, **made.context(trial, out, "cpu"))
        kept = {"machine": "abacus", "commit": None, "versions": {"logicgen": "0"}}
        records[trial.name] = Record(
            point=trial.name, arguments=trial.arguments, found=json.loads(json.dumps(found)), **kept
        )
    shares = {name: each.found["measures"]["next"]["share"] for name, each in records.items()}
    heads, _, *rows = made.write(records, out).splitlines()
    assert [each.strip() for each in heads.split("|")][2:4] == [
        "next letter",
        "strings: perplexity",
    ]
    assert all(f"{share:.4f}" in row for share, row in zip(shares.values(), rows, strict=True))
    with (out / "results.csv").open() as file:
        lines = [line for line in csv.DictReader(file) if line["measure"] == "next"]
    assert [float(line["share"]) for line in lines] == list(shares.values())
    assert records[trials[0].name].score == (shares[trials[0].name], False)

    folders = [str(path.parent) for path in sorted(out.glob("runs/*/next/letters.json"))]
    result = CliRunner().invoke(group, ["report", *folders, "-o", str(tmp_path / "both")])
    assert result.exit_code == 0, result.exception
    assert "next letter: " in result.output
    assert {*(tmp_path / "both" / "letters.txt").read_text().split()} == {
        f"{share:.4f}" for share in shares.values()
    }
    page = CliRunner().invoke(group, ["report", folders[0]])
    assert page.exit_code == 0, page.exception
    assert "Letters" in (out.parent / folders[0] / "report.html").read_text()


def test_data_that_a_measure_cannot_read(letters, study):
    text = study.read_text().replace('name = "next"', 'name = "next"\ndata = "lookup-mini"')
    study.write_text(text)
    (reason, *_) = plan(read_study(str(study))).impossible.values()
    assert "next: letters needs data that hold sequences; these data hold problems" in reason
    study.write_text(text.replace('"letters"', '"leters"'))
    (reason, *_) = plan(read_study(str(study))).impossible.values()
    assert "measure next: no measure 'leters'; did you mean letters?" in reason


def test_only_one_measure_is_compared(letters, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    (tmp_path / "a" / letters.file).write_text("{}")
    assert measure_in(tmp_path / "a") is letters
    assert measure_in(tmp_path / "b") is None
    with pytest.raises(LogicgenError, match=r"a is a measurement of letters, and .*b is not"):
        compared([tmp_path / "a", tmp_path / "b"])
    assert compared([tmp_path / "b", tmp_path / "b"]).name == "answers"
