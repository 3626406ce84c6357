"""Strict schemas of `dataset.json` and `corpus.json`, published in `docs/schemas/`.

Every description is checked by its schema when it is read. So its values, such as the path of a
file, are values that logicgen could have written.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from logicgen.data.recipe import CorpusRecipe, DataRecipe
from logicgen.recipes import Table
from logicgen.tokens import TokensTable

Count = Annotated[int, Field(ge=0, lt=2**63)]
Checksum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Description(Table):
    """The common part of both descriptions.

    Attributes:
        name: name of the recipe file.
        versions: versions of logicgen and of the packages that the bytes depend on, by name.
        complete: false while the data are made, and after an interruption.
    """

    format: Literal[1]
    name: str
    seed: int
    versions: dict[str, str]
    complete: bool


class ShardFile(Table):
    """A shard: a Parquet file with some examples of a split.

    Attributes:
        file: path in the folder.
        examples: number of rows.
        bytes: size of the file.
        sha256: checksum of the file.
    """

    file: Annotated[str, Field(pattern=r"^(train|validation|test|grid)/[0-9]{5,9}\.parquet$")]
    examples: Count
    bytes: Count
    sha256: Checksum


class DatasetSplit(Table):
    """A split of a data set.

    Attributes:
        cells: number of cells that the recipe asks for.
        cells_short: number of cells that hold fewer examples than asked for.
        cells_empty: number of cells that hold no example although the recipe asks for examples.
        cells_left_out: number of cells with problems for which the recipe asks no example, because
            the split has fewer examples than cells.
        given_up: number of problems that a solver gave up and that were replaced.
    """

    examples: Count
    cells: Count
    cells_short: Count
    cells_empty: Count
    shards: list[ShardFile]
    cells_left_out: Count = 0
    given_up: Count = 0

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.examples != sum(shard.examples for shard in self.shards):
            raise ValueError("examples: not the sum over the shards")
        if len({shard.file for shard in self.shards}) != len(self.shards):
            raise ValueError("shards: a file is listed twice")
        return self


class Distinct(Table):
    """The test by which all problems of a data set differ: equality, or equality up to renaming."""

    up_to: Annotated[Literal["renaming", "equality"], Field(alias="up to")]
    checked: bool


class DatasetDescription(Description):
    """A data set, in its `dataset.json`. A complete description has all keys.

    Attributes:
        format: 2: the version of the format and of the way in which problems are drawn.
    """

    format: Literal[2]  # type: ignore[assignment]
    recipe: DataRecipe
    examples: Count | None = None
    distinct: Distinct | None = None
    splits: dict[Literal["train", "validation", "test", "grid"], DatasetSplit] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not self.complete:
            return self
        if self.examples is None or self.distinct is None or self.splits is None:
            raise ValueError("complete, but examples, distinct or splits is missing")
        if self.examples != sum(split.examples for split in self.splits.values()):
            raise ValueError("examples: not the sum over the splits")
        for name, split in self.splits.items():
            if not all(shard.file.startswith(f"{name}/") for shard in split.shards):
                raise ValueError(f"splits.{name}.shards: a file of another split")
        return self


class ArrayFile(Table):
    """A NumPy array in a file, with the shape (tokens,) or (rows, length of a row)."""

    shape: Annotated[list[Count], Field(min_length=1, max_length=2)]
    sha256: Checksum


class PartFiles(Table):
    """The arrays of a part of a corpus.

    Attributes:
        tokens: token ids.
        keys: keys of ciphers, one for each row. Column t has the token id that replaces id t.
        plain: token ids of the plain text, if the ciphers are not one-to-one.
    """

    tokens: ArrayFile
    keys: ArrayFile = None  # type: ignore[assignment]  # may be missing, but not null
    plain: ArrayFile = None  # type: ignore[assignment]  # may be missing, but not null


class CorpusSplit(Table):
    """A split of a corpus; `tokens` is the number of its tokens."""

    tokens: Count
    parts: list[PartFiles]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.tokens != sum(prod(part.tokens.shape) for part in self.parts):
            raise ValueError("tokens: not the sum over the parts")
        if len({tuple(part.tokens.shape[1:]) for part in self.parts}) > 1:
            raise ValueError("parts: rows of different lengths")
        for part in self.parts:
            rows = part.tokens.shape[0]
            if part.keys is not None and (len(part.keys.shape), part.keys.shape[0]) != (2, rows):
                raise ValueError("parts: not one key for each row")
            if part.plain is not None and part.plain.shape != part.tokens.shape:
                raise ValueError("parts: plain text and tokens of different shapes")
        return self


class CorpusDescription(Description):
    """A corpus, in its `corpus.json`. A complete description has all keys.

    Attributes:
        tokens: the vocabulary of the corpus.
        sources: a text that changes if the names or sizes of the corpus's sources change.
    """

    recipe: CorpusRecipe
    tokens: TokensTable
    sources: str
    splits: dict[Literal["train", "validation", "test"], CorpusSplit] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.complete and self.splits is None:
            raise ValueError("complete, but splits is missing")
        for split in (self.splits or {}).values():
            for part in split.parts:
                if part.keys is not None and part.keys.shape[1] != len(self.tokens.texts):
                    raise ValueError("splits: a key has another number of tokens")
        return self
