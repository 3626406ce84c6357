"""Language models, which predict each token from the tokens before it.

Three networks compute the features that predict the next token: a Transformer, a simple recurrent
network, and a neural n-gram model, which reads only the last n - 1 tokens.

As in `transformer.py`, the network owns no embedding. Each call takes the embedding rows (see
`token_rows.py`) for inputs and outputs, so no parameter of the network belongs to a token.
Renaming the tokens together with their rows renames the predictions.

The input of a token is its row times a trained scale plus a trained bias. Scale and bias have one
number for each column.
Source: Huang et al., "Lexinvariant Language Models" (NeurIPS 2023), with T5 relative positions.
Layer normalization comes before each sublayer, as everywhere in this project.

Shapes: B sequences, T tokens of a sequence, V tokens of the vocabulary, H heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.nn.cache import Cache
from logicgen.nn.distance_bias import RelativeBias
from logicgen.nn.generation import Reader
from logicgen.nn.layers import EncoderLayer
from logicgen.nn.linear import Linear
from logicgen.nn.memory import Memory
from logicgen.nn.position import Rotation, rotations, sinusoidal
from logicgen.nn.token_rows import Rows, TokenRows
from logicgen.tokens import NOTHING


class CausalLayer(EncoderLayer):
    """A layer of causal self-attention, then feed-forward."""

    def remember(
        self, x: Tensor, memory: Memory, layer: int, mask: Tensor | None, rotation: Rotation | None
    ) -> Tensor:
        """Return the features of inputs x, both (B, T, width).

        Add the keys and values of x to the memory.
        """
        y = self.norm_attention(x)
        new = self.attention.keys_values(y, rotation)
        past = memory.remember(memory.answers, layer, new)
        causal = past is new  # a single new token may attend to all keys
        x = self.add(x, self.attention(y, past, rotation, mask, causal))
        return self.finish(x)  # (sequences, tokens, width)


class CausalTransformer(nn.Module):
    """A causal Transformer: the features of a position depend on this and earlier tokens.

    positions: "relative" (T5), "rotary", "sinusoidal" or "none".
    """

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        layers: int,
        feed_forward: int,
        dropout: float = 0.0,
        positions: str = "relative",
    ) -> None:
        super().__init__()
        self.width, self.heads, self.positions = width, heads, positions
        self.dropout = nn.Dropout(dropout)
        sizes = width, heads, feed_forward, dropout
        self.layers = nn.ModuleList(CausalLayer(*sizes) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        if positions == "relative":
            # Each layer has its own bias. So one layer can attend to the previous token, and the
            # next layer to earlier occurrences of the same token.
            gain = math.sqrt(width)  # the same as the initial scale of rows in `CausalLM`
            self.biases = nn.ModuleList(
                RelativeBias(width, heads, causal=True, gain=gain) for _ in range(layers)
            )

    def begin(self, sequences: int) -> Memory:
        """Return an empty memory, for reading texts in parts."""
        device = self.norm.weight.device
        return Memory(torch.ones(sequences, 1, 1, 0, dtype=torch.bool, device=device), [])

    def forward(self, x: Tensor, memory: Memory | None = None) -> Tensor:
        """Return the features of inputs x, (B, T, width) each.

        x: whole texts, or with a memory one further token of each text.
        """
        *_, last = self._layers(x, memory)
        features: Tensor = self.norm(last)
        return features  # (sequences, tokens, width)

    def each_layer(self, x: Tensor) -> list[Tensor]:
        """Return the features of whole texts after each layer, (B, T, width) each."""
        return [self.norm(after) for after in self._layers(x)]

    def _layers(self, x: Tensor, memory: Memory | None = None) -> Iterator[Tensor]:
        memory = memory or self.begin(len(x))
        start, length = memory.length, x.shape[1]
        if start and length > 1:
            raise ValueError("after the first call, a text is read one token at a time")
        memory.length += length
        rotation = self._rotation(start, length, x.device)
        x = self.dropout(self._placed(x, start))
        for number, layer in enumerate(cast(list[CausalLayer], self.layers)):
            mask = self._bias(number, start, length)
            x = layer.remember(x, memory, number, mask, rotation)
            yield x

    def _placed(self, x: Tensor, start: int) -> Tensor:
        """Return the inputs of positions `start..`, with sinusoidal encodings if used."""
        if self.positions != "sinusoidal":
            return x
        return x + sinusoidal(start, x.shape[1], self.width, x.device)

    def _rotation(self, start: int, length: int, device: torch.device) -> Rotation | None:
        if self.positions != "rotary":
            return None
        return rotations(start, length, self.width // self.heads, device)

    def _bias(self, layer: int, start: int, length: int) -> Tensor | None:
        """Return the bias of a layer's attention scores, (1, H, T, start + T), or None."""
        if self.positions != "relative":
            return None
        bias: Tensor = self.biases[layer](start, length, start + length)
        return bias


@dataclass
class State:
    """The memory of a recurrent network that reads texts in parts."""

    # (layers, texts, width), the activations after the last token; None before the first token
    hidden: Tensor | None = None

    def keep(self, texts: Tensor) -> None:
        """Keep the texts with these numbers, which may repeat, and drop all other texts."""
        if self.hidden is not None:
            self.hidden = self.hidden[:, texts]


class Elman(nn.Module):
    """A simple recurrent network (Elman, "Finding Structure in Time", 1990), as a baseline."""

    def __init__(self, *, width: int, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.network = nn.RNN(width, width, layers, dropout=between, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def begin(self, sequences: int) -> State:
        """Return the state before the first token, for reading texts in parts."""
        return State()

    def forward(self, x: Tensor, memory: State | None = None) -> Tensor:
        """Return the features of inputs x, (B, T, width) each, continuing from the memory."""
        features, hidden = self.network(x, memory.hidden if memory else None)
        if memory is not None:
            memory.hidden = hidden
        normalized: Tensor = self.norm(features)
        return normalized


@dataclass
class Window:
    """The memory of a neural n-gram model that reads texts in parts."""

    inputs: Tensor  # (texts, n - 2, width), the network's inputs of the last n - 2 tokens

    def keep(self, texts: Tensor) -> None:
        """Keep the texts with these numbers, which may repeat, and drop all other texts."""
        self.inputs = self.inputs[texts]


class NeuralNGram(nn.Module):
    """A feed-forward network that reads the concatenated inputs of the last `order` - 1 tokens.

    Source: Bengio et al., "A Neural Probabilistic Language Model" (2003), with hidden layers of
    tanh, without direct connections from inputs to outputs. A trained vector replaces each
    missing token before the beginning of a text.
    """

    def __init__(
        self, *, width: int, order: int, feed_forward: int, layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.order = order
        self.beginning = nn.Parameter(torch.randn(width))  # entries of about 1, as in inputs
        sizes = [(order - 1) * width, *[feed_forward] * layers]
        self.hidden = nn.Sequential()
        for wide, next_wide in pairwise(sizes):
            self.hidden.extend([Linear(wide, next_wide), nn.Tanh(), nn.Dropout(dropout)])
        self.output = Linear(feed_forward, width)
        self.norm = nn.LayerNorm(width)

    def begin(self, sequences: int) -> Window:
        """Return the window before the first token, for reading texts in parts."""
        return Window(self.beginning.expand(sequences, self.order - 2, -1))

    def forward(self, x: Tensor, memory: Window | None = None) -> Tensor:
        """Return the features of inputs x, (B, T, width) each, continuing from the memory."""
        memory = memory or self.begin(len(x))
        known = torch.cat([memory.inputs.to(x), x], dim=1)  # (sequences, n - 2 + tokens, width)
        memory.inputs = known[:, x.shape[1] :]
        last = known.unfold(1, self.order - 1, 1).transpose(2, 3).flatten(2)  # oldest first
        features: Tensor = self.norm(self.output(self.hidden(last)))
        return features


class CausalLM(nn.Module):
    """A language model: token rows, a network and an optional cache (`cache.py`)."""

    def __init__(
        self,
        rows: TokenRows,
        network: CausalTransformer | Elman | NeuralNGram,
        width: int,
        cache: bool = False,
    ) -> None:
        super().__init__()
        self.cache = Cache(width) if cache else None
        self.rows, self.network = rows, network
        self.scale = nn.Parameter(torch.full((width,), math.sqrt(width)))  # for entries near 1
        self.bias = nn.Parameter(torch.zeros(width))

    def features(
        self,
        rows: Rows,
        tokens: Tensor,
        *,
        memory: Memory | State | Window | None = None,
    ) -> Tensor:
        """Return the features (B, T, width) that predict the token after each of (B, T) tokens.

        memory: the network's memory of the earlier parts of the texts, if they are read in parts.
        """
        features: Tensor = self.network(self._inputs(rows, tokens), memory)
        return features

    def each_layer(self, rows: Rows, tokens: Tensor) -> list[Tensor]:
        """Return the features (B, T, width) after each layer of a Transformer.

        For other networks, return a list with the last features only.
        """
        inputs = self._inputs(rows, tokens)
        if isinstance(self.network, CausalTransformer):
            return self.network.each_layer(inputs)
        return [self.network(inputs)]

    def _inputs(self, rows: Rows, tokens: Tensor) -> Tensor:
        return rows.inputs(tokens) * self.scale + self.bias

    def loss(
        self,
        tokens: Tensor,
        generator: torch.Generator | None = None,
        targets: Tensor | None = None,
        rows_of: tuple[Tensor, int] | None = None,
    ) -> Tensor:
        """Return the mean cross-entropy of the next token, in nats.

        tokens: (B, T), padded with `NOTHING`.
        targets: (B, T - 1), `NOTHING` at positions to ignore; the next tokens if not given.
        rows_of: if these sequences are part of a larger batch, their numbers, int64 (B,), and the
            size of that batch. Rows are drawn for the whole batch.
        """
        next_ = tokens[:, 1:]
        targets = next_ if targets is None else targets
        rows: Rows
        if rows_of is None:
            rows = self.rows(len(tokens), generator)
        else:
            rows = self.rows(rows_of[1], generator).some(rows_of[0])
        features = self.features(rows, tokens[:, :-1])
        if self.cache is None:
            return rows.loss(features, targets)
        chosen = self.cache.chosen(rows.chosen(features, targets), features, next_, targets)
        return -chosen.sum() / (targets != NOTHING).sum().clamp(min=1)

    @torch.no_grad()
    def log_probabilities(self, tokens: Tensor, rows: Rows | None = None) -> Tensor:
        """Return the log-probabilities (B, T, V) of the token after each of (B, T) tokens.

        rows: the embedding rows; drawn or trained rows if not given.
        """
        rows = self.rows(len(tokens)) if rows is None else rows
        features = self.features(rows, tokens)
        logs = rows.log_probabilities(features)
        if self.cache is None:
            return logs
        # No token follows the last position.
        next_ = F.pad(tokens[:, 1:], (0, 1), value=NOTHING)
        return self.cache.log_probabilities(logs, features, next_)

    def reader(self, rows: Rows, sequences: int) -> Reader:
        """Return a reader of this number of sequences, which uses the given embedding rows."""
        memory = self.network.begin(sequences)
        mix = None if self.cache is None else self.cache.reader()

        def read_on(tokens: Tensor, of: Tensor | None = None) -> Tensor:
            nonlocal rows
            if of is not None:
                memory.keep(of)
                rows = rows.some(of)
            features = self.features(rows, tokens, memory=memory)
            logs = rows.log_probabilities(features[:, -1:])[:, 0]
            return logs if mix is None else mix(logs, features, tokens, of)

        return read_on
