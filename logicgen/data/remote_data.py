"""Data at a URL: made in a local folder and put there, copied from there to be read.

An object store has no locks and no renaming. So data are made in a local folder, which whatever
interrupts it leaves to be gone on with. Then every file is put whole, and the description last: a
folder without one is unfinished. What is read is copied once to a local folder, file by file and
each with its checksum, and read there as other data are.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from logicgen.data.corpus import Corpus, make_corpus
from logicgen.data.dataset import Dataset
from logicgen.data.folder import DataFolder, confined, head
from logicgen.data.generate import generate
from logicgen.data.lease import FILE as LEASE
from logicgen.data.lease import Lease
from logicgen.data.recipe import CorpusRecipe, DataRecipe, Progress, Recipe
from logicgen.data.store import Store, is_url
from logicgen.data.work_files import FOLDER as WORK
from logicgen.errors import LogicgenError
from logicgen.files import is_part, own_part_path, text_sha256, write_atomically

KINDS: tuple[type[DataFolder[Any]], ...] = (Dataset, Corpus)

BEGUN = ".begun.json"
"""File of a folder that is being filled: what with, and the checksum of its description."""


def kind_of(recipe: Recipe) -> type[Dataset] | type[Corpus]:
    """Return which kind of data a recipe makes."""
    return Dataset if recipe.holds == "problems" else Corpus


def _maker(recipe: Recipe, **options: Any) -> Callable[[Path], dict[str, Any]]:
    """Return the function that makes the data of a recipe in a local folder."""
    if isinstance(recipe, DataRecipe):
        return partial(generate, recipe, **options)
    if isinstance(recipe, CorpusRecipe):
        return partial(make_corpus, recipe, **options)
    raise TypeError(recipe)


def make(
    recipe: Recipe,
    folder: str | os.PathLike[str],
    *,
    name: str,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = lambda split, done, total: None,
) -> dict[str, Any]:
    """Make the data of a recipe in a folder, or finish them there; return their description.

    folder: or the URL of one.
    name: of the recipe file; the description and the card have it.
    workers: processes that share the work, where it can be shared; the bytes are the same.
    Raises LogicgenError where the folder holds something else or cannot be written, or the store
        does not do as it should.
    """
    made = _maker(recipe, name=name, seed=seed, workers=workers, progress=progress)
    if not is_url(folder):
        return made(Path(folder))
    kind = kind_of(recipe)
    store = Store(str(folder))
    store.check_lockable()
    begin = {key: value for key, value in head(recipe, name, seed).items() if key != "format"}
    local = _staging(store, begin)
    there = store.sizes()
    content = store.read(kind.file)
    found = None if content is None else _known(store, kind, content, begin)
    if found is not None and _whole(kind, found, there):
        begun = _begun(store)
        if begun is None or begun == _mark(begin, content):
            if begun is not None:  # killed when all was there
                store.remove(BEGUN)
            _keep(local, store, kind, content)
            return found
    _check_begun(store, kind, begin, there, found is not None)
    with Lease(store) as lease:
        try:
            description = made(local)
        except LogicgenError as error:
            if str(local) not in str(error):
                raise
            raise LogicgenError(
                f"{store.url}: data are made in a local folder first, in {cache()} or where"
                f" LOGICGEN_CACHE says: {error}"
            ) from None
        content = (local / kind.file).read_bytes()
        _put(store, lease, local, kind.file, _mark(begin, content), progress)
    _keep(local, store, kind, content)
    return description


def _known(
    store: Store, kind: type[DataFolder[Any]], content: bytes, begin: dict[str, Any]
) -> dict[str, Any]:
    """Return the description at a URL. LogicgenError: it is of other data."""
    found, _ = kind.checked(content, f"{store.url}/{kind.file}")
    if differs := [key for key in begin if found.get(key) != begin[key]]:
        raise LogicgenError(
            f"{store.url}: holds a {kind.noun} of another {' and '.join(differs)}; choose another"
            " folder with -o"
        )
    return found


def _whole(kind: type[DataFolder[Any]], found: dict[str, Any], there: dict[str, int]) -> bool:
    """Return whether all files that a description names are there."""
    if not found["complete"]:
        return False
    files = dict(kind.files(found))  # of those of corpora, no sizes are known
    return all(
        name in there and file.get("bytes") in (None, there[name]) for name, file in files.items()
    )


def _check_begun(
    store: Store,
    kind: type[DataFolder[Any]],
    begin: dict[str, Any],
    there: dict[str, int],
    known: bool,
) -> None:
    """Raise LogicgenError where a folder holds anything but these data, unfinished."""
    begun = _begun(store)
    if begun is None and not known and set(there) - {LEASE}:
        raise LogicgenError(f"{store.url}: holds other things: choose another folder with -o")
    if begun is not None and any(begun.get(key) != begin[key] for key in begin):
        raise LogicgenError(
            f"{store.url}: unfinished data of another recipe or seed: finish them with their own"
            " command, delete what is there, or choose another folder with -o"
        )


def _mark(begin: dict[str, Any], description: bytes | None) -> dict[str, Any]:
    """Return what a folder that is being filled says in `BEGUN`."""
    return {**begin, "description": hashlib.sha256(description or b"").hexdigest()}


def _begun(store: Store) -> dict[str, Any] | None:
    """Return what a folder is being filled with; None if nothing is."""
    content = store.read(BEGUN)
    if content is None:
        return None
    with suppress(ValueError):
        found = json.loads(content)
        return found if isinstance(found, dict) else {}
    return {}


def _put(
    store: Store,
    lease: Lease,
    local: Path,
    last: str,
    mark: dict[str, Any],
    progress: Progress,
) -> None:
    """Put the files of a local folder that are not there yet, and one of them last."""
    # Of data that another version made files may be of the same size.
    there = store.sizes() if _begun(store) == mark else {}
    store.write(BEGUN, json.dumps(mark, ensure_ascii=False).encode())
    paths = sorted(path for path in local.rglob("*") if path.is_file() and not is_part(path))
    files = {path.relative_to(local).as_posix(): path for path in paths}
    names = [name for name in files if name != last and not name.startswith(f"{WORK}/")]
    for done, name in enumerate(names, start=1):
        if there.get(name) != files[name].stat().st_size:
            store.put(files[name], name)
        progress("files put", done, len(names) + 1)
    lease.check()
    store.put(files[last], last)
    progress("files put", len(names) + 1, len(names) + 1)
    store.remove(BEGUN)


def local_copy(folder: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Return the local folder of data: the folder itself, or a copy of what a URL names.

    It is copied once, file by file, and again only where what the URL names has changed. Raises
    LogicgenError where there is nothing finished, or the store cannot be read.
    """
    if not is_url(folder):
        return Path(folder)
    store = Store(str(folder))
    for kind in KINDS:
        content = store.read(kind.file)
        if content is not None:
            break
    else:
        raise LogicgenError(
            f"{store.url}: no finished data set or corpus there (no {Dataset.file}, no"
            f" {Corpus.file}); the same logicgen generate command finishes one"
        )
    copy = _copy_of(store, content)
    if not (copy / kind.file).is_file():
        description, _ = kind.checked(content, f"{store.url}/{kind.file}")
        if not description["complete"]:
            raise LogicgenError(
                f"{store.url}: not finished; run the same logicgen generate command again"
            )
        _copy(store, copy, kind, description, progress)
        path = copy / kind.file
        write_atomically(path, lambda part: part.write_bytes(content), part=own_part_path(path))
    return copy


def _copy(
    store: Store,
    copy: Path,
    kind: type[DataFolder[Any]],
    description: dict[str, Any],
    progress: Progress | None,
) -> None:
    """Copy the files that a description names, and cards and tables beside it."""
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
    """Return the folder for copies: LOGICGEN_CACHE, or `logicgen` where caches are."""
    if own := os.environ.get("LOGICGEN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "logicgen"


def _staging(store: Store, begin: dict[str, Any]) -> Path:
    """Return the local folder where data for a URL are made."""
    wanted = json.dumps(begin, sort_keys=True, ensure_ascii=False)
    return cache() / "unfinished" / text_sha256(f"{store.url} {wanted}")[:16]


def _copy_of(store: Store, description: bytes) -> Path:
    """Return the folder of a copy; other data under the same URL have another one."""
    name = store.url.rpartition("/")[2]
    key = text_sha256(f"{store.url} {description.hex()}")[:16]
    return cache() / "data" / f"{name}-{key}"


def _keep(
    local: Path, store: Store, kind: type[DataFolder[Any]], description: bytes | None
) -> None:
    """Have data that were made here, if the store has the same, be the copy that is read."""
    path = local / kind.file
    if description is not None and path.is_file() and path.read_bytes() == description:
        copy = _copy_of(store, description)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # somebody has copied them already
            os.replace(local, copy)
    shutil.rmtree(local, ignore_errors=True)
