"""Absurd sizes are refused in one line with the number, before anything is taken."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import pytest

from logicgen.data import estimate
from logicgen.data import plan as planning
from logicgen.data.opening import make, read_data_recipe
from logicgen.data.plan import first_round
from logicgen.data.ranges import MOST_CELLS, MOST_EXAMPLES
from logicgen.errors import LogicgenError

DATA = ("propositional-mini", "propositional-cnf", "ltl-mini", "copying-mini", "lookup-mini")
SIZES = ("sizes.train", "sizes.validation", "sizes.test", "grid.per_cell")
ABSURD = (10**18, 2**63, 10**400)

BOUNDED = [(name, {key: value}) for name in DATA for key in SIZES for value in ABSURD]
BOUNDED += [
    (name, {f"problem.operators.{key}": value})
    for name, key in (("propositional-mini", "&"), ("ltl-mini", "U"))
    for value in (10**18, 1e308, math.inf, math.nan, 1e-300)
]
BOUNDED += [
    (name, {f"corpus.{key}": value})
    for name, keys in (
        ("automaton-5", ("symbols", "states", "branching", "length", "train", "concentration")),
        ("production-3", ("words", "width", "layers", "concentration", "test")),
        ("cipher-python", ("length", "train", "validation", "test", "text.vocabulary")),
        ("python-byte-pairs", ("vocabulary",)),
    )
    for key in keys
    for value in ABSURD
]
BOUNDED += [
    ("automaton-5", {"corpus.expected_length": 1e-300}),
    ("automaton-5", {"corpus.concentration": 1e-300}),
    ("automaton-5", {"corpus.states": 1_000, "corpus.symbols": 1_000}),
    ("production-3", {"corpus.width": 1_000, "corpus.layers": 1_000, "corpus.words": 1}),
]


@pytest.mark.parametrize(("name", "changes"), BOUNDED, ids=str)
def test_settings_that_no_sensible_use_needs_are_refused(name, changes):
    with pytest.raises(LogicgenError) as error:
        read_data_recipe(name, changes)
    message = str(error.value)
    assert next(iter(changes)).split(".")[-1] in message or "are allowed" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("copying-mini", {"grid.symbols": [1, MOST_CELLS]}, "grid: 2,900,000 cells"),
        (
            "copying-mini",
            {"region.symbols": [1, 10**6]},
            "region: 9,000,000 cells of symbols and length; 100,000 are allowed",
        ),
        ("propositional-mini", {"region.length": [1, 300]}, "region: formulas of 257 tokens"),
        ("ltl-mini", {"grid.length": [1, 10_000]}, "grid: formulas of 257 tokens are too long"),
        ("ltl-patterns", {"region.length": [20, 2_000]}, "region: conjunctions of 257 tokens"),
        ("propositional-cnf", {"grid.symbols": [301, 400]}, "grid: random clauses over 400"),
        ("automaton-5", {"corpus.branching": 4}, "branching is 4, and there are 3 states"),
    ],
)
def test_what_would_take_for_ever_is_refused(name, changes, message):
    with pytest.raises(LogicgenError, match=message):
        read_data_recipe(name, changes)


@pytest.mark.parametrize("size", [MOST_EXAMPLES + 1, 2**63 - 1, 10**30])
def test_an_absurd_size_is_refused(size):
    with pytest.raises(LogicgenError, match=f"mine: size: {size:,} examples; 1,000,000,000 are"):
        read_data_recipe("copying-mini").resized(size, "mine")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("propositional-mini", {"region.balance": "length", "region.symbols": [1, 10**6]}),
        ("ltl-mini", {"region.balance": "length", "region.symbols": [10**6, 10**6]}),
        ("ltl-patterns", {"region.symbols": [1, 10**6], "region.length": [3, 256]}),
        ("copying-mini", {"region.balance": "length", "region.length": [2, 10_000]}),
        ("copying-mini", {"region.length": [10_000, 10_000], "grid.length": [9_000, 9_000]}),
        ("copying-mini", {"region.symbols": [380, 382], "region.length": [127, 129]}),
        (
            "permutation-mini",
            {"problem.size": 1_000, "region.symbols": [1, 1], "region.length": [3003, 3003]}
            | {"grid.symbols": [1, 1], "grid.length": [3003, 3003]},
        ),
    ],
    ids=str,
)
def test_wide_ranges_are_planned(name, changes):
    recipe = read_data_recipe(name, changes)
    planned = planning.stages(recipe, recipe.source(name))
    assert all(plan.quota <= plan.holds for _, plans in planned for plan in plans)


def test_slow_planning_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr(planning, "QUICK", -1)
    recipe, said = read_data_recipe("copying-mini"), []
    planning.split_cells(recipe, recipe.source("mine"), "grid", lambda *each: said.append(each))
    assert said[0] == ("cells of grid", 0, 870)
    assert said[-1] == ("cells of grid", 869, 870)


def test_a_unit_is_sent_without_the_cells_of_others():
    recipe = read_data_recipe("copying-mini")
    for split, plans in planning.stages(recipe, recipe.source("mine")):
        reserved = {plan.cell for plan in plans if plan.reserved}
        for unit in first_round(plans, split, 0, 0, 100).units():
            assert unit.reserved == reserved & {*unit.cells}


def test_what_does_not_fit_is_refused_with_the_numbers(monkeypatch, tmp_path):
    recipe = read_data_recipe("permutation-mini", {"sizes.train": 10**9, "region.symbols": [8, 16]})
    monkeypatch.setattr(estimate, "free_disk", lambda folder: 10**15)
    monkeypatch.setattr(estimate, "free_memory", lambda: 10**9)
    said = r"mine: takes [\d,]+ examples, about [\d,.]+ GB on disk and [\d,.]+ GB of memory, and"
    with pytest.raises(LogicgenError, match=said + r" there are 1.0 GB of memory available: ask"):
        make(recipe, tmp_path / "data", name="mine")
    monkeypatch.setattr(estimate, "free_disk", lambda folder: 10**6)
    with pytest.raises(LogicgenError, match=said + r" there are 0.0 GB free on the disk: ask for"):
        make(recipe, tmp_path / "data", name="mine")
    assert not (tmp_path / "data").exists()


def test_a_corpus_that_does_not_fit_is_refused(monkeypatch, tmp_path):
    recipe = read_data_recipe("automaton-5", {"corpus.train": 10**9})
    monkeypatch.setattr(estimate, "free_disk", lambda folder: 10**9)
    with pytest.raises(LogicgenError, match=r"1,000,001,500 rows, about 192.0 GB on disk and 0.1"):
        make(recipe, tmp_path / "data", name="mine")
    assert not (tmp_path / "data").exists()


def test_keys_of_ciphers_count(monkeypatch, tmp_path):
    (tmp_path / "text").write_text("".join(map(chr, range(32, 5_000))) * 20, encoding="utf-8")
    text = {"files": [str(tmp_path / "text")], "vocabulary": 10**6}
    recipe = read_data_recipe("cipher-python", {"corpus.length": 2, "corpus.train": 10**6})
    recipe = recipe.model_copy(update={"corpus": {**recipe.corpus, "text": text}})
    monkeypatch.setattr(estimate, "free_memory", lambda: 10**10)
    with pytest.raises(LogicgenError, match=r"rows, about .* GB of memory, and there are 10.0 GB"):
        make(recipe, tmp_path / "data", name="mine")


def test_what_is_there_already_needs_no_room(monkeypatch, tmp_path):
    (tmp_path / "00000.parquet").write_bytes(bytes(1_000))
    monkeypatch.setattr(estimate, "free_disk", lambda folder: 0)
    estimate.SizeEstimate(1, "examples", 1_000, 0).check(tmp_path, "mine")
    with pytest.raises(LogicgenError, match="free on the disk"):
        estimate.SizeEstimate(1, "examples", 1_001, 0).check(tmp_path, "mine")


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("copying-mini", {}, []),
        ("copying-20", {"grid.per_cell": 10**6}, ["mine: asks for 9,440,104,000 examples, about"]),
        ("automaton-5", {}, []),
        (
            "automaton-5",
            {"corpus.train": 10**8},
            ["mine: asks for 100,001,500 rows, about 19"],
        ),
        ("english-characters", {}, []),
    ],
)
def test_large_ones_are_announced(name, changes, said):
    lines = estimate.announcement(read_data_recipe(name, changes), "mine")
    assert len(lines) == len(said)
    assert all(map(str.startswith, lines, said))


# A few GB of addresses: libraries of numbers take some before anything is done.
LIMITED = """
import json, resource, sys
from pathlib import Path
import logicgen.data.corpus, logicgen.data.generate
from logicgen.data.opening import read_data_recipe
from logicgen.data.opening import make
from logicgen.errors import LogicgenError
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
for number, (name, changes) in enumerate(json.loads(sys.argv[1])):
    try:
        make(read_data_recipe(name, changes), Path(sys.argv[2], str(number)), name=name)
    except LogicgenError as error:
        print(str(error))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limits")
@pytest.mark.needs("scipy")
def test_no_memory_is_taken_before_a_refusal(tmp_path):
    """A limit of addresses turns what would be taken into an error that is none of ours."""
    cases = [
        ("permutation-mini", {"sizes.train": 10**9, "region.symbols": [8, 16]}),
        ("copying-mini", {"sizes": {}, "grid.symbols": [20, 30], "grid.per_cell": 10**9}),
        ("copying-mini", {"region.symbols": [1, 10**6], "region.length": [1, 10_000]}),
        ("automaton-5", {"corpus.states": 10**6, "corpus.symbols": 10**6}),
        ("automaton-5", {"corpus.train": 10**18}),
        ("production-3", {"corpus.width": 1_000, "corpus.layers": 1_000, "corpus.words": 1}),
    ]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, json.dumps(cases), str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(cases), done.stdout
