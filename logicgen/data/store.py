"""Data in an object store, or wherever fsspec reaches: `s3://bucket/folder`, `memory://folder`.

A store has no locks and no renaming. So data are made in a local folder, which whatever interrupts
it leaves to be gone on with. Then every file is put whole, and the description last: a folder
without one is unfinished. Who puts holds a lease there, made by a put that fails where there is
one. What is read is copied once to a local folder, and read there as other data are.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from logicgen.atomic import is_part, part_path, write_atomically
from logicgen.checksum import text_sha256
from logicgen.data.corpus import Corpus
from logicgen.data.data_recipe import Progress, Recipe
from logicgen.data.dataset import Dataset
from logicgen.data.folder import DataFolder, confined, head
from logicgen.errors import LogicgenError
from logicgen.url import is_url

KINDS: tuple[type[DataFolder[Any]], ...] = (Dataset, Corpus)

# Stores whose fsspec package puts an object only where there is none, as one operation.
LOCKABLE = {"abfs", "az", "file", "gcs", "gs", "local", "memory", "s3", "s3a"}

LEASE, BEGUN = ".lease.json", ".begun.json"

# Seconds after which a lease that nobody renewed counts as left behind, and between renewals.
EXPIRES, RENEWED = 600, 60

TRIES = 4

Found = TypeVar("Found")


def make(
    recipe: Recipe,
    folder: str | os.PathLike[str],
    *,
    name: str,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = lambda split, done, total: None,
) -> dict[str, Any]:
    """Make the data of a recipe, or finish them; return their description. See `Recipe.make`.

    folder: or the URL of one. Raises LogicgenError where it holds something else, or the store
        does not do as it should.
    """
    made = partial(recipe.make, name=name, seed=seed, workers=workers, progress=progress)
    if not is_url(folder):
        return made(Path(folder))
    url = str(folder)
    kind = Corpus if recipe.holds != "problems" else Dataset
    store = Store(url)
    if store.protocol not in LOCKABLE:
        raise LogicgenError(
            f"{url}: no lease can be held in a store of this kind: generate into a local folder,"
            " then copy it there, the description last"
        )
    begin = {key: value for key, value in head(recipe, name, seed).items() if key != "format"}
    wanted = json.dumps(begin, sort_keys=True, ensure_ascii=False)
    if (known := store.read(kind.file)) is not None:
        found: dict[str, Any] = json.loads(known)
        if differs := [key for key in begin if found.get(key) != begin[key]]:
            raise LogicgenError(
                f"{url}: holds a {kind.noun} of another {' and '.join(differs)}; choose another"
                " folder with -o"
            )
        return found
    local = cache() / "unfinished" / text_sha256(f"{url} {wanted}")[:16]
    with store.leased():
        begun = store.read(BEGUN)
        if begun is None and store.names():
            raise LogicgenError(f"{url}: holds other things: choose another folder with -o")
        if begun not in (None, wanted.encode()):
            raise LogicgenError(
                f"{url}: unfinished data of another recipe or seed: finish them with their own"
                " command, or choose another folder with -o"
            )
        store.write(BEGUN, wanted.encode())
        description = made(local)
        store.put(local, kind.file, progress)
        store.remove(BEGUN)
    copy = _copy_of(url, (local / kind.file).read_bytes())
    if not copy.exists():  # it is the copy that is read from now on
        copy.parent.mkdir(parents=True, exist_ok=True)
        os.replace(local, copy)
    return description


def local_copy(folder: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Return the local folder of data: the folder itself, or a copy of what a URL names.

    It is copied once, file by file, and again only where what the URL names has changed. Raises
    LogicgenError where there is nothing finished, or the store cannot be read.
    """
    if not is_url(folder):
        return Path(folder)
    url = str(folder)
    store = Store(url)
    for kind in KINDS:
        description = store.read(kind.file)
        if description is not None:
            break
    else:
        raise LogicgenError(
            f"{url}: no finished data set or corpus there (no {Dataset.file}, no {Corpus.file});"
            " the same logicgen generate command finishes one"
        )
    copy = _copy_of(url, description)
    if not (copy / kind.file).is_file():
        store.get(copy, kind.file, description, progress)
    return copy


def cache() -> Path:
    """Return the folder for copies: LOGICGEN_CACHE, or `logicgen` where caches are."""
    if own := os.environ.get("LOGICGEN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "logicgen"


def _copy_of(url: str, description: bytes) -> Path:
    """Return the folder of a copy; other data under the same URL have another one."""
    name = url.rstrip("/").rpartition("/")[2]
    key = text_sha256(f"{url} {description.hex()}")[:16]
    return cache() / "data" / f"{name}-{key}"


class Store:
    """A folder named by a URL. All errors are LogicgenErrors that name it and a remedy."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.protocol = url.partition("://")[0]
        options: dict[str, Any] = {}
        if self.protocol in ("file", "local"):
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

    def names(self) -> list[str]:
        """Return the names of all files, with their folders, but that of the lease."""
        with self._telling():
            self.fs.invalidate_cache()
            try:
                found = self.fs.find(self.root)
            except FileNotFoundError:
                return []
        names = (str(path).removeprefix(self.root).lstrip("/") for path in found)
        return sorted(name for name in names if name and name != LEASE)

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

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._telling(), suppress(FileNotFoundError):
            self.fs.rm_file(self.path(name))

    def put(self, folder: Path, last: str, progress: Progress | None = None) -> None:
        """Put all files of a folder that are not there yet, and one of them last."""
        paths = sorted(p for p in folder.rglob("*") if p.is_file() and not is_part(p))
        names = [path.relative_to(folder).as_posix() for path in paths]
        names = [*(name for name in names if name != last), last]
        for done, name in enumerate(names, start=1):
            path = folder / name
            with self._telling():
                if name == last or self._size(name) != path.stat().st_size:
                    self._tried(partial(self._put, path, name))
            if progress is not None:
                progress("files put", done, len(names))

    def _put(self, path: Path, name: str) -> None:
        self.fs.put_file(str(path), self.path(name))
        if self._size(name) != path.stat().st_size:
            raise OSError("a file arrived with another size")

    def _size(self, name: str) -> int | None:
        self.fs.invalidate_cache()
        try:
            return int(self.fs.info(self.path(name))["size"])
        except FileNotFoundError:
            return None

    def get(
        self, copy: Path, last: str, description: bytes, progress: Progress | None = None
    ) -> None:
        """Copy all files into a local folder; the description, which is known, last."""
        names = [name for name in self.names() if name not in (last, BEGUN)]
        for done, name in enumerate(names, start=1):
            target = confined(copy, copy / name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                with self._telling():
                    self._tried(partial(self._get, name, target))
            if progress is not None:
                progress("files copied", done, len(names))
        write_atomically(copy / last, lambda path: path.write_bytes(description))

    def _get(self, name: str, target: Path) -> None:
        part = part_path(target)
        try:
            self.fs.get_file(self.path(name), str(part))
            if part.stat().st_size != self._size(name):
                raise OSError("the connection ended before the file did")
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)

    @contextmanager
    def leased(self) -> Iterator[None]:
        """Hold the lease. Raises LogicgenError where somebody else does."""
        own = {"id": uuid.uuid4().hex, "host": socket.gethostname(), "process": os.getpid()}

        def content() -> bytes:
            return json.dumps({**own, "renewed": time.time()}).encode()

        self._take(content)
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(RENEWED):
                with suppress(Exception):  # it is tried again, long before it expires
                    self.fs.pipe_file(self.path(LEASE), content())

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            with suppress(LogicgenError):  # it expires
                self.remove(LEASE)

    def _take(self, content: Callable[[], bytes]) -> None:
        while True:
            with self._telling():
                try:
                    self.fs.pipe_file(self.path(LEASE), content(), mode="create")
                    return
                except FileExistsError:
                    pass
            try:
                held = json.loads(self.read(LEASE) or b"{}")
                since = time.time() - float(held.get("renewed", 0))
            except ValueError:
                held, since = {}, EXPIRES
            if since < EXPIRES:
                raise LogicgenError(
                    f"{self.url}: process {held['process']} on {held['host']} is writing there:"
                    f" wait for it; if it is gone, the folder is free {EXPIRES - since:.0f} seconds"
                    " from now"
                )
            self.remove(LEASE)

    def _tried(self, function: Callable[[], Found]) -> Found:
        """Return what a function returns, at the fourth try at the latest."""
        final = FileNotFoundError, FileExistsError, PermissionError
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
            if isinstance(error, PermissionError) or _refused(error):
                advice = "check the credentials, such as AWS_ACCESS_KEY_ID or ~/.aws"
            raise LogicgenError(f"{self.url}: {_line(error)}: {advice}") from None


def _refused(error: Exception) -> bool:
    return type(error).__name__ in (
        "NoCredentialsError",
        "PartialCredentialsError",
        "ProfileNotFound",
    )


def _line(error: Exception) -> str:
    text = str(error).partition("\n")[0].strip().rstrip(".")
    return text or type(error).__name__
