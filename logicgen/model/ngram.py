"""n-grams as a language model beside the others, smoothed after Witten and Bell.

What follows a context h of n - 1 tokens is counted, and trusted as far as few different things
followed it:

    p(w | h) = (c(h w) + d(h) p(w | h without its first token)) / (c(h) + d(h))

with d(h) the number of different tokens after h, and the uniform distribution behind the empty
context. (`automata/ngram_automaton.py` has n-grams with additive smoothing, which are
automata.) Source: Witten, Bell, The Zero-Frequency Problem (1991); in this recursive form Chen,
Goodman, An Empirical Study of Smoothing Techniques for Language Modeling (1998).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.tokens import NOTHING

# Numbers in the largest table of counts: half a gigabyte. A number is below 2^31.
MOST = 2**27


class NGram(nn.Module):
    """Counts of up to `order` tokens, V different ones."""

    def __init__(self, order: int, tokens: int) -> None:
        super().__init__()
        if tokens**order > MOST:
            fits = max(n for n in range(1, order) if tokens**n <= MOST)
            raise LogicgenError(
                f"network.order: {tokens:,} tokens have too many {order}-grams to count in a table:"
                f" lower it to {fits}"
            )
        self.order, self.tokens = order, tokens
        for n in range(1, order + 1):
            counts = torch.zeros(tokens ** (n - 1), tokens, dtype=torch.int32)
            self.register_buffer(f"counts_{n}", counts)

    def count(self, tokens: Tensor) -> None:
        """Add what stands in (B, T) tokens, ended by `NOTHING`."""
        for n in range(1, self.order + 1):
            if tokens.shape[1] < n:
                break
            grams = tokens.unfold(1, n, 1).reshape(-1, n)
            grams = grams[(grams != NOTHING).all(dim=1)]
            place = self._number(grams)
            table = self.get_buffer(f"counts_{n}")
            table.view(-1).index_add_(
                0, place, torch.ones(len(place), dtype=torch.int32, device=place.device)
            )

    def _number(self, grams: Tensor) -> Tensor:
        """(N, n) tokens as the digits of a number."""
        number = grams.new_zeros(len(grams))
        for column in grams.T:
            number = number * self.tokens + column
        return number

    @torch.no_grad()
    def log_probabilities(self, tokens: Tensor) -> Tensor:
        """Of the token after each of (B, T), in nats: (B, T, V)."""
        batch, length = tokens.shape
        known = tokens.clamp(min=0)
        shape = batch, length, self.tokens
        found = torch.full(shape, 1 / self.tokens, device=tokens.device)
        for n in range(1, self.order + 1):
            if length < n - 1:
                break
            table = self.get_buffer(f"counts_{n}")
            if n == 1:
                counts = table.expand(batch, length, -1)
            else:
                contexts = known.unfold(1, n - 1, 1)  # (B, T - n + 2, n - 1)
                number = self._number(contexts.reshape(-1, n - 1))
                counts = table[number].view(batch, -1, self.tokens)
            lower = found[:, max(0, n - 2) :]
            different = (counts > 0).sum(-1, keepdim=True)
            total = counts.sum(-1, keepdim=True) + different
            mixed = (counts + different * lower) / total.clamp(min=1)
            found[:, max(0, n - 2) :] = torch.where(total > 0, mixed, lower)
        return found.log()
