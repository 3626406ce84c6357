"""A real S3 server on the loopback address, and a bucket of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.data.data_sets import contents
from tests.data.stores.scene import point


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of one's own; without the extra `s3` the test is skipped."""
    pytest.importorskip("s3fs")
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


@pytest.fixture
def whole(made) -> dict[Any, bytes]:
    """The bytes of the small data set by file, as a local folder has them."""
    return contents(made)
