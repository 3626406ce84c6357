"""Data sets: verified, different, flat, resumable, the same bytes however they are made."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import logicgen
from logicgen.data import shard
from logicgen.data.cell_plan import fill
from logicgen.data.data_recipe import DataRecipe
from logicgen.data.dataset import load_dataset
from logicgen.data.drawer import fingerprint
from logicgen.data.generate import generate
from logicgen.errors import LogicgenError
from logicgen.tasks.task import symbols_of
from logicgen.vocabulary import symbol_index, symbol_name

RECIPE = {
    "task": "propositional",
    "solver": "truth-table",
    "verifier": "pysat",
    "problem": {"operators": {"!": 1, "&": 1, "^": 1}},
    "region": {"symbols": [1, 3], "length": [1, 9], "balance": "symbols-and-length"},
    "sizes": {"train": 1200, "validation": 60, "test": 60},
    "grid": {"symbols": [1, 5], "length": [1, 12], "per_cell": 6},
}


def make(folder, changes=None, **arguments):
    recipe = DataRecipe.model_validate({**RECIPE, **(changes or {})})
    return generate(recipe, folder, name="some", **arguments)


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "some"
    make(folder)
    return folder


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


def test_cells_are_flat_as_far_as_they_hold(made):
    rows = list(csv.DictReader((made / "cells.csv").open()))
    data = load_dataset(made)
    for split in data.splits:
        table = data.table(split)
        found = Counter(zip(table["symbols"].to_pylist(), table["length"].to_pylist(), strict=True))
        for row in (row for row in rows if row["split"] == split):
            held, exist = int(row["held"]), int(row["exist"])
            assert found[int(row["symbols"]), int(row["length"])] == held <= exist
    full = [
        int(row["held"]) for row in rows if row["split"] == "train" and int(row["exist"]) > 5000
    ]
    assert max(full) - min(full) <= 1
    grid = [row for row in rows if row["split"] == "grid" and int(row["exist"]) > 1000]
    assert {row["held"] for row in grid} == {"6"}
    description = data.description["splits"]["grid"]
    short = [r for r in rows if r["split"] == "grid" and int(r["held"]) < int(r["asked"])]
    assert description["cells_short"] == len(short)


def test_small_cells_hold_all_that_exist(tmp_path):
    """Without other splits a grid cell takes every satisfiable formula there is, and no more."""
    grid = {"symbols": [0, 3], "length": [1, 5], "per_cell": 10_000}
    make(tmp_path / "d", {"sizes": {}, "grid": grid})
    task = logicgen.load_dataset(tmp_path / "d").task
    source = task.source(task.Settings(operators=RECIPE["problem"]["operators"]), (1, 3))
    from logicgen.tasks import Cell

    for row in csv.DictReader((tmp_path / "d" / "cells.csv").open()):
        cell = Cell(int(row["symbols"]), int(row["length"]))
        answers = [task.solve(draw.problem) for draw in source.all(cell)]
        assert int(row["held"]) == sum(answer.status == "sat" for answer in answers)


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


class StopError(Exception):
    pass


@pytest.mark.parametrize("stop_after", [1, 3, 5])
def test_a_run_that_stops_goes_on_to_the_same_bytes(made, tmp_path, stop_after):
    calls = 0

    def progress(split, done, total):
        nonlocal calls
        calls += 1
        if calls > 2 * stop_after:
            raise StopError

    with pytest.raises(StopError):
        make(tmp_path / "d", progress=progress)
    with pytest.raises(LogicgenError, match="not finished; run the same"):
        load_dataset(tmp_path / "d")
    kept = contents(tmp_path / "d")
    make(tmp_path / "d", workers=2)
    assert contents(tmp_path / "d") == contents(made)
    shards = [path for path in kept if path.suffix == ".parquet"]
    assert shards
    assert all(kept[path] == contents(made)[path] for path in shards)


def test_kill_and_resume(tmp_path):
    """kill -9 of the whole command in the middle; the same command then gives the same bytes."""
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'task = "propositional"\n[region]\nsymbols = [1, 4]\nlength = [8, 20]\n'
        "[sizes]\ntrain = 6000\ntest = 500\n"
    )
    command = [sys.executable, "-m", "logicgen.cli.main", "generate", str(recipe), "--workers", "2"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, "-o", str(killed)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(list(killed.glob("train/*.parquet"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    shards = list(killed.rglob("*.parquet"))
    assert shards
    assert not (killed / "README.md").exists()
    for path in shards:
        pq.read_table(path)  # whole
    before = {path: path.stat().st_mtime_ns for path in shards}
    subprocess.run([*command, "-o", str(killed)], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([*command, "-o", str(whole)], check=True, stderr=subprocess.DEVNULL)
    assert contents(killed) == contents(whole)
    assert before == {path: path.stat().st_mtime_ns for path in shards}  # not made again


def test_a_full_disk_loses_only_the_shard_being_written(made, tmp_path, monkeypatch):
    real = shard.pq.write_table
    count = 0

    def full(*arguments, **options):
        nonlocal count
        count += 1
        if count > 4:
            raise OSError(28, "No space left on device")
        return real(*arguments, **options)

    monkeypatch.setattr(shard.pq, "write_table", full)
    with pytest.raises(LogicgenError, match="No space left on device; what is finished is safe"):
        make(tmp_path / "d")
    assert len(list((tmp_path / "d").rglob("*.parquet"))) == 4
    assert not list((tmp_path / "d").rglob("*.part"))
    monkeypatch.undo()
    make(tmp_path / "d")
    assert contents(tmp_path / "d") == contents(made)


def test_a_finished_data_set_is_not_made_again(made):
    before = contents(made)
    assert make(made)["examples"] == load_dataset(made).description["examples"]
    assert contents(made) == before


def test_foreign_folders_are_left_alone(made, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(LogicgenError, match="not empty and not a data set"):
        make(tmp_path / "mine")
    assert contents(tmp_path / "mine") == {Path("thesis.tex"): b"precious"}
    with pytest.raises(LogicgenError, match="a file is in the way"):
        make(tmp_path / "mine" / "thesis.tex")
    before = contents(made)
    with pytest.raises(LogicgenError, match="data set of another seed"):
        make(made, seed=9)
    assert contents(made) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(LogicgenError, match="cannot be written: Permission denied"):
        make(tmp_path / "d")


def test_a_place_that_cannot_be_written():
    with pytest.raises(LogicgenError, match="cannot be written"):
        make(Path("/proc/logicgen"))


@pytest.mark.parametrize("damage", ["truncate", "alter", "remove"])
def test_damaged_shards_are_found(made, tmp_path, damage):
    shutil.copytree(made, tmp_path / "d")
    path = sorted((tmp_path / "d" / "train").glob("*.parquet"))[0]
    whole = path.read_bytes()
    if damage == "truncate":
        path.write_bytes(whole[:-100])
    elif damage == "alter":
        path.write_bytes(whole[:500] + bytes([whole[500] ^ 1]) + whole[501:])
    else:
        path.unlink()
    with pytest.raises(LogicgenError, match=rf"{path.name}: (altered or truncated|missing)"):
        load_dataset(tmp_path / "d").table("train")
    assert load_dataset(tmp_path / "d").table("test").num_rows == 60


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


def first_occurrence(text):
    return symbols_of(text) == sorted(symbols_of(text))


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


DETERMINED = {
    "solver": None,
    "verifier": None,
    "sizes": {"train": 900, "test": 60},
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
    assert len(set(problems)) == len(problems) > 900
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


def test_exact_distinctness_counts_names(tmp_path):
    changes = {
        "task": "copying",
        "solver": None,
        "verifier": None,
        "problem": {},
        "region": {"symbols": [1, 3], "length": [1, 3], "balance": "symbols-and-length"},
        "sizes": {"train": 500},
        "grid": {"symbols": [5, 5], "length": [1, 2], "per_cell": 500},
    }
    make(tmp_path / "d", changes)
    data = load_dataset(tmp_path / "d")
    problems = [p for s in data.splits for p in data.table(s)["problem"].to_pylist()]
    assert len(set(problems)) == len(problems)
    # All strings of up to three letters over three symbols, and all of up to two over five.
    assert len(problems) == (3 + 9 + 27) + (5 + 25) - (3 + 9)
    assert set(data.table("grid")["symbols"].to_pylist()) == {5}


def test_hugging_face_reads_it(made, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    loaded = datasets.load_dataset(str(made), cache_dir=str(tmp_path))
    assert {name: split.num_rows for name, split in loaded.items()} == load_dataset(made).splits
    assert loaded["grid"][0] == load_dataset(made).table("grid").slice(0, 1).to_pylist()[0]


def test_encoded_rows_decode_to_the_table(made):
    data = load_dataset(made)
    encoded, table = data.encoded("test"), data.table("test")
    for row in range(len(encoded)):
        assert data.vocabulary.decode(encoded.problems[row]) == table["problem"][row].as_py()
        assert data.vocabulary.decode(encoded.answers[row]) == table["answer"][row].as_py()
    assert encoded.alphabet == 3


def test_filling():
    assert fill(10, [5, 5, 5]) == [4, 3, 3]
    assert fill(10, [1, 5, 5]) == [1, 5, 4]
    assert fill(10, [1, 2, 3]) == [1, 2, 3]
    assert fill(0, [1]) == [0]
    assert fill(3, []) == []


def test_a_shard_that_is_damaged_between_two_runs_is_found(made, tmp_path):
    """Whatever byte of the data pages changes, the resumed run refuses to certify it."""
    whole = next((made / "test").glob("*.parquet")).read_bytes()
    pages = pq.ParquetFile(next((made / "test").glob("*.parquet"))).metadata.row_group(0)
    place = pages.column(0).total_compressed_size // 2
    for offset in (place, place + 7, place + 19):
        folder = tmp_path / str(offset)
        calls = iter(range(100))

        def progress(split, done, total, calls=calls):
            if split == "train" and next(calls) > 0:
                raise StopError

        with pytest.raises(StopError):
            make(folder, progress=progress)
        path = next((folder / "test").glob("*.parquet"))
        assert path.read_bytes() == whole
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 4]) + whole[offset + 1 :])
        with pytest.raises(LogicgenError, match="not a whole shard"):
            make(folder)
        path.unlink()  # as the message says
        make(folder)
        assert contents(folder) == contents(made)


def test_a_shard_that_was_lost_is_made_anew(made, tmp_path):
    shutil.copytree(made, tmp_path / "d")
    sorted((tmp_path / "d" / "train").glob("*.parquet"))[1].unlink()
    make(tmp_path / "d")
    assert contents(tmp_path / "d") == contents(made)


def test_two_runs_at_once_in_one_folder_are_kept_apart(tmp_path):
    def progress(split, done, total):
        with pytest.raises(LogicgenError, match="another logicgen generate is at work here"):
            make(tmp_path / "d")
        raise StopError

    with pytest.raises(StopError):
        make(tmp_path / "d", progress=progress)
    make(tmp_path / "d")


def test_part_files_of_a_killed_run_are_no_foreign_folder(made, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / ".dataset.json.part").write_text("{")
    make(tmp_path / "d")
    assert contents(tmp_path / "d") == contents(made)


def test_scarce_problems_are_shared_by_all_splits(tmp_path):
    changes = {
        "task": "copying",
        "solver": None,
        "verifier": None,
        "problem": {},
        "region": {"symbols": [1, 4], "length": [1, 5], "balance": "symbols-and-length"},
        "sizes": {"train": 800, "validation": 40, "test": 40},
        "grid": {"symbols": [1, 4], "length": [1, 5], "per_cell": 10},
    }
    make(tmp_path / "d", changes)
    sizes = load_dataset(tmp_path / "d").splits
    assert min(sizes.values()) >= 20
    assert sizes["train"] > sum(sizes.values()) / 2


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


LTL = {
    "task": "ltl",
    "solver": None,
    "verifier": None,
    "problem": {},
    "region": {"symbols": [1, 3], "length": [1, 20], "balance": "length"},
    "sizes": {"train": 600, "test": 60},
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


def test_all_or_none_may_be_unsatisfiable(tmp_path):
    make(tmp_path / "none", LTL)
    make(tmp_path / "all", {**LTL, "unsatisfiable": 1.0})
    for name, expected in (("none", set()), ("all", {"0"})):
        data = load_dataset(tmp_path / name)
        answers = {a for s in data.splits for a in data.table(s)["answer"].to_pylist()}
        assert answers & {"0"} == expected
        assert expected <= answers
    assert answers == {"0"}
