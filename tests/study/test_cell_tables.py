"""Tables and figures of right answers by cell, from records made up here."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.cells import point_score
from logicgen.measures.scores import Scores
from logicgen.study.recipe import EVALUATION
from logicgen.study.records import read_records, write_records
from logicgen.study.results import by_point, measured_of
from tests.measures.predicted import ABOUT, predicted
from tests.study.conftest import finished, planned, read_table

GRID = [(symbols, length) for symbols in (1, 2, 3) for length in (2, 3, 4)]


def scores_of(right, distances=None, seeds=1):
    """So many of the four answers of each cell are right."""
    verdicts = {
        cell: [("exact",) * seeds] * right + [("incorrect",) * seeds] * (4 - right) for cell in GRID
    }
    if isinstance(distances, int):
        distances = dict.fromkeys(GRID, distances)
    table = predicted(verdicts, distances=distances)
    return Scores.of(table, ABOUT)


def answered(trial, scores, **rest):
    """Return the record of a trial with such answers."""
    evaluation = {"kind": "cells", "about": vars(ABOUT), "tally": scores.tally(), **rest}
    return finished(trial, {EVALUATION: evaluation})


def test_a_tally_has_all_that_scores_follow_from():
    rng = np.random.default_rng(0)
    names = ["exact", "correct", "incorrect", "invalid", "unknown"]
    verdicts = {
        cell: [tuple(rng.choice(names, 3)) for _ in range(int(rng.integers(1, 6)))] for cell in GRID
    }
    distances = {cell: int(rng.integers(0, 9)) for cell in GRID}
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
    made = planned(study_file(top="seeds = [0, 1]"))
    write_records(
        [
            answered(trial, scores_of(4 if name.endswith("0") else 2))
            for name, trial in made.trials.items()
        ],
        tmp_path,
    )
    records = read_records(made.trials, tmp_path)
    assert list(records) == list(made.trials)
    ((_, found),) = measured_of(by_point(records.values()))
    assert [point.point for point in found] == ["normal", "hypercube"]
    for point in found:
        score = point_score(point)
        assert len(point.found) == 2
        assert score.examples == 4 * len(GRID)
        assert score.accuracy == pytest.approx((0.75, 0.125**0.5))
        assert score.counts["exact"] == 6 * len(GRID)


def test_few_points_are_set_side_by_side(study_file, tmp_path):
    made = planned(study_file())
    records = {}
    for trial, right in zip(made.trials.values(), (1, 3), strict=True):
        covariance = {
            "data": "d",
            "split": "test",
            "overall": {"strings": {"mean": right / 4}},
            "by_symbols": {str(s): {"strings": {"mean": right / 4}} for s in (1, 2)},
        }
        records[trial.name] = answered(trial, scores_of(right), covariance=covariance)
    table = made.write(records, tmp_path)
    lines = table.splitlines()
    assert len(lines) == 4
    assert "25.0% [" in lines[2]
    assert "75.0% [" in lines[3]
    assert "| 0.750 |" in lines[3]
    overall = {
        line["point"]: float(line["accuracy"])
        for line in read_table(tmp_path)
        if line["part"] == "overall"
    }
    assert overall == {"normal": 0.25, "hypercube": 0.75}
    report = (tmp_path / "results.md").read_text()
    assert table in report
    pictures = re.findall(r"\]\((.*?\.png)\)", report)
    assert pictures == ["heatmaps.png", "differences.png", "symbols.png", "covariance.png"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert "abacus" in report
    assert "budgets" not in report


@pytest.mark.slow
def test_unequal_budgets_are_named(study_file, tmp_path):
    made = planned(study_file())
    records = {trial.name: answered(trial, scores_of(1)) for trial in made.trials.values()}
    first = records["normal-0"]
    training = {**first.found["training"], "steps": 1500}
    found = {**first.found, "training": training}
    model = first.arguments["model"]
    model = {**model, "training": {**model["training"], "batch_size": 7}}
    update = {"found": found, "arguments": {**first.arguments, "model": model}}
    records["normal-0"] = first.model_copy(update=update)
    made.write(records, tmp_path)
    report = (tmp_path / "results.md").read_text()
    said = "**The budgets differ: 5 to 1,500 training steps, 4 to 7 examples in a batch.**"
    assert said in report


MANY = """
[axes]
"embedding.random_width" = [2, 4, 8, 12]
"embedding.normalize_parts" = [true, false]
"embedding.random_part" = ["normal", "hypercube"]
"""


@pytest.mark.slow
def test_of_many_points_the_best_and_what_goes_with_being_good(study_file, tmp_path):
    made = planned(study_file(MANY))
    records = {
        name: answered(
            trial, scores_of(1, distances=20 - trial.training.model.embedding.random_width)
        )
        for name, trial in made.trials.items()
    }
    table = made.write(records, tmp_path)
    best = table.splitlines()[2]
    assert best.startswith("| 12 |")
    assert "| 8.00 |" in best
    report = (tmp_path / "results.md").read_text()
    assert "| embedding.random_width | 16 | -1.00 |" in report
    assert "choices.png" in report
    assert "heatmaps.png" not in report
    assert re.search(r"random_part: normal \| 8 \| [+-]0.00 ", report)


@pytest.mark.slow
def test_what_counts_at_trained_lengths_need_not_count_at_others(study_file, tmp_path):
    made = planned(study_file(MANY))
    records = {}
    for name, trial in made.trials.items():
        embedding = trial.training.model.embedding
        low, high = ABOUT.length
        distances = {
            (symbols, length): 20 - embedding.random_width
            if low <= length <= high
            else 5 + 5 * embedding.normalize_parts
            for symbols, length in GRID
        }
        assert len(set(distances.values())) == 2
        records[name] = answered(trial, scores_of(1, distances))
    made.write(records, tmp_path)
    report = (tmp_path / "results.md").read_text()
    heads = ["choice", "points"]
    heads += [
        f"{where}{of}" for where in ("trained lengths", "other lengths") for of in OF_A_LENGTH
    ]
    assert f"| {' | '.join(heads)} |" in report
    rows = [line.split(" | ") for line in report.splitlines()]
    found = {row[0].strip("| "): (row[2], row[5]) for row in rows if len(row) == len(heads)}
    assert found["embedding.random_width"] == ("-1.00", "+0.00")
    assert found["embedding.normalize_parts: true"] == ("+0.00", "+1.00")
    pictures = re.findall(r"\]\((.*?\.png)\)", report)
    assert pictures == [
        "choices.png",
        "correlations-trained-lengths.png",
        "correlations-other-lengths.png",
    ]


OF_A_LENGTH = ("", ", chance", ", p")


def test_nothing_to_show(study_file, tmp_path):
    with pytest.raises(LogicgenError, match="no trial is done"):
        planned(study_file()).write({}, tmp_path)


@pytest.mark.slow
def test_an_axis_with_the_name_of_a_result_has_a_column_of_its_own(study_file, tmp_path):
    axes = """
    [axes]
    examples = [{ name = "few" }, { name = "all", data_set = { "sizes.train" = 300 } }]
    loss = [{ name = "adacos" }]
    """
    made = planned(study_file(axes))
    made.write({name: answered(t, scores_of(1)) for name, t in made.trials.items()}, tmp_path)
    rows = read_table(tmp_path)
    assert [*rows[0]][:4] == ["point", "axis.examples", "loss", "seeds"]
    found = {(row["axis.examples"], row["examples"]) for row in rows if row["part"] == "overall"}
    assert found == {("few", "36"), ("all", "36")}
