"""What `model.json` may say: a strict schema, published in `docs/schemas/`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from logicgen.data.data_recipe import Lengths, Symbols
from logicgen.data.description import Checksum, Count
from logicgen.model.model_recipe import ModelRecipe
from logicgen.recipes import Table
from logicgen.tokens import MOST_SYMBOLS, TokensTable


class RegionTable(Table):
    """The problems that a model was trained on.

    Attributes:
        symbols, length: inclusive ranges.
        tokens: the fixed tokens that occur; not known if empty.
    """

    symbols: Symbols
    length: Lengths
    tokens: list[str] = Field(default=[])


class ModelCard(Table):
    """A trained model, in its `model.json`.

    Attributes:
        task: that its data were made by.
        region: None where it was trained on no problems.
        vocabulary, alphabet: of models that answer problems: the fixed tokens, and how many symbols
            the training problems had.
        tokens: of language models.
        data: digest of the bytes of the data.
        steps: steps of the training.
        precision: of its products of matrices, if the recipe does not fix it.
        versions: of the packages that trained it, by name.
        sha256: checksum of the weights.
        card_sha256: checksum of the other keys.
    """

    recipe: ModelRecipe
    task: str
    region: RegionTable | None = None
    vocabulary: list[str] | None = None
    alphabet: Annotated[int, Field(ge=0, le=MOST_SYMBOLS)] | None = None
    tokens: TokensTable | None = None
    data: str
    steps: Count
    precision: Literal["fp32", "bf16", "fp32 and bf16"] | None = None
    versions: dict[str, str]
    sha256: Checksum
    card_sha256: Checksum

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        problems = {"vocabulary", "alphabet", "region"}
        needed = {"tokens"} if self.recipe.network.reads_sequences else problems
        for key in sorted(needed):
            if getattr(self, key) is None:
                raise ValueError(f"key {key!r} is missing, for network.kind {self.recipe.kind!r}")
        return self
