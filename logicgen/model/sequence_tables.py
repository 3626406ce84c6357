"""The `[network]` tables of models that read sequences: a class for each kind and architecture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from logicgen.model.network_tables import NetworkTable, OtherTables, check_heads
from logicgen.model.recipe_tables import (
    EmbeddingTable,
    Heads,
    Hidden,
    Layers,
    LexinvariantTable,
    NamesTable,
    PartialTable,
    TokenRowsTable,
    Width,
)


class LanguageModelTable(NetworkTable):
    """A language model with an embedding row for each token (`nn/language_model.py`)."""

    embeddings: ClassVar[Mapping[str, type[EmbeddingTable]]] = {
        "learned": TokenRowsTable,
        "lexinvariant": LexinvariantTable,
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
        cache: whether the model has a continuous cache (`nn/cache.py`).
    """

    architecture: Literal["transformer"]
    layers: Layers
    heads: Heads
    feed_forward: Hidden
    positions: Literal["relative", "rotary", "sinusoidal", "none"] = "relative"
    cache: bool = False

    def check(self, recipe: OtherTables) -> None:
        super().check(recipe)
        if self.width % 2:
            raise ValueError(f"network.width: has to be even, not {self.width}")
        check_heads(self.width, self.heads, self.positions == "rotary")


class ElmanTable(LanguageModelTable):
    """A simple recurrent network."""

    architecture: Literal["elman"]
    cache: Literal[False] = False

    def check(self, recipe: OtherTables) -> None:
        super().check(recipe)
        if recipe.training is not None and recipe.training.optimizer == "muon":
            raise ValueError(
                "training.optimizer: 'muon' is for the matrices of linear layers, and a recurrent"
                " network has no linear layers; use 'adamw'"
            )
        if self.dropout and self.layers == 1:
            raise ValueError(
                "network.dropout: is between the layers of a recurrent network, and this has one:"
                " leave it out"
            )


class NeuralNGramTable(LanguageModelTable):
    """A feed-forward network that reads the last tokens.

    Attributes:
        feed_forward: width of a hidden layer.
        order: number of tokens of an n-gram, including the predicted token.
    """

    architecture: Literal["neural-n-gram"]
    feed_forward: Hidden
    order: Annotated[int, Field(ge=2, le=20)]
    cache: Literal[False] = False


class InductiveTable(NetworkTable):
    """An inductive Transformer, for sentences of a grammar (`nn/inductive_transformer.py`).

    Attributes:
        layers: number of layers, one for each word of a sentence.
        width: number of units of a layer.
        starts: number of random starts that are trained at once. Predictions come from the start
            with the least loss, including crispness.
        crispness: weight of an additional loss: the entropy, in nats, of the unit that emits a
            word, given the word.
        embedding, dimension, perceptron: see `InductiveTransformer`.
        ends: whether sentences may have fewer words than layers. Then `<end>` is a word, too.
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

    def check(self, recipe: OtherTables) -> None:
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
    """Smoothed counts of n-grams of `order` tokens (`model/ngrams.py`).

    The recipe has no other tables.
    """

    counted = True

    kind: Literal["n-gram"]
    order: Annotated[int, Field(ge=1, le=20)]


class TextNGramTable(NetworkTable):
    """A model that counts n-grams of `order` tokens only in the text that it predicts.

    The model predicts each token from smoothed counts in the earlier tokens of the same text
    (`model/ngrams.py`). The recipe has no other tables.

    Attributes:
        smoothing: `fitted`, which has parameters that are fitted to the training texts, or `ppm`,
            which has no parameters.
    """

    counted = True

    kind: Literal["text-n-gram"]
    order: Annotated[int, Field(ge=1, le=20)]
    smoothing: Literal["fitted", "ppm"] = "fitted"
