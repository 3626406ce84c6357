"""The contract of a corpus task: sequences of tokens to be modelled, without questions and answers.

A corpus is made in parts, each of which follows from the settings and its number alone. So it can
be larger than memory, and its making can be resumed after an interruption. A part is a few arrays
by name; `tokens` is always one of them:

- (N,) where documents are written one after another, each ended by `<end>`;
- (N, length) where every row is a sequence of its own. `<end>` fills a row that ends before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from logicgen.tasks.task import Settings
from logicgen.tokens import Tokens

# Rows are made one part after another, but numbers beyond are slips of the pen.
MOST_ROWS = 1_000_000_000
Count = Annotated[int, Field(strict=True, ge=0, le=MOST_ROWS)]

TOKENS = "tokens"
CORPUS_SPLITS = ("train", "validation", "test")

Part = dict[str, np.ndarray]

# Tokens in a part of a corpus of rows.
PART = 1 << 22


class RowCounts(Settings):
    """The numbers of rows in the splits of a corpus whose rows are sequences of their own."""

    train: Count = 0
    validation: Count = 0
    test: Count = 0

    @model_validator(mode="after")
    def _asks_for_some(self) -> Self:
        if not self.train + self.validation + self.test:
            raise ValueError("asks for no rows; give it train, validation or test")
        return self

    def parts(self, split: str, length: int) -> Sequence[int]:
        """Return the first row of each part of a split, where a row has `length` tokens."""
        return range(0, getattr(self, split), rows_of_part(length))


def rows_of_part(length: int) -> int:
    """Return how many rows of so many tokens make a part; the last one has what is left."""
    return max(1, PART // length)


class RowSettings(RowCounts):
    """The numbers of rows, and their `length` in tokens, where that can be chosen."""

    length: Annotated[int, Field(ge=2, le=1_000_000)]


class CorpusSource(ABC):
    """A corpus that can be made, part by part."""

    tokens: Tokens  # the tokens that it consists of
    # Versions and the like of what it was made from, for the corpus's description
    facts: Mapping[str, str]
    digest: str  # a text that changes when the corpus is made from something else
    files: Mapping[str, str]  # further files of the corpus, as text by file name
    counted = "rows"  # what `extent` counts

    @abstractmethod
    def parts(self, split: str) -> int:
        """Return how many parts a split has."""

    @abstractmethod
    def part(self, split: str, number: int) -> Part:
        """Return the arrays of one part."""

    @abstractmethod
    def extent(self) -> tuple[int, int, int]:
        """Return the rows, the numbers in all arrays, and those in the arrays of one part."""


class RowSource(CorpusSource):
    """Random rows of `length` tokens; those of part n of a split follow from seed, split and n."""

    def __init__(self, counts: RowCounts, length: int, seed: int) -> None:
        self._counts, self._length, self._seed = counts, length, seed
        self._rows = {split: int(getattr(counts, split)) for split in CORPUS_SPLITS}

    def parts(self, split: str) -> int:
        return len(self._counts.parts(split, self._length))

    def part(self, split: str, number: int) -> Part:
        """Return the arrays of one part, of which `tokens` is (rows, length)."""
        first, all_rows = self._counts.parts(split, self._length)[number], self._rows[split]
        rows = min(rows_of_part(self._length), all_rows - first)
        rng = np.random.default_rng((self._seed, CORPUS_SPLITS.index(split), number))
        return self.drawn(rng, rows, split, number)

    def extent(self) -> tuple[int, int, int]:
        rows, largest = sum(self._rows.values()), max(self._rows.values())
        row = self.numbers_of_row()
        return rows, rows * row, min(largest, rows_of_part(self._length)) * row

    def numbers_of_row(self) -> int:
        """Return the numbers that all arrays have for one row."""
        return self._length

    @abstractmethod
    def drawn(self, rng: np.random.Generator, rows: int, split: str, number: int) -> Part:
        """Return the arrays of part `number` of a split, with so many rows."""


@dataclass(frozen=True)
class CorpusTask:
    """A kind of corpora."""

    name: str  # the name in recipes
    about: str  # one line for `logicgen list tasks`
    Settings: type[Settings]  # the keys of `[corpus]`
    # Makes the source of settings and a seed. Raises LogicgenError for an empty corpus
    source: Callable[[Any, int], CorpusSource]
