"""The model class of each kind of network."""

from __future__ import annotations

from typing import Any

from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.inductive import InductiveModel
from logicgen.model.language_model import NeuralLanguageModel
from logicgen.model.model import AnyData, Model
from logicgen.model.ngrams import NGramModel, TextNGramModel
from logicgen.model.recipe import ModelRecipe
from logicgen.model.symbol_invariant import SymbolInvariantModel

MODELS: dict[str, type[Model]] = {
    "encoder-decoder": EncoderDecoder,
    "symbol-invariant": SymbolInvariantModel,
    "language-model": NeuralLanguageModel,
    "inductive": InductiveModel,
    "n-gram": NGramModel,
    "text-n-gram": TextNGramModel,
}


def training_data(
    recipe: ModelRecipe, data: Dataset | Corpus, *others: Dataset | Corpus
) -> AnyData:
    """Return the training data for a model of the recipe, from one or several data sets.

    Raises LogicgenError if there are no training data, or if such a model cannot use them.
    """
    return MODELS[recipe.kind].training_data(recipe, data, *others)


def new_model(recipe: ModelRecipe, data: AnyData) -> Model:
    """Return a model with new weights, drawn from torch's global generator.

    Raises LogicgenError if the data do not fit the recipe.
    """
    return MODELS[recipe.kind].new(recipe, data)


def model_of_card(card: dict[str, Any]) -> Model:
    """Return the model that the content of a `model.json` describes, with new weights."""
    recipe = ModelRecipe.model_validate(card["recipe"])
    return MODELS[recipe.kind].of_card(recipe, card)
