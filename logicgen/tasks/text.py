"""A corpus of text, split into tokens. The text is from files or from the Python installation.

Files are read in blocks. A hash of its document and its start assigns each block to a split. So a
corpus of any size needs only the memory of one part. The texts of the Python installation are the
documentation of Python, the sources of its library, and the docstrings of packages. Sources are
parsed without importing them.
"""

from __future__ import annotations

import ast
import hashlib
import math
import os
import platform
import re
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from importlib import import_module
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from random import Random
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from logicgen.errors import LogicgenError, reading, shown
from logicgen.files import text_sha256
from logicgen.tasks.corpus_task import TOKENS, CorpusSource, CorpusTask, Part
from logicgen.tasks.problem_text import ProblemText, problem_texts
from logicgen.tasks.task import Settings
from logicgen.tokens import Tokens

# The number of bytes of a block of a file. A block is read at once and belongs to one split.
BLOCK = 1 << 22
# The least number of bytes of a block of a text that is not a file. These texts are short, so their
# blocks are small.
TEXT_BLOCK = 1 << 12

# Folders of the standard library that are not read. Tests are large, partly not UTF-8, and differ
# between installations.
_NO_LIBRARY = {"test", "tests", "site-packages", "dist-packages", "__pycache__", "idle_test"}


@dataclass(frozen=True)
class Block:
    """Bytes `start` to `stop` of a document."""

    document: str  # the path or the name of the document
    start: int
    stop: int


class Documents:
    """The documents of a corpus, by name and in order. Their texts are read in blocks."""

    def __init__(self, files: dict[Path, str], texts: dict[str, bytes], called: str) -> None:
        """Store the names and the sizes of the documents.

        files: by path of a file, its path relative to the given folder.
        texts: by name, the documents that are not files.
        called: the noun for all documents in an error message.
        """
        self._texts = texts
        self.sizes = {str(path): path.stat().st_size for path in files}  # in bytes
        self.sizes |= {name: len(text) for name, text in texts.items()}
        # The keys of documents do not depend on the location of the files.
        self.keys = {str(path): key for path, key in files.items()} | {name: name for name in texts}
        if not sum(self.sizes.values()):
            raise LogicgenError(
                f"{called}: the corpus is empty: {len(self.sizes)} files of 0 bytes; give files"
                " with text"
            )

    def read(self, block: Block) -> str:
        """Return a block's text. Raises LogicgenError with the file and the faulty byte."""
        where = Path(block.document)
        if block.document in self._texts:
            data = self._texts[block.document][block.start : block.stop]
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
        """Yield the blocks of all documents, in order. No block ends inside a character."""
        for name, size in self.sizes.items():
            if name in self._texts:
                yield from _cut(name, self._texts[name])
                continue
            with reading(name), open(name, "rb") as file:
                start = 0
                while start < size:
                    stop = min(start + BLOCK, size)
                    file.seek(stop)
                    # End the block with a line. If the line is long, end the block with a
                    # character: the bytes 10xxxxxx (binary) continue a character.
                    ahead = file.read(4096)
                    line = ahead.find(b"\n") + 1
                    if not line:
                        line = next((i for i, byte in enumerate(ahead) if byte & 0xC0 != 0x80), 0)
                    stop = min(stop + line, size)
                    yield Block(name, start, stop)
                    start = stop


def _cut(name: str, data: bytes) -> Iterator[Block]:
    """Divide a text into blocks of at least `TEXT_BLOCK` bytes, each of whole lines.

    The last block may be shorter.
    """
    start = 0
    while start < len(data):
        stop = data.find(b"\n", start + TEXT_BLOCK) + 1 or len(data)
        yield Block(name, start, stop)
        start = stop


def library_files() -> dict[Path, str]:
    """Return the sources of the standard library without tests, with their relative paths."""
    root = Path(sysconfig.get_paths()["stdlib"])
    return {
        path: path.relative_to(root).as_posix()
        for path in sorted(root.rglob("*.py"))
        if _NO_LIBRARY.isdisjoint(path.relative_to(root).parts)
    }


def named_files(names: list[str], pattern: str) -> dict[Path, str]:
    """Return the files at the given paths, and in given folders if their names match `pattern`.

    Returns, for each file, its path relative to its folder. If two paths lead to the same file, the
    file occurs once. Raises LogicgenError if a path does not exist or no file matches.
    """
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


# Docstrings in these folders are not read: the functions are only for developers of the package.
_TESTS = {"test", "tests"}

# An example for doctest with its output, up to the next empty line.
_EXAMPLE = re.compile(r"^[ \t]*>>>.*?(?:\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)


def topics() -> dict[str, bytes]:
    """Return the texts of Python's own documentation (`pydoc_data.topics`) by name, in order."""
    found: dict[str, str] = import_module("pydoc_data.topics").topics
    return {name: found[name].encode() for name in sorted(found)}


def docstrings(packages: Iterable[str]) -> dict[str, bytes]:
    """Return the docstrings of installed packages: a text for each source file.

    The keys are the relative paths of the files. Examples for doctest are removed. If a docstring
    occurs several times, it is used once. Raises LogicgenError for a package that is not installed
    as a folder of sources.
    """
    found: dict[str, bytes] = {}
    known: set[str] = set()
    for package in packages:
        root = _folder(package)
        for path in sorted(root.rglob("*.py")):
            place = path.relative_to(root.parent)
            if _TESTS.isdisjoint(place.parts):
                new = [text for text in _docstrings_of(path) if text not in known]
                known.update(new)
                if new:
                    found[place.as_posix()] = ("\n\n".join(dict.fromkeys(new)) + "\n").encode()
    return found


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages by name. Packages without a known version are left out."""
    distributions = packages_distributions()
    return {
        package: version(distributions[package][0])
        for package in packages
        if package in distributions
    }


def _folder(package: str) -> Path:
    """Return the folder of a package's sources."""
    spec = None
    if package.isidentifier():  # find_spec imports the parent of a dotted name
        with suppress(ValueError):  # raised for some modules without a location
            spec = find_spec(package)
    if spec is None:
        raise LogicgenError(
            f"packages: {package!r} is not installed, or its import name differs: install it,"
            " or leave it out of packages"
        )
    if not spec.submodule_search_locations or spec.origin is None:
        raise LogicgenError(f"packages: {package!r} is not a folder of sources: leave it out")
    return Path(spec.origin).parent


def _docstrings_of(path: Path) -> list[str]:
    """Return the docstrings of a source file, without doctest examples; [] if it does not parse."""
    with reading(path):
        data = path.read_bytes()
    try:
        with warnings.catch_warnings():
            # Parsing warns, for example, about invalid escapes in the sources.
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError):  # a template, or another version of Python
        return []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
    # A docstring can contain a lone surrogate, which is not a character.
    whole = [text.encode(errors="replace").decode() for text in texts if text]
    return [text for text in (_EXAMPLE.sub("\n", text).strip() for text in whole) if text]


Share = Annotated[float, Field(gt=0, lt=0.5)]

PART = 1 << 24  # the bytes of text in a part of a corpus
TOKEN_BYTES = 4  # the estimated bytes of a token; no character has more
LEARNED_FROM = 1 << 28  # the most bytes of text from which byte pairs are learned


class TextSettings(Settings):
    """Keys of `[corpus]`."""

    # A text of the Python installation; a recipe has either this key or `files`.
    # `python-library`: the sources of the standard library. `python-topics`: the English texts of
    # `pydoc_data.topics`. `docstrings`: these texts and the docstrings of `packages`
    source: Literal["python-library", "python-topics", "docstrings"] | None = None
    # The names with which the packages are imported
    packages: Annotated[list[str], Field(min_length=1)] | None = None
    # Paths of UTF-8 files, or of folders with such files
    files: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = None
    pattern: str = "*"  # pattern of the names of files to take from folders, such as `*.txt`
    # `letters` are a to z and the blank. The text is lower-cased; other characters become a blank
    tokens: Literal["characters", "letters", "byte-pairs"] = "characters"
    vocabulary: Annotated[int, Field(ge=4, le=1_000_000)] = 128  # the largest number of tokens
    # validation, test: approximate shares of the text that are held out
    validation: Share = 0.05
    test: Share = 0.05
    # Problems of look-up or permutation within the training text; see `ProblemText`
    problems: ProblemText | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> TextSettings:
        if (self.source is None) == (self.files is None):
            raise ValueError("give either source or files")
        if (self.source == "docstrings") != (self.packages is not None):
            raise ValueError("source = 'docstrings' and packages go together")
        if self.tokens == "letters" and "vocabulary" in self.model_fields_set:
            raise ValueError("vocabulary: the letters are a fixed number; leave the key out")
        if self.tokens == "byte-pairs" and self.vocabulary < 257:
            raise ValueError(
                f"vocabulary: {self.vocabulary} is less than <end> and the 256 bytes; give 257 or"
                " more, or tokens = 'characters'"
            )
        return self


class TextSource(CorpusSource):
    """A corpus of documents. A block's split depends on the seed, its document and its start."""

    counted = "bytes of text"

    def __init__(self, settings: TextSettings, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._documents = _documents(settings)
        self.files = {}
        self.facts = {}
        keys, sizes = self._documents.keys, self._documents.sizes
        self.digest = text_sha256(repr([(keys[name], size) for name, size in sizes.items()]))
        if settings.source is not None:
            self.facts["python"] = platform.python_version()
            self.facts |= versions(settings.packages or [])
        if settings.problems is not None:  # report impossible problems before anything is made
            next(problem_texts(settings.problems, self.tokens, Random(seed)))
        if settings.tokens == "byte-pairs":
            self.facts["tokenizers"] = version("tokenizers")

    def split_of(self, block: Block) -> str:
        """Return the split of a block, by a hash of the seed, its document and its start."""
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
        """Return the tokens, learned from the training text."""
        if self._settings.tokens == "byte-pairs":
            return Tokens.of_byte_pairs(self._texts(LEARNED_FROM), self._settings.vocabulary)
        counts = np.zeros(0x110000, dtype=np.int64)
        for text in self._texts():
            found = np.bincount(np.frombuffer(text.encode("utf-32-le"), np.uint32))
            counts[: len(found)] += found
        occurring = np.flatnonzero(counts).tolist()
        known = {chr(number): int(counts[number]) for number in occurring}
        if self._settings.tokens == "letters":
            return Tokens.of_letters(known)
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
        """Return the bytes of the text, and the estimated tokens in all and in one part."""
        size = sum(self._documents.sizes.values())
        tokens = size // TOKEN_BYTES
        return size, tokens, min(tokens, PART)

    def part(self, split: str, number: int) -> Part:
        """Return the array `tokens` of token ids, of shape (number of tokens of the part,)."""
        pieces = []
        for block in self._parts[split][number]:
            pieces.append(self.tokens.encode(self._documents.read(block)))
            if block.stop == self._documents.sizes[block.document]:
                pieces.append(np.array([self.tokens.end]))
        problems = self._settings.problems
        if problems is not None and split == "train":
            pieces = self._mixed(pieces, problems, Random(f"{self._seed}:{number}"))
        return {TOKENS: np.concatenate(pieces)}

    def _mixed(
        self, pieces: list[np.ndarray], problems: ProblemText, rng: Random
    ) -> list[np.ndarray]:
        """Return the token ids of a text with problems inserted after random lines or documents.

        If the text has no line breaks and no ends of documents, problems are inserted anywhere.

        pieces: the token ids of the text. problems: the settings of the problems.
        """
        text = np.concatenate(pieces)
        left = len(text) * problems.share / (1 - problems.share)
        drawn: list[np.ndarray] = []
        for one in problem_texts(problems, self.tokens, rng):
            drawn.append(one)
            left -= len(one)
            if left <= 0:
                break
        lines = [number for number, each in enumerate(self.tokens.texts) if each == "\n"]
        behind = np.flatnonzero(np.isin(text, [self.tokens.end, *lines])) + 1
        places = sorted(rng.choices(behind.tolist() or range(len(text) + 1), k=len(drawn)))
        return [
            each
            for piece, one in zip(np.split(text, places), [*drawn, text[:0]], strict=True)
            for each in (piece, one)
        ]


def _documents(settings: TextSettings) -> Documents:
    match settings.source:
        case "python-topics":
            return Documents({}, topics(), "this Python's documentation")
        case "docstrings":
            texts = topics() | docstrings(settings.packages or [])
            return Documents({}, texts, "docstrings")
        case "python-library":
            return Documents(library_files(), {}, "this Python's library")
        case _:
            names = settings.files or []
            return Documents(named_files(names, settings.pattern), {}, ", ".join(names))


TASK = CorpusTask(
    "text",
    "text of any files, or that every Python carries, as characters, letters or byte pairs",
    TextSettings,
    TextSource,
)
