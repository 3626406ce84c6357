"""Atomic writing of files, which are there whole or not at all, and folders for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from logicgen.errors import LogicgenError


def part_path(path: Path) -> Path:
    """Return the path of a file while it is written."""
    return path.with_name(f".{path.name}.part")


def is_part(path: Path) -> bool:
    """Return whether a file is one that a killed process had not finished."""
    return path.name.startswith(".") and path.name.endswith(".part")


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file at the path it is given, then rename that to `path`.

    The content is on the disk before the name is: a power cut leaves the old file or the new one.
    Raises LogicgenError where that fails; then nothing is left behind, nor after a Ctrl-C.
    """
    part = part_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if not isinstance(error, OSError):
            raise
        raise LogicgenError(
            f"{path}: cannot be written: {error.strerror or error}; what is finished is safe, "
            "run the same command again when that is mended"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def prepare_folder(folder: Path) -> None:
    """Make a folder for results. Raises LogicgenError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogicgenError(
            f"{folder}: cannot be written: {error.strerror}; choose another folder with -o"
        ) from error
