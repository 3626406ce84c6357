"""Text, cut into tokens: any files, or texts that every Python installation carries.

Files are read in blocks, each of which belongs to one split by a hash of its place, so that a
corpus of any size takes no more memory than one part of it.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from logicgen.checksum import text_sha256
from logicgen.errors import LogicgenError, reading, shown
from logicgen.tasks.corpus_task import TOKENS, CorpusSource, CorpusTask, Part
from logicgen.tasks.task import Settings
from logicgen.tokens import Tokens

Share = Annotated[float, Field(gt=0, lt=0.5)]

BLOCK = 1 << 22  # bytes of a file that are read, and given to a split, together
TOPIC_BLOCK = 1 << 12  # the same, for the source `python-topics`
PART = 1 << 24  # bytes of text in a part of a corpus
TOKEN_BYTES = 4  # of text: a character has no more, and a byte pair about as many
LEARNT_FROM = 1 << 28  # bytes of text, at most, from which byte pairs are learnt

PYTHON, TOPICS = "python-library", "python-topics"

# Folders of the standard library that hold no library: tests are large, partly not UTF-8, and
# differ from one installation to another.
_NO_LIBRARY = {"test", "tests", "site-packages", "dist-packages", "__pycache__", "idle_test"}


class TextSettings(Settings):
    """Keys of `[corpus]`."""

    # `python-library`, the standard library's own sources, or `python-topics`, the English of
    # `pydoc_data.topics`; given instead of `files`
    source: Literal["python-library", "python-topics"] | None = None
    # Files and folders, UTF-8
    files: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = None
    pattern: str = "*"  # pattern of the names of files to take from folders, such as `*.txt`
    tokens: Literal["characters", "byte-pairs"] = "characters"
    vocabulary: Annotated[int, Field(ge=4, le=1_000_000)] = 128  # how many tokens there are at most
    # validation, test: approximate shares of the text that are held out
    validation: Share = 0.05
    test: Share = 0.05

    @model_validator(mode="after")
    def _fits_together(self) -> TextSettings:
        if (self.source is None) == (self.files is None):
            raise ValueError("give either source or files")
        if self.tokens == "byte-pairs" and self.vocabulary < 257:
            raise ValueError(
                f"vocabulary: {self.vocabulary} is less than <end> and the 256 bytes; give 257 or"
                " more, or tokens = 'characters'"
            )
        return self


@dataclass(frozen=True)
class Block:
    """Bytes `start` to `stop` of a document."""

    document: str  # its path, or its name
    start: int
    stop: int


class Documents:
    """The documents of a corpus by name, in order, with access to their texts."""

    def __init__(self, settings: TextSettings) -> None:
        self._topics: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}  # in bytes
        # Names below the folders given, which are the same wherever these lie.
        self.keys: dict[str, str] = {}
        if settings.source == TOPICS:
            topics: dict[str, str] = import_module("pydoc_data.topics").topics
            self._topics = {name: topics[name].encode() for name in sorted(topics)}
            self.sizes = {name: len(text) for name, text in self._topics.items()}
            self.keys = {name: name for name in self.sizes}
            return
        if settings.source == PYTHON:
            root = Path(sysconfig.get_paths()["stdlib"])
            found = {
                path: path.relative_to(root).as_posix()
                for path in sorted(root.rglob("*.py"))
                if _NO_LIBRARY.isdisjoint(path.relative_to(root).parts)
            }
        else:
            found = _files(settings.files or [], settings.pattern)
        for path, key in found.items():
            self.sizes[str(path)] = path.stat().st_size
            self.keys[str(path)] = key
        if not sum(self.sizes.values()):
            what = "this Python's library" if settings.source else ", ".join(settings.files or [])
            raise LogicgenError(
                f"{what}: the corpus is empty: {len(found)} files of 0 bytes; give files with text"
            )

    def read(self, block: Block) -> str:
        """Return a block's text; raise LogicgenError with file, and byte where it is not UTF-8."""
        where = Path(block.document)
        if self._topics:
            data = self._topics[block.document][block.start : block.stop]
        else:
            with reading(where), open(where, "rb") as file:
                file.seek(block.start)
                data = file.read(block.stop - block.start)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise LogicgenError(
                f"{where}: not UTF-8 at byte {block.start + error.start}"
                f" (0x{data[error.start]:02x}); convert the file, or leave it out"
            ) from None

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of all documents, in order. No character is cut in two."""
        for name, size in self.sizes.items():
            if self._topics:
                yield from _cut(name, self._topics[name])
                continue
            if size <= BLOCK:
                if size:
                    yield Block(name, 0, size)
                continue
            with reading(name), open(name, "rb") as file:
                start = 0
                while start < size:
                    stop = min(start + BLOCK, size)
                    file.seek(stop)
                    # The block ends with a line, or, where lines are long, with a character: bytes
                    # 10xxxxxx continue one.
                    ahead = file.read(4096)
                    line = ahead.find(b"\n") + 1
                    if not line:
                        line = next((i for i, byte in enumerate(ahead) if byte & 0xC0 != 0x80), 0)
                    stop = min(stop + line, size)
                    yield Block(name, start, stop)
                    start = stop


def _cut(name: str, data: bytes) -> Iterator[Block]:
    """Yield a topic in blocks that end with a line: there are few topics, and some are long."""
    start = 0
    while start < len(data):
        stop = data.find(b"\n", start + TOPIC_BLOCK) + 1 or len(data)
        yield Block(name, start, stop)
        start = stop


def _files(names: list[str], pattern: str) -> dict[Path, str]:
    """Return each file once, by the path that leads to it first, with its name below that path."""
    found: dict[Path, tuple[Path, str]] = {}
    for name in names:
        path = Path(name)
        if os.path.isdir(path):
            for each in sorted(path.rglob("*")):
                if os.path.isfile(each) and fnmatch(each.name, pattern):
                    found.setdefault(each.resolve(), (each, each.relative_to(path).as_posix()))
        elif os.path.isfile(path):
            found.setdefault(path.resolve(), (path, path.name))
        else:
            raise LogicgenError(f"{shown(name)[1:-1]}: no such file or folder")
    if not found:
        raise LogicgenError(f"{', '.join(names)}: the corpus is empty: no file fits {pattern!r}")
    return dict(found.values())


class TextSource(CorpusSource):
    """Documents, cut into tokens. The split of a block follows from seed and place."""

    counted = "bytes of text"

    def __init__(self, settings: TextSettings, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._documents = Documents(settings)
        self.files = {}
        self.facts = {}
        keys, sizes = self._documents.keys, self._documents.sizes
        self.digest = text_sha256(repr([(keys[name], size) for name, size in sizes.items()]))
        if settings.source is not None:
            self.facts["python"] = platform.python_version()
        if settings.tokens == "byte-pairs":
            from importlib.metadata import version

            self.facts["tokenizers"] = version("tokenizers")

    def split_of(self, block: Block) -> str:
        """Return the split of a block, by a hash, which with short blocks comes near the shares."""
        key = f"{self._seed}:{self._documents.keys[block.document]}:{block.start}".encode()
        place = int.from_bytes(hashlib.sha256(key).digest()[:8]) / 2**64
        settings = self._settings
        if place < settings.test:
            return "test"
        return "validation" if place < settings.test + settings.validation else "train"

    @cached_property
    def _parts(self) -> dict[str, list[list[Block]]]:
        parts: dict[str, list[list[Block]]] = {"train": [], "validation": [], "test": []}
        held: dict[str, int] = dict.fromkeys(parts, PART)
        for block in self._documents.blocks():
            split = self.split_of(block)
            if held[split] >= PART:
                parts[split].append([])
                held[split] = 0
            parts[split][-1].append(block)
            held[split] += block.stop - block.start
        if not parts["train"]:
            raise LogicgenError(
                "the corpus is one block of text, which a split holds out: give more text, or"
                " another seed"
            )
        return parts

    @cached_property
    def tokens(self) -> Tokens:  # type: ignore[override]
        """Return the tokens, learnt from the training text."""
        if self._settings.tokens == "byte-pairs":
            return Tokens.of_byte_pairs(self._texts(LEARNT_FROM), self._settings.vocabulary)
        counts = np.zeros(0x110000, dtype=np.int64)
        for text in self._texts():
            found = np.bincount(np.frombuffer(text.encode("utf-32-le"), np.uint32))
            counts[: len(found)] += found
        occurring = np.flatnonzero(counts).tolist()
        known = {chr(number): int(counts[number]) for number in occurring}
        return Tokens.of_characters(known, self._settings.vocabulary)

    def _texts(self, most: float = math.inf) -> Iterator[str]:
        for block in chain.from_iterable(self._parts["train"]):
            if most <= 0:
                return
            text = self._documents.read(block)
            most -= len(text)
            yield text

    def parts(self, split: str) -> int:
        return len(self._parts[split])

    def extent(self) -> tuple[int, int, int]:
        """Return the bytes of the text, those that may be tokens, and those of a part."""
        size = sum(self._documents.sizes.values())
        tokens = size // TOKEN_BYTES
        return size, tokens, min(tokens, PART)

    def part(self, split: str, number: int) -> Part:
        """Return `tokens`, (N,)."""
        pieces = []
        for block in self._parts[split][number]:
            pieces.append(self.tokens.encode(self._documents.read(block)))
            if block.stop == self._documents.sizes[block.document]:
                pieces.append(np.array([self.tokens.end]))
        return {TOKENS: np.concatenate(pieces)}


TASK = CorpusTask(
    "text",
    "text of any files, or that every Python carries, as characters or byte pairs",
    TextSettings,
    TextSource,
)
