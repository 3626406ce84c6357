"""The file of records: what is read back, what is refused, and files of the format before."""

from __future__ import annotations

import gzip
import json

import pytest

from logicgen.errors import LogicgenError
from logicgen.study.measure import EVALUATION
from logicgen.study.plan import plan
from logicgen.study.point import Plan, Point
from logicgen.study.record import FILE, digest, in_order, made_with, read_records, write_records
from logicgen.study.study_recipe import read_study
from logicgen.study.trial import run_folder
from tests.study.conftest import AXES, TINY, read_lines, write_lines
from tests.study.test_cell_tables import finished, scores_of


@pytest.fixture
def made(study_file):
    return plan(read_study(str(study_file())))


@pytest.fixture
def stored(made, tmp_path):
    """Two records as they are stored, to be changed; without their digests."""
    records = [finished(trial, scores_of(1)) for trial in made.trials.values()]
    write_records(records, tmp_path)
    contents = list(read_lines(tmp_path).values())
    for content in contents:
        del content["sha256"]
    return contents


def test_records_are_read_back_in_the_order_of_the_plan(made, stored, tmp_path):
    before = (tmp_path / FILE).read_bytes()
    records = read_records(made, tmp_path)
    assert list(records) == list(made.points)
    write_records(records.values(), tmp_path)
    assert (tmp_path / FILE).read_bytes() == before, "equal records are equal bytes"
    other = {**stored[0], "point": "of-another-study"}
    write_lines(tmp_path, [other, *reversed(stored)])
    records = read_records(made, tmp_path)
    assert [each.point for each in in_order(made, records)] == [*made.points, "of-another-study"]


def test_records_of_another_recipe_are_not_mixed_in(study_file, stored, tmp_path):
    path = study_file()
    text = path.read_text()
    path.write_text(text.replace('"training.steps" = 4', '"training.steps" = 5'))
    with pytest.raises(
        LogicgenError,
        match=r"trials.jsonl.gz: normal-0: made with another recipe"
        r" \(model.training.steps: 4 there, 5 now\): choose another folder with -o, or take its",
    ):
        read_records(plan(read_study(str(path))), tmp_path)
    path.write_text(text.replace("size = 600", "size = 700"))
    with pytest.raises(LogicgenError, match=r"trained\.recipe\.sizes"):
        read_records(plan(read_study(str(path))), tmp_path)


def test_a_key_that_a_later_version_added_does_not_make_a_trial_another(made, stored, tmp_path):
    for content in stored:
        del content["arguments"]["model"]["training"]["gradient_clip"]
    write_lines(tmp_path, stored)
    assert len(read_records(made, tmp_path)) == 2


def test_records_of_recipes_in_bf16_fit_the_same_recipes_in_auto(study_file, tmp_path):
    """Shipped recipes contained bf16 where they now contain auto; records and runs are kept."""

    def planned(precision):
        axes = f'[base.set]\n"training.precision" = "{precision}"\n'
        return plan(read_study(str(study_file(AXES, tiny=TINY.replace("[base.set]\n", axes)))))

    before, now = planned("bf16"), planned("auto")
    write_records([finished(trial, scores_of(1)) for trial in before.trials.values()], tmp_path)
    assert list(read_records(now, tmp_path)) == list(now.points)
    for name, trial in now.trials.items():
        assert run_folder(trial, tmp_path) == run_folder(before.trials[name], tmp_path)
    with pytest.raises(LogicgenError, match=r'model.training.precision: "bf16" there, "fp32" now'):
        read_records(planned("fp32"), tmp_path)


def test_the_page_of_a_study_names_the_precisions_of_its_trainings(made):
    records = [finished(trial, scores_of(1)) for trial in made.trials.values()]
    assert "Precision" not in made_with(records)
    for record, precision in zip(records, ("fp32", "bf16"), strict=True):
        record.found["training"] = {**record.found["training"], "precision": precision}
    assert "Precision: bf16; fp32." in made_with(records)


@pytest.mark.parametrize(
    "content", [b"", b"text", gzip.compress(b"{}", mtime=0)[:-9], gzip.compress(b"\xff", mtime=0)]
)
def test_a_damaged_file_is_named(made, tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(LogicgenError, match=r"trials.jsonl.gz: damaged: restore the file"):
        read_records(made, tmp_path)


@pytest.mark.parametrize("line", ["", "{", "{}", "[]", '{"point": "a"}', "7"])
def test_a_damaged_line_is_named(made, tmp_path, line):
    (tmp_path / FILE).write_bytes(gzip.compress(f"{line}\n".encode()))
    with pytest.raises(
        LogicgenError, match=r"trials.jsonl.gz: line 1 .*: damaged: .* its line out"
    ):
        read_records(made, tmp_path)


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
        read_records(made, tmp_path)


def test_a_record_that_was_changed_is_named(made, stored, tmp_path):
    changed = {**stored[1], "machine": "another", "sha256": digest(stored[1])}
    write_lines(tmp_path, [stored[0], changed])
    with pytest.raises(LogicgenError, match=r"line 2 \(hypercube-0\): damaged"):
        read_records(made, tmp_path)
    write_lines(tmp_path, [stored[0], stored[0]])
    with pytest.raises(LogicgenError, match=r"line 2 \(normal-0\): damaged"):
        read_records(made, tmp_path)


def old_trial(content):
    """A trial's file of the format before."""
    content = json.loads(json.dumps(content))
    trial, found = content["arguments"], content["found"]
    (asked,) = trial.pop("measures")
    evaluation = found["measures"][EVALUATION]
    del evaluation["kind"]
    about = {key: content[key] for key in ("machine", "commit", "versions")}
    old = {**trial, "evaluate": asked["measure"], "evaluated": asked["data"]}
    return {"trial": old, **about, **evaluation, "training": found["training"]}


def test_trials_of_the_old_format_are_taken_over(made, stored, tmp_path):
    records = read_records(made, tmp_path)
    (tmp_path / FILE).unlink()
    (tmp_path / "trials").mkdir()
    for content in stored:
        text = json.dumps(old_trial(content))
        (tmp_path / "trials" / f"{content['point']}.json").write_text(text)
    assert read_records(made, tmp_path) == records
    path = tmp_path / "trials" / "normal-0.json"
    path.write_text(path.read_text().replace('"steps": 4', '"steps": 3'))
    with pytest.raises(LogicgenError, match=r"normal-0.json: made .*steps: 3 there, 4 now.*delete"):
        read_records(made, tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"trial": {}, "about": {}}'])
def test_a_damaged_file_of_the_old_format_is_named(made, tmp_path, text):
    for folder in ("trials", "points"):
        path = tmp_path / folder / "normal-0.json"
        path.parent.mkdir()
        path.write_text(text)
        with pytest.raises(LogicgenError, match=r"normal-0.json: damaged: .* delete it"):
            read_records(made, tmp_path)
        path.unlink()


def test_points_of_the_old_format_are_taken_over(tmp_path):
    points = Plan("any", "any", {"a": Point("a", print, {"number": 2})})
    about = {"machine": "abacus", "commit": None, "versions": {"logicgen": "0"}}
    content = {"arguments": {"number": 2}, "found": {"square": 4}, **about}
    path = tmp_path / "points" / "a.json"
    path.parent.mkdir()
    path.write_text(json.dumps({**content, "sha256": digest(content)}))
    (record,) = read_records(points, tmp_path).values()
    assert record.found == {"square": 4}
    path.write_text(json.dumps({**content, "found": {"square": 5}, "sha256": digest(content)}))
    with pytest.raises(LogicgenError, match=r"a.json: damaged"):
        read_records(points, tmp_path)


def test_a_changed_point_is_refused_or_computed_again(tmp_path):
    points = Plan("any", "any", {"a": Point("a", print, {"number": 2})})
    about = {"machine": "abacus", "commit": None, "versions": {"logicgen": "0"}}
    content = {"point": "a", "arguments": {"number": 3}, "found": {"square": 9}, **about}
    write_lines(tmp_path, [content])
    with pytest.raises(
        LogicgenError, match=r"a: made with another recipe \(number: 3 there, 2 now"
    ):
        read_records(points, tmp_path)
    points.renew = True
    assert read_records(points, tmp_path) == {}
