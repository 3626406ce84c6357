"""Tables `[network]` of model recipes: each kind of network is a class that knows its keys.

Also which other tables the recipe needs (`recipe_tables.py`), and how rows of the embedding may be
made (its `methods`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field, model_validator

from logicgen.model.recipe_tables import (
    Context,
    Count,
    EmbeddingTable,
    EvenWidth,
    Heads,
    Hidden,
    Layers,
    LossTable,
    RewardTable,
    TrainingTable,
    Width,
)
from logicgen.recipes import Table

EncoderPositions = Literal[
    "sinusoidal", "randomized", "tree", "tree-relative", "rotary", "relative", "none"
]
DecoderPositions = Literal["sinusoidal", "randomized", "rotary", "relative", "none"]

Keys = tuple[frozenset[str], frozenset[str]]
"""Keys that a choice requires, and keys that it allows besides."""


class Recipe(Protocol):
    """What a network has to fit: the recipe around its table, a `ModelRecipe`."""

    @property
    def kind(self) -> str: ...
    @property
    def learns(self) -> str: ...
    @property
    def canonical(self) -> bool: ...
    @property
    def embedding(self) -> EmbeddingTable | None: ...
    @property
    def loss(self) -> LossTable | None: ...
    @property
    def training(self) -> TrainingTable | None: ...
    @property
    def reward(self) -> RewardTable | None: ...


def _keys(required: str = "", optional: str = "") -> Keys:
    return frozenset(required.split()), frozenset(optional.split())


def _check_keys(given: set[str], keys: Keys, choice: str, always: str) -> None:
    """Raise ValueError where required keys are missing or others than allowed are given."""
    required, optional = keys
    if required <= given <= required | optional:
        return
    unknown = given - required - optional
    wrong = f"{min(unknown)!r} is unknown" if unknown else f"{min(required - given)!r} is missing"
    known = ", ".join([always, *sorted(required | optional)])
    raise ValueError(f"key {wrong} for {choice}; its keys: {known}")


class NetworkTable(Table):
    """The common part of the `[network]` tables of all kinds.

    Attributes:
        tables: the other tables that a recipe of this kind has.
        methods: the methods of its embedding, each with its keys.
        reads_sequences: whether it is trained on sequences of tokens, not on problems and answers.
    """

    tables: ClassVar[frozenset[str]] = frozenset({"embedding", "training"})
    methods: ClassVar[Mapping[str, Keys]] = {}
    reads_sequences: ClassVar[bool] = True

    def check(self, recipe: Recipe) -> None:
        """Raise ValueError, naming a key, where the recipe's other tables do not fit this one."""
        for name in ("embedding", "loss", "training"):
            if (name in self.tables) == (getattr(recipe, name) is None):
                there = "is missing" if name in self.tables else "is of no use: leave it out"
                raise ValueError(f"[{name}] {there}, for network.kind {recipe.kind!r}")
        if recipe.canonical and self.reads_sequences:
            raise ValueError(
                f"canonical: for models that answer problems, not network.kind {recipe.kind!r}"
            )
        if recipe.training is not None:
            self._check_training(recipe)
        if recipe.reward is not None and recipe.learns != "accepted":
            raise ValueError("[reward]: goes with training.learn = 'accepted', and only with it")
        if recipe.embedding is not None:
            method = recipe.embedding.method
            if method not in self.methods:
                *others, last = map(repr, self.methods)
                known = f"{', '.join(others)} or {last}" if others else last
                raise ValueError(
                    f"embedding.method: {method!r} is unknown for network.kind {recipe.kind!r}:"
                    f" use {known}"
                )
            given = set(recipe.embedding.model_dump(exclude_none=True)) - {"method"}
            try:
                _check_keys(given, self.methods[method], f"method {method!r}", "method")
            except ValueError as error:
                raise ValueError(f"embedding: {error}") from None

    def _check_training(self, recipe: Recipe) -> None:
        """Raise ValueError where `[training]` has keys of models of the other use."""
        assert recipe.training is not None
        if self.reads_sequences == (recipe.training.context is None):
            if self.reads_sequences:
                raise ValueError("key 'training.context' is missing")
            raise ValueError(
                "training.context: for models that read sequences, not network.kind"
                f" {recipe.kind!r}"
            )
        own = ("everything",) if self.reads_sequences else ("right", "accepted")
        known = ("answers", *own)
        if recipe.learns not in known:
            raise ValueError(
                f"training.learn: {recipe.learns!r} is not for network.kind {recipe.kind!r}: use"
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

    tables = frozenset({"embedding", "loss", "training"})
    methods: ClassVar[Mapping[str, Keys]] = {
        "learned": _keys("normalize_rows max_symbols"),
        "alpha-renaming": _keys("normalize_rows max_symbols", "resample"),
        "interchangeable": _keys(
            "normalize_rows random_part random_width normalize_parts", "resample"
        ),
    }
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

    def check(self, recipe: Recipe) -> None:
        """Raise ValueError, naming a key, where the recipe's other tables do not fit this one."""
        super().check(recipe)
        rotary = "rotary" in (self.encoder_positions, self.decoder_positions)
        _check_heads(self.width, self.heads, rotary or self.rotary_cross_attention)
        assert recipe.embedding is not None
        assert recipe.loss is not None
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
        random_width = recipe.embedding.random_width
        if random_width is not None and random_width >= self.width:
            raise ValueError(
                f"embedding.random_width: {random_width} leaves nothing to learn of network.width"
                f" {self.width}; allowed: 1 to {self.width - 1}"
            )
        orthogonal = recipe.embedding.random_part == "orthogonal-corners"
        if orthogonal and random_width is not None and random_width.bit_count() != 1:
            raise ValueError(
                f"embedding.random_width: {random_width}, but 'orthogonal-corners' needs a power of"
                " two, such as 16"
            )
        cosines = self.normalize_features and recipe.embedding.normalize_rows
        if recipe.loss.method == "adacos" and not cosines:
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

    methods: ClassVar[Mapping[str, Keys]] = {"symbol-invariant": _keys("normalize_rows")}

    kind: Literal["symbol-invariant"]  # type: ignore[assignment]
    decoder_own_attention: bool = True
    aggregated_attention: bool = True
    decoder_aggregated_attention: bool | None = None
    cross_attention: Literal["streams", "aggregated"] = "streams"
    reserved: Annotated[int, Field(ge=0, le=1024)] = 0
    chunk: Count | None = None

    def check(self, recipe: Recipe) -> None:
        """Raise ValueError, naming a key, where the recipe's other tables do not fit this one."""
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
    """A language model over rows of tokens (`nn/language_model.py`).

    Attributes:
        architecture: `transformer`, `elman`, a simple recurrent network, or `neural-n-gram`. Each
            has keys of its own.
        feed_forward: width of a hidden layer.
        order: tokens of an n-gram, the predicted one included.
        cache: whether what followed places with similar features is predicted, too (`nn/cache.py`).
    """

    methods: ClassVar[Mapping[str, Keys]] = {
        "learned": _keys(),
        "lexinvariant": _keys(),
        "lexinvariant-names": _keys(optional="whole"),
        "partial-rows": _keys("share"),
        "partial-names": _keys("share"),
    }

    kind: Literal["language-model"]
    architecture: Literal["transformer", "elman", "neural-n-gram"] = "transformer"
    width: Width
    layers: Layers = 1
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    heads: Heads | None = None
    feed_forward: Hidden | None = None
    positions: Literal["relative", "rotary", "sinusoidal", "none"] | None = None
    order: Annotated[int, Field(ge=2, le=20)] | None = None
    cache: bool = False

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and values.get("architecture") in (None, "transformer"):
            return {"positions": "relative"} | dict(values)
        return values

    def check(self, recipe: Recipe) -> None:
        """Raise ValueError, naming a key, where the recipe's other tables do not fit this one."""
        super().check(recipe)
        assert recipe.embedding is not None
        method, share = recipe.embedding.method, recipe.embedding.share
        assert method.startswith("partial") == (share is not None)
        own = "heads", "feed_forward", "positions", "order"
        given = {key for key in own if getattr(self, key)}
        given |= {"layers"} & self.model_fields_set | ({"cache"} if self.cache else set())
        keys = {
            "transformer": _keys("heads feed_forward layers", "positions cache"),
            "elman": _keys("", "layers"),
            "neural-n-gram": _keys("order feed_forward", "layers"),
        }[self.architecture]
        optimizer = recipe.training.optimizer if recipe.training is not None else None
        if self.architecture == "elman" and optimizer == "muon":
            raise ValueError(
                "training.optimizer: 'muon' is for the matrices of linear layers, which a recurrent"
                " network has not; use 'adamw'"
            )
        try:
            _check_keys(given, keys, f"architecture {self.architecture!r}", "width, dropout")
        except ValueError as error:
            raise ValueError(f"network: {error}") from None
        if self.heads is not None:
            if self.width % 2:
                raise ValueError(f"network.width: has to be even, not {self.width}")
            _check_heads(self.width, self.heads, self.positions == "rotary")


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

    tables = frozenset({"training"})

    kind: Literal["inductive"]
    layers: Layers
    width: Width
    starts: Width = 1
    crispness: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    embedding: Literal["indicator", "dense"] = "indicator"
    dimension: Width | None = None
    perceptron: Annotated[int, Field(ge=0, le=2**18)] = 0
    ends: bool = False

    def check(self, recipe: Recipe) -> None:
        """Raise ValueError, naming a key, where the recipe's other tables do not fit this one."""
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

    tables = frozenset()

    kind: Literal["n-gram"]
    order: Annotated[int, Field(ge=1, le=20)]


class TextNGramTable(NetworkTable):
    """Smoothed counts of `order` tokens of the text that is read (`model/ngrams.py`).

    The recipe has no other tables.

    Attributes:
        smoothing: with numbers that are `fitted` to training texts, or `ppm`, which has none.
    """

    tables = frozenset()

    kind: Literal["text-n-gram"]
    order: Annotated[int, Field(ge=1, le=20)]
    smoothing: Literal["fitted", "ppm"] = "fitted"


Network = Annotated[
    EncoderDecoderTable
    | SymbolInvariantTable
    | LanguageModelTable
    | InductiveTable
    | NGramTable
    | TextNGramTable,
    Field(discriminator="kind"),
]


def _check_heads(width: int, heads: int, rotary: bool) -> None:
    if width % heads:
        raise ValueError(f"network.heads: {heads} does not divide network.width, {width}")
    if rotary and width // heads % 2:
        raise ValueError(
            f"network.heads: rotary positions need an even width per head, not {width}/{heads}"
        )
