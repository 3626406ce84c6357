"""Files: written whole or not at all, read within bounds, and their SHA-256 checksums.

A regular file is written under another name and renamed. Through a link, what it leads to is
written. A pipe or a device is written to as it is: a rename would destroy it. JSON is read
strictly, since others may have written it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError, reading, reason_of

MOST_BYTES = 2**28
MOST_LEVELS = 64  # what is nested deeper can only break what reads it

# A part's name must not be longer than file systems allow (255 bytes), though the file's own may be
# as long as that.
_LONG = 240


def part_path(path: Path) -> Path:
    """Return the path of a file while it is written."""
    name = path.name
    if len(os.fsencode(name)) > _LONG:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
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


def sha256(path: Path) -> str:
    """Return the checksum of a file. Raises OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_sha256(text: str) -> str:
    """Return the checksum of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def json_sha256(content: Mapping[str, Any], without: str) -> str:
    """Return the checksum of a JSON object; `without` is its key that holds the checksum itself."""
    rest = {key: value for key, value in content.items() if key != without}
    return text_sha256(json.dumps(rest, sort_keys=True))


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the JSON object of a file, nested `MOST_LEVELS` deep at most.

    Raises LogicgenError with `remedy` where there is none, or it is of more than `MOST_BYTES`.
    """
    return json_object(read_bytes(path), path, remedy)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, or of a larger one more than `MOST_BYTES`."""
    with reading(path), open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def json_object(content: bytes, place: object, remedy: str) -> dict[str, Any]:
    """Return the JSON object that bytes are; `place` is what errors name. See `read_json`."""
    try:
        if len(content) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        found = parse_json(content.decode())
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")
    except ValueError as error:
        raise damaged(place, remedy, error) from None
    return found


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises ValueError for any other text, such as one with `NaN` or a number that no float holds,
    and where lists and objects are nested deeper than `MOST_LEVELS`.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > MOST_LEVELS:
        check_depth(value)
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _too_deep() -> ValueError:
    return ValueError(f"nested deeper than {MOST_LEVELS} levels")


def check_depth(content: Any) -> None:
    """Raise ValueError where lists and objects are nested deeper than `MOST_LEVELS`."""
    level = [content] if isinstance(content, dict | list) else []
    for _ in range(MOST_LEVELS):
        level = [
            part
            for each in level
            for part in (each.values() if isinstance(each, dict) else each)
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def damaged(place: object, remedy: str, error: object) -> LogicgenError:
    """Return the error of a file whose content is not what it has to be."""
    line = " ".join(str(error).split())  # it may quote the file
    return LogicgenError(f"{place}: damaged; {remedy} ({line[:300]})")
