"""Predictions, and what scores count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pytest

from logicgen.data.data_recipe import DataRecipe
from logicgen.data.dataset import load_dataset
from logicgen.data.generate import generate
from logicgen.errors import LogicgenError
from logicgen.evaluate.predictions import About, predict_and_verify, spread
from logicgen.evaluate.scores import Scores
from logicgen.report.figure_style import save
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


def test_cells_of_several_lengths(table, about, tmp_path):
    wide = replace(about, shortest=1, step=3)
    scores = Scores.of(table, wide)
    fine = Scores.of(table, about).by_cell()
    cells = scores.by_cell()
    assert {length for _, length in cells} == {1, 4, 7}
    for (symbols, length), score in cells.items():
        merged = [fine[symbols, n] for n in range(length, length + 3) if (symbols, n) in fine]
        assert score.examples == sum(part.examples for part in merged)
    save(draw_heatmaps([("wide", cells, wide)], "wide"), tmp_path, "wide")
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
    assert Scores.of(table, about).summary()["overall"]["edit_distance"] == pytest.approx(1.5)


def test_a_model_of_another_task_or_vocabulary_is_refused(data, about):
    parrot = Parrot(data, "grid")
    parrot.task_name = "copying"
    with pytest.raises(LogicgenError, match=r"trained for copying.*evaluate it on data of its own"):
        predict_and_verify(parrot, data, about)
    parrot = Parrot(data, "grid")
    parrot.vocabulary = Vocabulary(("&",))
    with pytest.raises(LogicgenError, match="vocabulary"):
        predict_and_verify(parrot, data, about)
