"""Model recipes: a TOML file that, with a data set, fully determines a model.

Each kind of network is a class, chosen by `network.kind`, and each kind of embedding is another,
chosen by `embedding.method`. A class of networks knows its embeddings, and what else fits it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, SerializeAsAny, WrapValidator, model_validator

from logicgen import recipes
from logicgen.errors import LogicgenError, nearest
from logicgen.extras import load_plugin, plugins
from logicgen.recipes import Table, changed, read_toml, validate
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


class NetworkTable(Table):
    """The common part of the `[network]` tables of all kinds.

    Attributes:
        embeddings: the table of its embedding by method; none if it has no embedding.
        takes_plugins: whether plugins of the group `logicgen.embeddings` are methods, too. Such a
            plugin is a class of embeddings; its table is its attribute `Table`.
        counted: whether it is counted, not trained in steps.
        reads_sequences: whether it is trained on sequences of tokens, not on problems and answers.
    """

    embeddings: ClassVar[Mapping[str, type[EmbeddingTable]]] = {}
    takes_plugins: ClassVar[bool] = False
    counted: ClassVar[bool] = False
    reads_sequences: ClassVar[bool] = True

    kind: str

    @classmethod
    def read_embedding(cls, kind: str, table: Any) -> EmbeddingTable:
        """Return `[embedding]`. Raises ValueError where it is none of this kind of network."""
        if not cls.embeddings:
            raise ValueError(f"[embedding] is of no use: leave it out, for network.kind {kind!r}")
        try:
            given = table
            if isinstance(table, Mapping):
                table = _given(table)
                given = {key: value for key, value in table.items() if key == "method"}
            method = validate(EmbeddingTable, given, "", "embedding").method
        except LogicgenError as error:
            raise ValueError(str(error).removeprefix(": ")) from None
        found = plugins("logicgen.embeddings") if cls.takes_plugins else {}
        if method not in {*cls.embeddings, *found}:
            *others, last = map(repr, {**cls.embeddings, **found})
            known = f"{', '.join(others)} or {last}" if others else last
            raise ValueError(
                f"embedding.method: {method!r} is unknown for network.kind {kind!r}: use {known}"
            )
        try:
            keys = cls.embeddings.get(method) or load_plugin(found[method]).Table
            read: EmbeddingTable = validate(keys, table, "", "embedding")
            return read
        except LogicgenError as error:
            said = str(error).removeprefix(": ")
            raise ValueError(f"{said}; embedding.method is {method!r}") from None

    def check(self, recipe: ModelRecipe) -> None:
        """Raise ValueError, naming a key, where the recipe's other tables do not fit this one."""
        wanted = {
            "embedding": bool(self.embeddings),
            "loss": not self.reads_sequences,
            "training": not self.counted,
        }
        for name, needed in wanted.items():
            if needed == (getattr(recipe, name) is None):
                there = "is missing" if needed else "is of no use: leave it out"
                raise ValueError(f"[{name}] {there}, for network.kind {self.kind!r}")
        if recipe.canonical and self.reads_sequences:
            raise ValueError(
                f"canonical: for models that answer problems, not network.kind {self.kind!r}"
            )
        if recipe.training is not None:
            self._check_training(recipe.training, recipe.learns)
        if recipe.reward is not None and recipe.learns != "accepted":
            raise ValueError("[reward]: goes with training.learn = 'accepted', and only with it")

    def _check_training(self, training: TrainingTable, learns: str) -> None:
        """Raise ValueError where `[training]` has keys of models of the other use."""
        if self.reads_sequences == (training.context is None):
            if self.reads_sequences:
                raise ValueError("key 'training.context' is missing")
            raise ValueError(
                f"training.context: for models that read sequences, not network.kind {self.kind!r}"
            )
        own = ("everything",) if self.reads_sequences else ("right", "accepted")
        known = ("answers", *own)
        if learns not in known:
            raise ValueError(
                f"training.learn: {learns!r} is not for network.kind {self.kind!r}: use"
                f" {' or '.join(map(repr, known))}"
            )


class EncoderDecoderTable(NetworkTable):
    """An encoder that reads a problem and a decoder that writes its answer (`nn/transformer.py`).

    Attributes:
        feed_forward: width of the hidden layer.
        normalize_features: whether the decoder's last features have norm 1, so that logits are
            cosines.
        rotary_cross_attention: whether queries and keys between decoder and encoder are rotated.
        input_scale: what rows are multiplied by where they are inputs.
        position_range: number of positions that `randomized` ones are drawn from.
        shared_positions: whether the j-th token of an answer has the position of the problem's j-th
            token; otherwise randomized positions of answers are drawn on their own.
    """

    embeddings: ClassVar[Mapping[str, type[EmbeddingTable]]] = {
        "learned": LearnedTable,
        "alpha-renaming": AlphaRenamingTable,
        "interchangeable": InterchangeableTable,
    }
    takes_plugins = True
    reads_sequences = False

    kind: Literal["encoder-decoder"]
    width: EvenWidth
    heads: Heads
    encoder_layers: Layers
    decoder_layers: Layers
    feed_forward: Hidden
    dropout: Annotated[float, Field(ge=0, lt=1)]
    encoder_positions: EncoderPositions
    decoder_positions: DecoderPositions
    normalize_features: bool
    rotary_cross_attention: bool = False
    input_scale: Literal["sqrt-width", "learned"] = "sqrt-width"
    position_range: Context | None = None
    shared_positions: bool = False

    def check(self, recipe: ModelRecipe) -> None:
        super().check(recipe)
        rotary = "rotary" in (self.encoder_positions, self.decoder_positions)
        _check_heads(self.width, self.heads, rotary or self.rotary_cross_attention)
        schemes = self.encoder_positions, self.decoder_positions
        if ("randomized" in schemes) != (self.position_range is not None):
            raise ValueError(
                "network.position_range: goes with 'randomized' encoder_positions or"
                " decoder_positions, and only with them"
            )
        if self.shared_positions and schemes != ("randomized", "randomized"):
            raise ValueError(
                "network.shared_positions: needs encoder_positions and decoder_positions that are"
                " 'randomized'"
            )
        if isinstance(recipe.embedding, InterchangeableTable):
            self._check_random_part(recipe.embedding)
        self._check_loss(recipe)

    def _check_random_part(self, table: InterchangeableTable) -> None:
        """Raise ValueError where the random part of rows does not fit their width."""
        if table.random_width >= self.width:
            raise ValueError(
                f"embedding.random_width: {table.random_width} leaves nothing to learn of"
                f" network.width {self.width}; allowed: 1 to {self.width - 1}"
            )
        if table.random_part == "orthogonal-corners" and table.random_width.bit_count() != 1:
            raise ValueError(
                f"embedding.random_width: {table.random_width}, but 'orthogonal-corners' needs a"
                " power of two, such as 16"
            )

    def _check_loss(self, recipe: ModelRecipe) -> None:
        """Raise ValueError where the loss does not fit the logits."""
        assert recipe.loss is not None
        normal_rows = getattr(recipe.embedding, "normalize_rows", False)
        if recipe.loss.method == "adacos" and not (self.normalize_features and normal_rows):
            raise ValueError(
                "loss.method: 'adacos' needs cosines; set network.normalize_features and"
                " embedding.normalize_rows to true, or use 'cross-entropy'"
            )
        if recipe.loss.least_scale is not None and recipe.loss.method != "adacos":
            raise ValueError("loss.least_scale: goes with method = 'adacos', and only with it")
        if recipe.loss.method == "cross-entropy" and self.normalize_features:
            raise ValueError(
                "loss.method: 'cross-entropy' learns little from logits between -1 and 1; set"
                " network.normalize_features to false, or use 'adacos'"
            )


class SymbolInvariantTable(EncoderDecoderTable):
    """An encoder-decoder with a stream of features for each symbol (`nn/symbol_invariant.py`).

    Attributes:
        decoder_own_attention: whether the decoder's streams attend to themselves.
        aggregated_attention: whether streams attend to the view that fuses them.
        decoder_aggregated_attention: the same of the decoder's, if it differs from the encoder's.
        cross_attention: what the decoder reads of the problem, its stream or the fused view.
        reserved: streams for symbols that the problem lacks.
        chunk: streams computed at a time; all if not given.
    """

    embeddings: ClassVar[Mapping[str, type[EmbeddingTable]]] = {"symbol-invariant": StreamTable}
    takes_plugins = False

    kind: Literal["symbol-invariant"]  # type: ignore[assignment]
    decoder_own_attention: bool = True
    aggregated_attention: bool = True
    decoder_aggregated_attention: bool | None = None
    cross_attention: Literal["streams", "aggregated"] = "streams"
    reserved: Annotated[int, Field(ge=0, le=1024)] = 0
    chunk: Count | None = None

    def check(self, recipe: ModelRecipe) -> None:
        super().check(recipe)
        aggregated = self.decoder_aggregated_attention
        if aggregated is None:
            aggregated = self.aggregated_attention
        if not (self.decoder_own_attention or aggregated):
            raise ValueError(
                "network: the decoder would not see its answer: set decoder_own_attention or"
                " (decoder_)aggregated_attention to true"
            )


class LanguageModelTable(NetworkTable):
    """A language model over rows of tokens (`nn/language_model.py`), of any architecture."""

    embeddings: ClassVar[Mapping[str, type[EmbeddingTable]]] = {
        "learned": TokenRowsTable,
        "lexinvariant": TokenRowsTable,
        "lexinvariant-names": NamesTable,
        "partial-rows": PartialTable,
        "partial-names": PartialTable,
    }

    kind: Literal["language-model"]
    architecture: str
    width: Width
    layers: Layers = 1
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0


class TransformerTable(LanguageModelTable):
    """A causal Transformer.

    Attributes:
        feed_forward: width of a hidden layer.
        cache: whether what followed places with similar features is predicted, too (`nn/cache.py`).
    """

    architecture: Literal["transformer"]
    layers: Layers
    heads: Heads
    feed_forward: Hidden
    positions: Literal["relative", "rotary", "sinusoidal", "none"] = "relative"
    cache: bool = False

    def check(self, recipe: ModelRecipe) -> None:
        super().check(recipe)
        if self.width % 2:
            raise ValueError(f"network.width: has to be even, not {self.width}")
        _check_heads(self.width, self.heads, self.positions == "rotary")


class ElmanTable(LanguageModelTable):
    """A simple recurrent network."""

    architecture: Literal["elman"]
    cache: Literal[False] = False

    def check(self, recipe: ModelRecipe) -> None:
        super().check(recipe)
        if recipe.training is not None and recipe.training.optimizer == "muon":
            raise ValueError(
                "training.optimizer: 'muon' is for the matrices of linear layers, which a recurrent"
                " network has not; use 'adamw'"
            )


class NeuralNGramTable(LanguageModelTable):
    """A feed-forward network that reads the last tokens.

    Attributes:
        feed_forward: width of a hidden layer.
        order: tokens of an n-gram, the predicted one included.
    """

    architecture: Literal["neural-n-gram"]
    feed_forward: Hidden
    order: Annotated[int, Field(ge=2, le=20)]
    cache: Literal[False] = False


class InductiveTable(NetworkTable):
    """An inductive Transformer, for sentences of a grammar (`nn/inductive_transformer.py`).

    Attributes:
        layers: one for each word of a sentence.
        width: units of a layer.
        starts: random starts that are trained side by side; the one with the least loss, crispness
            included, predicts.
        crispness: weight in the loss of the entropy, in nats, of a word's unit given the word.
        embedding, dimension, perceptron: see `InductiveTransformer`.
        ends: whether sentences may have fewer words than layers; then `<end>` is a word as others.
    """

    kind: Literal["inductive"]
    layers: Layers
    width: Width
    starts: Width = 1
    crispness: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    embedding: Literal["indicator", "dense"] = "indicator"
    dimension: Width | None = None
    perceptron: Annotated[int, Field(ge=0, le=2**18)] = 0
    ends: bool = False

    def check(self, recipe: ModelRecipe) -> None:
        super().check(recipe)
        if (self.embedding == "dense") != (self.dimension is not None):
            raise ValueError("network: dimension goes with embedding = 'dense', and only with it")
        assert recipe.training is not None
        assert recipe.training.context is not None
        if recipe.training.context < self.layers + 1:
            raise ValueError(
                f"training.context: {recipe.training.context}, but <start> and the words of"
                f" network.layers = {self.layers} are {self.layers + 1} tokens"
            )
        if recipe.training.optimizer == "muon":
            raise ValueError(
                "training.optimizer: 'muon' is for the linear layers of a Transformer; use 'adamw'"
            )


class NGramTable(NetworkTable):
    """Smoothed counts of `order` tokens (`model/ngrams.py`). The recipe has no other tables."""

    counted = True

    kind: Literal["n-gram"]
    order: Annotated[int, Field(ge=1, le=20)]


class TextNGramTable(NetworkTable):
    """Smoothed counts of `order` tokens of the text that is read (`model/ngrams.py`).

    The recipe has no other tables.

    Attributes:
        smoothing: with numbers that are `fitted` to training texts, or `ppm`, which has none.
    """

    counted = True

    kind: Literal["text-n-gram"]
    order: Annotated[int, Field(ge=1, le=20)]
    smoothing: Literal["fitted", "ppm"] = "fitted"


Network = Annotated[
    EncoderDecoderTable
    | SymbolInvariantTable
    | Annotated[
        TransformerTable | ElmanTable | NeuralNGramTable, Field(discriminator="architecture")
    ]
    | InductiveTable
    | NGramTable
    | TextNGramTable,
    Field(discriminator="kind"),
]

NETWORKS: dict[str, type[NetworkTable]] = {
    "encoder-decoder": EncoderDecoderTable,
    "symbol-invariant": SymbolInvariantTable,
    "language-model": LanguageModelTable,
    "inductive": InductiveTable,
    "n-gram": NGramTable,
    "text-n-gram": TextNGramTable,
}


def _given(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a table that have a value: JSON may say of others that they have none."""
    return {key: value for key, value in table.items() if value is not None}


def _check_heads(width: int, heads: int, rotary: bool) -> None:
    if width % heads:
        raise ValueError(f"network.heads: {heads} does not divide network.width, {width}")
    if rotary and width // heads % 2:
        raise ValueError(
            f"network.heads: rotary positions need an even width per head, not {width}/{heads}"
        )


class ModelRecipe(Table):
    """Everything that determines a model, but its data.

    Attributes:
        canonical: whether problems are renamed in order of first occurrence, and answers back.
    """

    description: str = ""
    canonical: bool = False
    network: Network
    embedding: Embedding | None = None
    loss: LossTable | None = None
    training: TrainingTable | None = None
    reward: RewardTable | None = None

    @property
    def kind(self) -> str:
        """Return which of the six kinds of networks the model has."""
        return self.network.kind

    @property
    def learns(self) -> str:
        """Return what the model is trained on (`training.learn`)."""
        return (self.training and self.training.learn) or "answers"

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, tables: Any) -> Any:
        """Check `network.kind`, and add the defaults that depend on other keys."""
        if not isinstance(tables, Mapping):
            return tables
        network, training = (
            table if isinstance(table := tables.get(name), Mapping) else {}
            for name in ("network", "training")
        )
        kind, embedding, new = network.get("kind"), tables.get("embedding"), dict(tables)
        if isinstance(kind, str) and kind not in NETWORKS:
            raise ValueError(f"network.kind: {kind!r} is unknown; {nearest(kind, list(NETWORKS))}")
        if kind == "language-model":
            new["network"] = {"architecture": "transformer", **_given(network)}
        if kind in ("language-model", "inductive") and training:
            new["training"] = {"learn": "answers", **training}
        if training.get("learn") == "accepted":
            new.setdefault("reward", {})
        if kind == "symbol-invariant" and isinstance(embedding, Mapping):
            embedding = {"method": "symbol-invariant", **embedding}
        if not isinstance(kind, str):
            new.pop("embedding", None)  # an error of the network comes first
        elif embedding is not None:
            new["embedding"] = NETWORKS[kind].read_embedding(kind, embedding)
        return new

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self.network.check(self)
        return self

    def learning(self, learn: str) -> ModelRecipe:
        """Return the recipe with another `training.learn`. Raises LogicgenError if it cannot."""
        tables = self.model_dump(exclude_none=True)
        tables["training"] = {**tables.get("training", {}), "learn": learn}
        if learn != "accepted":
            tables.pop("reward", None)
        return validate(ModelRecipe, tables, "--learn", "recipe")

    def with_steps(self, steps: int) -> ModelRecipe:
        """Return the recipe with another number of training steps, where it has one."""
        if self.training is None:
            return self
        training = self.training.model_copy(update={"steps": steps})
        return self.model_copy(update={"training": training})


def read_model_recipe(name: str, changes: Mapping[str, Any] | None = None) -> ModelRecipe:
    """Return the model recipe called `name`, a shipped one or the path of a TOML file.

    changes: values to use instead of the file's, by dotted key.
    Raises LogicgenError, in one line that names file, key and what is allowed.
    """
    path = recipes.find("models", ".toml", name)
    return validate(ModelRecipe, changed(read_toml(path), changes or {}, str(path)), str(path))


def is_trained_in_steps(name: str) -> bool:
    """Return whether the recipe called `name` has a seed to train with: n-grams are counted."""
    network = read_toml(recipes.find("models", ".toml", name)).get("network")
    kind = network.get("kind") if isinstance(network, Mapping) else None
    return kind not in ("n-gram", "text-n-gram")
