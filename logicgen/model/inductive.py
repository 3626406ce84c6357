"""The inductive Transformer as a language model beside the others.

Tokens are those of a corpus of sentences (`tasks/grammar_sentences.py`): `<end>`, `<start>`, then
the words. What comes before the first word is certain, and so is what comes after the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.nn.inductive_transformer import InductiveTransformer, LogWeights
from logicgen.productions import Grammar
from logicgen.productions.as_automaton import START
from logicgen.tokens import Tokens
from logicgen.train.students import ambiguity, as_grammar

if TYPE_CHECKING:
    from logicgen.model.language_recipe import InductiveTable

# How fast a start's average loss follows what it is now.
FOLLOWING = 0.1


class InductiveLanguage(nn.Module):
    """Starts that are trained side by side, of which the best predicts.

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
        self.words = tokens.texts[2:]
        self.network = InductiveTransformer(
            words=len(self.words),
            positions=table.layers,
            width=table.width,
            students=table.starts,
            embedding=table.embedding,
            dimension=table.dimension,
            perceptron=table.perceptron,
        )
        self.register_buffer("losses", torch.zeros(table.starts))

    @property
    def best(self) -> int:
        """The start that has explained its sentences best."""
        return int(self.losses.argmin())

    def weights(self) -> LogWeights:
        """Those of the best start, (1, ...)."""
        return LogWeights(*(each[self.best][None] for each in self.network.weights()))

    def grammar(self) -> Grammar:
        """What it has learnt. LogicgenError of a model with perceptrons, which is no grammar."""
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
        """(B, L) word ids of (B, L + 1) tokens. LogicgenError where they are no sentences."""
        words = tokens[:, 1:] - 2
        if (tokens[:, 0] != 1).any() or (words < 0).any():
            raise LogicgenError(
                f"a sentence is {START} and its words, and nothing behind them: begin with {START}"
            )
        if words.shape[1] > self.network.positions:
            raise LogicgenError(
                f"a sentence of {words.shape[1]} words: the model has {self.network.positions}"
                " layers and explains as many words: set network.layers"
            )
        return words

    def loss(
        self,
        tokens: Tensor,
        generator: torch.Generator | None = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        """Mean cross-entropy in nats of (B, P + 1) tokens but the first, and over starts.

        In evaluation it is that of the best alone.
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
        """Of the token after each of (B, T), in nats: (B, T, V)."""
        words = self._words(tokens)
        length, positions = words.shape[1], self.network.positions
        logs = tokens.new_full(
            (len(tokens), length + 1, len(self.words) + 2), -torch.inf, dtype=torch.float
        )
        following = self.network.following(words[:, : positions - 1])[self.best]
        logs[:, : following.shape[1], 2:] = following
        if length == positions:
            logs[:, -1, 0] = 0.0
        return logs
