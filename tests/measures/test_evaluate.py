"""Predictions, and what scores count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pytest

from logicgen.data import dataset
from logicgen.data.opening import load_dataset
from logicgen.data.shards import read_shard
from logicgen.errors import LogicgenError
from logicgen.files import sha256
from logicgen.measures.answers_figures import draw_heatmaps
from logicgen.measures.predictions import About, check_fits, predict_and_verify, spread
from logicgen.measures.scores import Scores
from logicgen.measures.statistics import wilson_interval
from logicgen.report.figure_style import save
from logicgen.tokens import Vocabulary
from tests.asking import only
from tests.data.data_sets import opened
from tests.measures.conftest import Parrot

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def table(data, about):
    return predict_and_verify(Parrot(data, "grid"), data, about, embedding_seeds=3)


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(data, table, about):
    model = Parrot(data, "grid")
    assert predict_and_verify(model, data, about, embedding_seeds=3, workers=2).equals(table)


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


def test_an_assignment_may_name_every_symbol(tmp_path):
    """Stored assignments are short, because one symbol satisfies each formula."""
    recipe = {
        "task": "propositional",
        "problem": {"operators": {"|": 1}, "assignment": "fewest"},
        "region": {"symbols": [1, 9], "length": [17, 17]},
        "sizes": {"train": 0, "validation": 0, "test": 20},
    }
    data = opened(tmp_path / "data", recipe)
    parrot = Parrot(data, "test")
    predict_and_verify(parrot, data, About("propositional", "parrot", "", "test", (1, 9), (1, 17)))
    examples = data.encoded("test")
    assert examples.answers.lengths.max() == 2
    assert {most for _, _, most, _ in parrot.calls} == {2 * examples.symbols.max()}
    assert examples.symbols.max() >= 6


def test_mean_and_deviation_over_seeds(table, about):
    scores = Scores.of(table, about)
    half = scores.select(np.arange(len(scores)) >= 0).score()
    assert half.accuracy == scores.score().accuracy
    verdicts = table.to_pylist()
    by_seed = [
        np.mean([r["verdict"] == "exact" for r in verdicts if r["embedding_seed"] == seed])
        for seed in range(3)
    ]
    assert scores.score().exact == (
        pytest.approx(np.mean(by_seed)),
        pytest.approx(np.std(by_seed, ddof=1)),
    )


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
    recipe = {
        "task": "copying",
        "region": {"symbols": [1, 2], "length": [1, 4]},
        "grid": {"symbols": [2, 2], "length": [3, 4], "per_cell": 3},
    }
    data = opened(tmp_path / "d", recipe, "c")
    parrot = Parrot(data, "grid")
    parrot.vocabulary.encode("a")
    about = About("copying", "parrot", "c", "grid", (1, 2), (1, 4))
    table = predict_and_verify(parrot, data, about)
    for row in table.to_pylist():
        assert row["edit_distance"] == (0 if row["length"] == 4 else 3)
        assert row["verdict"] == ("exact" if row["length"] == 4 else "incorrect")
    assert Scores.of(table, about).summary()["overall"]["edit_distance"] == pytest.approx(1.5)


def test_token_accuracy(tmp_path, monkeypatch):
    """Tokens of the stored answers at their place, over all tokens and by embedding seed."""
    recipe = {
        "task": "permutation",
        "problem": {"size": 3, "repeat": False},
        "region": {"symbols": [3, 4], "length": [12, 12], "step": 8},
        "grid": {"symbols": [3, 4], "length": [12, 12], "step": 8, "per_cell": 2},
    }
    data = opened(tmp_path / "d", recipe, "p")
    table = data.table("grid")
    answers = dict(zip(table["problem"].to_pylist(), table["answer"].to_pylist(), strict=True))
    parrot = Parrot(data, "grid")

    def predict(request):
        """Write what is right; without its first token; with its last token alone wrong."""
        written = []
        for problem in request.problems:
            *most, last = answers[data.vocabulary.decode(problem)].split()
            other = next(symbol for symbol in most if symbol != last)
            spoilt = ([*most, last, last], [*most[1:], last], [*most, other])[
                request.embedding_seed
            ]
            written.append(data.vocabulary.encode(" ".join(spoilt)))
        return only(written)

    monkeypatch.setattr(parrot, "predict", predict)
    about = About("permutation", "parrot", "p", "grid", (3, 4), (12, 12))
    found = predict_and_verify(parrot, data, about, embedding_seeds=3)
    assert found["right_tokens"].to_pylist() == [3] * 4 + [0] * 4 + [2] * 4
    scores = Scores.of(found, about)
    overall = scores.summary()["overall"]
    shares = [1, 0, 2 / 3]
    assert overall["token_accuracy"] == pytest.approx(np.mean(shares))
    assert overall["token_accuracy_std"] == pytest.approx(np.std(shares, ddof=1))
    bounds = wilson_interval(overall["token_accuracy"], 4)
    assert (overall["token_accuracy_low"], overall["token_accuracy_high"]) == pytest.approx(bounds)
    assert overall["accuracy"] == 0
    # Counted answers give the same, and what was counted before there was such a score has none.
    again = Scores.of_tally(scores.tally(), about)
    assert again.score() == scores.score()
    older = {k: v for k, v in scores.tally().items() if not k.endswith("_tokens")}
    joined = Scores.joined([scores, Scores.of_tally(older, about)])
    assert joined.score().token_accuracy is None
    assert joined.score().edit_distance == scores.score().edit_distance


def test_tokens_of_longer_answers_weigh_more(about):
    tally = {
        "embedding_seed": [0, 0],
        "symbols": [1, 1],
        "length": [2, 3],
        "correct": [1, 1],
        "right_tokens": [1, 2],
        "answer_tokens": [1, 5],
    }
    assert Scores.of_tally(tally, about).score().token_accuracy == (0.5, 0)


def test_a_model_of_another_task_or_vocabulary_is_refused(data, about):
    parrot = Parrot(data, "grid")
    parrot.task_name = "copying"
    with pytest.raises(LogicgenError, match=r"trained for copying.*evaluate it on data of its own"):
        predict_and_verify(parrot, data, about)
    parrot = Parrot(data, "grid")
    parrot.vocabulary = Vocabulary(("&",))
    with pytest.raises(LogicgenError, match=r"\(&\), but .* holds"):
        predict_and_verify(parrot, data, about)


def test_every_shard_is_read_and_hashed_once(data, about, monkeypatch):
    model = Parrot(data, "grid")
    hashed, read = [], []
    monkeypatch.setattr(dataset, "sha256", lambda path: hashed.append(path) or sha256(path))
    monkeypatch.setattr(
        dataset,
        "read_shard",
        lambda path, *others: read.append(path) or read_shard(path, *others),
    )
    again = load_dataset(data.folder)
    check_fits(model, again, about)
    predict_and_verify(model, again, about, embedding_seeds=2)
    assert sorted(read) == sorted(hashed) == sorted((data.folder / "grid").glob("*.parquet"))
