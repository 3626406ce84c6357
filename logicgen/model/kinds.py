"""The class of each kind of model: the one place that knows them all. Also the mask of a task."""

from __future__ import annotations

from typing import Any

import torch

from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.inductive import InductiveModel
from logicgen.model.language_model import NeuralLanguageModel
from logicgen.model.model import AnyData, Model
from logicgen.model.ngrams import NGramModel, TextNGramModel
from logicgen.model.recipe import ModelRecipe
from logicgen.model.symbol_invariant import SymbolInvariantModel
from logicgen.nn.decoding import GrammarMask
from logicgen.tasks import Task

MODELS: dict[str, type[Model]] = {
    "encoder-decoder": EncoderDecoder,
    "symbol-invariant": SymbolInvariantModel,
    "language-model": NeuralLanguageModel,
    "inductive": InductiveModel,
    "n-gram": NGramModel,
    "text-n-gram": TextNGramModel,
}


def training_data(recipe: ModelRecipe, data: Dataset | Corpus) -> AnyData:
    """Return the training part of data as a model of the recipe wants it.

    Raises LogicgenError where there is none, and for data that such a model cannot be trained on.
    """
    return MODELS[recipe.kind].training_data(recipe, data)


def new_model(recipe: ModelRecipe, data: AnyData) -> Model:
    """Return a model with new weights, of torch's global generator.

    Raises LogicgenError where the data do not fit the recipe.
    """
    return MODELS[recipe.kind].new(recipe, data)


def model_of_card(card: dict[str, Any]) -> Model:
    """Return a model with new weights, as a checkpoint's card says, whatever version wrote it."""
    recipe = ModelRecipe.model_validate(card["recipe"])
    return MODELS[recipe.kind].of_card(recipe, card)


def grammar_mask(task: Task, longest: int) -> GrammarMask:
    """Return the mask under which answers of up to `longest` tokens parse."""
    automaton = task.answer_automaton(longest)
    return GrammarMask(torch.from_numpy(automaton.transition), torch.from_numpy(automaton.distance))
