"""A continuous cache: what followed where the features were alike, as a prediction.

A lexinvariant model writes what it predicts as a mixture of the rows of tokens, so that scores are
proportional to shares: it can say that one token is likely, not that two are, at 3 to 1, and the
others are not. The cache says just that. Place t attends to the places i before it by their
features, and the weight of place i is a probability of the token that stood behind it:

    p(w) = (1 - g) softmax(features . rows)(w) + g sum over i < t of a(t, i) [x(i + 1) = w]

with a learned share g. It has no parameter that knows a token. Source: Grave, Joulin, Usunier,
Improving Neural Language Models with a Continuous Cache (ICLR 2017); here query, key and share are
trained with the model.

Shapes: B sequences, T tokens, V tokens in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.tokens import NOTHING


class Cache(nn.Module):
    """Attention to features, whose values are the tokens that followed."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.share = nn.Linear(width, 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of (B, T, width): a (B, T, T), and logarithms of g and of 1 - g, each (B, T).

        The first place has nothing before it: its weights are 0, and so is its share.
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
        """Log-probabilities of (B, T) targets in the mixture.

        chosen: those of the rows alone. next_: (B, T), the token behind each place.
        """
        weights, share, rest = self(features)
        same = next_[:, None, :] == targets[..., None]  # (B, T, T)
        copied = (weights * same).sum(-1).clamp(min=1e-30).log()
        mixed = torch.logaddexp(rest + chosen, share.clamp(min=-1e9) + copied)
        return mixed.masked_fill(targets == NOTHING, 0.0)

    def log_probabilities(self, logs: Tensor, features: Tensor, next_: Tensor) -> Tensor:
        """Of all tokens, (B, T, V), in the mixture; logs: those of the rows alone."""
        weights, share, rest = self(features)
        follows = F.one_hot(next_.clamp(min=0), logs.shape[2]).to(weights)
        follows = follows.masked_fill((next_ == NOTHING)[..., None], 0.0)
        copied = weights @ follows  # (B, T, V)
        return torch.logaddexp(rest[..., None] + logs, share[..., None] + copied.log())

    def reader(self) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        """Return a function that mixes the predictions of texts that are read bit by bit.

        It takes the log-probabilities by the rows alone behind the last token, (B, V), and the
        features (B, T, width) and ids (B, T) of the tokens that are new, and returns the mixture.
        """
        keys: list[Tensor] = []
        tokens: list[Tensor] = []

        def mix(logs: Tensor, features: Tensor, new: Tensor) -> Tensor:
            keys.append(self.key(features))
            tokens.append(new)
            before, read = torch.cat(keys, dim=1)[:, :-1], torch.cat(tokens, dim=1)
            if not before.shape[1]:  # the first place has nothing before it
                return logs
            last = features[:, -1]
            scores = (before @ self.query(last)[..., None])[..., 0] * last.shape[1] ** -0.5
            copied = torch.zeros_like(logs).scatter_add(1, read[:, 1:], scores.softmax(-1))
            share = self.share(last).float()
            return torch.logaddexp(F.logsigmoid(-share) + logs, F.logsigmoid(share) + copied.log())

        return mix
