"""Tables and figures from the files of trials, made up here, whose answers are known."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.evaluate.scores import Scores
from logicgen.study.plan import plan
from logicgen.study.results import rows, write_results
from logicgen.study.study_recipe import read_study
from logicgen.study.summary import path_of, read_results, write_summary
from tests.evaluate.predicted import ABOUT, predicted

CELLS = [(symbols, length) for symbols in (1, 2, 3) for length in (2, 3, 4)]
REST = {
    "training": {"steps": 5, "minutes": 0.5, "parameters": 1000},
    "machine": "abacus",
    "commit": "abc",
    "versions": {"logicgen": "0"},
}


def scores_of(right, distances=None, seeds=1):
    """So many of the four answers of each cell are right."""
    verdicts = {
        cell: [("exact",) * seeds] * right + [("incorrect",) * seeds] * (4 - right)
        for cell in CELLS
    }
    table = predicted(verdicts, distances=distances and dict.fromkeys(CELLS, distances))
    return Scores.of(table, ABOUT)


def finished(trial, scores, folder, **rest):
    about = {"about": vars(ABOUT)}
    write_summary(trial, scores, {**about, **REST, **rest}, folder)


def test_a_tally_has_all_that_scores_follow_from():
    rng = np.random.default_rng(0)
    names = ["exact", "correct", "incorrect", "invalid", "unknown"]
    verdicts = {
        cell: [tuple(rng.choice(names, 3)) for _ in range(int(rng.integers(1, 6)))]
        for cell in CELLS
    }
    distances = {cell: int(rng.integers(0, 9)) for cell in CELLS}
    for given in (None, distances):
        scores = Scores.of(predicted(verdicts, distances=given), ABOUT)
        again = Scores.of_tally(json.loads(json.dumps(scores.tally())), ABOUT)
        assert again.seeds == scores.seeds == 3
        assert len(again) == len(scores)
        assert _flat(again.score()) == pytest.approx(_flat(scores.score()))
        cells, before = again.by_cell(), scores.by_cell()
        assert cells.keys() == before.keys()
        for cell in cells:
            assert _flat(cells[cell]) == pytest.approx(_flat(before[cell]))
        for name, mask in scores.parts().items():
            there = again.select(again.parts()[name]).score()
            assert _flat(there) == pytest.approx(_flat(scores.select(mask).score()))


def _flat(score):
    return {key: float(value) for key, value in score.flat().items()}


def test_training_seeds_are_averaged_and_examples_counted_once(study_file, tmp_path):
    made = plan(read_study(str(study_file(top="seeds = [0, 1]"))))
    for name, trial in made.trials.items():
        finished(trial, scores_of(4 if name.endswith("0") else 2), tmp_path)
    results = read_results(made, tmp_path)
    assert list(results) == list(made.trials)
    found = rows(list(results.values()))
    assert [row.point for row in found] == ["normal", "hypercube"]
    for row in found:
        score = row.scores.score()
        assert row.seeds == 2
        assert score.examples == 4 * len(CELLS)
        assert score.accuracy == pytest.approx((0.75, 0.25))
        assert score.counts["exact"] == 6 * len(CELLS)


def test_few_points_are_set_side_by_side(study_file, tmp_path):
    made = plan(read_study(str(study_file())))
    for trial, right in zip(made.trials.values(), (1, 3), strict=True):
        covariance = {
            "data": "d",
            "split": "test",
            "overall": {"strings": {"mean": right / 4}},
            "by_symbols": {str(s): {"strings": {"mean": right / 4}} for s in (1, 2)},
        }
        finished(trial, scores_of(right), tmp_path, covariance=covariance)
    table = write_results(made, list(read_results(made, tmp_path).values()), tmp_path)
    lines = table.splitlines()
    assert len(lines) == 4
    assert "25.0% [" in lines[2]
    assert "75.0% [" in lines[3]
    assert "| 0.750 |" in lines[3]
    with (tmp_path / "results.csv").open() as file:
        written = list(csv.DictReader(file))
    overall = {
        line["point"]: float(line["accuracy"]) for line in written if line["part"] == "overall"
    }
    assert overall == {"normal": 0.25, "hypercube": 0.75}
    report = (tmp_path / "results.md").read_text()
    assert table in report
    pictures = re.findall(r"\]\((.*?\.png)\)", report)
    assert pictures == ["heatmaps.png", "differences.png", "symbols.png", "covariance.png"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert "abacus" in report


MANY = """
[axes]
"embedding.random_width" = [2, 4, 8, 12]
"embedding.normalize_parts" = [true, false]
"embedding.random_part" = ["normal", "hypercube"]
"""


def test_of_many_points_the_best_and_what_goes_with_being_good(study_file, tmp_path):
    made = plan(read_study(str(study_file(MANY))))
    for trial in made.trials.values():
        width = trial.model.embedding.random_width
        finished(trial, scores_of(1, distances=20 - width), tmp_path)
    table = write_results(made, list(read_results(made, tmp_path).values()), tmp_path)
    best = table.splitlines()[2]
    assert best.startswith("| 12 |")
    assert "| 8.00 |" in best
    report = (tmp_path / "results.md").read_text()
    assert "| embedding.random_width | 16 | -1.00 |" in report
    assert "choices.png" in report
    assert "heatmaps.png" not in report
    with (tmp_path / "correlations.csv").open() as file:
        found = {line["choice"]: float(line["spearman"]) for line in csv.DictReader(file)}
    assert found["embedding.random_width"] == pytest.approx(-1)
    assert found["embedding.random_part: normal"] == pytest.approx(0)


def test_the_same_trials_give_the_same_files(study_file, tmp_path):
    made = plan(read_study(str(study_file(MANY))))
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        for number, trial in enumerate(made.trials.values()):
            finished(trial, scores_of(number % 5), folder)
        write_results(made, list(read_results(made, folder).values()), folder)
    names = [sorted(p.relative_to(f) for p in f.rglob("*") if p.is_file()) for f in folders]
    assert names[0] == names[1]
    assert len(names[0]) > 16
    for name in names[0]:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name


def test_trials_of_another_recipe_are_not_mixed_in(study_file, tmp_path):
    made = plan(read_study(str(study_file())))
    for trial in made.trials.values():
        finished(trial, scores_of(1), tmp_path)
    path = study_file()
    path.write_text(path.read_text().replace('"training.steps" = 4', '"training.steps" = 5'))
    with pytest.raises(
        LogicgenError, match=r"normal-0.json: .*model.training.steps: 4 there, 5 now"
    ):
        read_results(plan(read_study(str(path))), tmp_path)
    path.write_text(
        path.read_text().replace('steps" = 5', 'steps" = 4').replace("size = 600", "size = 700")
    )
    with pytest.raises(LogicgenError, match=r"trained\.recipe\.sizes"):
        read_results(plan(read_study(str(path))), tmp_path)


def test_a_key_that_a_later_version_added_does_not_make_a_trial_another(study_file, tmp_path):
    made = plan(read_study(str(study_file())))
    for trial in made.trials.values():
        finished(trial, scores_of(1), tmp_path)
        path = path_of(trial.name, tmp_path)
        stored = json.loads(path.read_text())
        del stored["trial"]["model"]["training"]["gradient_clip"]
        path.write_text(json.dumps(stored))
    assert len(read_results(made, tmp_path)) == 2


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"trial": {}, "about": {}}'])
def test_a_damaged_file_is_named(study_file, tmp_path, text):
    made = plan(read_study(str(study_file())))
    path = path_of("normal-0", tmp_path)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(LogicgenError, match=r"normal-0.json: damaged"):
        read_results(made, tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("training", {"steps": 4, "minutes": 1.0}),
        ("training", {"steps": "many", "minutes": 1.0, "parameters": 9}),
        ("covariance", {}),
        ("machine", None),
        ("versions", [1]),
    ],
)
def test_a_file_with_a_damaged_part_is_named(study_file, tmp_path, key, value):
    made = plan(read_study(str(study_file())))
    finished(made.trials["normal-0"], scores_of(1), tmp_path)
    path = path_of("normal-0", tmp_path)
    assert len(read_results(made, tmp_path)) == 1
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(LogicgenError, match=r"normal-0.json: damaged"):
        read_results(made, tmp_path)


def test_nothing_to_show(study_file, tmp_path):
    with pytest.raises(LogicgenError, match="no trial is done"):
        write_results(plan(read_study(str(study_file()))), [], tmp_path)
