"""Data in stores: in memory, in a folder by URL, and in a real S3 server that fails at times."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import logicgen
from logicgen.cli.group import group
from logicgen.data import lease as leases
from logicgen.data.data_recipe import DataRecipe
from logicgen.data.lease import FILE as LEASE
from logicgen.data.lease import Lease
from logicgen.data.opening import open_data
from logicgen.data.remote_data import BEGUN, _staging, local_copy, make
from logicgen.data.store import Store
from logicgen.errors import LogicgenError
from tests.data.data_sets import RECIPE, contents
from tests.data.data_sets import make as make_locally

pytest.importorskip("s3fs")

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


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGICGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An S3 server on the loopback address."""
    threaded = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    threaded.start()
    host, port = threaded.get_host_and_port()
    yield f"http://{host}:{port}"
    threaded.stop()


@pytest.fixture
def bucket(server, monkeypatch) -> str:
    """A new bucket; whoever asks for s3:// finds the server, with credentials."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    point(monkeypatch, server)
    import boto3

    name = f"bucket-{time.monotonic_ns()}"
    boto3.client("s3", endpoint_url=server).create_bucket(Bucket=name)
    return name


def point(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Have s3:// mean a server, for file systems that are made from now on."""
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    s3fs.S3FileSystem.clear_instance_cache()


class Proxy:
    """Passes bytes on to a server, and fails as it is told.

    disturb: is given the first bytes of a request; what it returns is answered instead of the
        server's answer, nothing (b"") by closing the connection; None lets it pass.
    """

    def __init__(self, target: str, disturb: Callable[[bytes], bytes | None]) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self.target, self.disturb = (host, int(port)), disturb
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self.target) as server:

            def back() -> None:
                try:
                    while found := server.recv(65536):
                        client.sendall(found)
                except OSError:
                    pass

            threading.Thread(target=back, daemon=True).start()
            try:
                while sent := client.recv(65536):
                    answer = self.disturb(sent)
                    if answer is not None:
                        if answer:
                            client.sendall(answer)
                        return
                    server.sendall(sent)
            except OSError:
                pass


def recipe() -> DataRecipe:
    return DataRecipe.model_validate(RECIPE)


def names(url: str) -> list[str]:
    return sorted(set(Store(url).sizes()) - {LEASE})


def check_whole(url: str, whole: dict[Any, bytes]) -> None:
    """The store holds the bytes of the local data and nothing else, and is read as they are."""
    assert names(url) == sorted(str(name) for name in whole)
    store = Store(url)
    assert {name: store.fs.cat_file(store.path(str(name))) for name in whole} == whole
    assert store.read(LEASE) is None
    assert contents(local_copy(url)) == whole


@pytest.fixture
def whole(tmp_path) -> dict[Any, bytes]:
    make_locally(tmp_path / "local")
    return contents(tmp_path / "local")


@pytest.mark.parametrize("kind", ["memory", "file", "s3"])
def test_the_bytes_of_a_local_folder(kind, bucket, whole, tmp_path, cache):
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
    assert logicgen.load_dataset(url).splits == open_data(tmp_path / "local").splits
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
    with pytest.raises(LogicgenError, match=rf"^{url}: .*: the same command goes on$") as said:
        make(recipe(), url, name="some")
    assert "\n" not in str(said.value)
    fine[0] = True
    monkeypatch.setattr(Store, "_put", put)
    hurry(monkeypatch)
    monkeypatch.setattr(leases, "EXPIRES", 0.0)  # its lease could not be given back
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
    wanted = "the same command goes on" if fault == "full" else "check the credentials"
    assert wanted in line, line
    bad[0] = False
    make(recipe(), url, name="some")
    check_whole(url, whole)


def test_nothing_to_write_to_or_read_from(bucket, server, monkeypatch, tmp_path):
    with pytest.raises(LogicgenError, match=r"^s3://no-such-bucket/x: .*the bucket has to exist"):
        make(recipe(), "s3://no-such-bucket/x", name="some")
    with pytest.raises(LogicgenError, match=r"^s3://no-such-bucket/x: "):
        open_data("s3://no-such-bucket/x")
    with pytest.raises(LogicgenError, match=r"^s4://b/x: .*logicgen\[s3\]"):
        open_data("s4://b/x")
    with pytest.raises(LogicgenError, match=r"no lease can be held in a store of this kind"):
        make(recipe(), "http://127.0.0.1:9/x", name="some")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    point(monkeypatch, server)
    with pytest.raises(LogicgenError, match=r"check the credentials"):
        open_data(f"s3://{bucket}/some")


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


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have leases be renewed and watched for moments."""
    for name, seconds in (("RENEWED", 0.2), ("WATCHED", 0.5), ("SETTLED", 3.0)):
        monkeypatch.setattr(leases, name, seconds)


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


def test_a_store_without_conditional_puts(bucket, monkeypatch):
    monkeypatch.setattr(Store, "_create", lambda self, path, content: self.fs.pipe(path, content))
    with pytest.raises(LogicgenError, match="puts files where there are some already"):
        make(recipe(), f"s3://{bucket}/some", name="some")
    assert not names(f"s3://{bucket}/some")


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


def test_what_the_store_has_lost_or_damaged(bucket, whole, cache):
    url = f"s3://{bucket}/some"
    make(recipe(), url, name="some")
    empty(cache)
    store, shard = Store(url), "train/00000.parquet"
    store.write(shard, b"x" * len(whole[Path(shard)]))
    with pytest.raises(LogicgenError, match=r"00000.parquet is not what the description says"):
        open_data(url)
    store.write(shard, b"x")  # which the same command sees
    make(recipe(), url, name="some")
    check_whole(url, whole)
    empty(cache)
    store.remove(shard)
    with pytest.raises(LogicgenError, match=r"00000.parquet: missing: the same logicgen generate"):
        open_data(url)
    make(recipe(), url, name="some")  # as it says
    check_whole(url, whole)
    begin = {
        key: json.loads(whole[Path("dataset.json")])[key] for key in ("name", "seed", "recipe")
    }
    for digest in (hashlib.sha256(whole[Path("dataset.json")]).hexdigest(), "0" * 64):
        # Killed when all was there; or when files of another version lay over some.
        store.write(BEGUN, json.dumps({**begin, "description": digest}).encode())
        if digest.startswith("0000"):
            store.write(shard, b"x" * len(whole[Path(shard)]))
        assert make(recipe(), f"{url}/", name="some")
        check_whole(url, whole)
    unfinished = json.loads(whole[Path("dataset.json")]) | {"complete": False}
    store.write("dataset.json", json.dumps(unfinished).encode())
    with pytest.raises(LogicgenError, match=r"not finished; run the same logicgen generate"):
        open_data(url)
    for content in (b'{"half', b"[]", b"\xff\xfe", b"{}"):
        store.write("dataset.json", content)
        for what in (lambda: make(recipe(), url, name="some"), lambda: open_data(url)):
            with pytest.raises(LogicgenError, match=r"dataset.json: damaged; make the data set"):
                what()


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


def test_no_room_for_a_copy(bucket, cache, monkeypatch):
    import shutil

    url = f"s3://{bucket}/some"
    make(recipe(), url, name="some")
    empty(cache)
    room = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: room)
    with pytest.raises(LogicgenError, match=r"a local copy takes 0.0 GB, .* set LOGICGEN_CACHE"):
        open_data(url)


def test_a_local_folder_that_cannot_be_written_names_the_variable(bucket, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOGICGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(LogicgenError, match=r"^s3://.*LOGICGEN_CACHE says: .*cannot be written"):
        make(recipe(), f"s3://{bucket}/some", name="some")


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


def empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


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
