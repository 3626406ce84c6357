"""Data in stores: in memory, in a folder by URL, and in an S3 server."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import logicgen
from logicgen.cli.group import group
from logicgen.data.opening import open_data
from logicgen.data.recipe import DataRecipe
from logicgen.data.remote_data import BEGUN, _staging, local_copy, make
from logicgen.data.store import Store
from logicgen.errors import LogicgenError
from tests.data.data_sets import RECIPE, contents
from tests.data.data_sets import make as make_locally
from tests.data.stores.scene import check_whole, empty, names, recipe

pytestmark = pytest.mark.store

RECIPE_FILE = """
task = "propositional"
solver = "truth-table"
[region]
symbols = [1, 3]
length = [1, 9]
[sizes]
train = 300
validation = 20
test = 20
"""


@pytest.mark.parametrize("kind", ["memory", "file", "s3"])
def test_the_bytes_of_a_local_folder(kind, bucket, whole, made, tmp_path, cache):
    url = {
        "memory": f"memory://some/{tmp_path.name}",
        "file": f"file://{tmp_path}/store/some",
        "s3": f"s3://{bucket}/deep/some",
    }[kind]
    description = make(recipe(), url, name="some")
    check_whole(url, whole)
    assert json.loads(whole[Path("dataset.json")]) == description
    assert make(recipe(), url, name="some") == description  # which is there already
    # A machine that made nothing copies them, once; other data under the URL are copied anew.
    first = local_copy(url)
    empty(cache)
    assert logicgen.load_dataset(url).splits == open_data(made).splits
    assert contents(first) == whole
    Store(url).fs.rm(Store(url).root, recursive=True)
    assert not names(url)
    with pytest.raises(LogicgenError, match=r"no finished data set or corpus there"):
        open_data(url)
    make(recipe(), url, name="some", seed=1)
    assert local_copy(url) != first
    with pytest.raises(LogicgenError, match=r"holds a data set of another seed; choose"):
        make(recipe(), url, name="some", seed=2)


def test_what_is_put_is_put_last_and_finished_later(bucket, whole, monkeypatch):
    """Stopped after each put in turn, with and without what was made locally."""
    url, put, stopped = f"s3://{bucket}/some", Store._put, 0

    class StopError(BaseException):
        pass

    for allowed in range(len(whole)):
        left = [allowed]

        def limited(self, path, name, left=left):
            if not left[0]:
                raise StopError
            left[0] -= 1
            put(self, path, name)

        monkeypatch.setattr(Store, "_put", limited)
        with pytest.raises(StopError):
            make(recipe(), url, name="some")
        stopped += 1
        assert "dataset.json" not in names(url)
        with pytest.raises(LogicgenError, match="no finished data set"):
            open_data(url)
        if len(names(url)) >= 2:  # one has been put for good, so it goes on
            break
    with pytest.raises(LogicgenError, match="unfinished data of another recipe or seed"):
        make(recipe(), url, name="some", seed=5)
    monkeypatch.setattr(Store, "_put", put)
    make(recipe(), url, name="some")
    assert stopped
    check_whole(url, whole)


def test_data_that_were_not_finished_here_are_finished_elsewhere(bucket, cache, monkeypatch, whole):
    url = f"s3://{bucket}/some"
    make(recipe(), url, name="some")
    empty(cache)
    # What a killed command has left.
    local = _staging(
        Store(url), {"name": "some", "seed": 0, "recipe": recipe().model_dump(mode="json")}
    )
    make_locally(local)
    description = json.loads((local / "dataset.json").read_text()) | {"complete": False}
    (local / "dataset.json").write_text(json.dumps(description))
    make(recipe(), url, name="some")
    assert not local.exists()
    assert not list((cache / "data").glob("*"))
    check_whole(url, whole)


def test_files_of_another_making_are_put_again(bucket, monkeypatch, whole):
    """Stopped; meanwhile another version is installed, whose shards have the same sizes."""
    url, put = f"s3://{bucket}/some", Store._put

    def stop(self, path, name):
        put(self, path, name)
        if name.startswith("train"):
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "_put", stop)
    with pytest.raises(KeyboardInterrupt):
        make(recipe(), url, name="some")
    monkeypatch.setattr(Store, "_put", put)
    store = Store(url)
    (shard,) = [name for name in names(url) if name.startswith("train")]
    store.write(shard, b"x" * len(whole[Path(shard)]))
    mark = json.loads(store.read(BEGUN) or b"")
    store.write(BEGUN, json.dumps({**mark, "description": "0" * 64}).encode())
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_readers_at_once(bucket, whole, cache):
    url = f"s3://{bucket}/some"
    make(recipe(), url, name="some")
    empty(cache)
    found, start = [], threading.Barrier(6)

    def read() -> None:
        start.wait()
        found.append(local_copy(url))

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(contents(each) == whole for each in found)


def test_what_cannot_be_made_leaves_nothing(bucket):
    url = f"s3://{bucket}/some"
    region = {"symbols": [9, 9], "length": [1, 2]}
    with pytest.raises(LogicgenError, match="no problem has the symbols and lengths"):
        make(DataRecipe.model_validate({**RECIPE, "region": region}), url, name="some")
    assert not names(url)
    make(recipe(), url, name="some")


def test_a_corpus(bucket, tmp_path, cache):
    text = tmp_path / "text"
    text.mkdir()
    (text / "a.txt").write_text("to be or not to be, that is the question; " * 100)
    corpus = tmp_path / "mine.toml"
    corpus.write_text(f'task = "text"\n[corpus]\nfiles = ["{text}"]\ntokens = "characters"\n')
    url = f"s3://{bucket}/corpus"
    logicgen.generate(corpus, url)
    made = logicgen.generate(corpus, tmp_path / "local")
    empty(cache)
    read = open_data(url)
    assert contents(read.folder) == contents(tmp_path / "local")
    assert read.fingerprint == made.fingerprint


def test_commands(bucket, tmp_path):
    """What a user does: generate and train."""
    file = tmp_path / "mine.toml"
    file.write_text(RECIPE_FILE)
    url = f"s3://{bucket}/mine"

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(group, list(arguments))

    made = run("generate", str(file), "-o", url, "--workers", "1")
    assert made.exit_code == 0, made.output
    assert "340 verified examples" in made.output
    refused = run("train", "propositional-learned", "--data", url, "-o", "s3://x/run")
    assert refused.exit_code == 2
    assert "has to be local: only data may be at a URL" in refused.output
    trained = run(
        *("train", "propositional-learned", "--data", url, "-o", str(tmp_path / "run")),
        *("--steps", "2"),
    )
    assert trained.exit_code == 0, trained.output
    missing = run("train", "propositional-learned", "--data", url + "x", "-o", str(tmp_path / "r"))
    assert isinstance(missing.exception, LogicgenError)
    for bad, says in (
        ("memory://x/y", "ends with this command"),
        ("s3:/b/x", "one slash where a URL has two"),
        ("simplecache::s3://b/x", "without ::"),
    ):
        found = run("generate", str(file), "-o", bad)
        assert isinstance(found.exception, LogicgenError), found.output
        assert says in str(found.exception)
    # A scheme in capital letters is the same, and so is a slash at the end.
    assert "340 verified" in run("generate", str(file), "-o", f"S3://{bucket}/mine/").output
    page = run("report", url)
    assert "-o: name the page" in str(page.exception)
    assert run("report", url, "-o", str(tmp_path / "page.html")).exit_code == 0
    examples = str(tmp_path / "test.txt")
    converted = run("convert", "--task", "propositional", url, "--split", "test", examples)
    assert converted.exit_code == 0, converted.output
    for command in (
        ("convert", "--task", "propositional", examples, "s3://b/x.jsonl"),
        ("solve", "--task", "propositional", "--in", examples, "--out", "s3://b/x.jsonl"),
    ):
        assert "has to be local" in run(*command).output
