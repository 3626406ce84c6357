"""Stores that fail, refuse, lose or damage what they hold, and disks that are full."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from logicgen.data.opening import load_dataset, make
from logicgen.data.remote import local_copy
from logicgen.data.store import Store
from logicgen.errors import LogicgenError
from tests.data.data_sets import contents
from tests.data.stores.scene import Proxy, check_whole, empty, point, recipe, write

pytestmark = pytest.mark.store


def test_connections_that_drop(server, bucket, whole, monkeypatch, cache):
    """Every third request loses its connection, when data are put and when they are read."""
    count = [0]

    def drop(sent: bytes) -> bytes | None:
        if sent.split(b" ", 1)[0] not in (b"PUT", b"GET"):
            return None
        count[0] += 1
        return None if count[0] % 3 else b""

    point(monkeypatch, Proxy(server, drop).address)
    url = f"s3://{bucket}/some"
    make(recipe(), url, name="some")
    dropped = count[0] // 3
    assert dropped >= 3
    empty(cache)
    assert contents(local_copy(url)) == whole
    assert count[0] // 3 > dropped
    point(monkeypatch, server)
    check_whole(url, whole)


def test_a_connection_that_never_holds(server, bucket, whole, monkeypatch):
    fine = [True]
    point(monkeypatch, Proxy(server, lambda sent: None if fine[0] else b"").address)
    url, put = f"s3://{bucket}/some", Store._put

    def cut(self, path, name):
        fine[0] = "train" not in name  # in the middle: the store stays away
        put(self, path, name)

    monkeypatch.setattr(Store, "_put", cut)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with pytest.raises(
        LogicgenError, match=rf"^{url}: .*: run the same command again to continue$"
    ) as said:
        make(recipe(), url, name="some")
    assert "\n" not in str(said.value)
    fine[0] = True
    monkeypatch.setattr(Store, "_put", put)
    make(recipe(), url, name="some")
    check_whole(url, whole)


def refusal(status: str, code: str, message: str) -> bytes:
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}"
    return f"{head}\r\nConnection: close\r\n\r\n".encode() + body


FAULTS = {
    "full": ("507 Insufficient Storage", "XMinioStorageFull", "Storage backend is full"),
    "wrong key": ("403 Forbidden", "InvalidAccessKeyId", "The key does not exist"),
    "wrong secret": ("403 Forbidden", "SignatureDoesNotMatch", "The signature does not match"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_that_refuses(fault, server, bucket, whole, monkeypatch, tmp_path):
    answer = refusal(*FAULTS[fault])
    bad = [True]

    def refuse(sent: bytes) -> bytes | None:
        line = sent.partition(b"\r\n")[0]
        return answer if bad[0] and line.startswith(b"PUT ") and b".json" not in line else None

    point(monkeypatch, Proxy(server, refuse).address)
    url = f"s3://{bucket}/some"
    with pytest.raises(LogicgenError) as said:
        make(recipe(), url, name="some")
    line = str(said.value)
    assert line.startswith(f"{url}: ")
    assert "\n" not in line
    wanted = (
        "run the same command again to continue" if fault == "full" else "check the credentials"
    )
    assert wanted in line, line
    bad[0] = False
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_nothing_to_write_to_or_read_from(bucket, server, monkeypatch, tmp_path):
    with pytest.raises(LogicgenError, match=r"^s3://no-such-bucket/x: .*the bucket has to exist"):
        make(recipe(), "s3://no-such-bucket/x", name="some")
    with pytest.raises(LogicgenError, match=r"^s3://no-such-bucket/x: "):
        load_dataset("s3://no-such-bucket/x")
    with pytest.raises(LogicgenError, match=r"^s4://b/x: .*logicgen\[s3\]"):
        load_dataset("s4://b/x")
    with pytest.raises(LogicgenError, match=r"a store of this kind refuses no second writer"):
        make(recipe(), "http://127.0.0.1:9/x", name="some")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    point(monkeypatch, server)
    with pytest.raises(LogicgenError, match=r"check the credentials"):
        load_dataset(f"s3://{bucket}/some")


def test_what_the_store_has_lost_or_damaged(bucket, whole, cache):
    url = f"s3://{bucket}/some"
    make(recipe(), url, name="some")
    empty(cache)
    store, shard = Store(url), "train/00000.parquet"
    write(store, shard, b"x" * len(whole[Path(shard)]))
    with pytest.raises(
        LogicgenError, match=r"00000.parquet has another checksum than in the description"
    ):
        load_dataset(url)
    write(store, shard, b"x")  # which the same command sees
    make(recipe(), url, name="some")
    check_whole(url, whole)
    empty(cache)
    store.remove(shard)
    with pytest.raises(LogicgenError, match=r"00000.parquet: missing: run the same logicgen"):
        load_dataset(url)
    make(recipe(), url, name="some")  # as it says
    check_whole(url, whole)
    unfinished = json.loads(whole[Path("dataset.json")]) | {"complete": False}
    write(store, "dataset.json", json.dumps(unfinished).encode())
    with pytest.raises(LogicgenError, match=r"not finished; run the same logicgen generate"):
        load_dataset(url)
    for content in (b'{"half', b"[]", b"\xff\xfe", b"{}"):
        write(store, "dataset.json", content)
        for what in (lambda: make(recipe(), url, name="some"), lambda: load_dataset(url)):
            with pytest.raises(LogicgenError, match=r"dataset.json: damaged; make the data set"):
                what()


def test_no_room_for_a_copy(bucket, cache, monkeypatch):
    import shutil

    url = f"s3://{bucket}/some"
    make(recipe(), url, name="some")
    empty(cache)
    room = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: room)
    with pytest.raises(LogicgenError, match=r"a local copy takes 0.0 GB, .* set LOGICGEN_CACHE"):
        load_dataset(url)


def test_a_local_folder_that_cannot_be_written_names_the_variable(bucket, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOGICGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(LogicgenError, match=r"^s3://.*LOGICGEN_CACHE\): .*cannot be written"):
        make(recipe(), f"s3://{bucket}/some", name="some")
