"""Embeddings of language models: the row of each token, in each sequence of a batch.

A model without stable token embeddings uses, for inputs and outputs, rows that each sequence has
for itself. The methods:

    method               rows
    learned              one trained row for each token: the standard model
    lexinvariant         all random, drawn anew for each sequence
    lexinvariant-names   trained rows that belong to no token, dealt out among the tokens anew for
                         each sequence; with `whole` < 1, in training, to all tokens in so many
                         sequences, in the others to a random share of them
    partial-rows         a random row instead of the trained one, for each token with probability p
    partial-names        trained rows, permuted among some tokens, each chosen with probability p

Source: Huang et al., "Lexinvariant Language Models" (NeurIPS 2023), but for `lexinvariant-names`,
which is `partial-names` carried to its end: its rows are a fixed set, to which the network can fit,
and which row is whose says nothing. What some tokens stand for is found sooner where the others are
known: with `whole` < 1 a token without a name keeps, in training, a row of its own, so the network
learns the language, and to find few tokens, before it finds all. A partial method randomises in
training only, as dropout does.

One matrix for each sequence takes B times the memory of one matrix. For large vocabularies, where
that is too much, rows are drawn once for the batch and assigned to the tokens of each sequence by a
random permutation. Within one sequence the distribution is the same: independent rows in a random
order are independent rows. Across a batch the same vectors occur, at different tokens.

`partial-rows` then chooses the random tokens once for the batch, too, and assigns the drawn rows to
these alone. Within one sequence each token is still random with probability p, independently of the
others, and random rows are independent. What is lost is that sequences of a batch are independent:
a token that is random in one is so in all, and the gradient varies more between batches. What is
gained is a matrix of V rows, not of V trained and V drawn ones: it is the product with this matrix
that takes the time.

Shapes: B sequences, T tokens in each, V tokens in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from logicgen.errors import LogicgenError
from logicgen.nn.embedding import Interchangeable, Learned
from logicgen.tokens import NOTHING

_SCORES_AT_A_TIME = 2**24  # 64 MiB of float32
_ROWS_OF_THEIR_OWN = 2**21  # numbers in the rows of all sequences; drawing more takes long


@dataclass(frozen=True)
class Rows:
    """The embedding rows of one forward pass."""

    matrix: Tensor  # (V, width), or (B, V, width) if each sequence has its own rows
    # int64 (B, V), the row of each token in each sequence, all different; None: row v of token v
    of: Tensor | None = None

    def some(self, numbers: Tensor) -> Rows:
        """Return the rows of some sequences; numbers: int64 (N,)."""
        matrix = self.matrix if self.matrix.dim() == 2 else self.matrix[numbers]
        return Rows(matrix, None if self.of is None else self.of[numbers])

    def inputs(self, ids: Tensor) -> Tensor:
        """Return the rows of (B, T) ids, (B, T, width)."""
        places = self.places(ids.clamp(min=0))
        if self.matrix.dim() == 2:
            return F.embedding(places, self.matrix)
        return self.matrix.gather(1, places[..., None].expand(-1, -1, self.matrix.shape[2]))

    def places(self, ids: Tensor) -> Tensor:
        """Return the row numbers of (B, T) ids; `NOTHING` stays."""
        if self.of is None:
            return ids
        return torch.where(ids < 0, ids, self.of.gather(1, ids.clamp(min=0)))

    def log_probabilities(self, features: Tensor) -> Tensor:
        """Return the log-probabilities of each token, (B, T, V), from features (B, T, width)."""
        by_row = self._scores(features).log_softmax(-1)  # the same whatever tokens are called
        if self.of is None:
            return by_row
        return by_row.gather(2, self.of[:, None].expand(-1, by_row.shape[1], -1))

    def chosen(self, features: Tensor, targets: Tensor) -> Tensor:
        """Return the log-probabilities (B, T), in nats, of targets (B, T); 0 at `NOTHING`.

        Logits are computed for some positions at a time, and again in the backward pass: all (B, T,
        V) at once would need by far the most memory.
        """
        at_a_time = max(1, _SCORES_AT_A_TIME // (len(features) * self.matrix.shape[-2]))

        def part(features: Tensor, targets: Tensor) -> Tensor:
            scores = self._scores(features).flatten(0, 1)
            places = self.places(targets).flatten()
            lost = F.cross_entropy(scores, places, ignore_index=NOTHING, reduction="none")
            return -lost.view(targets.shape)

        split = torch.split(features, at_a_time, 1), torch.split(targets, at_a_time, 1)
        parts = list(zip(*split, strict=True))
        if len(parts) == 1:
            return part(*parts[0])
        return torch.cat([checkpoint(part, *each, use_reentrant=False) for each in parts], dim=1)

    def loss(self, features: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy in nats of (B, T) targets, `NOTHING` ignored."""
        return -self.chosen(features, targets).sum() / (targets != NOTHING).sum().clamp(min=1)

    def _scores(self, features: Tensor) -> Tensor:
        """Return the logits (B, T, V), by row."""
        with torch.autocast(features.device.type, enabled=False):
            return features.float() @ self.matrix.float().transpose(-1, -2)


METHODS = "learned", "lexinvariant", "lexinvariant-names", "partial-rows", "partial-names"


class TokenRows(nn.Module):
    """A maker of rows (of norm 1) for `tokens` tokens.

    share: probability p of partial methods. whole: share of the training sequences in which
    `lexinvariant-names` gives all tokens names; in others each gets one with a probability that is
    drawn for the sequence, evenly from 0 to 1.
    """

    def __init__(
        self, method: str, tokens: int, width: int, share: float = 0.0, whole: float = 1.0
    ) -> None:
        super().__init__()
        if method not in METHODS:
            raise LogicgenError(
                f"no embedding method is called {method!r}: use {', '.join(METHODS[:-1])} or"
                f" {METHODS[-1]}"
            )
        if not 0 <= share <= 1:
            raise LogicgenError(f"share {share} of the tokens: has to be from 0 to 1")
        if not 0 <= whole <= 1:
            raise LogicgenError(f"whole {whole} of the sequences: has to be from 0 to 1")
        self.method, self.tokens, self.width = method, tokens, width
        self.share, self.whole = share, whole
        self.trained: Learned | None = None
        self.own: Learned | None = None  # of tokens that have no name, in training
        self.drawn: Interchangeable | None = None
        if method != "lexinvariant":
            self.trained = Learned(0, width, max_symbols=tokens, normalize_rows=False)
        if method == "lexinvariant-names" and whole < 1:
            self.own = Learned(0, width, max_symbols=tokens, normalize_rows=False)
        if method in ("lexinvariant", "partial-rows"):
            # The interchangeable embedding without a shared part: every column is random.
            self.drawn = Interchangeable(
                0,
                width,
                random_part="normal",
                random_width=width,
                normalize_parts=False,
                normalize_rows=False,
            )

    @property
    def random(self) -> bool:
        """Return whether predictions depend on what is drawn."""
        return self.method in ("lexinvariant", "lexinvariant-names")

    def forward(
        self, sequences: int, generator: torch.Generator | None = None, tokens: int | None = None
    ) -> Rows:
        """Return rows for so many sequences, drawn from a CPU generator (None: torch's global one).

        tokens: V if not given. Raises LogicgenError for another number if rows are trained.
        """
        if self.trained is None:
            return self._random(sequences, generator, tokens or self.tokens)
        if tokens is not None and tokens != self.tokens:
            raise LogicgenError(
                f"rows for {tokens} tokens, but the method {self.method} has trained"
                f" {self.tokens}: only lexinvariant models take any number"
            )
        trained = self.trained.matrix(self.tokens)
        if self.method == "lexinvariant-names":
            dealt = torch.rand(sequences, self.tokens, generator=generator).argsort(dim=1)
            if not self.training or self.own is None:
                return Rows(trained, dealt.to(trained.device, non_blocking=True))
            drawn = torch.rand(sequences, 1, generator=generator) / (1 - self.whole)
            named = torch.rand(sequences, self.tokens, generator=generator) < drawn
            of = torch.where(named, dealt, torch.arange(self.tokens, 2 * self.tokens))
            both = torch.cat([trained, self.own.matrix(self.tokens)])  # (2V, width)
            return Rows(F.embedding(of.to(trained.device, non_blocking=True), both))
        if not self.training or self.method == "learned" or self.share == 0:
            return Rows(trained)
        if self.method == "partial-rows":
            return self._partial(trained, sequences, generator)
        chosen = torch.rand(sequences, self.tokens, generator=generator) < self.share  # (B, V)
        return Rows(trained, _shuffled(chosen, generator).to(trained.device, non_blocking=True))

    def seeded(self, seeds: Sequence[int], tokens: int | None = None) -> Rows:
        """Return rows for one sequence per seed, independent of the other sequences."""
        if not self.random:
            return self.forward(len(seeds), None, tokens)
        generators = [_generator(seed) for seed in seeds]
        if self.drawn is None:
            dealt = [self.forward(1, generator, tokens) for generator in generators]
            return Rows(dealt[0].matrix, torch.cat([cast(Tensor, rows.of) for rows in dealt]))
        count = tokens or self.tokens
        return Rows(torch.stack([self.drawn.matrix(count, generator) for generator in generators]))

    def _random(self, sequences: int, generator: torch.Generator | None, tokens: int) -> Rows:
        assert self.drawn is not None
        if self._own(sequences, tokens):
            return Rows(self.drawn.matrix(tokens, generator, sequences))
        matrix = self.drawn.matrix(tokens, generator)
        dealt = torch.rand(sequences, tokens, generator=generator).argsort(dim=1)
        return Rows(matrix, dealt.to(matrix.device, non_blocking=True))

    def _partial(self, trained: Tensor, sequences: int, generator: torch.Generator | None) -> Rows:
        """Return trained rows, (V, width), of which some are replaced by random ones."""
        assert self.drawn is not None
        own, device = self._own(sequences, self.tokens), trained.device
        draws = sequences if own else 1
        chosen = torch.rand(draws, self.tokens, generator=generator) < self.share
        if own:
            random = self.drawn.matrix(self.tokens, generator, sequences)
            chosen = chosen.to(device, non_blocking=True)
            return Rows(torch.where(chosen[..., None], random, trained))
        # Numbers of the chosen tokens are found before they are moved: a GPU would have to wait.
        numbers = chosen[0].nonzero()[:, 0]
        random = self.drawn.matrix(len(numbers), generator)
        matrix = trained.index_copy(0, numbers.to(device, non_blocking=True), random)
        of = torch.arange(self.tokens).repeat(sequences, 1)
        order = torch.rand(sequences, len(numbers), generator=generator).argsort(dim=1)
        of[:, numbers] = numbers[order]
        return Rows(matrix, of.to(device, non_blocking=True))

    def _own(self, sequences: int, tokens: int) -> bool:
        """Return whether so many sequences have rows of their own."""
        return sequences * tokens * self.width <= _ROWS_OF_THEIR_OWN


def _generator(seed: int) -> torch.Generator:
    """Return a generator seeded by all bits of `seed`; torch's uses only the lowest 32."""
    high, low = divmod(seed, 1 << 32)
    if high:
        low ^= int(np.random.SeedSequence(high).generate_state(1)[0])
    return torch.Generator().manual_seed(low)


def _shuffled(chosen: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return, for each line of (B, V), a permutation that shuffles only the chosen places."""
    number = torch.arange(chosen.shape[1]).expand_as(chosen)
    # Chosen places first, in order and in random order: those of the same rank belong together.
    rank = (~chosen).float()
    order = (rank + number / (2 * chosen.shape[1])).argsort(dim=1)
    mixed = (rank + torch.rand(chosen.shape, generator=generator) / 2).argsort(dim=1)
    return torch.where(chosen, torch.empty_like(order).scatter_(1, order, mixed), number)
