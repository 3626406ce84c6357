"""Scores: what they count, that they follow from the predictions alone, and how they look."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import matplotlib.image
import numpy as np
import pyarrow.compute as pc
import pytest

from logicgen.data.data_recipe import DataRecipe
from logicgen.data.dataset import load_dataset
from logicgen.data.generate import generate
from logicgen.errors import LogicgenError
from logicgen.evaluate.predictions import (
    About,
    predict_and_verify,
    read_predictions,
    spread,
    write_predictions,
)
from logicgen.evaluate.scores import VERDICTS, Scores
from logicgen.evaluate.wilson import wilson_interval
from logicgen.report.evaluation_files import percent, write_report
from logicgen.report.heatmap import draw_heatmaps
from logicgen.vocabulary import Vocabulary
from tests.evaluate.conftest import Parrot


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
    assert known == replace(about, decoding=known.decoding)
    assert known.decoding["beams"] == 1
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


def test_cells_of_several_lengths(table, about, tmp_path):
    wide = replace(about, shortest=1, step=3)
    scores = Scores.of(table, wide)
    fine = Scores.of(table, about).by_cell()
    cells = scores.by_cell()
    assert {length for _, length in cells} == {1, 4, 7}
    for (symbols, length), score in cells.items():
        merged = [fine[symbols, n] for n in range(length, length + 3) if (symbols, n) in fine]
        assert score.examples == sum(part.examples for part in merged)
    draw_heatmaps([("wide", cells, wide)], "wide", tmp_path, "wide")
    assert (tmp_path / "wide.png").is_file()
    rows = table.filter(pc.equal(table["embedding_seed"], 0))
    chosen = rows.take(spread(rows, wide, len(cells)))
    places = zip(chosen["symbols"].to_pylist(), chosen["length"].to_pylist(), strict=True)
    assert {(s, n - (n - 1) % 3) for s, n in places} == set(cells)


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
