"""The folder of a data set or a corpus: its description, its card, and the lock of its writer.

The description is a JSON file that lists all other files with their checksums. It is written first,
with `"complete": false`, and again when all other files are complete.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from logicgen.data.ranges import Region
from logicgen.data.recipe import SPLITS, Recipe
from logicgen.data.schemas import Description
from logicgen.errors import LogicgenError, nearest, reading
from logicgen.files import (
    damaged,
    is_part,
    json_object,
    prepare_folder,
    read_bytes,
    text_sha256,
    write_text,
)
from logicgen.recipes import validate

CARD = "README.md"

RecipeType = TypeVar("RecipeType", bound=Recipe)


def head(recipe: Recipe, name: str, seed: int, form: int = 1) -> dict[str, Any]:
    """Return the beginning of a description: name, seed and recipe.

    form: version of the format of the description.
    Raises LogicgenError if the name, which comes from a file name, is not valid Unicode.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        raise LogicgenError(f"{name!r}: not Unicode: give the recipe another name") from None
    return {"format": form, "name": name, "seed": seed, "recipe": recipe.model_dump(mode="json")}


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


class DataFolder(ABC, Generic[RecipeType]):
    """The finished data set or corpus in a `folder`, with its `description` and `recipe`.

    Raises LogicgenError if the folder has no data, or if the data are unfinished or damaged.
    """

    noun: ClassVar[str]  # name of the kind of data in messages, such as `data set`
    file: ClassVar[str]  # name of the file with the description
    counted: ClassVar[str]  # the things that the size of a split counts, such as `examples`
    Description: ClassVar[type[Description]]
    recipe: RecipeType
    region: Region | None = None  # ranges of the training problems; None for a corpus

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / self.file
        with reading(folder):
            there = isfile(path)
        if not there:
            raise LogicgenError(
                f"{folder}: not a {self.noun} (no {self.file}); make one with logicgen generate"
            )
        self.description, checked = self.checked(read_bytes(path), path)
        self.name = checked.name  # the recipe's name
        self.recipe = checked.recipe
        self.task_name, self.holds = self.recipe.task, self.recipe.holds
        if not self.description["complete"]:
            raise LogicgenError(
                f"{folder}: not finished; run the same logicgen generate command again"
            )

    @classmethod
    @abstractmethod
    def summary(cls, description: dict[str, Any], place: object) -> list[str]:
        """Return the lines that `logicgen generate` prints at its end.

        place: the folder of the data, or its URL.
        """

    @staticmethod
    @abstractmethod
    def files(description: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
        """Yield the path and the entry (with a checksum) of each file that a description lists."""

    @property
    def splits(self) -> dict[str, int]:
        """Return the size of each split: examples of a data set, tokens of a corpus."""
        return self.sizes(self.description)

    @classmethod
    def sizes(cls, description: dict[str, Any]) -> dict[str, int]:
        """Return the size of each split in a finished description: its examples or tokens."""
        return {name: split[cls.counted] for name, split in description["splits"].items()}

    @property
    def fingerprint(self) -> str:
        """Return a digest of 16 hexadecimal digits, which depends on every byte of the data."""
        return text_sha256("".join(file["sha256"] for _, file in self.files(self.description)))[:16]

    def split(self, name: str) -> dict[str, Any]:
        """Return the description of a split. Raises LogicgenError if it is unknown or empty."""
        if name not in self.splits:
            raise LogicgenError(
                f"{self.folder}: no split is called {name!r}: {nearest(name, list(self.splits))}"
            )
        if not self.splits[name]:
            raise LogicgenError(f"{self.folder}: split {name!r} is empty")
        return dict(self.description["splits"][name])

    @classmethod
    def checked(cls, content: bytes, place: object) -> tuple[dict[str, Any], Any]:
        """Parse and check a description. Return its JSON data, and an object of its schema.

        content: the content of the file with the description.
        place: the name of the file in messages.

        Raises LogicgenError if the description is damaged.
        """
        remedy = f"make the {cls.noun} again in an empty folder"
        found = json_object(content, place, remedy)
        try:
            return found, validate(cls.Description, found, "")
        except LogicgenError as error:
            raise damaged(place, remedy, str(error).removeprefix(": ")) from None

    @classmethod
    def begun(cls, folder: Path, head: dict[str, Any]) -> dict[str, Any] | None:
        """Return the description in a folder, or None if the folder is empty or missing.

        head: the name, seed and recipe of the data, with perhaps further keys.

        Raises LogicgenError if the folder has other data or other files.
        """
        path = folder / cls.file
        with reading(folder):
            if exists(folder) and not isdir(folder):
                raise LogicgenError(
                    f"{folder}: a file is in the way; choose another folder with -o"
                )
            if not exists(folder) or all(is_part(file) for file in folder.iterdir()):
                return None
            if not isfile(path):
                raise LogicgenError(
                    f"{folder}: not empty and not a {cls.noun}; choose another folder with -o"
                )
        found, _ = cls.checked(read_bytes(path), path)
        cls.check_same(folder, found, head)
        return found

    @classmethod
    def finished(cls, folder: Path, head: dict[str, Any]) -> dict[str, Any] | None:
        """Return the description, or None if the data are incomplete. Raises as `begun`."""
        found = cls.begun(folder, head)
        return found if found and found["complete"] and cls.whole(folder, found) else None

    @classmethod
    def whole(cls, folder: Path, description: dict[str, Any]) -> bool:
        """Return whether no file is missing. A class that can make missing files overrides this."""
        return True

    @classmethod
    def check_same(cls, folder: object, found: dict[str, Any], head: dict[str, Any]) -> None:
        """Raise LogicgenError if a key of `head` has another value in the found description.

        folder: a path or a URL, for the message.
        """
        differs = [key for key in head if found.get(key) != head[key]]
        if differs:
            raise LogicgenError(
                f"{folder}: holds a {cls.noun} of another {' and '.join(differs)}; choose another"
                " folder with -o, or delete this folder"
            )

    @classmethod
    @contextmanager
    def making(cls, folder: Path, head: dict[str, Any]) -> Iterator[dict[str, Any] | None]:
        """Lock a folder, write a description that is marked as incomplete, and yield None.

        If another process has finished the same data in the meantime, yield their description:
        nothing is left to do. Raises LogicgenError if another process has locked the folder, if the
        folder has other content, or if it cannot be written.
        """
        prepare_folder(folder)
        with alone(folder):
            # No other process changes the folder from now on.
            known = cls.finished(folder, head)
            if known is None:
                for split in SPLITS:
                    confined(folder, folder / split)
                write_json(folder / cls.file, {**head, "complete": False})
            yield known

    @classmethod
    def finish(cls, folder: Path, description: dict[str, Any], card: str) -> None:
        """Write the card, and the description of the complete data."""
        write_text(folder / CARD, card)
        write_json(folder / cls.file, description)


def confined(folder: Path, path: Path) -> Path:
    """Return a path in a folder. Raises LogicgenError if a link leads out of the folder."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise LogicgenError(
            f"{path}: leads out of {folder}; replace the link by its target, or choose another"
            " folder"
        )
    return path


@contextmanager
def alone(folder: Path, command: str = "generate") -> Iterator[None]:
    """Lock a folder in the `with` block. Raises LogicgenError if another process has locked it.

    command: the name of the logicgen command that locks the folder, for the message.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such lock
        yield
        return
    with reading(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LogicgenError(
                f"{folder}: another logicgen {command} is at work here; wait for it to end"
            ) from None
        except OSError as error:
            raise LogicgenError(
                f"{folder}: cannot be locked: {error.strerror}; choose another folder with -o"
            ) from error
        yield
    finally:
        os.close(handle)
