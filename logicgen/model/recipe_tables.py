"""The tables `[embedding]`, `[loss]` and `[training]` of model recipes, and ranges of numbers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from logicgen.declaration import Table
from logicgen.vocabulary import MOST_SYMBOLS

Count = Annotated[int, Field(ge=1)]
# No network is as large: what is beyond was not meant, and would take all memory.
Width = Annotated[int, Field(ge=1, le=2**16)]
EvenWidth = Annotated[int, Field(ge=2, le=2**16, multiple_of=2)]
Layers = Annotated[int, Field(ge=1, le=1024)]
Heads = Annotated[int, Field(ge=1, le=1024)]
Hidden = Annotated[int, Field(ge=1, le=2**18)]
Rows = Annotated[int, Field(ge=1, le=MOST_SYMBOLS)]
Batch = Annotated[int, Field(ge=1, le=2**20)]
Share = Annotated[float, Field(ge=0, lt=1)]
Context = Annotated[int, Field(ge=2, le=2**20)]


class EmbeddingTable(Table):
    """The rows of the embedding (`nn/embedding.py`, `nn/token_rows.py`).

    Attributes:
        max_symbols: trained rows.
        random_width: columns of the network's width that are random; the others are trained.
        resample: whether rows are drawn anew for each training `batch` (the default) or for each
            `sequence` of it.
        share: average share of the tokens that a partial method randomises.
        whole: share of the training sequences in which `lexinvariant-names` gives all tokens names;
            in the others a random share of the tokens; 1 if not given.
    """

    method: str
    normalize_rows: bool | None = None
    max_symbols: Rows | None = None
    random_part: (
        Literal["normal", "neighbouring-points", "hypercube", "orthogonal-corners"] | None
    ) = None
    random_width: Width | None = None
    normalize_parts: bool | None = None
    resample: Literal["batch", "sequence"] | None = None
    share: Annotated[float, Field(ge=0, le=1)] | None = None
    whole: Annotated[float, Field(ge=0, le=1)] | None = None


class LossTable(Table):
    """The loss of a network that answers problems.

    Attributes:
        least_scale: least scale of the cosines of `adacos`; 1 if not given.
    """

    method: Literal["cross-entropy", "adacos"]
    least_scale: Annotated[float, Field(ge=1, le=100)] | None = None


class TrainingTable(Table):
    """The training of a model.

    Attributes:
        betas: how slowly the two means of AdamW forget; also those of Muon's AdamW.
        warmup_steps: steps of a linear rise of the learning rate; then it follows `schedule`.
        final_rate: learning rate that a cosine schedule falls to.
        gradient_clip: largest norm of a gradient.
        precision: of products of matrices; with `bf16` a CPU computes those of linear layers in it,
            a GPU all.
        log_every, checkpoint_every, validate_every: in steps; a crash loses at most
            `checkpoint_every` of them.
        validation_examples: examples that each validation uses.
        context: most tokens of a training sequence of a model that reads sequences.
        learn: whether such a model learns the `answers` of a task's examples alone, or
            `everything`, which says more where problems repeat themselves.
    """

    steps: Count
    batch_size: Batch
    learning_rate: Annotated[float, Field(gt=0)]
    warmup_steps: Annotated[int, Field(ge=0)]
    schedule: Literal["constant", "cosine", "inverse-sqrt"]
    final_rate: Annotated[float, Field(ge=0)] = 0.0
    optimizer: Literal["adamw", "adafactor", "muon"] = "adamw"
    betas: Annotated[tuple[Share, Share], Field(strict=False)] = (0.9, 0.98)
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    gradient_clip: Annotated[float, Field(gt=0)] = 1.0
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    log_every: Count = 10
    checkpoint_every: Count = 500
    validate_every: Count = 500
    validation_examples: Count = 256
    context: Context | None = None
    learn: Literal["answers", "everything"] | None = None
