"""Evaluations side by side: the same examples in each column, and what cannot be compared."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.comparison import compare, markdown, paired_lines, read_runs
from logicgen.measures.evaluation import write_predictions
from logicgen.measures.scores import Scores
from logicgen.measures.statistics import wilson_interval
from tests.measures.predicted import ABOUT, predicted

PLACES = [(1, 2), (1, 3), (3, 2), (1, 5), (3, 5)]
RIGHT = {place: ["exact", "correct"] for place in PLACES}
FAILS = {(s, n): ["exact" if s < 3 else "invalid", "incorrect"] for s, n in PLACES}


@pytest.fixture
def evaluation(tmp_path):
    """A function that makes the folder of an evaluation."""

    def make(name, verdicts, **changes):
        folder = tmp_path / name / "grid"
        about = replace(ABOUT, **{"model": name, **changes})
        write_predictions(predicted(verdicts, about), folder)
        return folder

    return make


def test_table_and_figures(evaluation, tmp_path):
    folders = [evaluation("better", RIGHT), evaluation("worse", FAILS)]
    rows = compare(folders, tmp_path / "out")
    for name in ("heatmaps", "differences", "symbols"):
        for kind in ("png", "svg"):
            assert (tmp_path / "out" / f"{name}.{kind}").stat().st_size > 1000
    written = list(csv.DictReader((tmp_path / "out" / "comparison.csv").read_text().splitlines()))
    assert [{key: str(value) for key, value in row.items()} for row in rows] == written
    assert paired_lines(read_runs(folders)) == [
        "only worse is right on 0 problems, only better on 7 (McNemar p = 0.016)"
    ]
    found = {(row["model"], row["part"]): row for row in rows}
    expected = {  # right answers, examples
        ("better", "inside_training_region"): (4, 4),
        ("better", "beyond_in_symbols_only"): (2, 2),
        ("better", "beyond_in_length_only"): (2, 2),
        ("better", "overall"): (10, 10),
        ("worse", "inside_training_region"): (2, 4),
        ("worse", "beyond_in_symbols_only"): (0, 2),
        ("worse", "beyond_in_length_only"): (1, 2),
        ("worse", "overall"): (3, 10),
    }
    assert list(found) == list(expected)
    for key, (right, examples) in expected.items():
        row = found[key]
        assert (row["accuracy"], row["examples"]) == (right / examples, examples)
        bounds = wilson_interval(right / examples, examples)
        assert (row["accuracy_low"], row["accuracy_high"]) == bounds
    assert markdown(rows).splitlines() == [
        "| right answers | inside | more symbols | other lengths | all |",
        "| --- | --- | --- | --- | --- |",
        "| *examples* | 4 | 2 | 2 | 10 |",
        "| better | 100.0% [51.0, 100.0] | 100.0% [34.2, 100.0] | 100.0% [34.2, 100.0] "
        "| 100.0% [72.2, 100.0] |",
        "| worse | 50.0% [15.0, 85.0] | 0.0% [0.0, 65.8] | 50.0% [9.5, 90.5] "
        "| 30.0% [10.8, 60.3] |",
    ]


@pytest.mark.usefixtures("undrawn")
def test_columns_are_those_of_the_first_region(evaluation, tmp_path):
    """A baseline that was trained on more symbols is scored on the same examples."""
    folders = [
        evaluation("small", FAILS),
        evaluation("golden", RIGHT, symbols=(1, 4)),
    ]
    rows = compare(folders, tmp_path / "out")
    examples = {(row["part"], row["examples"]) for row in rows}
    assert len(examples) == 4
    assert "| golden (trained on 1-4 symbols, 2-3 tokens) |" in markdown(rows)
    assert "| small |" in markdown(rows)


@pytest.mark.usefixtures("undrawn")
def test_a_part_without_examples_has_no_column(evaluation, tmp_path):
    inside = {(1, 2): ["exact"]}
    rows = compare([evaluation("one", inside), evaluation("two", inside)], tmp_path / "out")
    assert markdown(rows).startswith("| right answers | inside | all |\n")


@pytest.mark.usefixtures("undrawn")
def test_an_interval_counts_examples_not_answers(evaluation, tmp_path):
    """Three embedding seeds answer the same ten problems: that is no more problems."""
    seeds = {(1, 2): [("exact", "exact", "incorrect")] * 10}
    rows = compare(
        [evaluation("seeds", seeds), evaluation("one", {(1, 2): ["exact"] * 10})], tmp_path / "out"
    )
    row = rows[0]
    assert (row["examples"], row["exact"], row["embedding_seeds"]) == (10, 20, 3)
    assert row["accuracy"] == pytest.approx(2 / 3)
    assert (row["accuracy_low"], row["accuracy_high"]) == wilson_interval(row["accuracy"], 10)
    assert "66.7% ± 57.7 [" in markdown(rows)


@pytest.mark.usefixtures("undrawn")
def test_models_of_one_name_are_called_by_their_folders(evaluation, tmp_path):
    folders = [evaluation("first", RIGHT, model="m"), evaluation("second", FAILS, model="m")]
    rows = compare(folders, tmp_path / "out")
    assert list(dict.fromkeys(row["model"] for row in rows)) == list(map(str, folders))


def test_models_trained_in_different_precisions_are_told_apart(evaluation):
    """The precision of a model of another program is not known."""
    names = {"a": "fp32", "b": "bf16", "c": None}
    folders = [evaluation(name, RIGHT, precision=each) for name, each in names.items()]
    labels = [label for label, _, _ in read_runs(folders)]
    assert labels == [
        "a (trained in fp32)",
        "b (trained in bf16)",
        "c (trained in unknown precision)",
    ]
    assert [label for label, _, _ in read_runs(folders[1:])] == ["b", "c"]


@pytest.mark.usefixtures("undrawn")
def test_what_cannot_be_compared(evaluation, tmp_path):
    good, out = evaluation("good", RIGHT), tmp_path / "out"
    (tmp_path / "empty").mkdir()

    def refused(other, *words):
        with pytest.raises(LogicgenError) as error:
            compare([good, other] if other else [good], out)
        for word in words:
            assert word in str(error.value)
        assert not out.exists()

    refused(None, "two evaluations or more")
    refused(good, "the same evaluation as", str(good))
    refused(good.parent / "." / "grid", "the same evaluation as")
    refused(tmp_path / "empty", str(tmp_path / "empty"), "run logicgen evaluate first")
    refused(good.parent, f"did you mean {good}?")
    refused(evaluation("d", RIGHT, data="else"), "data else", "data data", "the same data")
    refused(evaluation("s", RIGHT, split="test"), "split test", "split grid", "the same split")
    refused(evaluation("t", RIGHT, task="ltl"), "task ltl", "task propositional", "the same task")
    fewer = {place: ["exact"] for place in RIGHT}
    refused(evaluation("f", fewer), "different examples", "(5 and 10)", "--limit")


def test_scores_by_symbols_and_by_length():
    scores = Scores.of(predicted(FAILS), ABOUT)
    assert {k: s.accuracy[0] for k, s in scores.by_symbols().items()} == {1: 0.5, 3: 0.0}
    assert {k: s.examples for k, s in scores.by_length().items()} == {2: 4, 3: 2, 5: 4}
    assert list(scores.by_cell()) == sorted(PLACES)


def test_the_evaluations_themselves_are_left_alone(evaluation):
    folders = [evaluation("a", RIGHT), evaluation("b", FAILS)]
    with pytest.raises(LogicgenError, match="is one of the evaluations"):
        compare(folders, folders[1])
