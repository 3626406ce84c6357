"""Data at a URL, in any store of fsspec: uploaded to it, and copied from it to be read.

An object store has no locks and no renaming, and finished shards are read again while data are
made. So data are made in a local work folder. Each shard is uploaded when it is finished, and the
description last: a folder without a description is unfinished. A reader copies the data once to a
local folder, and verifies the checksum of each file.

A marker file, created exclusively in the store, keeps other writers away. The marker contains a
token, and the work folder has a copy of the token. So the same command, run by the same user on the
same machine, continues after an interruption.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from logicgen.callbacks import StageProgress
from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.folder import DataFolder, alone, confined
from logicgen.data.recipe import SPLITS
from logicgen.data.store import EXCLUSIVE, Store, is_url
from logicgen.errors import LogicgenError
from logicgen.files import (
    is_part,
    own_part_path,
    prepare_folder,
    sha256,
    text_sha256,
    write_atomically,
    write_text,
)

MARKER = ".begun.json"
"""Name of the marker file, which contains the host, the process and the token of the writer."""

SHARDS = (".parquet", ".npy")
"""Suffixes of files that never change after they are written."""


class Upload:
    """Data of a `kind` that this process makes in a work folder and uploads to a store.

    Attributes:
        local: the local folder of the data. The work folder also has a file with the token of the
            marker, and a file with the checksum and name of each uploaded file.
    """

    def __init__(self, store: Store, kind: type[DataFolder[Any]], work: Path) -> None:
        self.store, self.kind, self.local = store, kind, work / "data"
        token, self._record = work / "token", work / "put"
        if not token.exists():
            write_text(token, uuid.uuid4().hex)
        self._token = token.read_text(encoding="utf-8")
        self._sent: dict[str, str] = {}
        if self._record.exists():
            for line in self._record.read_text(encoding="utf-8").splitlines():
                digest, _, name = line.partition(" ")
                self._sent[name] = digest

    def fill(
        self, begin: dict[str, Any], made: Callable[..., dict[str, Any]], progress: StageProgress
    ) -> dict[str, Any]:
        """Make and upload the data, unless the store has them; return their description."""
        content = self.store.read(self.kind.file)
        if content is not None:
            found, _ = self.kind.checked(content, f"{self.store.url}/{self.kind.file}")
            self.kind.check_same(self.store.url, found, begin)
            if found["complete"] and not self.held():
                there = self.store.sizes()  # descriptions of corpora have no sizes of files
                files = self.kind.files(found)
                sizes = {name: file.get("bytes", there.get(name)) for name, file in files}
                if sizes.items() <= there.items():
                    return found
        self.begin(known=content is not None)
        try:
            description = made(self.local, progress=self.follow(progress))
        except BaseException:
            self.abandon()
            raise
        self.finish(description, progress)
        return description

    def held(self) -> bool:
        """Return whether the store has the marker of this upload.

        Raises LogicgenError if the store has the marker of another writer.
        """
        content, found = self.store.read(MARKER), None
        if content is None:
            return False
        with suppress(ValueError):
            found = json.loads(content)
        found = found if isinstance(found, dict) else {}
        if found.get("token") == self._token:
            return True
        raise LogicgenError(
            f"{self.store.url}: process {found.get('process', '?')} on {found.get('host', '?')} has"
            " begun to write there. Wait for it, or run its command again. If that process is gone,"
            f" delete {self.store.url}/{MARKER} and the unfinished files"
        )

    def begin(self, known: bool) -> None:
        """Create the marker, unless the store has the marker of this upload.

        known: whether the store has the description of these data.

        Raises LogicgenError if another process writes there, or if the store has other content.
        """
        if self.held():
            return
        if not known and self.store.sizes():
            raise LogicgenError(
                f"{self.store.url}: has other content: choose another folder with -o"
            )
        self._record.unlink(missing_ok=True)
        self._sent.clear()
        mark = {"token": self._token, "host": socket.gethostname(), "process": os.getpid()}
        content = json.dumps(mark).encode()
        while not self.store.create(MARKER, content):
            if self.held():  # the marker was created, but the store's answer was lost
                break
        if self.store.create(MARKER, content):  # the store overwrote the existing marker
            self.store.remove(MARKER)
            raise LogicgenError(
                f"{self.store.url}: this store overwrites existing files, so no second writer is"
                " refused: generate into a local folder, then copy it there, the description last"
            )

    def abandon(self) -> None:
        """Remove the marker if no file was uploaded."""
        with suppress(LogicgenError):
            if not self._sent and self.held():
                self.store.remove(MARKER)

    def follow(self, progress: StageProgress) -> StageProgress:
        """Return a progress function that also uploads new shards."""

        def called(split: str, done: int, total: int) -> None:
            progress(split, done, total)
            for path in sorted(path for each in SPLITS for path in (self.local / each).glob("*.*")):
                name = path.relative_to(self.local).as_posix()
                if path.suffix in SHARDS and not is_part(path) and name not in self._sent:
                    self._send(name, sha256(path))

        return called

    def finish(self, description: dict[str, Any], progress: StageProgress) -> None:
        """Upload all missing files, the description last, and remove the marker."""
        there, last = self.store.sizes(), self.kind.file
        digests = {name: file["sha256"] for name, file in self.kind.files(description)}
        paths = sorted(each for each in self.local.rglob("*") if each.is_file())
        files = {each.relative_to(self.local).as_posix(): each for each in paths}
        names = [name for name in files if name != last and not name.startswith(".")]
        for name in self._sent.keys() - {*names}:
            self.store.remove(name)
        for done, name in enumerate(names, start=1):
            digest = digests.get(name) or sha256(files[name])
            if name not in there or self._sent.get(name) != digest:
                self._send(name, digest)
            progress("files put", done, len(names) + 1)
        if not self.held():
            raise LogicgenError(
                f"{self.store.url}: {MARKER} was deleted while this process wrote there: run the"
                " same command again"
            )
        self.store.put(files[last], last)
        progress("files put", len(names) + 1, len(names) + 1)
        self.store.remove(MARKER)

    def keep(self) -> None:
        """Use the local data as the copy for reading, if the store has the same data."""
        path, content = self.local / self.kind.file, self.store.read(self.kind.file)
        if content is not None and path.is_file() and path.read_bytes() == content:
            copy = _copy_of(self.store, content)
            copy.parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # another process has copied the files already
                os.replace(self.local, copy)

    def _send(self, name: str, digest: str) -> None:
        # Recorded before the upload. After an interruption the file may be in the store or not, so
        # `finish` sends it again or removes it.
        self._sent.setdefault(name, "")
        self.store.put(self.local / name, name)
        self._sent[name] = digest
        with self._record.open("a", encoding="utf-8") as file:
            file.write(f"{digest} {name}\n")


def fill(
    url: str,
    kind: type[DataFolder[Any]],
    begin: dict[str, Any],
    made: Callable[..., dict[str, Any]],
    progress: StageProgress,
) -> dict[str, Any]:
    """Make data with `made`, and upload them to a folder of a store; return their description.

    begin: the beginning of the description: name, seed and recipe.

    Raises LogicgenError if the folder has other content or another writer, or if the store fails.
    """
    store = Store(url)
    if store.protocol not in EXCLUSIVE:
        raise LogicgenError(
            f"{store.url}: a store of this kind refuses no second writer: generate into a local"
            " folder, then copy it there, the description last"
        )
    begin = {key: value for key, value in begin.items() if key != "format"}
    text = json.dumps(begin, sort_keys=True, ensure_ascii=False)
    work = cache() / "unfinished" / text_sha256(f"{store.url} {text}")[:16]
    try:
        prepare_folder(work)
        with alone(work):
            upload = Upload(store, kind, work)
            description = upload.fill(begin, made, progress)
            upload.keep()
            shutil.rmtree(work, ignore_errors=True)
    except LogicgenError as error:
        if str(work) not in str(error):
            raise
        raise LogicgenError(
            f"{store.url}: data are made in a local folder first ({cache()}, or set"
            f" LOGICGEN_CACHE): {error}"
        ) from None
    return description


def local_copy(folder: str | os.PathLike[str], progress: StageProgress | None = None) -> Path:
    """Return the local folder of data: the folder itself, or a copy of the data at a URL.

    The data are copied once, and again if they change. Raises LogicgenError if the URL has no
    finished data, or if the store cannot be read.
    """
    if not is_url(folder):
        return Path(folder)
    store = Store(str(folder))
    kind: type[DataFolder[Any]]
    for kind in (Dataset, Corpus):
        content = store.read(kind.file)
        if content is not None:
            break
    else:
        raise LogicgenError(
            f"{store.url}: no finished data set or corpus there (no {Dataset.file}, no"
            f" {Corpus.file}); run the same logicgen generate command again to finish it"
        )
    copy = _copy_of(store, content)
    path = copy / kind.file
    if not path.is_file():
        description, _ = kind.checked(content, f"{store.url}/{kind.file}")
        if not description["complete"]:
            raise LogicgenError(
                f"{store.url}: not finished; run the same logicgen generate command again"
            )
        _copy(store, copy, kind, description, progress)
        write_atomically(path, lambda part: part.write_bytes(content), part=own_part_path(path))
    return copy


def _copy(
    store: Store,
    copy: Path,
    kind: type[DataFolder[Any]],
    description: dict[str, Any],
    progress: StageProgress | None,
) -> None:
    """Copy the files that a description lists, and further files such as cards, to `copy`."""
    sizes = store.sizes()
    wanted: dict[str, str | None] = {
        name: None for name in sizes if "/" not in name and name[0] != "." and name != kind.file
    }
    wanted |= {name: file["sha256"] for name, file in kind.files(description)}
    missing = {name: digest for name, digest in wanted.items() if not (copy / name).exists()}
    copy.mkdir(parents=True, exist_ok=True)
    needed, free = sum(sizes.get(name, 0) for name in missing), shutil.disk_usage(copy).free
    if needed > free:
        raise LogicgenError(
            f"{store.url}: a local copy takes {needed / 1e9:.1f} GB, the disk of {copy} has"
            f" {free / 1e9:.1f}: make room, or set LOGICGEN_CACHE to a folder elsewhere"
        )
    for done, (name, digest) in enumerate(missing.items(), start=1):
        store.get(name, confined(copy, copy / name), digest)
        if progress is not None:
            progress("files copied", done, len(missing))


def cache() -> Path:
    """Return the folder for copies: LOGICGEN_CACHE, or `logicgen` in the user's cache."""
    if own := os.environ.get("LOGICGEN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "logicgen"


def _copy_of(store: Store, description: bytes) -> Path:
    """Return the local folder for a copy of data.

    If the data at a URL are replaced, the copy of the new data has another folder.
    """
    name = store.url.rpartition("/")[2]
    key = text_sha256(f"{store.url} {description.hex()}")[:16]
    return cache() / "data" / f"{name}-{key}"
