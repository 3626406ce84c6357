"""The tables of a model recipe beside `[network]`: embedding, loss, training and reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny, WrapValidator, model_validator

from logicgen.extras import plugins
from logicgen.recipes import Table
from logicgen.tokens import MOST_SYMBOLS

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


def _shipped_or_plugin(value: Any, check: Callable[[Any], Any]) -> Any:
    """Check the name of a scheme of positions, which a plugin may have registered."""
    try:
        return check(value)
    except ValueError:
        if isinstance(value, str) and value in plugins("logicgen.positions"):
            return value
        raise


Plugin = WrapValidator(_shipped_or_plugin)
EncoderPositions = Annotated[
    SerializeAsAny[
        Literal["sinusoidal", "randomized", "tree", "tree-relative", "rotary", "relative", "none"]
    ],
    Plugin,
]
DecoderPositions = Annotated[
    SerializeAsAny[Literal["sinusoidal", "randomized", "rotary", "relative", "none"]], Plugin
]


class EmbeddingTable(Table):
    """The rows of the embedding (`nn/embedding.py`, `nn/token_rows.py`), of any method."""

    method: str

    @property
    def drawn_by_sequence(self) -> bool:
        """Return whether rows are drawn anew for each sequence of a training batch."""
        return getattr(self, "resample", None) == "sequence"


class LearnedTable(EmbeddingTable):
    """Trained rows of a model that answers problems, `max_symbols` of them."""

    method: Literal["learned"]
    normalize_rows: bool
    max_symbols: Rows


class AlphaRenamingTable(EmbeddingTable):
    """Trained rows that are dealt to symbols at random.

    Attributes:
        resample: whether they are dealt anew for each training `batch` (the default) or for each
            `sequence` of it.
    """

    method: Literal["alpha-renaming"]
    normalize_rows: bool
    max_symbols: Rows
    resample: Literal["batch", "sequence"] | None = None


class InterchangeableTable(EmbeddingTable):
    """Rows with one trained part, which all symbols share, and a random part of each.

    Attributes:
        random_width: columns of the network's width that are random; the others are trained.
        resample: see `AlphaRenamingTable`.
    """

    method: Literal["interchangeable"]
    normalize_rows: bool
    random_part: Literal["normal", "neighbouring-points", "hypercube", "orthogonal-corners"]
    random_width: Width
    normalize_parts: bool
    resample: Literal["batch", "sequence"] | None = None


class StreamTable(EmbeddingTable):
    """Two trained rows of symbols, `this one` and `some other one`, for streams of features."""

    method: Literal["symbol-invariant"]
    normalize_rows: bool


class TokenRowsTable(EmbeddingTable):
    """A trained row for each token of a language model, or random ones for each sequence."""

    method: Literal["learned", "lexinvariant"]


class NamesTable(EmbeddingTable):
    """Trained rows that are dealt to tokens anew for each sequence.

    Attributes:
        whole: share of the training sequences in which all tokens get names; in the others a random
            share of the tokens; 1 if not given.
    """

    method: Literal["lexinvariant-names"]
    whole: Annotated[float, Field(ge=0, le=1)] | None = None


class PartialTable(EmbeddingTable):
    """Trained rows of which some are replaced for each sequence.

    Attributes:
        share: average share of the tokens for which they are.
    """

    method: Literal["partial-rows", "partial-names"]
    share: Annotated[float, Field(ge=0, le=1)]


def _read_before(value: Any, check: Callable[[Any], Any]) -> Any:
    """Return a table that `NetworkTable.read_embedding` has read, perhaps of a plugin."""
    return value if isinstance(value, EmbeddingTable) else check(value)


Embedding = Annotated[
    SerializeAsAny[
        LearnedTable
        | AlphaRenamingTable
        | InterchangeableTable
        | StreamTable
        | TokenRowsTable
        | NamesTable
        | PartialTable
    ],
    WrapValidator(_read_before),
]


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
            a GPU all; `auto` is `bf16` on a device where a measurement shows that it is faster,
            else `fp32`. A training that goes on keeps the precision of its earlier steps.
        log_every, checkpoint_every, validate_every: in steps; a crash loses at most
            `checkpoint_every` of them.
        validation_examples: examples that each validation uses.
        context: most tokens of a training sequence of a model that reads sequences.
        learn: what is learnt. The stored `answers` (the default). Of a model that reads sequences
            also `everything`, problems and answers, which says more where problems repeat
            themselves. Of a model that answers problems also `right`: every token that still leads
            to a right answer (`training/right_learner.py`); and `accepted`: answers of its own that
            the verifier accepts (`[reward]`).
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
    precision: Literal["fp32", "bf16", "auto"] = "fp32"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    log_every: Count = 10
    checkpoint_every: Count = 500
    validate_every: Count = 500
    validation_examples: Count = 256
    context: Context | None = None
    learn: Literal["answers", "everything", "right", "accepted"] | None = None


Draws = Annotated[int, Field(ge=1, le=1000)]
Symbols = Annotated[tuple[Annotated[int, Field(ge=0)], Count], Field(strict=False)]
Lengths = Annotated[tuple[Count, Count], Field(strict=False)]


class RewardTable(Table):
    """How a model learns from the verdicts on answers of its own, in rounds.

    Attributes:
        method: `expert-iteration` imitates accepted answers; `policy-gradient` makes answers more
            probable that are better than the mean of their problem, and others less;
            `right-tokens` imitates all tokens that are right next, along each answer until it is
            wrong, which propositional logic can tell.
        problems: fresh problems of a round, drawn from the source of the data set's recipe.
        draws: answers that are drawn to each: independent ones for `policy-gradient`, different
            ones otherwise.
        temperature: of these draws.
        steps: training steps of a round.
        answers: which of a problem's accepted answers `expert-iteration` imitates: the `likeliest`
            (if not given), the `shortest`, or `all`, of which each step takes one; `any` is `all`,
            where each token is right with which some of them goes on.
        stored: share of each batch that are stored examples of the data set.
        symbols, length: of fresh problems, the fewest and the most; those of the data set's
            training problems if not given.
        curriculum: whether problems come from where the accepted share is neither near 0 nor 1
            (`training/curriculum.py`); evenly from all cells otherwise.
        clip: `policy-gradient` leaves an answer alone once its probability for each token has
            changed by this share since it was drawn; 0.2 if not given.
    """

    method: Literal["expert-iteration", "policy-gradient", "right-tokens"] = "expert-iteration"
    problems: Count = 256
    draws: Draws = 8
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    steps: Count = 25
    answers: Literal["likeliest", "shortest", "all", "any"] | None = None
    stored: Annotated[float, Field(ge=0, lt=1)] = 0.25
    symbols: Symbols | None = None
    length: Lengths | None = None
    curriculum: bool = True
    clip: Annotated[float, Field(gt=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for key in ("symbols", "length"):
            bounds = getattr(self, key)
            if bounds is not None and bounds[0] > bounds[1]:
                raise ValueError(f"{key}: the range {list(bounds)} is empty: the smaller one first")
        gradient = self.method == "policy-gradient"
        if gradient and self.draws == 1:
            raise ValueError(
                "draws: 1, but 'policy-gradient' compares the answers to a problem with each other:"
                " give at least 2"
            )
        if self.curriculum and self.draws == 1:
            raise ValueError(
                "draws: 1, but what a problem is worth shows in several answers: give at least 2,"
                " or curriculum = false"
            )
        for key, method in (("answers", "expert-iteration"), ("clip", "policy-gradient")):
            if getattr(self, key) is not None and self.method != method:
                raise ValueError(f"{key}: is of {method!r}, not {self.method!r}: leave it out")
        return self
