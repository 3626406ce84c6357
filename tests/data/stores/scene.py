"""What tests of data in stores have in common: their recipe, and a server that fails at times."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from logicgen.data.opening import make
from logicgen.data.recipe import DataRecipe
from logicgen.data.remote import local_copy
from logicgen.data.store import Store
from tests.data.data_sets import RECIPE, contents


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
    return sorted(Store(url).sizes())


def check_whole(url: str, whole: dict[Any, bytes]) -> None:
    """The store holds the bytes of the local data and nothing else, and is read as they are."""
    assert names(url) == sorted(str(name) for name in whole)
    store = Store(url)
    assert {name: store.fs.cat_file(store.path(str(name))) for name in whole} == whole
    assert contents(local_copy(url)) == whole


def write(store: Store, name: str, content: bytes) -> None:
    """Put a small file."""
    store.fs.pipe_file(store.path(name), content)


def make_until(url: str, part: str = "", left: int = 1) -> None:
    """Make the data, stopped once so many files with `part` in their names are put."""
    put, counts = Store._put, [left]

    def limited(self: Store, path: Path, name: str) -> None:
        if counts[0]:
            put(self, path, name)
            counts[0] -= part in name
        if not counts[0]:
            raise KeyboardInterrupt

    with patch.object(Store, "_put", limited), pytest.raises(KeyboardInterrupt):
        make(recipe(), url, name="some")


def empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
