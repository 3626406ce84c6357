"""The inductive Transformer, to be read from top to bottom: a network that marginalises a grammar.

Source: Vigoda, Rochais, "Inductive Transformers" (2023); equations are numbered as there, sections
B to D of its appendix describe the factors. A sentence of P words is explained by P layers of Z
units. In each layer one unit z' is on; it says a word (x, pi_T) AND switches on a unit of the layer
below (y, pi_Z). `productions/grammar.py` is the same model as plain data.

Encoder: from the last layer up, what the words say about the units. Decoder: from the first layer
down, what the units say about words. Every factor sums over all states of what it ties together
(equation 2), and since each message goes where the paper's figure 1 sends it, along a tree, the
beliefs at the end are the exact marginals.

Messages are natural logarithms of weights. One about the Z Bernoulli variables of a layer, of which
exactly one is on, has Z numbers: what it weighs that unit i is the one; a unit that is off explains
nothing, and weighs 1. One about a categorical variable with Z values has the same Z numbers, which
is why the factors between the two change names and no numbers. Probabilities of 0 are -inf, and
give no nan.

Shapes: S students (models of the same size, side by side, that have nothing to do with each other),
B sentences, P positions and layers, Z units, T words. W_{t,x} and W_{v,y} have a distribution in
each column.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.tokens import NOTHING

Embedding = Literal["indicator", "dense"]

# What a perceptron reads of a message: logarithms below this are as good as -inf.
FLOOR = -20.0

# Standard deviation of parameters at the start. With less, more students stay where two units of a
# layer do the same.
SPREAD = 1.0


# The factors, one by one.


def closed_to_open(z: Tensor, width: int) -> Tensor:
    """Encoder: (..., Z below) to (..., Z below, Z above), a copy of each unit for each above it.

    In the closed universe units above share the units below; in the open one each has its own, and
    the factor graph is a tree. On the way up this passes what comes (appendix B.1).
    """
    return z[..., :, None].expand(*z.shape, width)


def open_to_closed(u: Tensor) -> Tensor:
    """Decoder: (..., Z below, Z above) to (..., Z below). A unit is on if a copy of it is (OR).

    At most one copy is, so that the weights add up (appendix B.1).
    """
    return log_sum(u, -1)


def bernoulli_to_categorical(on: Tensor) -> Tensor:
    """Z variables of which one is on, to the number of that one: p(x_Categorical | x), eq. 1.

    Sums over the 2^Z states, all but Z of which the factor forbids: on_i prod_{j != i} off_j, and
    off weighs 1 (appendix B.4).
    """
    return on


def categorical_to_bernoulli(category: Tensor) -> Tensor:
    """The number of a unit, to Z variables of which that one is on: p(u | v_Categorical), eq. 1."""
    return category


def say(tokens: Tensor, words: Tensor) -> Tensor:
    """Encoder pi_T, equation 5: log sum_t W_{t,x} [t is the word], (S, B, Z).

    tokens: (S, T, Z) logs of W_{t,x}.
    words: (B,) or (S, B) ids; `NOTHING` where a word is unknown, which says nothing.
    """
    known = words.clamp(min=0)
    if words.ndim == 1:
        x = tokens[:, known]
    else:
        x = tokens.gather(1, known[..., None].expand(*known.shape, tokens.shape[-1]))
    return torch.where((words == NOTHING)[..., None], torch.zeros_like(x), x)


def said(tokens: Tensor, x: Tensor) -> Tensor:
    """Decoder pi_T, equation 5: log sum_x W_{t,x} x, (S, B, Z) to (S, B, T)."""
    return log_sum(tokens[:, None] + x[..., None, :], -1)


def attend(below: Tensor, v: Tensor) -> Tensor:
    """Encoder pi_Z, equation 4: log sum_v W_{v,y} v, (S, B, Z below, Z) to (S, B, Z).

    below: (S, Z below, Z) logs of W_{v,y}.
    """
    return log_sum(below[:, None] + v, -2)


def attended(below: Tensor, y: Tensor) -> Tensor:
    """Decoder pi_Z, equation 4: W_{v,y} y, (S, B, Z) to (S, B, Z below, Z), which unit chose."""
    return below[:, None] + y[..., None, :]


def both(x: Tensor, y: Tensor) -> Tensor:
    """Encoder AND, equation 3: z' is on if x and y are, (..., Z)."""
    return x + y


def each(z: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Decoder AND, equation 3: messages to x and y, from z' and from the other one.

    x, y: what the encoder said in the same layer (appendix A.2), not in its last.
    """
    return z + y, z + x


def log_sum(messages: Tensor, dim: int) -> Tensor:
    """log of the sum of exp, and of its gradient 0 where all of them are -inf."""
    largest = messages.detach().amax(dim, keepdim=True)
    largest = torch.where(torch.isinf(largest), torch.zeros_like(largest), largest)
    total = (messages - largest).exp().sum(dim)
    none = total == 0
    total = torch.where(none, torch.ones_like(total), total).log() + largest.squeeze(dim)
    return total.masked_fill(none, -torch.inf)


class LogWeights(NamedTuple):
    """Logs of all distributions; each is a column.

    start: (S, Z), pi_Z of a root above the first layer.
    tokens: (S, P, T, Z), pi_T, W_{t,x}.
    below: (S, P - 1, Z, Z), pi_Z, W_{v,y}.
    """

    start: Tensor
    tokens: Tensor
    below: Tensor


class Beliefs(NamedTuple):
    """Logs of what is known given the words; of sentences that cannot be, all -inf.

    log_probability: (S, B) of the words that are given.
    units: (S, B, P, Z), that a unit is on.
    connections: (S, B, P - 1, Z below, Z), that one unit switches on the other.
    words: (S, B, P, T), that a word stands at a position.
    """

    log_probability: Tensor
    units: Tensor
    connections: Tensor
    words: Tensor


class Perceptron(nn.Module):
    """What a vanilla layer has in place of the factors between pi_Z and AND: x + MLP(norm(x)).

    The same one for every column. It starts as those factors: its last weights are 0.
    """

    def __init__(self, students: int, width: int, hidden: int) -> None:
        super().__init__()
        self.up = nn.Parameter(torch.randn(students, width, hidden) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(students, 1, hidden))
        self.down = nn.Parameter(torch.zeros(students, hidden, width))

    def forward(self, x: Tensor) -> Tensor:
        """(S, N, Z) to the same."""
        read = x.clamp(min=FLOOR).log_softmax(-1).clamp(min=FLOOR)
        added: Tensor = F.gelu(read @ self.up + self.bias) @ self.down
        return x + added


class InductiveTransformer(nn.Module):
    """S models that explain sentences of P words by P layers of Z units.

    Weights are distributions by construction: softmax of the parameters, of which -inf is one.

    Args:
        embedding: `indicator`: a word is a dimension, and W_{t,x} has T numbers for each unit
            (appendix E). `dense`: words have vectors of `dimension` numbers, the same ones in all
            layers, and W_{t,x} is softmax_t of their products with a vector of each unit.
        perceptron: width of the hidden layer of perceptrons in place of the factors between
            layers, with which marginals are no longer exact; 0 for none.
        nudge: added at the start to what inclines the first unit to the first word, and the first
            unit of each layer to the first below (section 4.3: a small nudge in one corner breaks
            the symmetry). More students then agree on the order of units, not all of them.
    """

    def __init__(
        self,
        *,
        words: int,
        positions: int,
        width: int,
        students: int = 1,
        embedding: Embedding = "indicator",
        dimension: int | None = None,
        perceptron: int = 0,
        nudge: float = 0.0,
    ) -> None:
        super().__init__()
        if (dimension is None) != (embedding == "indicator"):
            raise ValueError("dimension is of a dense embedding, which needs one")
        self.words, self.positions, self.width, self.students = words, positions, width, students
        self.start = nn.Parameter(SPREAD * torch.randn(students, width))
        below = torch.randn(students, positions - 1, width, width)
        self.below = nn.Parameter(SPREAD * below)
        self.vectors: nn.Parameter | None = None
        if dimension is None:
            logits = SPREAD * torch.randn(students, positions, words, width)
        else:
            self.vectors = nn.Parameter(torch.randn(students, words, dimension))
            logits = torch.randn(students, positions, dimension, width) / dimension**0.5
        self.tokens = nn.Parameter(logits)
        with torch.no_grad():
            self.tokens[:, 0, 0, 0] += nudge
            self.below[:, :, 0, 0] += nudge
        self.up: nn.ModuleList | None = None
        if perceptron:
            between = range(positions - 1)
            self.up = nn.ModuleList(Perceptron(students, width, perceptron) for _ in between)
            self.down = nn.ModuleList(Perceptron(students, width, perceptron) for _ in between)

    @property
    def exact(self) -> bool:
        """Whether what it computes are marginals of its weights."""
        return not self.up  # one layer has nothing between layers

    def _check(self, words: Tensor, length: int, least: int = NOTHING) -> None:
        """Raise ValueError for ids that are no words, or too few or too many of them."""
        if words.shape[-1] != length:
            raise ValueError(f"{words.shape[-1]} words where there are {length}")
        if words.numel() and (words.min() < least or words.max() >= self.words):
            raise ValueError(f"ids of words are {least} to {self.words - 1}")

    def weights(self) -> LogWeights:
        """All distributions."""
        logits: Tensor = self.tokens
        if self.vectors is not None:
            logits = self.vectors[:, None] @ logits  # (S, P, T, Z)
        return LogWeights(
            self.start.log_softmax(-1), logits.log_softmax(-2), self.below.log_softmax(-2)
        )

    def forward(self, words: Tensor) -> Beliefs:
        """Of (B, P) or (S, B, P) word ids, `NOTHING` where one is unknown, all that is known."""
        self._check(words, self.positions)
        weights = self.weights()
        xs, ys, above = self._encode(weights, words)
        last = self.positions - 1
        z = weights.start[:, None].expand_as(above)
        log_probability = log_sum(z + above, -1)
        units, connections, spoken = [], [], []
        for layer in range(self.positions):
            units.append(z + xs[layer] + ys[layer])
            x, y = each(z, xs[layer], ys[layer])
            t = said(weights.tokens[:, layer], bernoulli_to_categorical(x))
            spoken.append(_given(t, words[..., layer]))
            if layer == last:
                break
            v = attended(weights.below[:, layer], bernoulli_to_categorical(y))
            behind = both(xs[layer + 1], ys[layer + 1])
            connections.append(v + behind[..., None])
            z = open_to_closed(self._open(v, layer))
        pairs = torch.stack(connections, 2) if connections else z.new_zeros(*z.shape[:2], 0, 1, 1)
        return Beliefs(
            log_probability,
            _normal(torch.stack(units, 2), 1),
            _normal(pairs, 2),
            _normal(torch.stack(spoken, 2), 1),
        )

    def _encode(
        self, weights: LogWeights, words: Tensor
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """What the encoder says of x and y in each layer, and of z' in the first: (S, B, Z)."""
        xs, ys = [], []
        z: Tensor | None = None
        for layer in reversed(range(self.positions)):
            x = categorical_to_bernoulli(say(weights.tokens[:, layer], words[..., layer]))
            if z is None:
                y = torch.zeros_like(x)  # there is nothing below the last layer
            else:
                if self.up is not None:
                    z = _tied(self.up[layer], z)
                v = bernoulli_to_categorical(closed_to_open(z, self.width))
                y = categorical_to_bernoulli(attend(weights.below[:, layer], v))
            z = both(x, y)
            xs.append(x)
            ys.append(y)
        assert z is not None
        return xs[::-1], ys[::-1], z

    def _open(self, v: Tensor, layer: int) -> Tensor:
        """Decoder: (S, B, Z below, Z) of categorical variables, as Bernoulli ones."""
        if self.up is None:
            return categorical_to_bernoulli(v)
        return _tied(self.down[layer], v.mT).mT

    def log_probabilities(self, words: Tensor) -> Tensor:
        """(S, B) of sentences, in nats, of (B, P) or (S, B, P) word ids; without unknown words.

        Of an exact model the encoder alone says it; otherwise it is the sum of `following`.
        """
        self._check(words, self.positions, least=0)
        if self.exact:
            weights = self.weights()
            _, _, above = self._encode(weights, words)
            return log_sum(weights.start[:, None] + above, -1)
        following = self.following(words[..., :-1])
        chosen = words.expand(self.students, *words.shape[-2:])[..., None]
        return following.gather(-1, chosen)[..., 0].sum(-1)

    def following(self, words: Tensor) -> Tensor:
        """Logs of the next word: (S, B, L + 1, T) after 0 to L words, of (B, L) or (S, B, L) ids.

        L is less than P; -inf throughout where the words before cannot be.
        """
        found = []
        length = words.shape[-1]
        self._check(words, min(length, self.positions - 1), least=0)
        if not self.exact:  # what is above speaks of what is below through perceptrons
            for known in range(length + 1):
                missing = self.positions - known
                prompt = F.pad(words[..., :known], (0, missing), value=NOTHING)
                found.append(self(prompt).words[:, :, known])
            return torch.stack(found, 2)
        weights = self.weights()
        # Of words that are unknown the encoder says nothing: the decoder alone is left.
        z = weights.start[:, None].expand(-1, words.shape[-2], -1)
        for layer in range(length + 1):
            found.append(said(weights.tokens[:, layer], z))
            if layer < length:
                y = z + say(weights.tokens[:, layer], words[..., layer])
                z = open_to_closed(attended(weights.below[:, layer], y))
        return _normal(torch.stack(found, 2), 1)


def _tied(perceptron: nn.Module, columns: Tensor) -> Tensor:
    """The same perceptron for all columns: (S, ..., Z) to the same."""
    shape = columns.shape
    made: Tensor = perceptron(columns.reshape(shape[0], -1, shape[-1]))
    return made.view(shape)


def _given(t: Tensor, words: Tensor) -> Tensor:
    """(S, B, T) messages and (B,) or (S, B) words: of a word that is known, that one alone."""
    known = words.clamp(min=0)[..., None].expand(*t.shape[:2], 1)
    other = torch.ones_like(t, dtype=torch.bool).scatter(-1, known, False)
    return t.masked_fill(other & (words != NOTHING)[..., None], -torch.inf)


def _normal(messages: Tensor, dims: int) -> Tensor:
    """Divided by what the last dimensions sum to, where that is not 0."""
    if not messages.numel():
        return messages
    flat = messages.flatten(-dims)
    total = log_sum(flat, -1)[..., None]
    return (flat - total.masked_fill(torch.isinf(total), 0)).view(messages.shape)
