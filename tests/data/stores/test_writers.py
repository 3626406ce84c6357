"""One writer at a time, whatever becomes of it and of the server."""

from __future__ import annotations

import json
import threading
import time

import pytest

from logicgen.data.dataset import Dataset
from logicgen.data.opening import load_dataset, make
from logicgen.data.remote import MARKER, Upload
from logicgen.data.store import Store
from logicgen.errors import LogicgenError
from tests.data.stores.scene import check_whole, empty, make_until, names, recipe, write

pytestmark = pytest.mark.store

OTHER = {"token": "another", "host": "there", "process": 1}
REFUSAL = r"process 1 on there has begun to write there. Wait .* delete s3://.*/some/.begun.json"


@pytest.mark.parametrize("left", [json.dumps(OTHER), '{"half', "[]"])
def test_the_marker_of_another_writer_is_respected_until_it_is_deleted(left, bucket, whole):
    url = f"s3://{bucket}/some"
    store = Store(url)
    write(store, MARKER, left.encode())
    said = REFUSAL if "token" in left else r"process \? on \? has begun to write there"
    with pytest.raises(LogicgenError, match=said) as error:
        make(recipe(), url, name="some")
    assert "\n" not in str(error.value)
    assert names(url) == [MARKER]
    store.remove(MARKER)
    make(recipe(), url, name="some")
    check_whole(url, whole)
    write(store, MARKER, left.encode())  # of somebody who repairs these data
    with pytest.raises(LogicgenError, match="has begun to write there"):
        make(recipe(), url, name="some")
    assert load_dataset(url)


def test_a_folder_with_other_things_is_left_alone(bucket):
    url = f"s3://{bucket}/other"
    write(Store(url), "letters.txt", b"dear")
    with pytest.raises(LogicgenError, match="has other content: choose another folder"):
        make(recipe(), url, name="some")
    assert names(url) == ["letters.txt"]


@pytest.mark.parametrize("kind", ["file", "s3"])
def test_of_many_that_begin_at_once_one_writes(kind, bucket, tmp_path):
    url = {"file": f"file://{tmp_path}/third", "s3": f"s3://{bucket}/third"}[kind]
    taken, refused, start = [], [], threading.Barrier(8)

    def begin(number: int) -> None:
        work = tmp_path / str(number)
        work.mkdir()
        upload = Upload(Store(url), Dataset, work)
        start.wait()
        try:
            upload.begin(known=False)
            taken.append(number)
        except LogicgenError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1
    assert len(refused) == 7


def test_another_machine_is_refused_until_the_unfinished_files_are_deleted(bucket, cache, whole):
    url = f"s3://{bucket}/some"
    make_until(url)
    assert len(names(url)) == 2
    empty(cache)
    with pytest.raises(LogicgenError, match=r"process \d+ on .* has begun to write there"):
        make(recipe(), url, name="some")
    Store(url).remove(MARKER)
    with pytest.raises(LogicgenError, match="has other content"):
        make(recipe(), url, name="some")
    Store(url).fs.rm(Store(url).root, recursive=True)
    make(recipe(), url, name="some")
    check_whole(url, whole)


@pytest.mark.parametrize(
    ("left", "said"), [(OTHER, REFUSAL), (None, "was deleted while this process wrote there")]
)
def test_a_writer_whose_marker_is_gone_puts_no_description(left, said, bucket, monkeypatch, whole):
    url, put = f"s3://{bucket}/some", Store._put

    def lose(self, path, name):
        put(self, path, name)
        self.remove(MARKER)
        if left is not None:
            write(self, MARKER, json.dumps(left).encode())

    monkeypatch.setattr(Store, "_put", lose)
    with pytest.raises(LogicgenError, match=said):
        make(recipe(), url, name="some")
    assert "dataset.json" not in names(url)
    monkeypatch.setattr(Store, "_put", put)
    Store(url).fs.rm(Store(url).root, recursive=True)
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_the_answer_to_the_put_of_a_marker_is_lost(bucket, monkeypatch, whole):
    create = Store._create

    def lost(self, path, content):
        create(self, path, content)
        raise OSError("no answer")

    monkeypatch.setattr(Store, "_create", lost)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    url = f"s3://{bucket}/some"
    make(recipe(), url, name="some")
    monkeypatch.setattr(Store, "_create", create)
    check_whole(url, whole)


def test_a_server_that_gives_no_reason_for_a_refused_put(bucket, monkeypatch, whole):
    """As MinIO does: s3fs then does not know that the file is there."""
    import s3fs

    put = s3fs.S3FileSystem.pipe_file

    def refused(self, path, value, mode="overwrite", **settings):
        try:
            return put(self, path, value, mode=mode, **settings)
        except FileExistsError:
            answer = Exception()
            answer.response = {"ResponseMetadata": {"HTTPStatusCode": 412}}
            raise OSError(22, "At least one of the pre-conditions did not hold") from answer

    monkeypatch.setattr(s3fs.S3FileSystem, "pipe_file", refused)
    url = f"s3://{bucket}/some"
    assert Store(url).create(MARKER, json.dumps(OTHER).encode())
    assert not Store(url).create(MARKER, b"")
    Store(url).remove(MARKER)
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_a_store_without_conditional_puts(bucket, monkeypatch):
    monkeypatch.setattr(Store, "_create", lambda self, path, content: self.fs.pipe(path, content))
    with pytest.raises(LogicgenError, match="overwrites existing files"):
        make(recipe(), f"s3://{bucket}/some", name="some")
    assert not names(f"s3://{bucket}/some")
