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
from logicgen.data.recipe import DataRecipe
from logicgen.data.shards import schema_of
from logicgen.errors import LogicgenError
from logicgen.files import sha256
from logicgen.solvers.word import Word
from logicgen.tasks import load_task
from logicgen.tasks.propositional import Propositional
from logicgen.tasks.task import symbols_of
from tests.data.data_sets import COPYING, InThisProcess, StopError, contents, make, stopping_pool
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
    with pytest.raises(LogicgenError, match=f"satisfying is {value} in a row; allowed: .* to 1"):
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


# -- the table [difficulty] of recipes ------------------------------------------------------------

HARD_TRACES = {
    **LTL,
    "difficulty": {"positions": [2, 3], "depth": [2, 3]},
    "problem": {"operators": {"!": 1, "&": 3, "X": 3, "U": 1}},
    "region": {"symbols": [1, 2], "length": [10, 13]},
    "sizes": {"train": 60, "validation": 10, "test": 10},
    "grid": {"symbols": [2, 2], "length": [10, 11], "per_cell": 3},
}


def test_every_split_meets_the_ranges(tmp_path):
    make(tmp_path / "d", HARD_TRACES)
    data = load_dataset(tmp_path / "d")
    assert all(data.splits.values())
    rows = [row for split in data.splits for row in data.table(split).to_pylist()]
    assert {row["positions"] for row in rows} == {2, 3}
    assert {row["depth"] for row in rows} == {2, 3}
    classes = [row["alpha_class"] for row in rows]
    assert len(set(classes)) == len(classes)
    make(tmp_path / "two", HARD_TRACES, workers=2)
    assert contents(tmp_path / "two") == contents(tmp_path / "d")


def test_controls_that_have_to_fail(rated, tmp_path):
    changes = {
        "difficulty": {"beyond": ["all-true"], "satisfying": [0, 0.25]},
        "region": {"symbols": [2, 4], "length": [8, 9]},
        "grid": None,
        "sizes": {"train": 100, "test": 10},
    }
    make(tmp_path / "d", changes)
    data = load_dataset(tmp_path / "d")
    rows = [row for split in data.splits for row in data.table(split).to_pylist()]
    assert len(rows) == 110
    assert {row["controls"] for row in rows} == {""}
    assert all(0 < row["satisfying"] <= 0.25 for row in rows)


def test_stopped_after_each_step_hard_problems_stay_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr("logicgen.data.generate.shard_size", lambda size: 20)
    monkeypatch.setattr("logicgen.data.generate.open_pool", InThisProcess)
    make(tmp_path / "whole", HARD_TRACES)

    left = []
    monkeypatch.setattr("logicgen.data.generate.open_pool", stopping_pool(left))
    for steps in range(4, 400, 9):
        left[:] = [None] * steps
        try:
            make(tmp_path / "d", HARD_TRACES)
            break
        except StopError:
            continue
    assert steps > 20
    assert contents(tmp_path / "d") == contents(tmp_path / "whole")


def test_the_table_is_in_the_description_only_if_it_is_given(made, tmp_path):
    assert "difficulty" not in load_dataset(made).description["recipe"]
    make(tmp_path / "d", {"difficulty": {"satisfying": [0, 0.5]}, "sizes": {"train": 9}})
    data = load_dataset(tmp_path / "d")
    assert data.description["recipe"]["difficulty"] == {"satisfying": [0, 0.5]}
    assert data.recipe.difficulty == {"satisfying": [0, 0.5]}


@pytest.mark.parametrize("splits", [{"grid": None}, {"sizes": {}}], ids=["region", "grid"])
def test_a_difficulty_that_no_problem_meets_ends_soon(splits, tmp_path, monkeypatch):
    monkeypatch.setattr("logicgen.data.pilot.DRAWS", 500)
    table = "grid" if "sizes" in splits else "region"
    with pytest.raises(
        LogicgenError,
        match=rf"^some: difficulty: no problem of 500 draws from the {table} meets this table: wid",
    ):
        make(tmp_path / "d", {**HARD_TRACES, "difficulty": {"positions": [9, 20]}, **splits})
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("ltl", {"satisfying": [0, 1]}, "'satisfying' is no column .* of ltl: it has positions, d"),
        ("copying", {"depth": [0, 1]}, "'depth' is no column of difficulty of copying: it has no"),
        ("ltl", {"depth": [3, 2]}, r"depth: the range \[3, 2\] is empty: the smaller number first"),
        ("ltl", {"depth": [2]}, r"depth: \[2\]: give the least and the greatest number"),
        ("ltl", {"depth": ["1", "2"]}, r"depth: .*: give the least and the greatest number"),
        (
            "ltl",
            {"positions": [0, 0]},
            r"positions: no problem is in \[0, 0\]: the numbers are from 1",
        ),
        ("ltl", {"depth": [1.2, 1.8]}, r"depth: no whole number is in \[1.2, 1.8\]: widen"),
        (
            "propositional",
            {"satisfying": [1.1, 2]},
            r"satisfying: no problem is in \[1.1, 2\]: .* to 1",
        ),
        ("propositional", {"satisfying": [0, 0]}, r"satisfying: no problem is in \[0, 0\]: the n"),
        ("propositional", {"beyond": ["all-tru"]}, "beyond: 'all-tru' is no control .* all-true"),
        (
            "copying",
            {"beyond": ["vote"]},
            "beyond: 'vote' is no control of copying: known: c",
        ),
    ],
)
def test_tables_that_are_wrong(task, changes, message, tmp_path):
    lines = [f"{key} = {json.dumps(value)}" for key, value in changes.items()]
    with pytest.raises(LogicgenError, match=rf"recipe.toml: difficulty: {message}"):
        DataRecipe.read(str(written(tmp_path, task, lines)))


def test_unsatisfiable_problems_have_no_positions(tmp_path):
    path = str(written(tmp_path, "ltl", ["positions = [1, 2]"]))
    with pytest.raises(LogicgenError, match="unsatisfiable problems have no positions: leave out"):
        DataRecipe.read(path, {"unsatisfiable": 0.5})
    DataRecipe.read(str(written(tmp_path, "ltl", ["depth = [1, 2]"])), {"unsatisfiable": 0.5})


def written(folder, task, lines):
    """Write a recipe with a table [difficulty]; return its path."""
    region = "symbols = [2, 3]\nlength = [5, 9]"
    text = "\n".join([f'task = "{task}"\n[region]\n{region}\n[difficulty]', *lines])
    (folder / "recipe.toml").write_text(text)
    return folder / "recipe.toml"
