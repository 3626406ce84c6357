"""Names of symbols, unsatisfiable problems, and problems with one answer."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import product

import pytest

import logicgen
from logicgen.data.opening import load_dataset
from logicgen.data.plan import Unit
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict
from logicgen.tasks import Cell, load_task
from logicgen.tasks.problems import Drawer
from logicgen.tasks.task import symbols_of
from logicgen.tokens import symbol_index, symbol_name
from tests.data.data_sets import RECIPE, contents, make
from tests.verdicts import verdict


def first_occurrence(text):
    return symbols_of(text) == sorted(symbols_of(text))


@pytest.mark.slow
def test_names(tmp_path):
    for names in ("first-occurrence", "shuffled", "perturbed"):
        make(tmp_path / names, {"names": names, "grid": None})
    tables = {n.name: load_dataset(n).table("train").to_pylist() for n in tmp_path.iterdir()}
    assert all(first_occurrence(row["problem"]) for row in tables["first-occurrence"])
    assert not all(first_occurrence(row["problem"]) for row in tables["shuffled"])
    used = Counter(s for row in tables["shuffled"] for s in symbols_of(row["problem"]))
    assert min(used["a"], used["b"], used["c"]) > 0.9 * max(used.values())
    for row in tables["perturbed"]:
        in_answer = symbols_of(row["answer"])
        assert in_answer == list("abc")[: len(in_answer)]
    assert not all(first_occurrence(row["problem"]) for row in tables["perturbed"])


LTL = {
    "task": "ltl",
    "solver": None,
    "verifier": None,
    "problem": {"operators": {"!": 1, "&": 3, "X": 1, "U": 1}},
    "region": {"symbols": [1, 5], "length": [5, 25], "balance": "length"},
    "sizes": {"train": 200, "test": 20},
    "grid": None,
}


@pytest.mark.slow
@pytest.mark.parametrize("source", ["random", "patterns"])
def test_answers_are_written_without_counting_where_the_recipe_says_so(tmp_path, source):
    problem = LTL["problem"] if source == "random" else {"source": source}
    for nested in ("left", "right"):
        changes = {**LTL, "problem": {**problem, "conjunctions": nested}}
        make(tmp_path / nested, changes)
    left, right = (load_dataset(tmp_path / n).table("train").to_pylist() for n in ("left", "right"))
    task = load_task("ltl")
    different = 0
    for one, other in zip(left, right, strict=True):
        assert one["problem"] == other["problem"]
        assert sorted(one["answer"].split()) == sorted(other["answer"].split())
        assert "& &" not in other["answer"]
        assert verdict(task, one["problem"], other["answer"], one["answer"]) is Verdict.EXACT
        different += one["answer"] != other["answer"]
    assert different


@pytest.mark.slow
def test_the_stored_assignment_is_the_one_that_the_recipe_says(tmp_path):
    task = load_task("propositional")
    answers = {}
    for kind in ("first", "fewest", "random"):
        make(tmp_path / kind, {"problem": {"assignment": kind}})
        rows = load_dataset(tmp_path / kind).table("train").to_pylist()
        assert all(
            verdict(task, row["problem"], row["answer"], row["answer"]).is_right for row in rows
        )
        answers[kind] = {row["problem"]: row["answer"].split() for row in rows}
    first, fewest, random = answers.values()
    assert first.keys() == fewest.keys() == random.keys()
    assert all(len(fewest[each]) <= min(len(first[each]), len(random[each])) for each in first)
    assert sum(map(len, fewest.values())) < sum(map(len, random.values()))
    assert len({str(each) for each in answers.values()}) == 3


def test_a_random_assignment_is_refused_where_no_table_holds_the_formula(tmp_path):
    changes = {
        "problem": {"assignment": "random"},
        "region": {"symbols": [21, 40], "length": [150, 151]},
        "grid": None,
        "solver": "pysat",
    }
    with pytest.raises(
        LogicgenError,
        match=r"^problem\.assignment: 'random': .* at most 20 symbols, not \d+: ask",
    ):
        make(tmp_path, changes)


DETERMINED = {
    "solver": None,
    "verifier": None,
    "sizes": {"train": 400, "test": 40},
}


LOOKUP = {
    **DETERMINED,
    "task": "lookup",
    "problem": {"queries": 2},
    "region": {"symbols": [2, 6], "length": [6, 15], "step": 3, "balance": "symbols-and-length"},
    "grid": {"symbols": [2, 9], "length": [6, 24], "step": 3, "per_cell": 8},
}


PERMUTATION = {
    **DETERMINED,
    "task": "permutation",
    "problem": {"size": 2},
    "region": {"symbols": [1, 5], "length": [9, 21], "step": 6, "balance": "symbols-and-length"},
    "grid": {"symbols": [1, 9], "length": [9, 33], "step": 6, "per_cell": 8},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "names"),
    [(LOOKUP, "drawn"), (PERMUTATION, "shuffled"), (PERMUTATION, "drawn")],
    ids=["lookup-drawn", "permutation-shuffled", "permutation-drawn"],
)
def test_only_problems_with_one_answer_are_kept(tmp_path, changes, names):
    frequencies = "zipf" if names == "drawn" else "uniform"
    problem = {**changes["problem"], "frequencies": frequencies}
    make(tmp_path / "one", {**changes, "problem": problem, "names": names})
    make(tmp_path / "two", {**changes, "problem": problem, "names": names}, workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    data = load_dataset(tmp_path / "one")
    problems = []
    for split in data.splits:
        for row in data.table(split).to_pylist():
            found = logicgen.solve(changes["task"], row["problem"])
            assert " ".join(found.witness) == row["answer"]
            assert len(row["problem"].split()) == row["length"]
            assert len(symbols_of(row["problem"])) <= row["symbols"]
            if names == "drawn":  # over the symbols of the cell, the first ones
                assert max(map(symbol_index, symbols_of(row["problem"]))) < row["symbols"]
            problems.append(row["problem"])
    assert len(set(problems)) == len(problems) > 400
    cells = csv.DictReader((tmp_path / "one" / "cells.csv").open())
    full = [row for row in cells if row["split"] == "grid" and float(row["exist"]) > 5000]
    assert full
    assert {row["held"] for row in full} == {"8"}


def test_drawn_names_follow_the_frequencies(tmp_path):
    """In large cells; the shuffle of the other names leaves nothing of them."""
    used = {}
    for names in ("drawn", "shuffled"):
        changes = {
            **LOOKUP,
            "problem": {"frequencies": "characters"},
            "names": names,
            "region": {"symbols": [100, 100], "length": [32, 32]},
            "sizes": {"train": 500},
            "grid": None,
        }
        make(tmp_path / names, changes)
        text = " ".join(load_dataset(tmp_path / names).table("train")["problem"].to_pylist())
        used[names] = Counter(text.split())
    frequent, rare = "a", symbol_name(40)
    assert used["drawn"][frequent] > 10 * used["drawn"][rare] > 0
    assert used["shuffled"][frequent] < 1.5 * used["shuffled"][rare]


def test_all_look_ups_that_exist_are_found_by_the_names_they_may_have(tmp_path):
    """Drawn names are the first symbols of the cell, shuffled ones any of the region."""
    for names, letters in (("drawn", 3), ("shuffled", 6)):
        grid = {"symbols": [3, 3], "length": [5, 8], "step": 3, "per_cell": 10_000}
        changes = {"names": names, "problem": {}, "sizes": {}, "grid": grid}
        make(tmp_path / names, {**LOOKUP, **changes})
        found = load_dataset(tmp_path / names).table("grid")["problem"].to_pylist()
        shown = list(product("abcdef"[:letters], repeat=4))
        expected = {f"{k} -> {v} {k} ->" for k, v, *_ in shown if k != v}
        for k, v, other, w in shown:
            # Both keys or both values, but no symbol is a key here and a value there.
            fits = not {k, other} & {v, w} and (k != other or v == w)
            if fits and len({k, v, other, w}) <= 3:
                text = f"{k} -> {v} {other} -> {w}"
                expected |= {f"{text} {k} ->", f"{text} {other} ->"}
        assert sorted(found) == sorted(expected)


LTL = {
    "task": "ltl",
    "solver": None,
    "verifier": None,
    "problem": {},
    "region": {"symbols": [1, 3], "length": [1, 20], "balance": "length"},
    "sizes": {"train": 400, "test": 40},
    "grid": {"symbols": [1, 4], "length": [1, 8], "per_cell": 5},
}


def test_a_share_of_the_problems_is_unsatisfiable(tmp_path):
    make(tmp_path / "one", {**LTL, "unsatisfiable": 0.3})
    make(tmp_path / "two", {**LTL, "unsatisfiable": 0.3}, workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    data = load_dataset(tmp_path / "one")
    refuted = 0
    for split in data.splits:
        for row in data.table(split).to_pylist():
            assert logicgen.verify("ltl", row["problem"], row["answer"]) == "correct"
            status = logicgen.solve("ltl", row["problem"]).status
            assert (row["answer"] == "0") == (status == "unsat")
            refuted += split == "train" and row["answer"] == "0"
    # Binomial, three standard deviations; a few short cells hold less.
    share = refuted / data.table("train").num_rows
    assert 0.3 - 0.08 < share < 0.3 + 0.06


@pytest.mark.slow
def test_all_or_none_may_be_unsatisfiable(tmp_path):
    make(tmp_path / "none", LTL)
    make(tmp_path / "all", {**LTL, "unsatisfiable": 1.0})
    for name, expected in (("none", set()), ("all", {"0"})):
        data = load_dataset(tmp_path / name)
        answers = {a for s in data.splits for a in data.table(s)["answer"].to_pylist()}
        assert answers & {"0"} == expected
        assert expected <= answers
    assert answers == {"0"}


@pytest.mark.parametrize(
    ("solvers", "named"),
    [
        ({"solver": None, "verifier": None}, "pysat answers .* which pysat finds wrong"),
        ({"verifier": None}, "truth-table answers .* which pysat finds wrong"),
        ({"solver": None, "verifier": "truth-table"}, "pysat answers .* which truth-table finds"),
        (LOOKUP, "the task lookup answers .* which the task lookup finds"),
    ],
)
def test_a_wrong_answer_names_the_solvers_that_were_used(solvers, named, monkeypatch):
    recipe = DataRecipe.model_validate({**RECIPE, **solvers})
    drawer = Drawer(recipe.rules(), 0)
    monkeypatch.setattr(type(drawer.task), "check", lambda *_: Verdict.INCORRECT)
    unit = Unit("train", 0, 0, 0, (Cell(2, 6),), frozenset())
    with pytest.raises(LogicgenError, match=named):
        drawer.unit(unit.slots())
