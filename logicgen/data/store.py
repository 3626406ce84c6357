"""A folder in an object store, or in another store of fsspec: `s3://bucket/folder`."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError
from logicgen.files import own_part_path, sha256

LOCAL = {"file", "local"}

# Stores that can create a file exclusively, in one operation that fails if the file exists.
EXCLUSIVE = {*LOCAL, "abfs", "az", "gcs", "gs", "memory", "s3", "s3a"}

TRIES = 4

PRECONDITION_FAILED = 412  # HTTP status

REFUSALS = ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "PermissionError")
"""Names of errors that other credentials may prevent."""

FINAL = (FileNotFoundError, PermissionError, NotImplementedError)
"""Errors that another try cannot prevent."""


class ArrivalError(OSError):
    """A file arrived damaged."""


class Store:
    """A folder at a URL. `url` has no slash at its end.

    Errors of other packages become LogicgenErrors of one line with a remedy. Operations that may
    fail for a moment are tried again.
    """

    def __init__(self, url: str) -> None:
        self.protocol, _, rest = url.partition("://")
        self.protocol = self.protocol.lower()
        self.url = f"{self.protocol}://{rest.rstrip('/')}"
        if "::" in url:
            raise LogicgenError(f"{url}: give the URL of the store itself, without ::")
        options: dict[str, Any] = {}
        if self.protocol in LOCAL:
            options = {"auto_mkdir": True}
        elif self.protocol in ("s3", "s3a"):  # no retries in botocore: this class and s3fs retry
            options = {"config_kwargs": {"retries": {"total_max_attempts": 1}}}
        try:
            from fsspec.core import url_to_fs

            self.fs, self.root = url_to_fs(self.url, use_listings_cache=False, **options)
        except (ImportError, ValueError) as error:
            raise LogicgenError(f"{url}: {error}; s3:// needs pip install 'logicgen[s3]'") from None
        except Exception as error:
            raise self._failure(error) from None

    def path(self, name: str) -> str:
        """Return the path of a file in the file system of fsspec."""
        return f"{self.root}/{name}"

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files in bytes, by name such as `train/00000.parquet`.

        The result is empty for a store, such as HTTP, that cannot list its files.
        """
        self.fs.invalidate_cache()
        found = self._tried(partial(self.fs.find, self.root, detail=True), missing={})
        names = {str(path).removeprefix(self.root).lstrip("/"): path for path in found}
        return {name: int(found[path].get("size") or 0) for name, path in names.items() if name}

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file, or None if the file does not exist."""
        content = self._tried(partial(self.fs.cat_file, self.path(name)), missing=None)
        return None if content is None else bytes(content)

    def create(self, name: str, content: bytes) -> bool:
        """Create a small file, unless the file exists. Return whether the file was created."""
        try:
            self._tried(partial(self._create, self.path(name), content))
        except FileExistsError:
            return False
        return True

    def _create(self, path: str, content: bytes) -> None:
        # On a local disk, fsspec cannot test for the file and create it in one operation.
        if self.protocol in LOCAL:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(content)
            return
        try:
            self.fs.pipe_file(path, content, mode="create")
        except OSError as error:  # s3fs recognizes the answer of some servers only
            answer = getattr(error.__cause__, "response", None) or {}
            if answer.get("ResponseMetadata", {}).get("HTTPStatusCode") == PRECONDITION_FAILED:
                raise FileExistsError(path) from None
            raise

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        self._tried(partial(self.fs.rm_file, self.path(name)), missing=None)

    def put(self, path: Path, name: str) -> None:
        """Upload a file, and check its size in the store."""
        self._tried(partial(self._put, path, name))

    def _put(self, path: Path, name: str) -> None:
        self.fs.put_file(str(path), self.path(name))
        self.fs.invalidate_cache()
        if self.fs.info(self.path(name))["size"] != path.stat().st_size:
            raise ArrivalError("a file arrived with another size")

    def get(self, name: str, target: Path, digest: str | None) -> None:
        """Copy a file to a local path, atomically.

        digest: the SHA-256 of the file, if it is known.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._tried(partial(self._get, name, target, digest), missing=False) is False:
            raise LogicgenError(
                f"{self.url}/{name}: missing: run the same logicgen generate command to upload it"
                " again"
            )

    def _get(self, name: str, target: Path, digest: str | None) -> None:
        part = own_part_path(target)  # other processes may copy the file at the same time
        try:
            self.fs.get_file(self.path(name), str(part))
            if digest is not None and sha256(part) != digest:
                raise ArrivalError(f"{name} has another checksum than in the description")
            os.replace(part, target)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise LogicgenError(
                    f"{self.url}: its local copy does not fit on the disk of {target.parent}: make"
                    " room, or set LOGICGEN_CACHE to a folder elsewhere, and run the command again"
                ) from None
            raise
        finally:
            part.unlink(missing_ok=True)

    def _tried(self, function: Callable[[], Any], **result: Any) -> Any:
        """Return the result of a function, after at most four tries.

        missing: the result if a file is missing. If not given, report that the bucket is missing.
        """
        for pause in range(1, TRIES + 1):
            try:
                return function()
            except (LogicgenError, FileExistsError):
                raise
            except Exception as error:
                if isinstance(error, (FileNotFoundError, NotImplementedError)) and result:
                    return result["missing"]
                final = isinstance(error, FINAL) or type(error).__name__ in REFUSALS
                if pause == TRIES or final:
                    raise self._failure(error) from None
                time.sleep(pause / 2)
        raise AssertionError

    def _failure(self, error: Exception) -> LogicgenError:
        """Return an error of another package as a LogicgenError of one line, with a remedy."""
        advice = "run the same command again to continue"
        if isinstance(error, ArrivalError):
            advice = (
                "the connection was cut, or the file is damaged: delete it there, and run the same"
                " logicgen generate command to upload it again"
            )
        elif isinstance(error, FileNotFoundError):
            advice = "the bucket has to exist; create it, or correct the URL"
        elif {kind.__name__ for kind in type(error).__mro__} & {*REFUSALS}:
            advice = "check the credentials, such as AWS_ACCESS_KEY_ID or ~/.aws"
        line = str(error).partition("\n")[0].strip().rstrip(".") or type(error).__name__
        return LogicgenError(f"{self.url}: {line}: {advice}")


def is_url(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is named by a URL.

    Raises LogicgenError for a URL with one slash, because `Path` removes the other slash.
    """
    text = os.fspath(folder)
    if re.match(r"[a-z0-9]{2,}:/[^/]", text, re.IGNORECASE):
        raise LogicgenError(f"{text}: has one slash where a URL has two; give it as text")
    return re.match(r"[a-z][a-z0-9+.:-]*://", text, re.IGNORECASE) is not None
