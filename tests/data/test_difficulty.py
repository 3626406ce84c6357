"""The difficulty of examples: columns of data sets."""

from __future__ import annotations

import json
import shutil
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from logicgen.data.opening import load_dataset
from logicgen.data.shards import schema_of
from logicgen.errors import LogicgenError
from logicgen.files import sha256
from logicgen.solvers.word import Word
from logicgen.tasks import load_task
from logicgen.tasks.propositional import Propositional
from logicgen.tasks.task import symbols_of
from tests.data.data_sets import COPYING, InThisProcess, contents, make
from tests.solvers.test_positions import by_definition
from tests.tasks.test_problems import LTL

RATED = ("all-true", "nearest")


@pytest.fixture
def rated(monkeypatch):
    """Propositional problems are rated by two controls, one of which needs solved problems."""
    monkeypatch.setattr("logicgen.data.generate.open_pool", InThisProcess)
    monkeypatch.setattr(Propositional, "rated", RATED)


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """A data set of LTL, of which a quarter is unsatisfiable."""
    folder = tmp_path_factory.mktemp("traces") / "d"
    make(folder, {**LTL, "region": {"symbols": [1, 2], "length": [5, 15]}, "unsatisfiable": 0.25})
    return load_dataset(folder)


def test_positions_and_depth_of_traces(traces):
    rows = traces.table("train").to_pylist()
    for row in rows:
        formula = traces.task.decode_problem(row["problem"])
        if row["answer"] == "0":
            assert row["positions"] is None
            assert by_definition(formula, 3) is None
        else:
            assert row["positions"] == by_definition(formula, 5)
        depths = {}
        for node in reversed(list(formula.preorder())):
            below = max((depths[each] for each in node.operands), default=0)
            depths[node] = below + (node.token in ("X", "U"))
        assert row["depth"] == depths[formula]
    assert {row["positions"] for row in rows} >= {None, 1, 2}
    assert {row["depth"] for row in rows} >= {0, 1, 2, 3}


def test_the_share_of_satisfying_assignments(made):
    data = load_dataset(made)
    for row in data.table("train").to_pylist():
        formula = data.task.decode_problem(row["problem"])
        names = symbols_of(row["problem"])
        right = [
            Word((frozenset(name for name, value in zip(names, values, strict=True) if value),), 0)
            for values in product([True, False], repeat=len(names))
        ]
        held = sum(word.truth(formula)[formula][0] for word in right)
        assert row["satisfying"] == held / 2 ** len(names)


def test_controls_that_are_right(rated, tmp_path):
    make(tmp_path / "d", {"grid": None, "sizes": {"train": 200}})
    data = load_dataset(tmp_path / "d")
    task, right = data.task, 0
    for row in data.table("train").to_pylist():
        problem = task.decode_problem(row["problem"])
        answer = " ".join(f"{name} 1" for name in symbols_of(row["problem"]))
        holds = task.check(problem, task.decode_answer(answer)).is_right
        assert row["controls"] == ("all-true" if holds else "")
        right += holds
    assert 0 < right < 200


def test_a_task_without_difficulty_keeps_its_columns(tmp_path):
    make(tmp_path / "d", {**COPYING, "grid": None})
    names = ["problem", "answer", "symbols", "length", "alpha_class"]
    assert load_dataset(tmp_path / "d").table("train").column_names == names


def replace(folder, split, change):
    """Change the table of each shard of a split, and write its checksum."""
    description = json.loads((folder / "dataset.json").read_text())
    for shard in description["splits"][split]["shards"]:
        path = folder / shard["file"]
        pq.write_table(change(pq.read_table(path)), path)
        shard |= {"bytes": path.stat().st_size, "sha256": sha256(path)}
    (folder / "dataset.json").write_text(json.dumps(description))


def test_folders_without_difficulty_are_read(made, tmp_path):
    old = shutil.copytree(made, tmp_path / "old")
    replace(old, "test", lambda table: table.drop_columns(["satisfying"]))
    new, found = load_dataset(made).table("test"), load_dataset(old).table("test")
    assert found.equals(new.drop_columns(["satisfying"]))
    with pytest.raises(LogicgenError, match="has no column satisfying, as data sets of earlier"):
        load_dataset(old).table("test", ["satisfying"])


@pytest.mark.parametrize("value", [-0.5, 1.5, float("nan"), float("inf")])
def test_a_share_that_cannot_be_is_refused(value, made, tmp_path):
    copy = shutil.copytree(made, tmp_path / "d")

    def change(table):
        values = pa.array([value] * len(table), pa.float64())
        place = table.column_names.index("satisfying")
        return table.set_column(place, "satisfying", values)

    replace(copy, "test", change)
    with pytest.raises(LogicgenError, match=f"satisfying is {value} in a row; allowed: 0 to 1"):
        load_dataset(copy).table("test")


def test_the_bytes_do_not_depend_on_workers(traces, tmp_path):
    recipe = traces.recipe.model_dump()
    make(tmp_path / "two", recipe, workers=2)
    assert contents(tmp_path / "two") == contents(traces.folder)


def test_the_card_names_the_columns(rated, tmp_path):
    make(tmp_path / "d", {"grid": None, "sizes": {"train": 20}})
    card = (tmp_path / "d" / "README.md").read_text()
    assert "| `satisfying` | The share of assignments" in card
    assert "| `controls` | The controls whose first answer is right" in card
    schema = pq.read_schema(tmp_path / "d" / "train" / "00000.parquet")
    assert schema.names == schema_of(load_task("propositional")).names
    assert pc.any(pc.equal(pq.read_table(tmp_path / "d" / "train")["controls"], "all-true"))
