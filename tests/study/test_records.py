"""The file of records: what is read back and what is refused."""

from __future__ import annotations

import gzip

import pytest

from logicgen.errors import LogicgenError
from logicgen.study.recipe import EVALUATION
from logicgen.study.records import FILE, digest, in_order, made_with, read_records, write_records
from logicgen.study.trial import Trial
from tests.study.conftest import planned, write_lines
from tests.study.made_results import read_lines
from tests.study.test_cell_tables import answered, scores_of


@pytest.fixture
def made(study_file):
    return planned(study_file())


@pytest.fixture
def stored(made, tmp_path):
    """Two records as they are stored, to be changed; without their digests."""
    records = [answered(trial, scores_of(1)) for trial in made.trials.values()]
    write_records(records, tmp_path)
    contents = list(read_lines(tmp_path).values())
    for content in contents:
        del content["sha256"]
    return contents


def test_records_are_read_back_in_the_order_of_the_plan(made, stored, tmp_path):
    before = (tmp_path / FILE).read_bytes()
    records = read_records(made.trials, tmp_path)
    assert list(records) == list(made.trials)
    write_records(records.values(), tmp_path)
    assert (tmp_path / FILE).read_bytes() == before, "equal records are equal bytes"
    other = {**stored[0], "point": "of-another-study"}
    write_lines(tmp_path, [other, *reversed(stored)])
    records = read_records(made.trials, tmp_path)
    assert [each.point for each in in_order(made.trials, records)] == [
        *made.trials,
        "of-another-study",
    ]


def test_records_of_another_recipe_are_not_mixed_in(study_file, stored, tmp_path):
    path = study_file()
    text = path.read_text()
    path.write_text(text.replace('"training.steps" = 4', '"training.steps" = 5'))
    with pytest.raises(
        LogicgenError,
        match=r"trials.jsonl.gz: normal-0: made with another recipe"
        r" \(model.training.steps: 4 there, 5 now\): choose another folder with -o, or take its",
    ):
        read_records(planned(path).trials, tmp_path)
    path.write_text(text.replace("size = 600", "size = 700"))
    with pytest.raises(LogicgenError, match=r"trained\.recipe\.sizes"):
        read_records(planned(path).trials, tmp_path)


def test_the_page_of_a_study_names_the_precisions_of_its_trainings(made):
    records = [answered(trial, scores_of(1)) for trial in made.trials.values()]
    assert "Precision" not in made_with(records)
    for record, precision in zip(records, ("fp32", "bf16"), strict=True):
        record.found["training"] = {**record.found["training"], "precision": precision}
    assert "Precision: bf16; fp32." in made_with(records)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", ""),
        (b"text", ""),
        (gzip.compress(b"{}", mtime=0)[:-9], ""),
        (gzip.compress(b"\xff", mtime=0), ""),
        *(
            (gzip.compress(f"{line}\n".encode(), mtime=0), r"line 1 .*: ")
            for line in ("", "{", "{}", "[]", '{"point": "a"}', "7")
        ),
    ],
)
def test_a_damaged_file_or_line_is_named(made, tmp_path, content, place):
    (tmp_path / FILE).write_bytes(content)
    remedy = ":.* its line out" if place else "; restore the file, or delete it"
    with pytest.raises(LogicgenError, match=f"trials.jsonl.gz: {place}damaged{remedy}"):
        read_records(made.trials, tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("found", {}),
        ("machine", None),
        ("versions", [1]),
        ("found.training", {"steps": 4, "minutes": 1.0}),
        ("found.training", {"steps": "many", "minutes": 1.0, "parameters": 9}),
        ("found.measures", {}),
        (f"found.measures.{EVALUATION}.covariance", {}),
        (f"found.measures.{EVALUATION}.tally", {}),
    ],
)
def test_a_record_with_a_damaged_part_is_named(made, stored, tmp_path, key, value):
    *place, name = key.split(".")
    table = stored[0]
    for part in place:
        table = table[part]
    table[name] = value
    write_lines(tmp_path, stored)
    with pytest.raises(LogicgenError, match=r"normal-0\)?: damaged: restore the file"):
        read_records(made.trials, tmp_path)


def test_a_record_that_was_changed_is_named(made, stored, tmp_path):
    changed = {**stored[1], "machine": "another", "sha256": digest(stored[1])}
    write_lines(tmp_path, [stored[0], changed])
    with pytest.raises(LogicgenError, match=r"line 2 \(hypercube-0\): damaged"):
        read_records(made.trials, tmp_path)
    write_lines(tmp_path, [stored[0], stored[0]])
    with pytest.raises(LogicgenError, match=r"line 2 \(normal-0\): damaged"):
        read_records(made.trials, tmp_path)


def test_a_changed_point_is_refused(tmp_path):
    trials = {"a": Trial("a", print, {"number": 2})}
    about = {"machine": "abacus", "commit": None, "versions": {"logicgen": "0"}}
    content = {"point": "a", "arguments": {"number": 3}, "found": {"square": 9}, **about}
    write_lines(tmp_path, [content])
    with pytest.raises(
        LogicgenError, match=r"a: made with another recipe \(number: 3 there, 2 now"
    ):
        read_records(trials, tmp_path)
