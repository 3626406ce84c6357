"""The inductive Transformer: a network that computes the exact marginals of a small grammar.

The grammar explains a sentence of P words by P layers of Z units. A unit is a hidden state, like a
nonterminal of a grammar. In each layer exactly one unit is on. This unit emits a word AND switches
on a unit of the layer below, which is the next layer. (`productions/grammar.py` has the grammar
without the network.)

The network is sum-product message passing in a factor graph. The encoder passes messages from the
last layer up: the information in the words about the units. The decoder passes messages from the
first layer down: the information in the units about the words. Every factor sums over all states of
its variables (equation 2). The graph is a tree, so the beliefs at the end are the exact marginals.

Three variables of a layer have the same value, the unit that is on:

    z'   connects the layer to the layer above. The factor AND makes z', x and y equal.
    x    emits a word t with probability W_{t,x} (factor pi_T)
    y    switches on a unit v of the layer below with probability W_{v,y} (factor pi_Z)

A message about z', x or y has Z numbers. Number i is the natural logarithm of the weight of "unit i
is on and the other units are off". The paper writes such a variable in two ways: as Z Bernoulli
variables, or as one categorical variable with Z values. Both have the same messages. The logarithm
of a probability of 0 is -inf, and never leads to nan.

Shapes: S students (independent models of the same size, computed side by side), B sentences,
P positions and layers, Z units, T words. Each column of W is a distribution.

Source: Vigoda, Rochais, "Inductive Transformers" (2023). Equations and appendices have the paper's
numbers. Its figure 1 shows the graph, and its appendices B to D describe the factors.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.tokens import NOTHING

Embedding = Literal["indicator", "dense"]

# The least log weight in the input of a perceptron. An input of -inf would give nan.
FLOOR = -20.0

# Standard deviation of initial parameters. With a smaller value, more models have equal units.
SPREAD = 1.0


# The factors of the graph


def closed_to_open(z: Tensor, width: int) -> Tensor:
    """Copy the encoder's messages about Z units for each of `width` units of the layer above.

    Maps (..., Z below) to (..., Z below, Z above). In the paper's closed universe, the units above
    share the units below. In its open universe, each unit above has copies of the units below, so
    that the factor graph is a tree (appendix B.1).
    """
    return z[..., :, None].expand(*z.shape, width)


def open_to_closed(u: Tensor) -> Tensor:
    """Sum the decoder's messages over the copies of each unit.

    Maps (..., Z below, Z above) to (..., Z below). A unit is on if one of its copies is on (OR). At
    most one copy is on, so the weights are added (appendix B.1).
    """
    return log_sum(u, -1)


def bernoulli_to_categorical(on: Tensor) -> Tensor:
    """Convert a message about Z Bernoulli variables to a message about one categorical variable.

    This is equation 1 of the paper. Only Z of the 2^Z joint states are possible: unit i is on and
    all other units are off. A unit that is off has the weight 1. So both messages contain the same
    Z numbers, and the function returns its argument (appendix B.4).
    """
    return on


def categorical_to_bernoulli(category: Tensor) -> Tensor:
    """Convert a message about one categorical variable to a message about Z Bernoulli variables.

    This is p(u | v_Categorical) of the paper. Both messages contain the same Z numbers, so the
    function returns its argument (see `bernoulli_to_categorical`).
    """
    return category


def say(tokens: Tensor, words: Tensor) -> Tensor:
    """Return the messages of words about the units that emit them: (students, sentences, units).

    A message is the log of the probability W_{word,x} that unit x emits the word. The message of
    `NOTHING`, an unknown word, is 0. (Factor pi_T in the encoder, equation 5 of the paper.)

    tokens: (students, T words, units), logs of W. words: (sentences,) or (students, sentences).
    """
    known = words.clamp(min=0)
    if words.ndim == 1:
        x = tokens[:, known]
    else:
        x = tokens.gather(1, known[..., None].expand(*known.shape, tokens.shape[-1]))
    return torch.where((words == NOTHING)[..., None], torch.zeros_like(x), x)


def said(tokens: Tensor, x: Tensor) -> Tensor:
    """Return the messages of units x about words t: log sum_x W_{t,x} x.

    Maps (students, sentences, units) to (students, sentences, T words). (Factor pi_T in the
    decoder, equation 5 of the paper.)
    """
    return log_sum(tokens[:, None] + x[..., None, :], -1)


def attend(below: Tensor, v: Tensor) -> Tensor:
    """Return the messages of the units v below about the units y: log sum_v W_{v,y} v.

    Maps (students, sentences, units below, units) to (students, sentences, units). (Factor pi_Z in
    the encoder, equation 4 of the paper.)

    below: (students, units below, units), logs of the probability W_{v,y} that y switches on v.
    """
    return log_sum(below[:, None] + v, -2)


def attended(below: Tensor, y: Tensor) -> Tensor:
    """Return the messages of the units y about the units v below: log (W_{v,y} y), for each y.

    Maps (students, sentences, units) to (students, sentences, units below, units).
    `open_to_closed` sums them over y. (Factor pi_Z in the decoder, equation 4 of the paper.)
    """
    return below[:, None] + y[..., None, :]


def both(x: Tensor, y: Tensor) -> Tensor:
    """Return the encoder's message about z' of a layer, from its messages about x and y, (..., Z).

    All three variables of a layer are equal, so the log weights of each unit are added. (Factor
    AND, equation 3 of the paper.)
    """
    return x + y


def each(z: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the decoder's messages about x and about y of a layer, (..., Z) each.

    The message about x combines the messages about z' and y. The message about y combines the
    messages about z' and x. (Factor AND, equation 3 of the paper.)

    z: the decoder's message about z'. x, y: the encoder's messages of the same layer.
    """
    return z + y, z + x


def log_sum(messages: Tensor, dim: int) -> Tensor:
    """Return log sum exp over `dim`.

    If all messages are -inf, the result is -inf with gradient 0, not nan.
    """
    largest = messages.detach().amax(dim, keepdim=True)
    largest = torch.where(torch.isinf(largest), torch.zeros_like(largest), largest)
    total = (messages - largest).exp().sum(dim)
    none = total == 0
    total = torch.where(none, torch.ones_like(total), total).log() + largest.squeeze(dim)
    return total.masked_fill(none, -torch.inf)


class LogWeights(NamedTuple):
    """The weights of models: logarithms of probabilities."""

    start: Tensor  # (models, units), the probability that a unit of the first layer is on
    # (models, layers, words, units), the probability W_{t,x} that unit x emits word t
    tokens: Tensor
    # (models, layers - 1, units below, units), the probability W_{v,y} that unit y switches on unit
    # v of the layer below
    below: Tensor


class Beliefs(NamedTuple):
    """Log-probabilities given the known words of B sentences; -inf for an impossible sentence.

    A sentence has one word for each layer.
    """

    log_probability: Tensor  # (models, sentences), the log-probability of the known words
    units: Tensor  # (models, sentences, layers, units): a unit is on
    # (models, sentences, layers - 1, units below, units): a unit switches on a unit below
    connections: Tensor
    words: Tensor  # (models, sentences, layers, words): a word is at the position of a layer


class Perceptron(nn.Module):
    """A residual perceptron, x + MLP(norm(x)), for messages between layers.

    The perceptron replaces the factors between pi_Z and AND. Its last weight matrix is initially 0,
    so that an untrained perceptron returns its input.
    """

    def __init__(self, students: int, width: int, hidden: int) -> None:
        super().__init__()
        self.up = nn.Parameter(torch.randn(students, width, hidden) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(students, 1, hidden))
        self.down = nn.Parameter(torch.zeros(students, hidden, width))

    def forward(self, x: Tensor) -> Tensor:
        """Transform N messages about Z units in each of S models, (S, N, Z) to the same shape."""
        read = x.clamp(min=FLOOR).log_softmax(-1).clamp(min=FLOOR)
        added: Tensor = F.gelu(read @ self.up + self.bias) @ self.down
        return x + added


class InductiveTransformer(nn.Module):
    """S models that explain sentences of P words by P layers of Z units.

    All distributions are softmaxes of parameters. A parameter may be -inf.

    Args:
        embedding: `indicator`: one dimension per word, and W_{t,x} has T numbers for each unit
            (appendix E). `dense`: words have vectors of `dimension` numbers, shared by all layers,
            and W_{t,x} is softmax_t of their products with one vector per unit.
        perceptron: hidden width of perceptrons that replace the factors between layers. With them
            the marginals are inexact. 0: no perceptrons.
        nudge: a number that breaks the symmetry of units (section 4.3 of the paper), so that more
            models agree on their order. It raises two kinds of initial logits. The first unit of
            the first layer becomes more likely to emit the first word. The first unit of each layer
            becomes more likely to switch on the first unit below.
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
            raise ValueError("dimension is required by a dense embedding, and only by it")
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
        """Return whether the computed beliefs are the exact marginals of the weights."""
        return not self.up  # also true for perceptrons if there is only one layer

    def _check(self, words: Tensor, length: int, least: int = NOTHING) -> None:
        if words.shape[-1] != length:
            raise ValueError(f"{words.shape[-1]} words where there are {length}")
        if words.numel() and (words.min() < least or words.max() >= self.words):
            raise ValueError(f"ids of words are {least} to {self.words - 1}")

    def weights(self) -> LogWeights:
        """Return all distributions, as logarithms."""
        logits: Tensor = self.tokens
        if self.vectors is not None:
            logits = self.vectors[:, None] @ logits  # (models, layers, words, units)
        return LogWeights(
            self.start.log_softmax(-1), logits.log_softmax(-2), self.below.log_softmax(-2)
        )

    def forward(self, words: Tensor) -> Beliefs:
        """Return all beliefs given the known words of sentences.

        words: word ids, (sentences, positions) or (students, sentences, positions); `NOTHING` for
            unknown words.
        """
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
        """Return the encoder's messages about x and y of each layer, and about z' of layer 0.

        Each message is (students, sentences, units).
        """
        xs, ys = [], []
        z: Tensor | None = None
        for layer in reversed(range(self.positions)):
            x = categorical_to_bernoulli(say(weights.tokens[:, layer], words[..., layer]))
            if z is None:
                y = torch.zeros_like(x)  # the last layer has no layer below
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
        if self.up is None:
            return categorical_to_bernoulli(v)
        return _tied(self.down[layer], v.mT).mT

    def log_probabilities(self, words: Tensor) -> Tensor:
        """Return the log-probabilities of sentences in nats, (students, sentences).

        words: word ids, (sentences, positions) or (students, sentences, positions).
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
        """Return the log-probabilities (S, B, L + 1, T) of the next word after 0 to L words.

        words: (B, L) or (S, B, L) ids, L less than P. After impossible words all results are -inf.
        """
        found = []
        length = words.shape[-1]
        self._check(words, min(length, self.positions - 1), least=0)
        if not self.exact:  # perceptrons change messages between layers even for unknown words
            for known in range(length + 1):
                missing = self.positions - known
                prompt = F.pad(words[..., :known], (0, missing), value=NOTHING)
                found.append(self(prompt).words[:, :, known])
            return torch.stack(found, 2)
        weights = self.weights()
        # The encoder's messages about unknown words are 0, so only the decoder is needed.
        z = weights.start[:, None].expand(-1, words.shape[-2], -1)
        for layer in range(length + 1):
            found.append(said(weights.tokens[:, layer], z))
            if layer < length:
                y = z + say(weights.tokens[:, layer], words[..., layer])
                z = open_to_closed(attended(weights.below[:, layer], y))
        return _normal(torch.stack(found, 2), 1)


def _tied(perceptron: nn.Module, columns: Tensor) -> Tensor:
    """Apply one perceptron to all messages (S, ..., Z) of S models; keep their shape."""
    shape = columns.shape
    made: Tensor = perceptron(columns.reshape(shape[0], -1, shape[-1]))
    return made.view(shape)


def _given(t: Tensor, words: Tensor) -> Tensor:
    """Set all words except the known word to -inf in messages about T words, (S, B, T).

    words: (B,) or (S, B), the known word of each of B sentences; `NOTHING` if it is unknown.
    """
    known = words.clamp(min=0)[..., None].expand(*t.shape[:2], 1)
    other = torch.ones_like(t, dtype=torch.bool).scatter(-1, known, False)
    return t.masked_fill(other & (words != NOTHING)[..., None], -torch.inf)


def _normal(messages: Tensor, dims: int) -> Tensor:
    """Normalize log weights over their last `dims` dimensions. If all are -inf, they stay -inf."""
    if not messages.numel():
        return messages
    flat = messages.flatten(-dims)
    total = log_sum(flat, -1)[..., None]
    return (flat - total.masked_fill(torch.isinf(total), 0)).view(messages.shape)
