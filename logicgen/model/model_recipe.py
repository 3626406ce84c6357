"""Model recipes: a TOML file that, with a data set, fully determines a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from logicgen import shipped
from logicgen.declaration import changed, read_toml, validate

Count = Annotated[int, Field(ge=1)]
EncoderPositions = Literal["sinusoidal", "tree", "rotary", "relative", "none"]
DecoderPositions = Literal["sinusoidal", "rotary", "relative", "none"]


class _Table(BaseModel):
    """A table of the file: no unknown keys, no conversions ("12" is not a number)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class EmbeddingTable(_Table):
    """How symbol rows are made (`logicgen/nn/embedding.py`); each method has keys of its own."""

    method: Literal["learned", "alpha-renaming", "interchangeable", "symbol-invariant"]
    normalize_rows: bool
    max_symbols: Count | None = None  # trained rows
    random_part: Literal["normal", "neighbouring-points", "hypercube"] | None = None
    random_width: Count | None = None  # of the model's width; the rest is trained
    normalize_parts: bool | None = None
    # Rows are drawn anew for each training batch, or for each sequence of it.
    resample: Literal["batch", "sequence"] | None = None

    @model_validator(mode="after")
    def _has_its_keys(self) -> Self:
        own = {
            "learned": {"max_symbols"},
            "alpha-renaming": {"max_symbols"},
            "interchangeable": {"random_part", "random_width", "normalize_parts"},
            "symbol-invariant": set(),
        }[self.method]
        draws = self.method in ("alpha-renaming", "interchangeable")  # whose rows are random
        optional = {"resample"} if draws else set()  # "batch" if not given
        given = set(self.model_dump(exclude_none=True)) - {"method", "normalize_rows"}
        if not own <= given <= own | optional:
            unknown = given - own - optional
            wrong = (
                f"{min(unknown)!r} is unknown" if unknown else f"{min(own - given)!r} is missing"
            )
            keys = ", ".join(["method", "normalize_rows", *sorted(own | optional)])
            raise ValueError(f"key {wrong} for method {self.method!r}; its keys: {keys}")
        return self


class ModelTable(_Table):
    width: Annotated[int, Field(ge=2, multiple_of=2)]
    heads: Count
    encoder_layers: Count
    decoder_layers: Count
    feed_forward: Count  # width of the hidden layer
    dropout: Annotated[float, Field(ge=0, lt=1)]
    encoder_positions: EncoderPositions
    decoder_positions: DecoderPositions
    normalize_features: bool
    rotary_cross_attention: bool = False  # rotates queries and keys between the two, as well
    input_scale: Literal["sqrt-width", "learned"] = "sqrt-width"  # of rows, where they are inputs


class StreamsTable(_Table):
    """The streams of a symbol-invariant model (`logicgen/nn/streams.py`)."""

    decoder_own_attention: bool = True  # the decoder's streams attend to themselves
    aggregated_attention: bool = True  # streams attend to the view that fuses them
    cross_attention: Literal["streams", "aggregated"] = "streams"  # what of the problem is read
    reserved: Annotated[int, Field(ge=0)] = 0  # streams for symbols that the problem lacks
    chunk: Count | None = None  # streams computed at a time; all if not given

    @model_validator(mode="after")
    def _reads_its_answer(self) -> Self:
        if not (self.decoder_own_attention or self.aggregated_attention):
            raise ValueError(
                "the decoder would not see its answer: set decoder_own_attention or"
                " aggregated_attention to true"
            )
        return self


class LossTable(_Table):
    method: Literal["cross-entropy", "adacos"]


class TrainingTable(_Table):
    steps: Count
    batch_size: Count
    learning_rate: Annotated[float, Field(gt=0)]
    warmup_steps: Annotated[int, Field(ge=0)]  # the rate rises linearly until then
    schedule: Literal["constant", "cosine", "inverse-sqrt"]  # of the rate after that
    final_rate: Annotated[float, Field(ge=0)] = 0.0  # that a cosine falls to
    optimizer: Literal["adamw", "adafactor", "muon"] = "adamw"
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    gradient_clip: Annotated[float, Field(gt=0)] = 1.0  # largest norm of a gradient
    precision: Literal["fp32", "bf16"] = "fp32"  # bf16 on a GPU; a CPU always computes in fp32
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    log_every: Count = 10  # steps
    checkpoint_every: Count = 500  # steps: what a crash loses at most
    validate_every: Count = 500  # steps
    validation_examples: Count = 256  # decoded at each validation


class ModelRecipe(_Table):
    description: str = ""
    canonical: bool = False  # problems are renamed in order of first occurrence, answers back
    embedding: EmbeddingTable
    model: ModelTable
    streams: StreamsTable | None = None
    loss: LossTable
    training: TrainingTable

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.streams is not None and self.embedding.method != "symbol-invariant":
            raise ValueError(
                f"streams: for embedding.method 'symbol-invariant', not {self.embedding.method!r}"
            )
        width, heads = self.model.width, self.model.heads
        if width % heads:
            raise ValueError(f"model.heads: {heads} does not divide model.width, {width}")
        positions = self.model.encoder_positions, self.model.decoder_positions
        rotary = "rotary" in positions or self.model.rotary_cross_attention
        if rotary and width // heads % 2:
            raise ValueError(
                f"model.heads: rotary positions need an even width per head, not {width}/{heads}"
            )
        random_width = self.embedding.random_width
        if random_width is not None and random_width >= width:
            raise ValueError(
                f"embedding.random_width: {random_width} leaves nothing to learn of model.width"
                f" {width}; allowed: 1 to {width - 1}"
            )
        cosines = self.model.normalize_features and self.embedding.normalize_rows
        if self.loss.method == "adacos" and not cosines:
            raise ValueError(
                "loss.method: 'adacos' needs cosines; set model.normalize_features and"
                " embedding.normalize_rows to true, or use 'cross-entropy'"
            )
        if self.loss.method == "cross-entropy" and self.model.normalize_features:
            raise ValueError(
                "loss.method: 'cross-entropy' learns little from logits between -1 and 1; set"
                " model.normalize_features to false, or use 'adacos'"
            )
        return self

    def with_steps(self, steps: int) -> ModelRecipe:
        """The same recipe with another number of training steps."""
        training = self.training.model_copy(update={"steps": steps})
        return self.model_copy(update={"training": training})


def read_recipe(name: str, changes: Mapping[str, Any] | None = None) -> ModelRecipe:
    """The model recipe called `name`, a shipped one or the path of a TOML file.

    changes: values to use instead of the file's, by dotted key.
    Raises LogicgenError, in one line that names file, key and what is allowed.
    """
    path = shipped.find("models", ".toml", name)
    tables = changed(read_toml(path), changes or {}, str(path))
    return validate(ModelRecipe, tables, str(path))
