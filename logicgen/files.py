"""Atomic writes, strict reading of JSON, and SHA-256 checksums.

A regular file is written under a temporary name and then renamed. If the path is a link, its target
is written. A pipe or a device is written directly, because a rename would replace it. JSON may come
from an untrusted source, so its size and nesting are limited.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import os
import platform
import stat
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError, reading, reason_of

MOST_BYTES = 2**28  # bytes: the largest JSON file
MOST_LEVELS = 64  # the deepest nesting of JSON, because readers of JSON are recursive

# The name of a temporary file contains the name of the file. If the latter has more than _LONG
# bytes, its checksum is used instead, because file systems allow names of at most 255 bytes.
_LONG = 240


def part_path(path: Path) -> Path:
    """Return the temporary path of a file, which it has until it is complete."""
    name = path.name
    if len(os.fsencode(name)) > _LONG:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return path.with_name(f".{name}.part")


def own_part_path(path: Path) -> Path:
    """Return a temporary path for this thread only, because other threads may write the file."""
    own = f"{platform.node()}.{os.getpid()}.{threading.get_ident()}"
    return part_path(path.with_name(f"{path.name}.{own}"))


def is_part(path: Path) -> bool:
    """Return whether a path is the temporary path of an unfinished file."""
    return path.name.startswith(".") and path.name.endswith(".part")


def write_atomically(
    path: Path,
    write: Callable[[Path], object],
    *,
    forced: bool = True,
    part: Path | None = None,
) -> None:
    """Call `write` with a temporary path, then rename the file to `path`.

    If `path` is a pipe or a device, call `write` with `path` itself.

    forced: whether to flush the content to the disk before the rename. Then a power cut leaves the
        old file or the new file, and no damaged file.
    part: the temporary path, on the same file system. The default is `part_path(path)`.

    Raises LogicgenError if the file cannot be written. After an error or Ctrl-C the temporary file
    is deleted.
    """
    with _writing(path, ""):
        mode = _mode(path)
        if mode is not None and not stat.S_ISREG(mode):
            write(path)
            return
    with _writing(
        path, "; finished files are safe: solve this problem, then run the same command again"
    ):
        target = Path(os.path.realpath(path))
        part = part or part_path(target)
        try:
            for each in (target, part):
                each.parent.mkdir(parents=True, exist_ok=True)
            write(part)
            if mode is not None:  # keep the permissions of the old file
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
    """Return the type and permission bits of the file at a path; None if no file exists there.

    Links are followed.

    Raises LogicgenError if the path is a folder.
    """
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


def write_texts(path: Path, texts: Iterable[str]) -> int:
    """Write texts one after the other to a file, atomically; return their number."""
    count = 0

    def write(part: Path) -> None:
        nonlocal count
        with open(part, "w", encoding="utf-8") as file:
            for text in texts:
                file.write(text)
                count += 1

    write_atomically(path, write)
    return count


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def prepare_folder(folder: Path) -> None:
    """Make a folder for results.

    Raises LogicgenError if the folder cannot be made, or if its path is not UTF-8, which PyArrow
    and JSON need.
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
    """Return the SHA-256 of a file as hex. Raises OSError if the file cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, as hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def json_sha256(content: Mapping[str, Any], without: str) -> str:
    """Return the SHA-256 of a JSON object, as hex, leaving out the key `without`.

    This key is for the SHA-256 itself.
    """
    rest = {key: value for key, value in content.items() if key != without}
    return text_sha256(json.dumps(rest, sort_keys=True))


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises LogicgenError if the file is not a JSON object, has more than `MOST_BYTES` bytes, or is
    nested deeper than `MOST_LEVELS`. The message contains `remedy`: how to repair the file.
    """
    return json_object(read_bytes(path), path, remedy)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, or its first `MOST_BYTES` + 1 bytes if it is too large."""
    with reading(path), open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def write_gzip(path: Path, text: str) -> None:
    """Write a text, compressed. Equal texts give equal bytes."""
    content = gzip.compress(text.encode(), mtime=0)
    write_atomically(path, lambda part: part.write_bytes(content))


def read_gzip(path: Path, remedy: str) -> str:
    """Return the text in a compressed file.

    Raises LogicgenError if the file is damaged, or if the text has more than `MOST_BYTES` bytes.
    The message contains `remedy`.
    """
    content = read_bytes(path)
    try:
        if not content:  # `gzip` accepts an empty file
            raise EOFError("no content")
        text = gzip.GzipFile(fileobj=io.BytesIO(content)).read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        return text.decode()
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise damaged(path, remedy, error) from None


def json_object(content: bytes, place: object, remedy: str) -> dict[str, Any]:
    """Return the JSON object in `content`. Raises LogicgenError as `read_json` does.

    place: where the content comes from, for the message.
    """
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

    Raises ValueError if the text is not JSON, or contains `NaN` or a number that is too large for a
    float, or nests lists and objects deeper than `MOST_LEVELS`.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > MOST_LEVELS:
        check_depth(value)
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _too_deep() -> ValueError:
    return ValueError(f"nested deeper than {MOST_LEVELS} levels")


def check_depth(content: Any) -> None:
    """Raise ValueError if lists and objects are nested deeper than `MOST_LEVELS`."""
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
    """Return the LogicgenError for a file with invalid content."""
    line = " ".join(str(error).split())  # one line, because the message may quote lines of the file
    return LogicgenError(f"{place}: damaged; {remedy} ({line[:300]})")


def commit() -> str | None:
    """Return the Git commit of the source checkout that this program runs from.

    A `+` at the end means that the checkout has uncommitted changes. If the program does not run
    from a checkout, return None.
    """
    import subprocess

    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        # The command contains only constants and the path of the checkout.
        command = ["git", f"--git-dir={root / '.git'}", f"--work-tree={root}", *arguments]
        said = subprocess.check_output(command, stderr=subprocess.DEVNULL)  # noqa: S603
        return said.decode().strip()

    try:
        head = git("rev-parse", "--short=12", "HEAD")
        changes = git("status", "--porcelain", "-uno")
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changes else "")
