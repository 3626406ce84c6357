"""Data in stores: in memory, in a folder by URL, and in an S3 server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import logicgen
from logicgen.cli.group import group
from logicgen.data.opening import load_dataset, make
from logicgen.data.recipe import DataRecipe
from logicgen.data.remote import MARKER, local_copy
from logicgen.data.store import Store
from logicgen.errors import LogicgenError
from tests.data.data_sets import RECIPE, contents
from tests.data.stores.scene import Proxy, check_whole, empty, make_until, names, recipe, write

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
    assert logicgen.load_dataset(url).splits == load_dataset(made).splits
    assert contents(first) == whole
    Store(url).fs.rm(Store(url).root, recursive=True)
    assert not names(url)
    with pytest.raises(LogicgenError, match=r"no finished data set or corpus there"):
        load_dataset(url)
    make(recipe(), url, name="some", seed=1)
    assert local_copy(url) != first
    with pytest.raises(LogicgenError, match=r"holds a data set of another seed; choose"):
        make(recipe(), url, name="some", seed=2)


def test_stopped_after_each_put_it_is_finished_later(bucket, whole):
    url = f"s3://{bucket}/some"
    for allowed in range(1, len(whole) + 1):
        make_until(url)
        # The last put is that of the description: then only the marker is left.
        assert MARKER in names(url)
        if allowed == len(whole):
            break
        assert "dataset.json" not in names(url)
        with pytest.raises(LogicgenError, match="no finished data set"):
            load_dataset(url)
        with pytest.raises(LogicgenError, match="has begun to write there"):
            make(recipe(), url, name="some", seed=5)
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_shards_are_put_when_they_are_finished(bucket, monkeypatch, whole):
    """Before the last one is made."""
    url, seen = f"s3://{bucket}/some", []
    make(recipe(), url, name="some", progress=lambda *_: seen.append(names(url)))
    assert any("grid/" in str(some) and "train/" not in str(some) for some in seen)
    check_whole(url, whole)


def test_killed_it_goes_on(server, bucket, monkeypatch, whole, tmp_path):
    """With SIGKILL, in the middle of a put."""
    url, begun = f"s3://{bucket}/some", threading.Event()

    def disturb(sent: bytes) -> bytes | None:
        if sent.startswith(b"PUT ") and b"/train/" in sent.partition(b"\r\n")[0]:
            begun.set()
            time.sleep(60)
        return None

    code = f"""if True:
        from logicgen.data.opening import make
        from tests.data.stores.scene import recipe, write
        make(recipe(), {url!r}, name="some")
    """
    environment = {**os.environ, "AWS_ENDPOINT_URL": Proxy(server, disturb).address}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    assert begun.wait(60)
    process.kill()
    process.wait()
    assert MARKER in names(url)
    assert "grid/" in str(names(url))
    assert "dataset.json" not in names(url)
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_data_that_were_not_finished_here_are_finished_elsewhere(bucket, cache, whole):
    url = f"s3://{bucket}/some"
    make_until(url, "grid")
    for name, content in whole.items():
        write(Store(url), name.as_posix(), content)
    Store(url).remove(MARKER)
    make(recipe(), url, name="some")
    assert not list((cache / "unfinished").iterdir())
    assert not list((cache / "data").glob("*"))
    check_whole(url, whole)


@pytest.mark.parametrize("change", ["content", "lost", "more"])
def test_what_was_put_before_a_stop_is_checked(change, bucket, cache, whole):
    """Other content with another checksum, a file that the store has lost, and one too many."""
    url = f"s3://{bucket}/some"
    make_until(url, "train", 2)
    store, shard = Store(url), "train/00000.parquet"
    (record,) = (cache / "unfinished").glob("*/put")
    text = record.read_text()
    assert f" {shard}" in text
    if change == "content":
        write(store, shard, b"x" * len(whole[Path(shard)]))
        record.write_text(re.sub(rf"\w+ {shard}", f"{'0' * 64} {shard}", text))
    elif change == "lost":
        store.remove(shard)
    else:
        write(store, "train/00009.parquet", b"x")
        record.write_text(f"{text}{'0' * 64} train/00009.parquet\n{'0' * 30}")
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
    read = load_dataset(url)
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
    assert "give a local path; only data can be at a URL" in refused.output
    trained = run(
        *("train", "propositional-learned", "--data", url, "-o", str(tmp_path / "run")),
        *("--steps", "2"),
    )
    assert trained.exit_code == 0, trained.output
    missing = run("train", "propositional-learned", "--data", url + "x", "-o", str(tmp_path / "r"))
    assert isinstance(missing.exception, LogicgenError)
    for bad, says in (
        ("memory://x/y", "is lost when this command ends"),
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
        assert "give a local path" in run(*command).output
