"""Leases: one writer at a time, whatever becomes of it, of the clocks and of the server."""

from __future__ import annotations

import json
import threading
import time

import pytest

from logicgen.data import lease as leases
from logicgen.data.lease import FILE as LEASE
from logicgen.data.lease import Lease
from logicgen.data.remote_data import make
from logicgen.data.store import Store
from logicgen.errors import LogicgenError
from tests.data.stores.scene import check_whole, hurry, names, recipe

pytestmark = pytest.mark.store


def test_one_at_a_time(bucket, monkeypatch):
    url = f"s3://{bucket}/some"
    with Lease(Store(url)), pytest.raises(LogicgenError, match=r"process \d+ on .* is writing"):
        make(recipe(), url, name="some")
    hurry(monkeypatch)
    for left in (json.dumps({"renewed": time.time() - 301}), '{"half', "[]"):
        Store(url).write(LEASE, left.encode())
        with Lease(Store(url)):  # whose holder is gone
            pass
    Store(url).write(LEASE, json.dumps({"renewed": time.time()}).encode())
    with pytest.raises(LogicgenError, match=r"process \? on \? is writing there"):
        make(recipe(), url, name="some")
    Store(url).remove(LEASE)
    other = f"s3://{bucket}/other"
    Store(other).write("letters.txt", b"dear")
    with pytest.raises(LogicgenError, match="holds other things: choose another folder"):
        make(recipe(), other, name="some")
    assert Store(other).read(LEASE) is None


@pytest.mark.parametrize("left_behind", [False, True])
@pytest.mark.parametrize("kind", ["file", "s3"])
def test_of_many_that_begin_at_once_one_holds_the_lease(
    kind, left_behind, bucket, tmp_path, monkeypatch
):
    hurry(monkeypatch)
    url = {"file": f"file://{tmp_path}/third", "s3": f"s3://{bucket}/third"}[kind]
    if left_behind:
        Store(url).write(LEASE, json.dumps({"renewed": 0}).encode())
    taken, refused, start = [], threading.Semaphore(0), threading.Barrier(8)

    def take() -> None:
        start.wait()
        try:
            with Lease(Store(url)) as lease:
                lease.check()
                taken.append(1)
                for _ in range(7):  # until all others have given up
                    assert refused.acquire(timeout=60)
        except LogicgenError:
            refused.release()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == [1]
    assert Store(url).read(LEASE) is None


def test_a_lease_that_somebody_renews_is_not_taken_though_clocks_differ(bucket, monkeypatch):
    hurry(monkeypatch)
    store, clock = Store(f"s3://{bucket}/some"), time.time
    with Lease(store):
        monkeypatch.setattr(leases.time, "time", lambda: clock() + 1000)
        with pytest.raises(LogicgenError, match="is writing there"), Lease(store):
            pass


def test_who_has_lost_the_lease_puts_no_description(bucket, monkeypatch, whole):
    url, put = f"s3://{bucket}/some", Store._put
    other = json.dumps({"id": "another", "host": "there", "process": 1, "renewed": time.time()})

    def lose(self, path, name):
        put(self, path, name)
        self.write(LEASE, other.encode())

    monkeypatch.setattr(Store, "_put", lose)
    with pytest.raises(LogicgenError, match="process 1 on there is writing there"):
        make(recipe(), url, name="some")
    assert "dataset.json" not in names(url)
    assert json.loads(Store(url).read(LEASE) or b"")["id"] == "another"  # and takes it from nobody
    monkeypatch.setattr(Store, "_put", put)
    Store(url).remove(LEASE)
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_the_answer_to_the_put_of_a_lease_is_lost(bucket, monkeypatch, whole):
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
    with Lease(Store(url)), pytest.raises(LogicgenError, match="is writing there"):
        make(recipe(), url, name="some")
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_a_store_without_conditional_puts(bucket, monkeypatch):
    monkeypatch.setattr(Store, "_create", lambda self, path, content: self.fs.pipe(path, content))
    with pytest.raises(LogicgenError, match="puts files where there are some already"):
        make(recipe(), f"s3://{bucket}/some", name="some")
    assert not names(f"s3://{bucket}/some")
