"""Folders of data sets: resumed to the same bytes, and never those of something else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
import uuid
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from logicgen.data import folder as folders
from logicgen.data import plan as planning
from logicgen.data import shards
from logicgen.data.corpus import Corpus, make_corpus
from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from tests.cli.test_commands import run
from tests.data.corpora import automaton_recipe
from tests.data.data_sets import RECIPE, InThisProcess, StopError, contents, make
from tests.forked import solving
from tests.reliability.command import Command


@pytest.mark.slow
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


@pytest.mark.slow
def test_kill_and_resume(tmp_path):
    """kill -9 of the whole command in the middle; the same command then gives the same bytes."""
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'task = "propositional"\n[region]\nsymbols = [1, 4]\nlength = [8, 20]\n'
        "[sizes]\ntrain = 3000\ntest = 200\n"
    )
    arguments = ["generate", str(recipe), "--workers", "2"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = Command([*arguments, "-o", str(killed)], tmp_path)
    while len(list(killed.glob("train/*.parquet"))) < 2 and not command.wait(0.01):
        pass
    command.send(signal.SIGKILL)
    command.end()
    shards = list(killed.rglob("*.parquet"))
    assert shards
    assert not (killed / "README.md").exists()
    for path in shards:
        pq.read_table(path)  # whole
    before = {path: path.stat().st_mtime_ns for path in shards}
    for folder in (killed, whole):
        assert run(*arguments, "-o", folder).returncode == 0
    assert contents(killed) == contents(whole)
    # Not made again, but for what each worker had just written and not yet certified.
    assert sum(path.stat().st_mtime_ns != before[path] for path in shards) <= 2


def test_a_full_disk_loses_only_the_shard_being_written(made, tmp_path, monkeypatch):
    real = shards.pq.write_table
    count = 0

    def full(*arguments, **options):
        nonlocal count
        count += 1
        if count > 4:
            raise OSError(28, "No space left on device")
        return real(*arguments, **options)

    monkeypatch.setattr("logicgen.data.generate.open_pool", InThisProcess)
    monkeypatch.setattr(shards.pq, "write_table", full)
    with pytest.raises(LogicgenError, match="No space left on device; finished files are safe"):
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


def test_an_unfinished_data_set_of_another_version_does_not_go_on(made, tmp_path):
    found = json.loads((made / "dataset.json").read_text())
    found |= {"complete": False, "versions": {**found["versions"], "numpy": "0.1"}}
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "dataset.json").write_text(json.dumps(found))
    with pytest.raises(LogicgenError, match="another versions"):
        make(tmp_path / "d")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(LogicgenError, match="cannot be written: Permission denied"):
        make(tmp_path / "d")


def test_a_place_that_cannot_be_written():
    with pytest.raises(LogicgenError, match="cannot be written"):
        make(Path("/proc/logicgen"))


@pytest.mark.slow
def test_a_shard_that_is_damaged_between_two_runs_is_found(made, tmp_path):
    """Whatever byte of the data pages changes, the resumed run refuses to certify it."""
    whole = next((made / "test").glob("*.parquet")).read_bytes()
    pages = pq.ParquetFile(next((made / "test").glob("*.parquet"))).metadata.row_group(0)
    place = pages.column(0).total_compressed_size // 2
    calls = iter(range(100))

    def progress(split, done, total):
        if split == "train" and next(calls) > 0:
            raise StopError

    with pytest.raises(StopError):
        make(tmp_path / "stopped", progress=progress)
    for offset in (place, place + 7, place + 19):
        folder = tmp_path / str(offset)
        shutil.copytree(tmp_path / "stopped", folder)
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


def make_at(folder, begin):
    """Make the small data set, beginning at a given time. Other processes call this."""
    time.sleep(max(0, begin - time.time()))
    try:
        make(folder)
    except LogicgenError as error:
        sys.exit(str(error))


def other_process(folder, begin=0.0):
    """Start another process that makes the small data set; return it and the file of its errors."""
    said = folder.parent / f"{uuid.uuid4()}.txt"
    with said.open("w") as errors:
        streams = (0, 1, errors.fileno())
        return solving.start(f"{__name__}:make_at", [folder, begin], streams=streams), said


@pytest.mark.slow
def test_two_processes_begin_at_once(made, tmp_path):
    """One makes the data; the other is told so, or finds them made."""
    begin = time.time() + 1
    racers = [other_process(tmp_path / "d", begin) for _ in range(2)]
    ended = [(racer.wait(), said.read_text()) for racer, said in racers]
    assert 0 in [status for status, _ in ended], ended
    for status, text in ended:
        assert not status or "another logicgen generate is at work here" in text
    assert contents(tmp_path / "d") == contents(made)


def test_another_process_finishes_between_a_look_and_the_lock(made, tmp_path, monkeypatch):
    """What it finished is taken as it is, not begun again."""
    folder, stages = tmp_path / "d", planning.stages

    def overtaken(*arguments):
        other, said = other_process(folder)
        assert (other.wait(), said.read_text()) == (0, "")
        return stages(*arguments)

    monkeypatch.setattr(planning, "stages", overtaken)
    written = []
    monkeypatch.setattr(folders, "write_json", lambda path, value: written.append(path))
    assert make(folder) == load_dataset(folder).description
    assert not written
    assert contents(folder) == contents(made)


def test_another_process_finishes_a_corpus_between_a_look_and_the_lock(tmp_path, monkeypatch):
    recipe, looked = automaton_recipe(), Corpus.begun
    whole = make_corpus(recipe, tmp_path / "d", name="tiny")
    before = contents(tmp_path / "d")

    def first_look(folder, head):
        monkeypatch.setattr(Corpus, "begun", looked)

    monkeypatch.setattr(Corpus, "begun", first_look)
    monkeypatch.setattr(folders, "write_json", lambda *_: pytest.fail("begun again"))
    assert make_corpus(recipe, tmp_path / "d", name="tiny") == whole
    assert contents(tmp_path / "d") == before


def test_a_folder_that_cannot_be_locked(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(LogicgenError, match="cannot be locked: No locks available; choose"):
        make(tmp_path / "d")


def test_a_name_that_is_not_unicode(tmp_path):
    recipe = DataRecipe.model_validate(RECIPE)
    with pytest.raises(LogicgenError, match="not Unicode: give the recipe another name"):
        generate(recipe, tmp_path / "d", name="x\udcff")


def test_data_of_another_format_are_refused(made, tmp_path):
    folder = tmp_path / "d"
    shutil.copytree(made, folder)
    path = folder / "dataset.json"
    path.write_text(path.read_text().replace('"format": 2', '"format": 1'))
    before = contents(folder)
    for use in (make, load_dataset):
        with pytest.raises(LogicgenError, match=r"dataset\.json: .*format: input should be 2"):
            use(folder)
    assert contents(folder) == before
