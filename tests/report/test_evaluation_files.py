"""The files of an evaluation: that they follow from the predictions alone, and how they look."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.evaluation import read_predictions, write_figures, write_predictions
from logicgen.measures.predictions import predict_and_verify
from logicgen.measures.scores import VERDICTS
from logicgen.measures.statistics import wilson_interval
from tests.measures.conftest import Parrot


@pytest.fixture(scope="module")
def table(data, about):
    return predict_and_verify(Parrot(data, "grid"), data, about, embedding_seeds=3)


def test_everything_follows_from_the_predictions(table, about, tmp_path):
    write_predictions(table, tmp_path)
    again, known = read_predictions(tmp_path)
    assert known == replace(about, decoding=known.decoding)
    assert known.decoding["beams"] == 1
    assert again.equals(table)
    summary = write_figures(tmp_path)
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


@pytest.mark.slow
def test_the_same_predictions_give_the_same_files(table, tmp_path):
    for name in ("one", "two"):
        write_predictions(table, tmp_path / name)
        write_figures(tmp_path / name)
    pictures = [f"{n}.{k}" for n in ("heatmap", "symbols", "lengths") for k in ("png", "svg")]
    for file in ("summary.json", "cells.csv", "predictions.parquet", *pictures):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_heat_map_is_green_where_answers_are_right_and_red_where_not(table, tmp_path):
    write_predictions(table, tmp_path)
    write_figures(tmp_path)
    picture = matplotlib.image.imread(tmp_path / "heatmap.png")[:, :, :3]
    red, green = picture[:, :, 0], picture[:, :, 1]
    share_green = np.mean((green > red + 0.2) & (green > 0.3))
    share_red = np.mean((red > green + 0.2) & (red > 0.3))
    assert share_green > 0.1
    assert share_red > 0.1
    assert (tmp_path / "heatmap.svg").read_text().startswith("<?xml")


def test_cells_of_a_split_that_are_too_many_are_not_listed(about):
    few = replace(about, split_symbols=(1, 3), split_lengths=(2, 5), step=1)
    assert len([*few.split_cells()]) == 12
    many = replace(few, split_symbols=(0, 1_000_000_000))
    assert not [*many.split_cells()]


def test_missing_and_damaged_predictions_are_refused(tmp_path):
    with pytest.raises(LogicgenError, match="run logicgen evaluate first"):
        write_figures(tmp_path)
    (tmp_path / "predictions.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(LogicgenError, match="damaged"):
        write_figures(tmp_path)
