"""Text, cut into tokens: any files, or texts that every Python installation carries.

Files are read in blocks, each of which belongs to one split by a hash of its place, so that a
corpus of any size takes no more memory than one part of it.
"""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from random import Random
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from logicgen.errors import LogicgenError
from logicgen.files import text_sha256
from logicgen.tasks.corpus_task import TOKENS, CorpusSource, CorpusTask, Part
from logicgen.tasks.docstrings import docstrings, topics, versions
from logicgen.tasks.documents import Block, Documents, library_files, named_files
from logicgen.tasks.problem_text import ProblemText, problem_texts
from logicgen.tasks.task import Settings
from logicgen.tokens import Tokens

Share = Annotated[float, Field(gt=0, lt=0.5)]

PART = 1 << 24  # bytes of text in a part of a corpus
TOKEN_BYTES = 4  # of text: a character has no more, and a byte pair about as many
LEARNT_FROM = 1 << 28  # bytes of text, at most, from which byte pairs are learnt


class TextSettings(Settings):
    """Keys of `[corpus]`."""

    # `python-library`, the standard library's own sources; `python-topics`, the English of
    # `pydoc_data.topics`; or `docstrings`, these topics and the docstrings of `packages`; given
    # instead of `files`
    source: Literal["python-library", "python-topics", "docstrings"] | None = None
    # Installed packages, by the names that they are imported by
    packages: Annotated[list[str], Field(min_length=1)] | None = None
    # Files and folders, UTF-8
    files: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = None
    pattern: str = "*"  # pattern of the names of files to take from folders, such as `*.txt`
    # `letters`: a to z and the blank; text is lower-cased, and all between letters is one blank
    tokens: Literal["characters", "letters", "byte-pairs"] = "characters"
    vocabulary: Annotated[int, Field(ge=4, le=1_000_000)] = 128  # how many tokens there are at most
    # validation, test: approximate shares of the text that are held out
    validation: Share = 0.05
    test: Share = 0.05
    # Problems of look-up or permutation among the training text, as `ProblemText` says
    problems: ProblemText | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> TextSettings:
        if (self.source is None) == (self.files is None):
            raise ValueError("give either source or files")
        if (self.source == "docstrings") != (self.packages is not None):
            raise ValueError("source = 'docstrings' and packages go together")
        if self.tokens == "letters" and "vocabulary" in self.model_fields_set:
            raise ValueError("vocabulary: letters are as many as they are; leave the key out")
        if self.tokens == "byte-pairs" and self.vocabulary < 257:
            raise ValueError(
                f"vocabulary: {self.vocabulary} is less than <end> and the 256 bytes; give 257 or"
                " more, or tokens = 'characters'"
            )
        return self


class TextSource(CorpusSource):
    """Documents, cut into tokens. The split of a block follows from seed and place."""

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
        if settings.problems is not None:  # what cannot be written is said before anything is made
            next(problem_texts(settings.problems, self.tokens, Random(seed)))
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
        problems = self._settings.problems
        if problems is not None and split == "train":
            pieces = self._mixed(pieces, problems, Random(f"{self._seed}:{number}"))
        return {TOKENS: np.concatenate(pieces)}

    def _mixed(
        self, pieces: list[np.ndarray], problems: ProblemText, rng: Random
    ) -> list[np.ndarray]:
        """Return the text with problems between lines; anywhere, if it has none."""
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
