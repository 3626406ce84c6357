"""The tables of a model recipe except `[network]`: embedding, loss, training and reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny, WrapValidator, model_validator

from logicgen.data.ranges import Lengths, Symbols
from logicgen.extras import plugins
from logicgen.recipes import Table
from logicgen.tokens import MOST_SYMBOLS

Positive = Annotated[int, Field(ge=1)]
# Larger values are mistakes: such a network would use up the memory.
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
    """Check the name of a position encoding, which may be a plugin."""
    try:
        return check(value)
    except ValueError:
        if isinstance(value, str) and value in plugins("logicgen.positions"):
            return value
        raise


Plugin = WrapValidator(_shipped_or_plugin)
Form = Literal["backward", "planned", "complete"]
"""The form in which a model writes an answer (`answer_form.py`)."""

Positions = Literal["sinusoidal", "randomized", "rotary", "relative", "alibi", "fire", "none"]
TreePositions = Literal["tree", "tree-relative", "tree-symbols", "tree-messages"]
EncoderPositions = Annotated[SerializeAsAny[Literal[TreePositions, Positions]], Plugin]
DecoderPositions = Annotated[SerializeAsAny[Positions], Plugin]


class EmbeddingTable(Table):
    """The common part of the `[embedding]` tables of all methods."""

    method: str

    @property
    def drawn_by_sequence(self) -> bool:
        """Return whether rows are drawn for each sequence of a training batch."""
        return getattr(self, "resample", None) == "sequence"


class LearnedTable(EmbeddingTable):
    """One trained row for each of `max_symbols` symbols."""

    method: Literal["learned"]
    normalize_rows: bool
    max_symbols: Rows


class AlphaRenamingTable(EmbeddingTable):
    """Trained rows that are assigned to symbols at random.

    Attributes:
        resample: whether rows are assigned for each training `batch` (the default) or for each
            `sequence` of a batch.
    """

    method: Literal["alpha-renaming"]
    normalize_rows: bool
    max_symbols: Rows
    resample: Literal["batch", "sequence"] | None = None


class InterchangeableTable(EmbeddingTable):
    """Rows with a trained part, which all symbols share, and a random part of each symbol.

    Attributes:
        random_width: number of random columns. The other columns of the width are trained.
        resample: see `AlphaRenamingTable`.
    """

    method: Literal["interchangeable"]
    normalize_rows: bool
    random_part: Literal["normal", "neighbouring-points", "hypercube", "orthogonal-corners"]
    random_width: Width
    normalize_parts: bool
    resample: Literal["batch", "sequence"] | None = None


class StreamTable(EmbeddingTable):
    """Two trained rows for all symbols of a symbol-invariant model.

    In the stream of a symbol, it has the row `this one`; other symbols have `some other one`.
    """

    method: Literal["symbol-invariant"]
    normalize_rows: bool


class TokenRowsTable(EmbeddingTable):
    """A trained row for each token of a language model."""

    method: Literal["learned"]


class RandomRowsTable(EmbeddingTable):
    """The common part of methods that draw rows for each sequence (`nn/token_rows.py`).

    Attributes:
        random_tokens: the tokens without stable rows: `all` (the default), or only the `symbols` of
            problems. Operators and markers then have trained rows.
    """

    random_tokens: Literal["all", "symbols"] | None = None

    @property
    def drawn_by_sequence(self) -> bool:
        return True


class LexinvariantTable(RandomRowsTable):
    """Random rows for each sequence."""

    method: Literal["lexinvariant"]


class NamesTable(RandomRowsTable):
    """Trained rows ("names") that are assigned to tokens at random for each sequence.

    Attributes:
        whole: share of the training sequences in which all tokens get names; 1 if not given. In the
            other sequences, a random share of the tokens gets names.
    """

    method: Literal["lexinvariant-names"]
    whole: Annotated[float, Field(ge=0, le=1)] | None = None


class PartialTable(RandomRowsTable):
    """Trained rows, some of which are randomized for each sequence.

    `partial-rows` replaces them by random rows, and `partial-names` permutes them.

    Attributes:
        share: average share of tokens with randomized rows.
    """

    method: Literal["partial-rows", "partial-names"]
    share: Annotated[float, Field(ge=0, le=1)]


def _read_before(value: Any, check: Callable[[Any], Any]) -> Any:
    """Return a table unchanged if `NetworkTable.read_embedding` has read it already.

    Its class may be a plugin's, which the declared type does not contain.
    """
    return value if isinstance(value, EmbeddingTable) else check(value)


Embedding = Annotated[
    SerializeAsAny[
        LearnedTable
        | AlphaRenamingTable
        | InterchangeableTable
        | StreamTable
        | TokenRowsTable
        | LexinvariantTable
        | NamesTable
        | PartialTable
    ],
    WrapValidator(_read_before),
]


class LossTable(Table):
    """The loss of a network that answers problems.

    Attributes:
        method: `adacos` requires `network.normalize_features` and `embedding.normalize_rows` to be
            true. `cross-entropy` requires `network.normalize_features` to be false.
        least_scale: least scale of the cosines of `adacos`; 1 if not given.
    """

    method: Literal["cross-entropy", "adacos"]
    least_scale: Annotated[float, Field(ge=1, le=100)] | None = None


BETAS = (0.9, 0.98)


class TrainingTable(Table):
    """The training of a model.

    Attributes:
        betas: decay rates of the two running means of AdamW, also of the AdamW part of Muon.
        warmup_steps: steps in which the learning rate rises linearly, before `schedule` applies.
        final_rate: final learning rate of a cosine schedule.
        gradient_clip: largest norm of a gradient.
        precision: precision of matrix products. With `bf16`, a GPU computes all products in
            bfloat16, and a CPU only the products of linear layers. `auto` is `bf16` on a GPU with
            bfloat16 and on a CPU on which it is measured to be faster; otherwise it is `fp32`. A
            resumed training keeps its precision.
        log_every, checkpoint_every, validate_every: number of steps between two logged steps,
            checkpoints or validations. A crash loses at most `checkpoint_every` steps.
        validation_examples: number of examples of each validation.
        context: for models that read sequences, most tokens of a training sequence.
        shots: for models that read sequences, most solved problems before each problem; 0 if not
            given. Random embedding rows are drawn once for a problem and its solved problems.
        learn: the target. `answers` (the default) are the stored answers. `everything` (for models
            that read sequences) also includes the problems. `right` (for models that answer
            problems) is every token that can lead to a right answer (`training/right_learner.py`).
            `accepted` (for these models, too) is the model's own answers that the verifier accepts
            (`[reward]`).
        right_answers: for `right` in propositional logic, the number of random right answers to
            each problem. Without it, one answer is read, which is stored or random.
    """

    steps: Positive
    batch_size: Batch
    learning_rate: Annotated[float, Field(gt=0)]
    warmup_steps: Annotated[int, Field(ge=0)]
    schedule: Literal["constant", "cosine", "inverse-sqrt"]
    final_rate: Annotated[float, Field(ge=0)] = 0.0
    optimizer: Literal["adamw", "adafactor", "muon"] = "adamw"
    betas: Annotated[tuple[Share, Share], Field(strict=False)] = BETAS
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    gradient_clip: Annotated[float, Field(gt=0)] = 1.0
    precision: Literal["fp32", "bf16", "auto"] = "fp32"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    log_every: Positive = 10
    checkpoint_every: Positive = 500
    validate_every: Positive = 500
    validation_examples: Positive = 256
    context: Context | None = None
    shots: Annotated[int, Field(ge=0, le=1024)] | None = None
    learn: Literal["answers", "everything", "right", "accepted"] | None = None
    right_answers: Annotated[int, Field(ge=1, le=64)] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.right_answers is not None and self.learn != "right":
            raise ValueError("right_answers: is for learn = 'right': leave it out")
        if self.final_rate and self.schedule != "cosine":
            raise ValueError(f"final_rate: is for 'cosine', not {self.schedule!r}: leave it out")
        if self.optimizer == "adafactor" and self.betas != BETAS:
            raise ValueError("betas: 'adafactor' has none: leave it out")
        return self


Draws = Annotated[int, Field(ge=1, le=1000)]


class RewardTable(Table):
    """The settings for learning from the verdicts on a model's own answers, in rounds.

    Attributes:
        method: `expert-iteration` imitates accepted answers. `policy-gradient` increases the
            probability of answers that are better than the mean of their problem, and decreases it
            for worse answers. `right-tokens` imitates every token that can continue to a right
            answer, along each answer up to its first wrong token; for propositional logic and LTL.
        problems: number of new problems of a round, drawn with the recipes of the data sets.
        draws: number of answers drawn to each problem. They are independent for
            `policy-gradient`, and different for other methods.
        temperature: temperature of the draws.
        steps: number of training steps of a round.
        answers: the accepted answers that `expert-iteration` imitates: the `likeliest` (the
            default) or the `shortest` answer to each problem, or `all`. With `all`, each step draws
            an answer. With `any`, each token that continues any accepted answer is right, and all
            solved problems have the same weight. The literals of these answers (in LTL, of each
            position) are sorted by the first occurrence of their symbols in the problem.
        stored: share of stored examples in each batch.
        symbols, length: ranges for new problems. The default is the training region of each data
            set.
        grow: whether new problems are as large as stored problems at first. Their ranges grow to
            `symbols` and `length` while the model solves the largest problems
            (`training/frontier.py`).
        curriculum: whether to prefer problems that the model sometimes answers right
            (`training/curriculum.py`). Otherwise problems are drawn evenly from all cells.
        beyond: controls. Their first answers to a new problem have to be wrong. A solver makes sure
            that these problems have an answer; its answer is not used.
        unsatisfiable: the share of problems without an answer, with `beyond` or for data with a
            difficulty. The default is 0 with `beyond`, otherwise the share in the data. A model
            without such problems in its rounds forgets to report that a problem has no answer.
        clip: `policy-gradient` ignores an answer if its probability per token has changed by more
            than this share since it was drawn; 0.2 if not given.
    """

    method: Literal["expert-iteration", "policy-gradient", "right-tokens"] = "expert-iteration"
    problems: Positive = 256
    draws: Draws = 8
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    steps: Positive = 25
    answers: Literal["likeliest", "shortest", "all", "any"] | None = None
    stored: Annotated[float, Field(ge=0, lt=1)] = 0.25
    symbols: Symbols | None = None
    length: Lengths | None = None
    grow: bool | None = None
    curriculum: bool = True
    beyond: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    unsatisfiable: Share | None = None
    clip: Annotated[float, Field(gt=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.grow and self.symbols is None and self.length is None:
            raise ValueError("grow: without symbols or length, which are its goals; give one")
        gradient = self.method == "policy-gradient"
        if gradient and self.draws == 1:
            raise ValueError(
                "draws: 1, but 'policy-gradient' compares the answers to a problem with each other:"
                " give at least 2"
            )
        if self.curriculum and self.draws == 1:
            raise ValueError(
                "draws: 1, but a curriculum compares several answers to each problem: give at least"
                " 2, or curriculum = false"
            )
        for key, method in (("answers", "expert-iteration"), ("clip", "policy-gradient")):
            if getattr(self, key) is not None and self.method != method:
                raise ValueError(f"{key}: is for {method!r}, not {self.method!r}: leave it out")
        return self
