"""A continuous cache: predicts the tokens that followed earlier positions with similar features.

A lexinvariant model can only give logits proportional to how much of each token's row is in its
features: it can say that one token is likely, but not that two are likely, at 3 to 1, and all
others are not. The cache can. Position t attends to the earlier positions i by their features, and
the attention weight of position i becomes probability of the token that followed it:

    p(w) = (1 - g) softmax(features . rows)(w) + g sum over i < t of a(t, i) [x(i + 1) = w]

with a learned share g. No parameter belongs to a token. Source: Grave, Joulin, Usunier, Improving
Neural Language Models with a Continuous Cache (ICLR 2017); here all three are trained too.

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
    """Attention over earlier features whose values are the tokens that followed them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.share = nn.Linear(width, 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return a (B, T, T), log g (B, T) and log (1 - g) (B, T) for features (B, T, width).

        The first position has nothing before it: its attention weights and its share are 0.
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
        """Return the log-probabilities of (B, T) targets in the mixture.

        chosen: (B, T), those without the cache. next_: (B, T), the token after each position.
        """
        weights, share, rest = self(features)
        same = next_[:, None, :] == targets[..., None]  # (B, T, T)
        copied = (weights * same).sum(-1).clamp(min=1e-30).log()
        mixed = torch.logaddexp(rest + chosen, share.clamp(min=-1e9) + copied)
        return mixed.masked_fill(targets == NOTHING, 0.0)

    def log_probabilities(self, logs: Tensor, features: Tensor, next_: Tensor) -> Tensor:
        """Return the mixture's log-probabilities (B, T, V) from those without the cache, `logs`."""
        weights, share, rest = self(features)
        follows = F.one_hot(next_.clamp(min=0), logs.shape[2]).to(weights)
        follows = follows.masked_fill((next_ == NOTHING)[..., None], 0.0)
        copied = weights @ follows  # (B, T, V)
        return torch.logaddexp(rest[..., None] + logs, share[..., None] + copied.log())

    def reader(self) -> Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]:
        """Return a function that mixes the predictions of texts that are read bit by bit.

        It takes (B, V) log-probabilities without the cache, the features (B, T, width) and ids
        (B, T) of the new tokens, and the texts (B,) that they go on from, as `generation.Reader`.
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
            if not before.shape[1]:  # the first place has nothing before it
                return logs
            last = features[:, -1]
            scores = (before @ self.query(last)[..., None])[..., 0] * last.shape[1] ** -0.5
            copied = torch.zeros_like(logs).scatter_add(1, read[:, 1:], scores.softmax(-1))
            share = self.share(last).float()
            return torch.logaddexp(F.logsigmoid(-share) + logs, F.logsigmoid(share) + copied.log())

        return mix
