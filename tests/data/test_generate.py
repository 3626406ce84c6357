"""Data sets: verified, different, and the same bytes however they are made."""

from __future__ import annotations

import pytest

import logicgen
from logicgen.data.opening import load_dataset
from logicgen.errors import LogicgenError
from logicgen.tasks.problems import fingerprint
from logicgen.tasks.task import symbols_of
from tests.data.data_sets import contents, make


def test_every_row_is_right_and_in_its_cell(made):
    data = load_dataset(made)
    for split in data.splits:
        for row in data.table(split).to_pylist():
            assert logicgen.verify("propositional", row["problem"], row["answer"]) == "correct"
            assert len(row["problem"].split()) == row["length"]
            assert len(symbols_of(row["problem"])) == row["symbols"]


def test_no_two_problems_are_equal_up_to_renaming_across_splits(made):
    data = load_dataset(made)
    problems = [p for s in data.splits for p in data.table(s)["problem"].to_pylist()]
    canonical = [data.task.decode_problem(p).alpha_canonical().prefix for p in problems]
    assert len(set(canonical)) == len(problems) == data.description["examples"]
    stored = [c for s in data.splits for c in data.table(s)["alpha_class"].to_pylist()]
    assert stored == [fingerprint(text) for text in canonical]


def test_the_number_of_workers_changes_nothing(made, tmp_path):
    make(tmp_path / "two", workers=2)
    assert contents(tmp_path / "two") == contents(made)


def test_another_seed_changes_the_problems(made, tmp_path):
    make(tmp_path / "other", seed=1)
    first, other = (
        set(load_dataset(f).table("train")["problem"].to_pylist())
        for f in (made, tmp_path / "other")
    )
    assert len(first & other) < len(first) / 2


@pytest.mark.parametrize(
    "region", [{"symbols": [9, 9], "length": [3, 5]}, {"symbols": [2, 2], "length": [2, 2]}]
)
def test_an_impossible_region_is_refused(tmp_path, region):
    with pytest.raises(LogicgenError, match="no problem has the symbols and lengths"):
        make(tmp_path / "d", {"region": {**region, "balance": "symbols-and-length"}})
    assert not (tmp_path / "d").exists()


def test_a_region_without_answers_ends_and_says_so(tmp_path):
    """Only contradictions: every cell is tried, none holds anything, and it stops."""
    make(
        tmp_path / "d",
        {
            "problem": {"operators": {"&": 1, "0": 1, "symbol": 1e-9}},
            "region": {"symbols": [1, 2], "length": [15, 17]},
            "sizes": {"train": 50},
            "grid": None,
        },
    )
    description = load_dataset(tmp_path / "d").description
    assert description["splits"]["train"]["cells_short"] >= 2
    assert "hold fewer examples" in (tmp_path / "d" / "README.md").read_text()


def test_a_recipe_that_asks_for_nothing_is_refused(tmp_path):
    with pytest.raises(LogicgenError, match="asks for no examples"):
        make(tmp_path / "d", {"sizes": {}, "grid": None})
    assert not (tmp_path / "d").exists()


def test_strings_may_be_long(tmp_path):
    changes = {
        "task": "copying",
        "solver": None,
        "verifier": None,
        "problem": {},
        "region": {"symbols": [0, 30], "length": [1500, 1500]},
        "sizes": {"train": 20},
        "grid": None,
    }
    assert make(tmp_path / "d", changes)["examples"] == 20
