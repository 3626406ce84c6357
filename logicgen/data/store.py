"""A folder in an object store, or wherever fsspec reaches: `s3://bucket/folder`.

Whatever goes wrong there, of any package, is a LogicgenError of one line with a remedy; what may be
for a moment is tried again.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from logicgen.errors import LogicgenError
from logicgen.files import own_part_path, sha256

LOCAL = {"file", "local"}

# Stores whose fsspec package puts a file only where there is none, as one operation.
LOCKABLE = {*LOCAL, "abfs", "az", "gcs", "gs", "memory", "s3", "s3a"}

TRIES = 4

PRECONDITION_FAILED = 412  # of HTTP

Found = TypeVar("Found")


class ArrivedError(OSError):
    """A file that did not arrive as it is."""


class Store:
    """A folder named by a URL, whose `url` has no slash at its end."""

    def __init__(self, url: str) -> None:
        self.protocol, _, rest = url.partition("://")
        self.protocol = self.protocol.lower()
        self.url = f"{self.protocol}://{rest.rstrip('/')}"
        if "::" in url:
            raise LogicgenError(f"{url}: give the URL of the store itself, without ::")
        options: dict[str, Any] = {}
        if self.protocol in LOCAL:
            options = {"auto_mkdir": True}
        elif self.protocol in ("s3", "s3a"):  # it is tried again here, and by s3fs
            options = {"config_kwargs": {"retries": {"total_max_attempts": 1}}}
        with self._telling():
            try:
                from fsspec.core import url_to_fs

                self.fs, self.root = url_to_fs(self.url, use_listings_cache=False, **options)
            except (ImportError, ValueError) as error:
                raise LogicgenError(
                    f"{url}: {error}; pip install 'logicgen[s3]' brings what s3:// needs"
                ) from None

    def path(self, name: str) -> str:
        """Return where a file is, as the file system wants it."""
        return f"{self.root}/{name}"

    def sizes(self) -> dict[str, int]:
        """Return the bytes of all files by name, those in folders as `train/00000.parquet`.

        Nothing of a store that cannot list its files.
        """
        with self._telling():
            self.fs.invalidate_cache()
            try:
                found = self._tried(lambda: self.fs.find(self.root, detail=True))
            # Nothing is there yet; or it is a store, such as HTTP, that lists nothing, and
            # whatever reads it asks for the files that the description names.
            except (FileNotFoundError, NotImplementedError):
                return {}
        names = {str(path).removeprefix(self.root).lstrip("/"): path for path in found}
        return {name: int(found[path].get("size") or 0) for name, path in names.items() if name}

    def read(self, name: str) -> bytes | None:
        """Return a small file; None if there is none."""
        with self._telling():
            try:
                return bytes(self._tried(lambda: self.fs.cat_file(self.path(name))))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Put a small file."""
        with self._telling():
            self._tried(lambda: self.fs.pipe_file(self.path(name), content))

    def check_lockable(self) -> None:
        """Raise LogicgenError where files cannot be put only where there are none."""
        if self.protocol not in LOCKABLE:
            raise LogicgenError(
                f"{self.url}: no lease can be held in a store of this kind: generate into a local"
                " folder, then copy it there, the description last"
            )

    def create(self, name: str, content: bytes) -> None:
        """Put a small file where there is none. Raises FileExistsError where there is one."""
        with self._telling():
            self._tried(lambda: self._create(self.path(name), content))

    def _create(self, path: str, content: bytes) -> None:
        if self.protocol in LOCAL:  # fsspec would look first, then write
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(content)
            return
        try:
            self.fs.pipe_file(path, content, mode="create")
        except OSError as error:  # s3fs knows that of some servers only
            answer = getattr(error.__cause__, "response", None) or {}
            if answer.get("ResponseMetadata", {}).get("HTTPStatusCode") == PRECONDITION_FAILED:
                raise FileExistsError(path) from None
            raise

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._telling(), suppress(FileNotFoundError):
            self.fs.rm_file(self.path(name))

    def put(self, path: Path, name: str) -> None:
        """Put a file."""
        with self._telling():
            self._tried(partial(self._put, path, name))

    def _put(self, path: Path, name: str) -> None:
        self.fs.put_file(str(path), self.path(name))
        self.fs.invalidate_cache()
        if self.fs.info(self.path(name))["size"] != path.stat().st_size:
            raise ArrivedError("a file arrived with another size")

    def get(self, name: str, target: Path, digest: str | None = None) -> None:
        """Copy a file to a local one, which is there whole or not at all.

        digest: its SHA-256, if it is known.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        with self._telling():
            try:
                self._tried(partial(self._get, name, target, digest))
            except FileNotFoundError:
                raise LogicgenError(
                    f"{self.url}/{name}: missing: the same logicgen generate command puts it there"
                    " again"
                ) from None

    def _get(self, name: str, target: Path, digest: str | None) -> None:
        # Others may copy it at the same time.
        part = own_part_path(target)
        try:
            self.fs.get_file(self.path(name), str(part))
            if digest is not None and sha256(part) != digest:
                raise ArrivedError(f"{name} is not what the description says")
            os.replace(part, target)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _no_room(self.url, target.parent) from None
            raise
        finally:
            part.unlink(missing_ok=True)

    def _tried(self, function: Callable[[], Found]) -> Found:
        """Return what a function returns, at the fourth try at the latest."""
        # What another try would not change; all of them are raised.
        final = (
            FileNotFoundError,
            FileExistsError,
            PermissionError,
            NotImplementedError,
            LogicgenError,
        )
        for pause in range(1, TRIES + 1):
            try:
                return function()
            except final:
                raise
            except Exception as error:
                if pause == TRIES or _refused(error):
                    raise
                time.sleep(pause / 2)
        raise AssertionError

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Say in one line what a store complains of: any package's exceptions may come."""
        try:
            yield
        except (LogicgenError, FileExistsError):
            raise
        except FileNotFoundError as error:
            raise LogicgenError(
                f"{self.url}: {_line(error)}: the bucket has to exist; create it, or correct the"
                " URL"
            ) from None
        except Exception as error:
            advice = "the same command goes on"
            if isinstance(error, ArrivedError):
                advice = (
                    "the connection was cut, or it is damaged: delete it there, and the same"
                    " logicgen generate command puts it again"
                )
            if isinstance(error, PermissionError) or _refused(error):
                advice = "check the credentials, such as AWS_ACCESS_KEY_ID or ~/.aws"
            raise LogicgenError(f"{self.url}: {_line(error)}: {advice}") from None


def _no_room(url: str, folder: Path) -> LogicgenError:
    return LogicgenError(
        f"{url}: its local copy does not fit on the disk of {folder}: make room, or set"
        " LOGICGEN_CACHE to a folder elsewhere; the same command goes on"
    )


def _refused(error: Exception) -> bool:
    return type(error).__name__ in (
        "NoCredentialsError",
        "PartialCredentialsError",
        "ProfileNotFound",
    )


def _line(error: Exception) -> str:
    text = str(error).partition("\n")[0].strip().rstrip(".")
    return text or type(error).__name__


def is_url(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is named by a URL.

    Raises LogicgenError for what a URL becomes as a `Path`, which makes one slash of two.
    """
    text = os.fspath(folder)
    if re.match(r"[a-z0-9]{2,}:/[^/]", text, re.IGNORECASE):
        raise LogicgenError(f"{text}: has one slash where a URL has two; give it as text")
    return re.match(r"[a-z][a-z0-9+.:-]*://", text, re.IGNORECASE) is not None
