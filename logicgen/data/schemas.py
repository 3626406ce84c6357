"""What `dataset.json` and `corpus.json` may say: strict schemas, published in `docs/schemas/`.

Files of others are read by these alone, so whatever follows from a description that was read, such
as the path of a file, is what logicgen could have written.
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
        name: of the recipe file.
        versions: of logicgen and of what else the bytes depend on, by name.
        complete: whether everything is there; if not, it is being made, or was interrupted.
    """

    format: Literal[1]
    name: str
    seed: int
    versions: dict[str, str]
    complete: bool


class ShardFile(Table):
    """A shard.

    Attributes:
        file: path in the folder.
        examples: rows.
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
        cells: cells that were asked for.
        cells_short: those that hold fewer examples than asked for.
        cells_empty: those that hold none.
        given_up: problems for which a solver took too long, and others were drawn.
    """

    examples: Count
    cells: Count
    cells_short: Count
    cells_empty: Count
    shards: list[ShardFile]
    given_up: Count = 0

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.examples != sum(shard.examples for shard in self.shards):
            raise ValueError("examples: not the sum of those of the shards")
        if len({shard.file for shard in self.shards}) != len(self.shards):
            raise ValueError("shards: a file is listed twice")
        return self


class Distinct(Table):
    """Which problems are different: no two of a data set are the same up to this."""

    up_to: Annotated[Literal["renaming", "equality"], Field(alias="up to")]
    checked: bool


class DatasetDescription(Description):
    """A data set, in its `dataset.json`. Once it is complete, all keys are there.

    Attributes:
        format: all slots draw at once, then those whose problem an earlier one has draw again.
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
            raise ValueError("examples: not the sum of those of the splits")
        for name, split in self.splits.items():
            if not all(shard.file.startswith(f"{name}/") for shard in split.shards):
                raise ValueError(f"splits.{name}.shards: a file of another split")
        return self


class ArrayFile(Table):
    """A NumPy array in a file: (N,), or (N, length) where every row is a sequence of its own."""

    shape: Annotated[list[Count], Field(min_length=1, max_length=2)]
    sha256: Checksum


class PartFiles(Table):
    """The arrays of a part of a corpus.

    Attributes:
        tokens: ids.
        keys: of ciphers: column t says how token t is written.
        plain: of ciphers that are not one-to-one: what each token stands for.
    """

    tokens: ArrayFile
    keys: ArrayFile = None  # type: ignore[assignment]  # may be missing, but not null
    plain: ArrayFile = None  # type: ignore[assignment]  # likewise


class CorpusSplit(Table):
    """A split of a corpus; `tokens` counts them."""

    tokens: Count
    parts: list[PartFiles]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.tokens != sum(prod(part.tokens.shape) for part in self.parts):
            raise ValueError("tokens: not the sum of those of the parts")
        if len({tuple(part.tokens.shape[1:]) for part in self.parts}) > 1:
            raise ValueError("parts: rows of different lengths")
        for part in self.parts:
            rows = part.tokens.shape[0]
            if part.keys is not None and (len(part.keys.shape), part.keys.shape[0]) != (2, rows):
                raise ValueError("parts: not one key for each row")
            if part.plain is not None and part.plain.shape != part.tokens.shape:
                raise ValueError("parts: not as much plain text as tokens")
        return self


class CorpusDescription(Description):
    """A corpus, in its `corpus.json`. Once it is complete, all keys are there.

    Attributes:
        tokens: all tokens that it consists of.
        sources: changes when the corpus is made from something else.
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
