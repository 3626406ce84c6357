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

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.model.language_model import LanguageModel
from logicgen.model.network_tables import NGramTable
from logicgen.model.sequences import TokenBatch
from logicgen.nn.generation import Reader
from logicgen.tokens import NOTHING

# Numbers in the largest table of counts: half a gigabyte. A number is below 2^31.
MOST = 2**27


class NGram(nn.Module):
    """Counts of up to `order` tokens, V different ones."""

    counts_1: Tensor

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
        """Count the n-grams of (B, T) tokens, ended by `NOTHING`."""
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
        """Return (N, n) tokens as the digits of a number."""
        number = grams.new_zeros(len(grams))
        for column in grams.T:
            number = number * self.tokens + column
        return number

    @torch.no_grad()
    def log_probabilities(self, tokens: Tensor) -> Tensor:
        """Return those of the token after each of (B, T), in nats: (B, T, V)."""
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

    def reader(self, sequences: int) -> Reader:
        """Return a function that reads so many texts bit by bit; it keeps n - 1 tokens of each."""
        known = torch.zeros(sequences, 0, dtype=torch.int64, device=self.counts_1.device)

        def read_on(tokens: Tensor, of: Tensor | None = None) -> Tensor:
            nonlocal known
            known = known if of is None else known[of]
            known = torch.cat([known, tokens], dim=1)[:, -max(1, self.order - 1) :]
            return self.log_probabilities(known)[:, -1]

        return read_on


class NGramModel(LanguageModel):
    """Smoothed counts of the training sequences, which are learnt at once."""

    noun = "an n-gram"
    network: NGram

    def _network(self) -> NGram:
        table: NGramTable = self.recipe.network  # type: ignore[assignment]
        return NGram(table.order, len(self.tokens))

    def learn_once(self, pieces: Iterable[np.ndarray]) -> None:
        for tokens in pieces:
            self.network.count(torch.from_numpy(tokens))

    def sequence_loss(self, batch: TokenBatch, generator: torch.Generator) -> Tensor:
        raise TypeError("n-grams are counted, not trained in steps")

    def log_probabilities(
        self, tokens: Tensor, seeds: Sequence[int] | None = None, count: int | None = None
    ) -> Tensor:
        self.check(count or len(self.tokens))
        return self.network.log_probabilities(tokens.to(self.device))

    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader:
        self.check(count or len(self.tokens))
        return self.network.reader(len(seeds))
