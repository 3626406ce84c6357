"""The inductive Transformer as a language model, and the grammar that its weights are.

Tokens are those of a corpus of sentences (`tasks/grammar_sentences.py`): `<end>`, `<start>`, then
the words. What comes before the first word is certain, and so is what comes after as many words as
there are layers. Where sentences may end before (`network.ends`), `<end>` is the network's last
word, with which it is taught to fill them up.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.model.language_model import LanguageModel
from logicgen.model.recipe import InductiveTable, ModelRecipe
from logicgen.model.sequences import SequenceData, TokenBatch
from logicgen.nn.generation import Reader, reading_again
from logicgen.nn.inductive_transformer import InductiveTransformer, LogWeights
from logicgen.productions import NEGLIGIBLE, Grammar
from logicgen.productions.random_grammar import START
from logicgen.tokens import END, Tokens

# How fast a start's running average of the loss follows its loss.
FOLLOWING = 0.1


class InductiveStarts(nn.Module):
    """Random starts of one network that are trained side by side, of which the best predicts.

    Raises LogicgenError for tokens that are no corpus of sentences.
    """

    losses: Tensor

    def __init__(self, table: InductiveTable, tokens: Tokens) -> None:
        super().__init__()
        if tokens.texts[1:2] != (START,):
            raise LogicgenError(
                "an inductive Transformer explains the sentences of a grammar, and these are no"
                " such data: make some from a recipe of the task production"
            )
        self.crispness = table.crispness
        self.ends = table.ends
        self.words = (*tokens.texts[2:], END) if table.ends else tokens.texts[2:]
        self.network = InductiveTransformer(
            words=len(self.words),
            positions=table.layers,
            width=table.width,
            students=table.starts,
            embedding=table.embedding,
            dimension=table.dimension,
            perceptron=table.perceptron,
        )
        self.vocabulary = len(tokens)
        self.register_buffer("losses", torch.zeros(table.starts))

    @property
    def best(self) -> int:
        """Return the number of the start with the least loss."""
        return int(self.losses.argmin())

    def weights(self) -> LogWeights:
        """Return the weights of the best start, (1, ...)."""
        return LogWeights(*(each[self.best][None] for each in self.network.weights()))

    def grammar(self) -> Grammar:
        """Return what the best start has learnt. Raises LogicgenError if it has perceptrons."""
        if not self.network.exact:
            raise LogicgenError(
                "this model has perceptrons between its layers, so that its weights are no"
                " grammar: train one with network.perceptron = 0"
            )
        with torch.no_grad():
            return as_grammar(self.weights(), 0, self.words)

    def check(self, length: int) -> None:
        """Raise LogicgenError for training sentences that do not have a word for each layer."""
        if length != self.network.positions:
            raise LogicgenError(
                f"sentences have {length} words, and the model has {self.network.positions} layers,"
                f" each of which explains one: set network.layers = {length} in the recipe"
            )

    def _words(self, tokens: Tensor) -> Tensor:
        """Return (B, L) word ids of (B, L + 1) tokens. Raises LogicgenError for no sentences."""
        words = tokens[:, 1:] - 2
        if self.ends:
            over = tokens[:, 1:] <= Tokens.end  # the end, or nothing behind it
            words = torch.where(over, len(self.words) - 1, words)
        if (tokens[:, 0] != 1).any() or (words < 0).any():
            raise LogicgenError(
                f"a sentence is {START} and its words, and nothing behind them: begin with {START},"
                " and where some have fewer words than others, set network.ends = true"
            )
        if words.shape[1] > self.network.positions:
            raise LogicgenError(
                f"a sentence of {words.shape[1]} words: the model has {self.network.positions}"
                " layers and explains as many words: set network.layers"
            )
        return words

    def loss(self, tokens: Tensor) -> Tensor:
        """Return the mean cross-entropy in nats of (B, P + 1) tokens but the first, over starts.

        In evaluation it is that of the best start alone.
        """
        words = self._words(tokens)
        self.check(words.shape[1])
        each = -self.network.log_probabilities(words).mean(1) / words.shape[1]
        if not self.training:
            return each[self.best]
        if self.crispness:
            each = each + self.crispness * ambiguity(self.network.weights())
        with torch.no_grad():
            follow = FOLLOWING if self.losses.any() else 1.0
            self.losses += follow * (each - self.losses)
        return each.mean()

    @torch.no_grad()
    def log_probabilities(self, tokens: Tensor) -> Tensor:
        """Return those of the token after each of (B, T), in nats: (B, T, V)."""
        words = self._words(tokens)
        length, positions = words.shape[1], self.network.positions
        logs = tokens.new_full(
            (len(tokens), length + 1, self.vocabulary), -torch.inf, dtype=torch.float
        )
        following = self.network.following(words[:, : positions - 1])[self.best]
        logs[:, : following.shape[1], 2:] = following[..., : self.vocabulary - 2]
        if self.ends:
            logs[:, : following.shape[1], Tokens.end] = following[..., -1]
        if length == positions:
            logs[:, -1, 0] = 0.0
        return logs


class InductiveModel(LanguageModel):
    """An inductive Transformer, for sentences of a grammar."""

    noun = "an inductive Transformer"
    network: InductiveStarts

    def _network(self) -> InductiveStarts:
        table: InductiveTable = self.recipe.network  # type: ignore[assignment]
        return InductiveStarts(table, self.tokens)

    @classmethod
    def new(cls, recipe: ModelRecipe, data: SequenceData) -> Self:
        model = super().new(recipe, data)
        assert data.train.length is not None  # sentences stand in rows
        model.network.check(data.train.length - 1)
        return model

    def sequence_loss(self, batch: TokenBatch, generator: torch.Generator) -> Tensor:
        return self.network.loss(batch.tokens)

    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader:
        """Return a function that reads a text for each seed bit by bit.

        It reads all words again: a sentence has one for each layer, and each changes what all
        units are believed to be.
        """
        self.check(count or len(self.tokens))
        return reading_again(self.network.log_probabilities)

    def grammar(self, called: str) -> Grammar:
        return self.network.grammar()


def ambiguity(weights: LogWeights) -> Tensor:
    """Return (S,) the entropy of a word's unit given the word, in nats, mean over layers.

    0 where no two units of a layer that are ever on share a word.
    """
    reach, found = weights.start.exp(), []
    for layer in range(weights.tokens.shape[1]):
        joint = weights.tokens[:, layer].exp() * reach[:, None]  # (S, T, Z)
        word = joint.sum(-1)
        found.append(_surprise(joint).sum((-1, -2)) - _surprise(word).sum(-1))
        if layer < weights.below.shape[1]:
            reach = (weights.below[:, layer].exp() @ reach[..., None])[..., 0]
    return torch.stack(found).mean(0)


def _surprise(probabilities: Tensor) -> Tensor:
    """Return -p log p; at 0 it is 0 with gradient 0."""
    none = probabilities == 0
    return -probabilities * torch.where(none, torch.ones_like(probabilities), probabilities).log()


def as_grammar(weights: LogWeights, student: int, words: tuple[str, ...]) -> Grammar:
    """Return the grammar that the weights of a student are."""
    start, tokens, below = (each[student].detach().double().exp().cpu().numpy() for each in weights)
    return named(
        Grammar(
            words,
            tuple(
                tuple(f"{layer}.{unit}" for unit in range(1, len(start) + 1))
                for layer in range(1, len(tokens) + 1)
            ),
            start,
            tuple(tokens),
            tuple(below),
        )
    )


def named(grammar: Grammar) -> Grammar:
    """Return the grammar with each unit named after a word it says at least half of the time.

    Other units, and those that never are on, keep their names; of units that say the same word,
    the later ones get a number.
    """
    units = []
    for layer, names in enumerate(grammar.units):
        taken = set(names)
        found: list[str] = []
        for number, name in enumerate(names):
            said = grammar.tokens[layer][:, number]
            word = grammar.words[int(said.argmax())]
            if said.max() >= 0.5 and grammar.reach[layer][number] > NEGLIGIBLE and ":" not in word:
                tries = itertools.chain([word], (f"{word}~{turn}" for turn in itertools.count(2)))
                name = next(each for each in tries if each not in taken)
                taken.add(name)
            found.append(name)
        units.append(tuple(found))
    return Grammar(
        grammar.words, tuple(units), grammar.start, grammar.tokens, grammar.below, grammar.where
    )
