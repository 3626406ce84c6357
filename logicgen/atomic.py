"""Writing of files, which are there whole or not at all, and folders for them.

The one place that decides how an output is opened: a regular file is written under another name
and renamed; through a link, what it leads to; a pipe or a device is written to as it is, because
whatever is renamed over it destroys it.
"""

from __future__ import annotations

import os
import platform
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from logicgen.errors import LogicgenError, reason_of

# A part's name must not be longer than file systems allow (255 bytes), though the file's own may be
# as long as that.
_LONG = 240


def part_path(path: Path) -> Path:
    """Return the path of a file while it is written."""
    name = path.name
    if len(os.fsencode(name)) > _LONG:
        name = sha256(os.fsencode(name)).hexdigest()
    return path.with_name(f".{name}.part")


def own_part_path(path: Path) -> Path:
    """Return the path of a file while this thread writes it, of which others may write one, too."""
    own = f"{platform.node()}.{os.getpid()}.{threading.get_ident()}"
    return part_path(path.with_name(f"{path.name}.{own}"))


def is_part(path: Path) -> bool:
    """Return whether a file is one that a killed process had not finished."""
    return path.name.startswith(".") and path.name.endswith(".part")


def write_atomically(
    path: Path,
    write: Callable[[Path], object],
    *,
    forced: bool = True,
    part: Path | None = None,
) -> None:
    """Let `write` make a file at the path it is given, then rename that to `path`.

    The content is on the disk before the name is: a power cut leaves the old file or the new one.
    Not if it is not `forced`, which takes less time. `part` is the first path if it is given, on
    the same file system.
    A pipe or a device is itself what `write` is given.
    Raises LogicgenError where that fails; then nothing is left behind, nor after a Ctrl-C.
    """
    with _writing(path, ""):
        mode = _mode(path)
        if mode is not None and not stat.S_ISREG(mode):
            write(path)
            return
    with _writing(
        path, "; what is finished is safe, run the same command again when that is mended"
    ):
        target = Path(os.path.realpath(path))
        part = part or part_path(target)
        try:
            for each in (target, part):
                each.parent.mkdir(parents=True, exist_ok=True)
            write(part)
            if mode is not None:  # who may read the old file may read the new one
                part.chmod(stat.S_IMODE(mode))
            if forced:
                with open(part, "rb") as file:
                    os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise


def _mode(path: Path) -> int | None:
    """Return the type and permissions of what a path leads to. LogicgenError: it is a folder."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise LogicgenError(f"{path}: is a folder; name a file")
    return mode


@contextmanager
def _writing(path: Path, advice: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LogicgenError(f"{path}: cannot be written: {reason_of(error)}{advice}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def prepare_folder(folder: Path) -> None:
    """Make a folder for results.

    Raises LogicgenError if that cannot be, or if its path is not UTF-8: PyArrow and descriptions in
    JSON take no other paths.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise LogicgenError(
            f"{folder}: the path is not UTF-8; choose another folder with -o"
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise LogicgenError(
            f"{folder}: cannot be written: {reason_of(error)}; choose another folder with -o"
        ) from error
