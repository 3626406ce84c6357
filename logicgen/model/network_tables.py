"""The `[network]` tables of models that answer problems, and the base of all `[network]` tables.

The class of a network lists its embeddings, and checks that the other tables fit it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field

from logicgen.errors import LogicgenError
from logicgen.extras import load_plugin, plugins
from logicgen.model.recipe_tables import (
    AlphaRenamingTable,
    Context,
    DecoderPositions,
    EmbeddingTable,
    EncoderPositions,
    EvenWidth,
    Heads,
    Hidden,
    InterchangeableTable,
    Layers,
    LearnedTable,
    LexinvariantTable,
    LossTable,
    NamesTable,
    PartialTable,
    Positive,
    RewardTable,
    StreamTable,
    TrainingTable,
)
from logicgen.recipes import Table, validate


class OtherTables(Protocol):
    """The tables of a model recipe that have to fit its network: see `ModelRecipe`."""

    @property
    def canonical(self) -> bool: ...

    @property
    def answer_form(self) -> str | None: ...

    @property
    def learns(self) -> str: ...

    @property
    def embedding(self) -> EmbeddingTable | None: ...

    @property
    def loss(self) -> LossTable | None: ...

    @property
    def training(self) -> TrainingTable | None: ...

    @property
    def reward(self) -> RewardTable | None: ...


def given_keys(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a table that have a value. In JSON, null means an absent key."""
    return {key: value for key, value in table.items() if value is not None}


class NetworkTable(Table):
    """The common part of the `[network]` tables of all kinds.

    Attributes:
        embeddings: the class of `[embedding]` for each method; empty for kinds without embedding.
        takes_plugins: whether plugins of the group `logicgen.embeddings` are methods, too. A plugin
            is an embedding class, and its attribute `Table` is the class of `[embedding]`.
        counted: whether the model counts the data, instead of training in steps.
        reads_sequences: whether the model is trained on sequences of tokens, not on problems and
            answers.
    """

    embeddings: ClassVar[Mapping[str, type[EmbeddingTable]]] = {}
    takes_plugins: ClassVar[bool] = False
    counted: ClassVar[bool] = False
    reads_sequences: ClassVar[bool] = True

    kind: str

    @classmethod
    def read_embedding(cls, kind: str, table: Any) -> EmbeddingTable:
        """Validate `[embedding]`. Raises ValueError if it does not fit this kind of network."""
        if not cls.embeddings:
            raise ValueError(f"[embedding] is of no use: leave it out, for network.kind {kind!r}")
        try:
            given = table
            if isinstance(table, Mapping):
                table = given_keys(table)
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
            message = str(error).removeprefix(": ")
            raise ValueError(f"{message}; embedding.method is {method!r}") from None

    def check(self, recipe: OtherTables) -> None:
        """Raise ValueError, with the name of a key, if other tables do not fit this table."""
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
        form = recipe.answer_form
        if form and (self.reads_sequences or (form != "complete" and recipe.learns != "answers")):
            raise ValueError(
                "answer_form: for encoder-decoders with training.learn = 'answers': leave it out"
            )
        if recipe.training is not None:
            self._check_training(recipe.training, recipe.learns)
        if recipe.reward is not None and recipe.learns != "accepted":
            raise ValueError(
                "[reward]: goes with training.learn = 'accepted': set this, or leave the table out"
            )

    def _check_training(self, training: TrainingTable, learns: str) -> None:
        """Raise ValueError if keys of `[training]` do not fit the kind of model."""
        if self.reads_sequences == (training.context is None):
            if self.reads_sequences:
                raise ValueError("key 'training.context' is missing")
            raise ValueError(
                f"training.context: for models that read sequences, not network.kind {self.kind!r}"
            )
        if training.shots is not None and not self.reads_sequences:
            raise ValueError(
                f"training.shots: for models that read sequences, not network.kind {self.kind!r}"
            )
        own = ("everything",) if self.reads_sequences else ("right", "accepted")
        known = ("answers", *own)
        if learns not in known:
            raise ValueError(
                f"training.learn: {learns!r} is not for network.kind {self.kind!r}: use"
                f" {' or '.join(map(repr, known))}"
            )


def check_heads(width: int, heads: int, rotary: bool) -> None:
    """Raise ValueError if the width cannot be divided among the heads."""
    if width % heads:
        raise ValueError(f"network.heads: {heads} does not divide network.width, {width}")
    if rotary and width // heads % 2:
        raise ValueError(
            f"network.heads: rotary positions need an even width per head, not {width}/{heads}"
        )


class EncoderDecoderTable(NetworkTable):
    """An encoder that reads a problem and a decoder that writes its answer (`nn/transformer.py`).

    Attributes:
        feed_forward: width of the hidden layer.
        normalize_features: whether the decoder's last features are L2-normalized. `adacos` requires
            true, and `cross-entropy` requires false.
        rotary_cross_attention: whether queries and keys are rotated in cross-attention, too.
        input_scale: the factor by which embedding rows are multiplied as inputs.
        encoder_loops: number of times that the encoder's layers are applied, with the same weights;
            once if not given.
        position_range: number of positions from which `randomized` positions are drawn.
        shared_positions: whether the j-th token of an answer has the position of the problem's j-th
            token. Otherwise randomized positions of answers are drawn separately.
        most_tokens: a number of tokens that training problems often have, with `<end>`. In
            attention to a longer problem of S tokens, scores are multiplied by log(S) /
            log(most_tokens). Unchanged if not given.
    """

    embeddings: ClassVar[Mapping[str, type[EmbeddingTable]]] = {
        "learned": LearnedTable,
        "alpha-renaming": AlphaRenamingTable,
        "interchangeable": InterchangeableTable,
        "lexinvariant": LexinvariantTable,
        "lexinvariant-names": NamesTable,
        "partial-rows": PartialTable,
        "partial-names": PartialTable,
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
    encoder_loops: Layers | None = None
    position_range: Context | None = None
    shared_positions: bool = False
    most_tokens: Annotated[int, Field(ge=2)] | None = None

    def check(self, recipe: OtherTables) -> None:
        super().check(recipe)
        rotary = "rotary" in (self.encoder_positions, self.decoder_positions)
        check_heads(self.width, self.heads, rotary or self.rotary_cross_attention)
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
        """Raise ValueError if the random part of rows does not fit their width."""
        if table.random_width >= self.width:
            raise ValueError(
                f"embedding.random_width: {table.random_width} leaves nothing to learn of"
                f" network.width {self.width}; allowed: 1 to {self.width - 1}. For entirely random"
                " rows of symbols, use embedding.method = 'lexinvariant' with random_tokens ="
                " 'symbols'"
            )
        if table.random_part == "orthogonal-corners" and table.random_width.bit_count() != 1:
            raise ValueError(
                f"embedding.random_width: {table.random_width}, but 'orthogonal-corners' needs a"
                " power of two, such as 16"
            )

    def _check_loss(self, recipe: OtherTables) -> None:
        """Raise ValueError if the loss does not fit the normalization of features and rows."""
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
        aggregated_attention: whether streams attend to the fused view of all streams.
        decoder_aggregated_attention: whether the decoder's streams attend to the fused view; as
            `aggregated_attention` if not given.
        cross_attention: `streams` if the decoder reads the problem's streams, or `aggregated` if it
            reads the fused view of these streams.
        fused_view: the features of the view at operators: the mean of all streams; with
            `mean-and-maximum` also their maximum, through a linear layer.
        most_symbols: a number of symbols that training problems often have. The mean of n streams,
            if there are more, is n / most_symbols times as far from their median. Unchanged if not
            given.
        reserved: number of streams for symbols that the problem lacks.
        chunk: number of streams computed at a time when answering; all if not given.
    """

    embeddings: ClassVar[Mapping[str, type[EmbeddingTable]]] = {"symbol-invariant": StreamTable}
    takes_plugins = False

    kind: Literal["symbol-invariant"]  # type: ignore[assignment]
    decoder_own_attention: bool = True
    aggregated_attention: bool = True
    decoder_aggregated_attention: bool | None = None
    cross_attention: Literal["streams", "aggregated"] = "streams"
    fused_view: Literal["mean-and-maximum"] | None = None
    most_symbols: Positive | None = None
    reserved: Annotated[int, Field(ge=0, le=1024)] = 0
    chunk: Positive | None = None

    def check(self, recipe: OtherTables) -> None:
        super().check(recipe)
        aggregated = self.decoder_aggregated_attention
        if aggregated is None:
            aggregated = self.aggregated_attention
        if not (self.decoder_own_attention or aggregated):
            raise ValueError(
                "network: the decoder would not see its answer: set decoder_own_attention or"
                " (decoder_)aggregated_attention to true"
            )
