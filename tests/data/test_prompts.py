"""A data set as prompts: every row asks its problem, and its answer earns the reward."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from logicgen.data import prompts
from logicgen.data.opening import load_dataset
from logicgen.data.prompts import FORMATS, write_prompts
from logicgen.errors import LogicgenError
from logicgen.scoring.prompts import prompt
from logicgen.scoring.scorer import judge
from logicgen.tasks import load_task
from logicgen.tasks.propositional import Propositional
from tests.cli.test_commands import run
from tests.data.data_sets import make


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "d"
    make(folder)
    return load_dataset(folder)


def rows(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_split_is_written_in_order_and_loses_nothing(data, tmp_path, kind, monkeypatch):
    monkeypatch.setattr(prompts, "ROWS", 100)  # so that there are several pieces
    counts = write_prompts(data, tmp_path, kind)
    assert counts == dict(data.splits)
    tasks = {f"{split}.yaml" for split in counts if kind == "lm-eval" and split != "train"}
    files = {f"{split}{FORMATS[kind][0]}" for split in counts}
    assert {path.name for path in tmp_path.iterdir()} == files | tasks
    for split, count in counts.items():
        written = rows(tmp_path / f"{split}{FORMATS[kind][0]}")
        stored = data.table(split).to_pylist()
        assert len(written) == count
        for number, (row, example) in enumerate(zip(written, stored, strict=True)):
            about = row.get("extra_info", row)
            assert (about["split"], about.get("row", about.get("index"))) == (split, number)
            for key in ("symbols", "length", "alpha_class"):
                assert about[key] == example[key]


def test_what_each_trainer_is_given(data, tmp_path):
    """Check the prompt where a trainer finds it, and what its reward function is handed."""
    found = {}
    for kind, (suffix, _) in FORMATS.items():
        write_prompts(data, tmp_path / kind, kind)
        found[kind] = rows(tmp_path / kind / f"test{suffix}")
    task = load_task("propositional")
    for number, row in enumerate(found["jsonl"]):
        asked = prompt("propositional", row["problem"])
        assert row["prompt"] == asked
        message = [{"role": "user", "content": asked}]
        for kind in ("trl", "verl", "openrlhf"):
            assert found[kind][number]["prompt"] == message
        assert found["trl"][number]["problem"] == row["problem"]
        verl = found["verl"][number]
        assert verl["data_source"] == "logicgen/propositional"
        assert verl["ability"] == "logic"
        assert verl["reward_model"] == {"style": "rule", "ground_truth": row["problem"]}
        label = json.loads(found["openrlhf"][number]["label"])
        assert label == {"task": "propositional", "problem": row["problem"]}
        *asked_first, said = found["sft"][number]["messages"]
        assert asked_first == message
        assert said["role"] == "assistant"
        problem = task.read_problem(row["problem"])
        assert judge(task, problem, said["content"]).reward == 1.0


def test_prompts_have_worked_examples_and_another_notation_where_asked(data, tmp_path):
    write_prompts(data, tmp_path, "jsonl", examples=2, notation="prefix")
    row = rows(tmp_path / "test.jsonl")[0]
    expected = prompt("propositional", row["problem"], examples=2, notation="prefix")
    assert row["prompt"] == expected


def test_a_stopped_export_leaves_no_half_of_a_file(data, tmp_path, monkeypatch):
    class StopError(Exception):
        pass

    def broken(row):
        if row["row"] == 3:
            raise StopError
        return row

    monkeypatch.setitem(FORMATS, "jsonl", (".jsonl", broken))
    with pytest.raises(StopError):
        write_prompts(data, tmp_path, "jsonl")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_refused(data, tmp_path, monkeypatch):
    with pytest.raises(LogicgenError, match="no format is called 'xml'"):
        write_prompts(data, tmp_path, "xml")
    with pytest.raises(LogicgenError, match="the task propositional has 0 to 3"):
        write_prompts(data, tmp_path / "none", "jsonl", examples=4)
    assert not (tmp_path / "none").exists()
    monkeypatch.setattr(Propositional, "wording", None)
    with pytest.raises(LogicgenError, match="task propositional has no prompts"):
        write_prompts(data, tmp_path, "jsonl")


def test_the_command(data, tmp_path):
    done = run("export", data.folder, tmp_path / "out", "--for", "trl", "--examples", 1)
    assert done.returncode == 0, done.stderr
    assert "prompts for trl: train 600" in done.stderr
    assert (tmp_path / "out" / "train.parquet").is_file()
    for wrong, said in [
        (["--for", "xml"], "no format is called 'xml'"),
        (["--for", "trl", "--name", "x"], "--name goes with a model"),
        (["--for", "trl", "--mean", "ltl=0.5"], "--mean goes with a model"),
        (["--mean", "ltl"], "--mean ltl: give RUN=SHARE"),
        (["--mean", "=0.5"], "--mean =0.5: give RUN=SHARE"),
        (["--mean", "ltl=half"], "--mean ltl=half: give RUN=SHARE"),
        (["--examples", 1], "--examples and --notation go with --for"),
    ]:
        done = run("export", data.folder, tmp_path / "other", *wrong)
        assert done.returncode == 2
        assert said in done.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.needs("datasets")
def test_hugging_face_datasets_loads_them(data, tmp_path):
    import datasets

    for kind, (suffix, _) in FORMATS.items():
        write_prompts(data, tmp_path / kind, kind)
        loader = "parquet" if suffix == ".parquet" else "json"
        files = {split: str(tmp_path / kind / f"{split}{suffix}") for split in data.splits}
        loaded = datasets.load_dataset(loader, data_files=files, cache_dir=str(tmp_path / "cache"))
        assert {split: len(part) for split, part in loaded.items()} == dict(data.splits)
