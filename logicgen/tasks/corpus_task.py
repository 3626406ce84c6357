"""The base classes of corpus tasks, which make sequences of tokens for language models.

A corpus is made in parts. Each part depends only on the settings, the seed, the split and the
number of the part. So a corpus can be larger than memory, and its making can be resumed after an
interruption. A part consists of a few named arrays. The array `tokens` contains token ids. Its
shape is:

- (number of tokens,) if documents follow one another, each ended by `<end>`.
- (rows, length) if every row is a separate sequence. `<end>` fills up shorter sequences.
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

# The most rows of a split. A larger number in a recipe is probably a mistake.
MOST_ROWS = 1_000_000_000
Count = Annotated[int, Field(strict=True, ge=0, le=MOST_ROWS)]

TOKENS = "tokens"
CORPUS_SPLITS = ("train", "validation", "test")

Part = dict[str, np.ndarray]

# The number of tokens in a part of a corpus of rows.
PART = 1 << 22


class RowCounts(Settings):
    """The numbers of rows in the splits of a corpus in which every row is a separate sequence."""

    train: Count = 0
    validation: Count = 0
    test: Count = 0

    @model_validator(mode="after")
    def _asks_for_some(self) -> Self:
        if not self.train + self.validation + self.test:
            raise ValueError("asks for no rows; give it train, validation or test")
        return self

    def parts(self, split: str, length: int) -> Sequence[int]:
        """Divide a split into parts, which are made one after another; return their first rows.

        length: the number of tokens in a row.

        Returns, for each part, the number of its first row in the split.
        """
        return range(0, getattr(self, split), rows_of_part(length))


def rows_of_part(length: int) -> int:
    """Return the number of rows in a part, if a row has `length` tokens.

    The last part of a split may have fewer rows.
    """
    return max(1, PART // length)


class RowSettings(RowCounts):
    """The numbers of rows, and their `length` in tokens."""

    length: Annotated[int, Field(ge=2, le=1_000_000)]


class CorpusSource(ABC):
    """A corpus that can be made in parts."""

    tokens: Tokens  # the tokens of the corpus
    # The versions of the sources and similar facts, for the description of the corpus
    facts: Mapping[str, str]
    digest: str  # a text that changes if the names or sizes of the corpus's sources change
    files: Mapping[str, str]  # further files of the corpus, as text by file name
    counted = "rows"  # the plural noun for the things that the first number of `extent` counts

    @abstractmethod
    def parts(self, split: str) -> int:
        """Return the number of parts in a split."""

    @abstractmethod
    def part(self, split: str, number: int) -> Part:
        """Return the arrays of one part."""

    @abstractmethod
    def extent(self) -> tuple[int, int, int]:
        """Return the size of the corpus as three numbers.

        The numbers are: rows (or the things named by `counted`), values in all arrays, and values
        in the arrays of the largest part.
        """


class RowSource(CorpusSource):
    """Random rows of `length` tokens. Part n of a split depends on the seed, the split and n."""

    def __init__(self, counts: RowCounts, length: int, seed: int) -> None:
        self._counts, self._length, self._seed = counts, length, seed
        self._rows = {split: int(getattr(counts, split)) for split in CORPUS_SPLITS}

    def parts(self, split: str) -> int:
        return len(self._counts.parts(split, self._length))

    def part(self, split: str, number: int) -> Part:
        """Return the arrays of one part. `tokens` has the shape (rows, length)."""
        first, all_rows = self._counts.parts(split, self._length)[number], self._rows[split]
        rows = min(rows_of_part(self._length), all_rows - first)
        rng = np.random.default_rng((self._seed, CORPUS_SPLITS.index(split), number))
        return self.drawn(rng, rows, split, number)

    def extent(self) -> tuple[int, int, int]:
        rows, largest = sum(self._rows.values()), max(self._rows.values())
        row = self.numbers_of_row()
        return rows, rows * row, min(largest, rows_of_part(self._length)) * row

    def numbers_of_row(self) -> int:
        """Return the number of values that are stored for a row, in all arrays together."""
        return self._length

    @abstractmethod
    def drawn(self, rng: np.random.Generator, rows: int, split: str, number: int) -> Part:
        """Return the arrays of part `number` of a split; each array has `rows` rows."""


@dataclass(frozen=True)
class CorpusTask:
    """A kind of corpus."""

    name: str  # the name in recipes
    about: str  # one line for `logicgen list tasks`
    Settings: type[Settings]  # the keys of `[corpus]`
    # A function that makes the source from settings and a seed. It raises LogicgenError for an
    # empty corpus
    source: Callable[[Any, int], CorpusSource]
