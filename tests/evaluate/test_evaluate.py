"""Scores: what they count, that they follow from the predictions alone, and how they look."""

from __future__ import annotations

import csv
import json

import matplotlib.image
import numpy as np
import pytest

from logicgen.data.dataset import load_dataset
from logicgen.data.generate import generate
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.evaluate.cells import VERDICTS, Scores
from logicgen.evaluate.report import percent, write_report
from logicgen.evaluate.score import (
    About,
    predict_and_verify,
    read_predictions,
    write_predictions,
)
from logicgen.evaluate.wilson import wilson_interval
from logicgen.vocabulary import Vocabulary


class Parrot:
    """Stands in for a model: knows the stored answers, and spoils some of them on purpose.

    Answers to problems of even length are stored ones; of odd length, by embedding seed: empty, not
    parsing, contradictory.
    """

    def __init__(self, data, split):
        self.task_name = data.task.name
        self.vocabulary = data.vocabulary
        self.alphabet = 2
        encoded = data.encoded(split)
        self.answers = {
            tuple(encoded.problems[i]): encoded.answers[i].tolist() for i in range(len(encoded))
        }
        self.calls = []

    def predict(self, problems, symbols, embedding_seed, max_length, grammar=None):
        self.calls.append((symbols, embedding_seed, max_length, len(problems)))
        spoilt = ["", "0 0", "a 1 a 0"][embedding_seed]
        assert all(max(p) < len(self.vocabulary) + symbols for p in problems)
        return [
            self.answers[tuple(p)] if len(p) % 2 == 0 else self.vocabulary.encode(spoilt)
            for p in problems
        ]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "some"
    recipe = DataRecipe.model_validate(
        {
            "task": "propositional",
            "problem": {"operators": {"!": 1, "&": 1}},
            "region": {"symbols": [1, 2], "length": [2, 5]},
            "grid": {"symbols": [1, 4], "length": [1, 9], "per_cell": 4},
        }
    )
    generate(recipe, folder, name="some")
    return load_dataset(folder)


@pytest.fixture(scope="module")
def about(data):
    return About("propositional", "parrot", "some", "grid", (1, 2), (2, 5))


@pytest.fixture(scope="module")
def table(data, about):
    return predict_and_verify(Parrot(data, "grid"), data, about, embedding_seeds=3)


def test_verdicts(data, table):
    for row in table.to_pylist():
        if row["length"] % 2 == 0 or row["prediction"] == row["answer"]:  # "" for a tautology
            assert row["verdict"] == "exact"
        else:
            expected = ["incorrect", "invalid", "invalid"][row["embedding_seed"]]
            assert row["verdict"] == expected
        assert row["edit_distance"] is None
    assert table.num_rows == 3 * data.splits["grid"]


def test_a_model_gets_as_many_symbol_rows_as_the_problem_needs(data, about):
    parrot = Parrot(data, "grid")
    predict_and_verify(parrot, data, about)
    assert sorted(symbols for symbols, *_ in parrot.calls) == [2, 3, 4]


def test_everything_follows_from_the_predictions(table, about, tmp_path):
    write_predictions(table, tmp_path)
    again, known = read_predictions(tmp_path)
    assert known == about
    assert again.equals(table)
    summary = write_report(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text()) == json.loads(json.dumps(summary))
    rows = table.to_pylist()
    region = {
        "inside_training_region": lambda few, usual: few and usual,
        "beyond_training_region": lambda few, usual: not (few and usual),
        "beyond_in_symbols_only": lambda few, usual: not few and usual,
        "beyond_in_length_only": lambda few, usual: few and not usual,
    }
    for name, belongs in region.items():
        chosen = [row for row in rows if belongs(row["symbols"] <= 2, 2 <= row["length"] <= 5)]
        score = summary[name]
        assert sum(score[v] for v in VERDICTS) == len(chosen) == 3 * score["examples"]
        right = [row["verdict"] in ("exact", "correct") for row in chosen]
        assert score["accuracy"] == pytest.approx(np.mean(right))
        bounds = wilson_interval(score["accuracy"], score["examples"])
        assert (score["accuracy_low"], score["accuracy_high"]) == bounds
        exact = [row["verdict"] == "exact" for row in chosen]
        bounds = wilson_interval(np.mean(exact), len(chosen) // 3)
        assert (score["exact_match_low"], score["exact_match_high"]) == pytest.approx(bounds)
    cells = list(csv.DictReader((tmp_path / "cells.csv").open()))
    assert len(cells) == len({(row["symbols"], row["length"]) for row in rows})
    for cell in cells:
        place = (int(cell["symbols"]), int(cell["length"]))
        here = [row["verdict"] for row in rows if (row["symbols"], row["length"]) == place]
        assert float(cell["accuracy"]) == pytest.approx(here.count("exact") / len(here))
        low, high = wilson_interval(float(cell["accuracy"]), len(here) // 3)
        assert (float(cell["accuracy_low"]), float(cell["accuracy_high"])) == (low, high)
        assert [int(cell[v]) for v in VERDICTS] == [here.count(v) for v in VERDICTS]
    assert sum(int(cell["examples"]) for cell in cells) == summary["overall"]["examples"]


def test_the_same_predictions_give_the_same_files(table, tmp_path):
    for name in ("one", "two"):
        write_predictions(table, tmp_path / name)
        write_report(tmp_path / name)
    pictures = [f"{n}.{k}" for n in ("heatmap", "symbols", "lengths") for k in ("png", "svg")]
    for file in ("summary.json", "cells.csv", "predictions.parquet", *pictures):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_heat_map_is_green_where_answers_are_right_and_red_where_not(table, tmp_path):
    write_predictions(table, tmp_path)
    write_report(tmp_path)
    picture = matplotlib.image.imread(tmp_path / "heatmap.png")[:, :, :3]
    red, green = picture[:, :, 0], picture[:, :, 1]
    share_green = np.mean((green > red + 0.2) & (green > 0.3))
    share_red = np.mean((red > green + 0.2) & (red > 0.3))
    assert share_green > 0.1
    assert share_red > 0.1
    assert (tmp_path / "heatmap.svg").read_text().startswith("<?xml")


def test_mean_and_deviation_over_seeds(table, about):
    scores = Scores.of(table, about)
    half = scores.select(np.arange(len(scores)) >= 0).score()
    assert half.accuracy == scores.score().accuracy
    verdicts = table.to_pylist()
    by_seed = [
        np.mean([r["verdict"] == "exact" for r in verdicts if r["embedding_seed"] == seed])
        for seed in range(3)
    ]
    assert scores.score().exact == (pytest.approx(np.mean(by_seed)), pytest.approx(np.std(by_seed)))


def test_percent_says_the_interval_and_the_deviation_over_seeds():
    score = {"accuracy": 0.973, "accuracy_std": 0.0, "accuracy_low": 0.968, "accuracy_high": 0.977}
    assert percent(score) == "97.3% [96.8, 97.7]"
    assert percent({**score, "accuracy_std": 0.004}) == "97.3% ± 0.4 [96.8, 97.7]"


def test_limit_spreads_over_the_cells(data, about):
    table = predict_and_verify(Parrot(data, "grid"), data, about, limit=20)
    cells = {(row["symbols"], row["length"]) for row in table.to_pylist()}
    assert table.num_rows == len(cells) == 20
    again = predict_and_verify(Parrot(data, "grid"), data, about, limit=20)
    assert again.equals(table)


def test_edit_distance(tmp_path):
    recipe = DataRecipe.model_validate(
        {
            "task": "copying",
            "region": {"symbols": [1, 2], "length": [1, 4]},
            "grid": {"symbols": [2, 2], "length": [3, 4], "per_cell": 3},
        }
    )
    generate(recipe, tmp_path / "d", name="c")
    data = load_dataset(tmp_path / "d")
    parrot = Parrot(data, "grid")
    parrot.vocabulary.encode("a")
    about = About("copying", "parrot", "c", "grid", (1, 2), (1, 4))
    table = predict_and_verify(parrot, data, about)
    for row in table.to_pylist():
        assert row["edit_distance"] == (0 if row["length"] == 4 else 3)
        assert row["verdict"] == ("exact" if row["length"] == 4 else "incorrect")
    write_predictions(table, tmp_path)
    assert write_report(tmp_path)["overall"]["edit_distance"] == pytest.approx(1.5)


def test_a_model_of_another_task_or_vocabulary_is_refused(data, about):
    parrot = Parrot(data, "grid")
    parrot.task_name = "copying"
    with pytest.raises(LogicgenError, match=r"trained for copying.*evaluate it on data of its own"):
        predict_and_verify(parrot, data, about)
    parrot = Parrot(data, "grid")
    parrot.vocabulary = Vocabulary(("&",))
    with pytest.raises(LogicgenError, match="vocabulary"):
        predict_and_verify(parrot, data, about)


def test_missing_and_damaged_predictions_are_refused(tmp_path):
    with pytest.raises(LogicgenError, match="run logicgen evaluate first"):
        write_report(tmp_path)
    (tmp_path / "predictions.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(LogicgenError, match="damaged"):
        write_report(tmp_path)
