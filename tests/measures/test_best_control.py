"""The best control of an evaluation: its right answers, and the comparison with the model."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from math import comb

import numpy as np
import pyarrow as pa
import pytest

import logicgen
from logicgen.measures import evaluation
from logicgen.measures.answers_figures import draw_evaluation
from logicgen.measures.best_control import comparison_lines, control_score, usual_controls
from logicgen.measures.control_answers import prepared
from logicgen.measures.evaluation import read_predictions, score_lines
from logicgen.measures.evaluation_page import evaluation_document
from logicgen.measures.scores import Scores, levels_of
from logicgen.measures.statistics import mcnemar
from logicgen.tasks import load_task
from tests.data.data_sets import opened

pytestmark = pytest.mark.usefixtures("undrawn")

CONTENT = {
    "task": "propositional",
    "problem": {"operators": {"!": 1, "&": 1, "|": 1, "^": 1, "<->": 1}},
    "region": {"symbols": [1, 4], "length": [7, 12]},
    "sizes": {"train": 60, "validation": 0, "test": 60},
}


@pytest.fixture(scope="module")
def logic(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("data") / "logic", CONTENT)


@pytest.fixture(scope="module")
def random_scores(logic, tmp_path_factory):
    """Return the folder and the summary of an evaluation of random answers, four for a problem."""
    folder = tmp_path_factory.mktemp("scores") / "random"
    settings = {"split": "test", "verified": 4}
    return folder, logicgen.evaluate("control:random", logic.folder, folder, **settings)


def right_answers(data, name, row, count):
    task, control = data.task, prepared(data, name)
    problem = task.decode_problem(row["problem"])
    answers = control.answers(row["problem"], count)
    return [task.check(problem, task.decode_answer(each)).is_right for each in answers]


@pytest.mark.slow
def test_columns_name_the_controls_that_are_right(logic, random_scores):
    table, about = read_predictions(random_scores[0])
    assert about.controls == usual_controls(logic.task)
    for row in table.to_pylist():
        for column, count in (("controls", 1), ("verified_controls", 4)):
            expected = [n for n in about.controls if any(right_answers(logic, n, row, count))]
            assert row[column].split() == expected


def test_the_summary_has_the_best_control_of_every_part(logic, random_scores):
    overall = random_scores[1]["overall"]
    shares = {
        name: np.mean(
            [right_answers(logic, name, row, 1)[0] for row in logic.table("test").to_pylist()]
        )
        for name in usual_controls(logic.task)
    }
    best = max(shares, key=lambda name: shares[name])
    assert overall["best_control"] == best
    assert overall["best_control_accuracy"] == pytest.approx(shares[best])
    assert overall["control_random"] == overall["accuracy"]
    assert overall["verified_control_random"] == overall["verified_accuracy"]
    assert overall["model_only"] + overall["control_only"] > 0
    (first, *_, plain, tried) = score_lines(random_scores[1])
    assert f"; best control: {best} {100 * shares[best]:.1f}%, verified: " in first
    assert plain.startswith("one answer: some control is right on each problem; only this system")
    assert tried.startswith("verified answers: ")


def test_the_page_and_the_cells_have_the_controls(logic, random_scores):
    document = evaluation_document(*read_predictions(random_scores[0]))
    heads = document.summary[0].heads
    assert "best control" in heads
    assert "best control, verified" in heads
    assert "controls" in [column["name"] for column in document.data["columns"]]
    cells = (random_scores[0] / "cells.csv").read_text().splitlines()
    assert "control_greedy" in cells[0].split(",")


def test_controls_can_be_left_out(logic, tmp_path):
    settings = {"split": "test", "controls": False}
    summary = logicgen.evaluate("control:random", logic.folder, tmp_path, **settings)
    assert "best_control" not in summary["overall"]
    assert not comparison_lines(summary["overall"])


def test_replies_are_compared_with_controls(logic, tmp_path):
    rows = logic.table("test").to_pylist()
    lines = [
        {"row": n, "completion": f"<answer>{r['answer']}</answer>"} for n, r in enumerate(rows)
    ]
    path = tmp_path / "replies.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    summary = logicgen.evaluate(path, logic.folder, tmp_path / "out", split="test")
    assert summary["overall"]["accuracy"] == 1
    assert summary["overall"]["control_only"] == 0
    missed = 1 - summary["overall"]["best_control_accuracy"]
    assert summary["overall"]["model_only"] == round(missed * len(rows))


def test_a_heat_map_has_a_panel_for_the_best_control(random_scores):
    table, about = read_predictions(random_scores[0])
    scores = Scores.of(table, about)
    best = random_scores[1]["overall"]["best_control"]
    titles = [
        axes.get_title(loc="left") for axes in draw_evaluation(scores.by_cell(), about, "t").axes
    ]
    assert titles[:3] == ["plain", "verified", f"control: {best}"]


def test_a_comparison_by_hand():
    right = np.array([True, True, False, False, True])
    controls = {
        "a": np.array([True, False, True, False, False]),
        "b": np.array([True, False, False, False, False]),
    }
    found = control_score(right, controls)
    assert found is not None
    assert (found.best, found.hard, found.model_only, found.control_only) == ("a", 3, 2, 1)
    assert found.hard_accuracy == pytest.approx(2 / 3)
    assert control_score(right, {}) is None
    assert control_score(right[:0], {"a": right[:0]}) is None
    everything = control_score(right, {"all": np.ones(5, bool)})
    assert everything is not None
    assert everything.hard_accuracy is None


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (5, 5), (3, 11), (40, 71), (0, 400)])
def test_mcnemar_against_exact_fractions(first, second):
    count = first + second
    tail = sum(comb(count, k) for k in range(min(first, second) + 1))
    assert mcnemar(first, second) == pytest.approx(float(min(1, 2 * Fraction(tail, 2**count))))
    assert mcnemar(second, first) == mcnemar(first, second)


def test_the_usual_controls_need_no_solved_problems():
    assert "nearest" not in usual_controls(load_task("propositional"))
    assert {"vote", "rule", "walk"} <= {*usual_controls(load_task("ltl"))}


def test_scores_by_difficulty_divide_all_answers(random_scores):
    folder, summary = random_scores
    levels = summary["by_difficulty"]
    overall = summary["overall"]
    assert summary["difficulty"] == "satisfying"
    assert sum(level["examples"] for level in levels) == overall["examples"]
    for name in ("accuracy", "verified_accuracy", "best_control_accuracy"):
        assert all(0 <= level[name] <= 1 for level in levels)
    right = sum(level["accuracy"] * level["examples"] for level in levels)
    assert right == pytest.approx(overall["accuracy"] * overall["examples"])
    table, _ = read_predictions(folder)
    for level in levels:
        low, high = 2.0 ** -(level["level"] + 1), 2.0 ** -level["level"]
        shares = [share for share in table["satisfying"].to_pylist() if low < share <= high]
        assert len(shares) == level["examples"]
    # Random values are right as often as the share of right assignments says.
    easy, hard = levels[0]["accuracy"], levels[-1]["accuracy"]
    assert easy > hard
    lines = "\n".join(score_lines(summary))
    assert "satisfying over 1/2" in lines
    assert {"difficulty.csv", "difficulty.png"} <= {path.name for path in folder.iterdir()}
    [first, *_] = (folder / "difficulty.csv").read_text().splitlines()
    assert first.startswith("satisfying,examples")


def test_a_map_of_difficulty_joins_lengths(random_scores, tmp_path, monkeypatch):
    folder, summary = random_scores
    shutil.copy(folder / "predictions.parquet", tmp_path)
    maps = []
    monkeypatch.setattr(evaluation, "MOST_LENGTHS", 3)
    monkeypatch.setattr(evaluation, "save", lambda *_: None)
    draw = lambda cells, *_: maps.append(cells)  # noqa: E731
    monkeypatch.setattr(evaluation, "draw_evaluation", draw)
    evaluation.write_figures(tmp_path)
    plain, hard = maps
    assert len({length for _, length in plain}) > 3
    assert 1 < len({length for _, length in hard}) <= 3
    assert sum(score.examples for score in hard.values()) == summary["overall"]["examples"]


@pytest.mark.parametrize(
    ("column", "values", "levels"),
    [
        (
            "satisfying",
            [1.0, 0.5, 0.51, 0.25, 2**-7, 2**-7 - 2**-20, 0.0, None],
            [0, 1, 0, 2, 7, 7],
        ),
        ("positions", [1, 3, None], [1, 3]),
    ],
)
def test_levels_of_difficulty(column, values, levels):
    found = levels_of(pa.table({column: values}), column)
    assert found.tolist() == levels + [-1] * (len(values) - len(levels))
