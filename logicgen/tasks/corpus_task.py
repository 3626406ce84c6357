"""What a corpus task is: sequences of tokens to be modelled, without questions and answers.

A corpus is made in parts, each of which follows from the settings and its number alone, so that it
can be made at a size that memory does not hold, and goes on where it stopped. A part is a few
arrays by name; `tokens` is always one of them:

- (N,) where documents are written one after another, each ended by `<end>`;
- (N, length) where every row is a sequence of its own. A row that ends before holds `<end>` from
  there on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from logicgen.declaration import Table
from logicgen.tokens import Tokens

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]

TOKENS = "tokens"
CORPUS_SPLITS = ("train", "validation", "test")

# Tokens in a part of a corpus of rows.
PART = 1 << 22


class CorpusSettings(Table):
    """The `[corpus]` table of a recipe; each task adds its own keys."""


class RowCounts(CorpusSettings):
    """Keys of corpora whose rows are sequences of their own.

    Attributes:
        train, validation, test: how many rows.
    """

    train: Count = 0
    validation: Count = 0
    test: Count = 0

    @model_validator(mode="after")
    def _asks_for_some(self) -> Self:
        if not self.train + self.validation + self.test:
            raise ValueError("asks for no rows; give it train, validation or test")
        return self

    def parted(self, split: str, length: int) -> list[range]:
        """The rows of a split, each of so many tokens, by part."""
        rows, each = getattr(self, split), max(1, PART // length)
        return [range(first, min(first + each, rows)) for first in range(0, rows, each)]


class RowSettings(RowCounts):
    """Keys of corpora whose rows are as long as somebody wants them.

    Attributes:
        length: tokens of a row.
    """

    length: Annotated[int, Field(ge=2, le=1_000_000)]

    def parts(self, split: str) -> list[range]:
        """The rows of a split, by part."""
        return self.parted(split, self.length)


class CorpusSource(ABC):
    """A corpus that can be made, part by part.

    Attributes:
        tokens: of which it consists.
        facts: about what it was made from, such as versions, for the corpus's description.
        digest: changes when what it is made from does.
        files: what belongs to the corpus besides, as text by file name.
    """

    tokens: Tokens
    facts: Mapping[str, str]
    digest: str
    files: Mapping[str, str]

    @abstractmethod
    def parts(self, split: str) -> int:
        """How many parts a split has."""

    @abstractmethod
    def part(self, split: str, number: int) -> dict[str, np.ndarray]:
        """The arrays of one part."""


class CorpusTask(ABC):
    """One kind of corpora."""

    name: ClassVar[str]
    about: ClassVar[str]
    Settings: ClassVar[type[CorpusSettings]]

    @abstractmethod
    def source(self, settings: CorpusSettings, seed: int) -> CorpusSource:
        """What makes the corpus. Raises LogicgenError where there is nothing to make it of."""
