"""A continuous cache: predicts the tokens that followed earlier positions with similar features.

A lexinvariant model has no stable embedding of a token: each sequence draws new embedding rows
(`token_rows.py`). Its logits are products of its features with these rows. Such logits can express
that one token is likely, but hardly that two tokens are likely at a ratio of 3 to 1 and all other
tokens unlikely. A model with the cache can express this ratio. Position t attends to earlier
positions i by their features. The attention weight of position i is added to the probability of the
next token x(i + 1):

    p(w) = (1 - g) softmax(features . rows)(w) + g sum over i < t of a(t, i) [x(i + 1) = w]

Here p(w) is the probability that token w is next, a(t, i) is the attention weight, and g is the
learned share of the cache. No parameter belongs to a token. Source: Grave, Joulin, Usunier,
Improving Neural Language Models with a Continuous Cache (ICLR 2017). Here queries, keys and g are
trained, too.

Shapes: B sequences, T positions of a sequence, V tokens of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.tokens import NOTHING


class Cache(nn.Module):
    """Attention over earlier features. The values are the tokens that followed the features."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.share = nn.Linear(width, 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return attention weights (B, T, T), and the logs of the share g and of 1 - g, (B, T).

        features: (B, T, width), for B sequences of T positions.

        The first position has no earlier positions: its attention weights and its share g are 0.
        """
        length, width = features.shape[1:]
        scores = self.query(features) @ self.key(features).transpose(1, 2) * width**-0.5
        before = torch.ones(length, length, dtype=torch.bool, device=features.device).tril(-1)
        weights = scores.masked_fill(~before, -1e9).softmax(-1) * before
        share = self.share(features)[..., 0].float()
        first = torch.arange(length, device=features.device) == 0
        return (
            weights,
            F.logsigmoid(share).masked_fill(first, -math.inf),
            F.logsigmoid(-share).masked_fill(first, 0.0),
        )

    def chosen(self, chosen: Tensor, features: Tensor, next_: Tensor, targets: Tensor) -> Tensor:
        """Return the log-probabilities (B, T) of target tokens in the mixture of model and cache.

        chosen: (B, T), the log-probabilities of the targets without the cache.
        next_: (B, T), the token after each position.
        """
        weights, share, rest = self(features)
        same = next_[:, None, :] == targets[..., None]  # (sequences, positions, positions)
        copied = (weights * same).sum(-1).clamp(min=1e-30).log()
        mixed = torch.logaddexp(rest + chosen, share.clamp(min=-1e9) + copied)
        return mixed.masked_fill(targets == NOTHING, 0.0)

    def log_probabilities(self, logs: Tensor, features: Tensor, next_: Tensor) -> Tensor:
        """Return the log-probabilities of all tokens in the mixture of model and cache, (B, T, V).

        logs: (B, T, V), the log-probabilities without the cache.
        """
        weights, share, rest = self(features)
        follows = F.one_hot(next_.clamp(min=0), logs.shape[2]).to(weights)
        follows = follows.masked_fill((next_ == NOTHING)[..., None], 0.0)
        copied = weights @ follows  # (sequences, positions, tokens)
        return torch.logaddexp(rest[..., None] + logs, share[..., None] + copied.log())

    def reader(self) -> Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]:
        """Return a function that adds the cache to predictions for texts that are read in parts.

        Its arguments:
        logs: (B, V), the log-probabilities without the cache.
        features, new: (B, T, width) and (B, T), the features and the ids of the new tokens.
        of: (B,), the numbers of the earlier texts that the new tokens continue (see
            `generation.Reader`).
        """
        keys: list[Tensor] = []
        tokens: list[Tensor] = []

        def mix(logs: Tensor, features: Tensor, new: Tensor, of: Tensor | None) -> Tensor:
            if of is not None:
                keys[:] = [each[of] for each in keys]
                tokens[:] = [each[of] for each in tokens]
            keys.append(self.key(features))
            tokens.append(new)
            before, read = torch.cat(keys, dim=1)[:, :-1], torch.cat(tokens, dim=1)
            if not before.shape[1]:  # the first position has no earlier positions
                return logs
            last = features[:, -1]
            scores = (before @ self.query(last)[..., None])[..., 0] * last.shape[1] ** -0.5
            copied = torch.zeros_like(logs).scatter_add(1, read[:, 1:], scores.softmax(-1))
            share = self.share(last).float()
            return torch.logaddexp(F.logsigmoid(-share) + logs, F.logsigmoid(share) + copied.log())

        return mix
