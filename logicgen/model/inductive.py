"""The inductive Transformer as a language model, and the grammar in its weights.

The tokens are the tokens of a corpus of sentences (`tasks/grammar_sentences.py`): `<end>`,
`<start>`, then the words. The network predicts one word per layer. `<start>` before the first word
and `<end>` after the last layer's word are certain. If sentences may have fewer words than layers
(`network.ends`), `<end>` is a word of the network, which pads short sentences.

Shapes: S students or starts (independent networks, computed side by side), B sentences, P positions
and layers, Z units (hidden states of a layer), T words.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.model.language_model import LanguageModel
from logicgen.model.recipe import ModelRecipe
from logicgen.model.sequence_tables import InductiveTable
from logicgen.model.sequences import TokenBatch
from logicgen.model.training_data import SequenceData
from logicgen.nn.generation import Reader, reading_again
from logicgen.nn.inductive_transformer import InductiveTransformer, LogWeights
from logicgen.productions import NEGLIGIBLE, Grammar
from logicgen.productions.random_grammar import START
from logicgen.tokens import END, Tokens

# Weight of the newest loss in the running average of a start's losses.
FOLLOWING = 0.1


class InductiveStarts(nn.Module):
    """Copies of one network with different random weights ("starts"), trained at once.

    Predictions come from the start with the least loss.

    Raises LogicgenError if the tokens are not the tokens of a corpus of sentences.
    """

    losses: Tensor

    def __init__(self, table: InductiveTable, tokens: Tokens) -> None:
        super().__init__()
        if tokens.texts[1:2] != (START,):
            raise LogicgenError(
                "an inductive Transformer explains the sentences of a grammar, and these data have"
                " no such sentences: make a data set from a recipe of the task production"
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
        """Return the weights of the best random start, as tensors with a first dimension of 1."""
        return LogWeights(*(each[self.best][None] for each in self.network.weights()))

    def grammar(self) -> Grammar:
        """Return the grammar of the copy with the least loss.

        Raises LogicgenError if the network has perceptrons between its layers.
        """
        if not self.network.exact:
            raise LogicgenError(
                "this model has perceptrons between its layers, so that its weights are no"
                " grammar: train a model with network.perceptron = 0"
            )
        with torch.no_grad():
            return as_grammar(self.weights(), 0, self.words)

    def check(self, length: int) -> None:
        """Raise LogicgenError if training sentences do not have one word for each layer."""
        if length != self.network.positions:
            raise LogicgenError(
                f"sentences have {length} words, and the model has {self.network.positions} layers,"
                f" each of which explains a word: set network.layers = {length} in the recipe"
            )

    def _words(self, tokens: Tensor) -> Tensor:
        """Convert B sentences of a corpus to word ids of the network: (B, L + 1) to (B, L).

        The first token of a sentence, `<start>`, is left out. Raises LogicgenError if the network
        cannot read the sentences.
        """
        words = tokens[:, 1:] - 2
        if self.ends:
            over = tokens[:, 1:] <= Tokens.end  # `<end>`, or padding after `<end>`
            words = torch.where(over, len(self.words) - 1, words)
        if (tokens[:, 0] != 1).any() or (words < 0).any():
            raise LogicgenError(
                f"a sentence is {START} and its words, without any other token: begin with {START},"
                " and if sentences differ in their number of words, set network.ends = true"
            )
        if words.shape[1] > self.network.positions:
            raise LogicgenError(
                f"a sentence of {words.shape[1]} words: the model has {self.network.positions}"
                " layers, and each layer explains one word: set network.layers"
            )
        return words

    def loss(self, tokens: Tensor) -> Tensor:
        """Return the mean cross-entropy per word, in nats.

        A start is a copy of the network with its own random initial weights. In training, return
        the mean over all starts. In evaluation, return the loss of the best start.

        tokens: (B, P + 1), B sentences of `<start>` and P words.
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
        """Return the log-probabilities of the token after each of (B, T) tokens, (B, T, V)."""
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
        assert data.train.length is not None  # each row is a sentence
        model.network.check(data.train.length - 1)
        return model

    def sequence_loss(self, batch: TokenBatch, generator: torch.Generator) -> Tensor:
        return self.network.loss(batch.tokens)

    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader:
        """Return a function that reads texts in parts, one text for each seed.

        For each new word the function reads all words again, because each word changes the beliefs
        about all units.
        """
        self.check(count or len(self.tokens))
        return reading_again(self.network.log_probabilities)

    def grammar(self, called: str) -> Grammar:
        return self.network.grammar()


def ambiguity(weights: LogWeights) -> Tensor:
    """Return the conditional entropy, given a word, of the unit (hidden state) that emits the word.

    The result has one entropy in nats for each of S independent networks, (S,): the mean over the
    layers of the network. It is 0 if no two units of a layer emit the same word. Units that no
    sentence of the grammar uses contribute 0.
    """
    reach, found = weights.start.exp(), []
    for layer in range(weights.tokens.shape[1]):
        joint = weights.tokens[:, layer].exp() * reach[:, None]  # (students, words, units)
        word = joint.sum(-1)
        found.append(_surprise(joint).sum((-1, -2)) - _surprise(word).sum(-1))
        if layer < weights.below.shape[1]:
            reach = (weights.below[:, layer].exp() @ reach[..., None])[..., 0]
    return torch.stack(found).mean(0)


def _surprise(probabilities: Tensor) -> Tensor:
    """Return -p log p, which is 0 with gradient 0 at p = 0."""
    none = probabilities == 0
    return -probabilities * torch.where(none, torch.ones_like(probabilities), probabilities).log()


def as_grammar(weights: LogWeights, student: int, words: tuple[str, ...]) -> Grammar:
    """Convert the weights of network number `student` to a grammar."""
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
    """Name each unit of a grammar after the word that it emits with probability 1/2 or more.

    A unit is only called `<end>` if it emits (almost) nothing else.

    Other units, and units that (almost) no sentence uses, keep their names. If several units of a
    layer emit the same word, later units get a number after the word, such as `word~2`.
    """
    units = []
    for layer, names in enumerate(grammar.units):
        taken = set(names)
        found: list[str] = []
        for number, name in enumerate(names):
            words = grammar.tokens[layer][:, number]
            word = grammar.words[int(words.argmax())]
            least = 1 - NEGLIGIBLE if word == END else 0.5  # a unit `<end>` emits only `<end>`
            reached = grammar.reach[layer][number] > NEGLIGIBLE
            if words.max() >= least and reached and ":" not in word:
                tries = itertools.chain([word], (f"{word}~{turn}" for turn in itertools.count(2)))
                name = next(each for each in tries if each not in taken)
                taken.add(name)
            found.append(name)
        units.append(tuple(found))
    return Grammar(
        grammar.words, tuple(units), grammar.start, grammar.tokens, grammar.below, grammar.where
    )
