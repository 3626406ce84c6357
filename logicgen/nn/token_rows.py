"""Embeddings of language models: the row of each token, in each sequence of a batch.

A row is the embedding vector of a token. A model without stable token embeddings uses different
rows for each sequence, for inputs and outputs. The methods:

    method               rows
    learned              one trained row for each token: the standard model
    lexinvariant         all rows random, drawn anew for each sequence
    lexinvariant-names   trained rows ("names") that belong to no token, assigned to the tokens at
                         random for each sequence
    partial-rows         a random row replaces the trained row of each token with probability p
    partial-names        trained rows, permuted among tokens chosen with probability p

Source: Huang et al., "Lexinvariant Language Models" (NeurIPS 2023), except `lexinvariant-names`,
which is `partial-names` with p = 1, also at inference. The network can adapt to a fixed set of
rows, but the assignment of rows to tokens has no information.

With `whole` < 1, `lexinvariant-names` assigns names to all tokens only in this share of the
training sequences. In all other sequences, only a random share of the tokens gets names, and the
other tokens have trained rows of their own. So the network can learn the language from the other
tokens, before it learns to identify all tokens. The methods `partial-rows` and `partial-names`
randomize rows only in training, as dropout does.

Every method may leave out the first `fixed` tokens, such as the operators and markers of formulas.
These tokens always have trained rows of their own. So only symbols are lexinvariant.

One matrix for each sequence takes B times the memory of one matrix. For large vocabularies this is
too much. Then rows are drawn once for the batch, and each sequence assigns them to its tokens by a
random permutation. Within one sequence the distribution is the same, because independent rows in a
random order are independent rows. Across a batch, the same vectors occur at different tokens.

`partial-rows` then also chooses the random tokens once for the batch, and assigns the drawn rows to
these tokens only. Within one sequence the distribution is the same: each token is random with
probability p, independently of other tokens. But the sequences of a batch are not independent: a
token is random in all of them or in no sequence, so the gradient varies more between batches. In
return the matrix has V rows instead of 2 V. The product with this matrix takes most of the time.

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
from logicgen.nn.embedding import Embedding, Interchangeable, Learned, reseeded
from logicgen.tokens import NOTHING

_SCORES_AT_A_TIME = 2**24  # logits to compute at a time; 64 MiB of float32
_ROWS_OF_THEIR_OWN = 2**21  # if separate rows have more numbers in all, sequences share rows


@dataclass(frozen=True)
class Rows:
    """The embedding rows of one forward pass."""

    matrix: Tensor  # (V, width), or (B, V, width) if each sequence has its own rows
    # int64 (B, V), the row number of each token in each sequence, all different. None means that
    # token v has row v
    of: Tensor | None = None

    def some(self, numbers: Tensor) -> Rows:
        """Return the rows of some sequences of the batch.

        numbers: the indices of the sequences, a vector of int64.
        """
        matrix = self.matrix if self.matrix.dim() == 2 else self.matrix[numbers]
        return Rows(matrix, None if self.of is None else self.of[numbers])

    def inputs(self, ids: Tensor) -> Tensor:
        """Return the rows of (B, T) ids, (B, T, width)."""
        places = self.places(ids.clamp(min=0))
        if self.matrix.dim() == 2:
            return F.embedding(places, self.matrix)
        return self.matrix.gather(1, places[..., None].expand(-1, -1, self.matrix.shape[2]))

    def after(self, first: Tensor) -> Rows:
        """Return these rows, with the rows `first` (N, width) of N further tokens before them."""
        count, of = len(first), self.of
        if self.matrix.dim() == 3:
            first = first.expand(len(self.matrix), -1, -1)
        if of is not None:
            own = torch.arange(count, device=of.device).expand(len(of), -1)
            of = torch.cat([own, of + count], dim=1)
        return Rows(torch.cat([first, self.matrix], dim=-2), of)

    def each(self, sequences: int) -> Tensor:
        """Return the rows of the tokens of each sequence, (B, V, width)."""
        if self.of is not None:
            return F.embedding(self.of, self.matrix)
        return self.matrix.expand(sequences, -1, -1)

    def places(self, ids: Tensor) -> Tensor:
        """Return the row numbers of (B, T) ids; `NOTHING` stays `NOTHING`."""
        if self.of is None:
            return ids
        return torch.where(ids < 0, ids, self.of.gather(1, ids.clamp(min=0)))

    def log_probabilities(self, features: Tensor) -> Tensor:
        """Return the log-probabilities of each token, (B, T, V), from features (B, T, width)."""
        by_row = self._scores(features).log_softmax(-1)  # by number of the row, not by token
        if self.of is None:
            return by_row
        return by_row.gather(2, self.of[:, None].expand(-1, by_row.shape[1], -1))

    def chosen(self, features: Tensor, targets: Tensor) -> Tensor:
        """Return the log-probabilities (B, T), in nats, of targets (B, T); 0 at `NOTHING`.

        Logits are computed for some positions at a time, and again in the backward pass. Storing
        all (B, T, V) logits would need by far the most memory.
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
        """Return the logits (B, T, V) of all rows of the matrix, in the order of rows."""
        with torch.autocast(features.device.type, enabled=False):
            return features.float() @ self.matrix.float().transpose(-1, -2)


METHODS = "learned", "lexinvariant", "lexinvariant-names", "partial-rows", "partial-names"


class TokenRows(nn.Module):
    """The embedding of a language model, which makes rows (of norm about 1) for `tokens` tokens.

    share: the probability with which `partial-rows` and `partial-names` choose each token.
    whole: share of the training sequences in which `lexinvariant-names` gives names to all tokens.
        In the other sequences each token gets a name with a probability that is drawn uniformly
        from 0 to 1 for the sequence.
    fixed: number of first tokens that always have trained rows of their own.
    """

    def __init__(
        self,
        method: str,
        tokens: int,
        width: int,
        share: float = 0.0,
        whole: float = 1.0,
        fixed: int = 0,
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
        self.method, self.width, self.fixed = method, width, fixed
        self.tokens = tokens - fixed  # number of tokens with rows that depend on the method
        self.share, self.whole = share, whole
        self.first: Learned | None = None  # the rows of the first `fixed` tokens
        if fixed:
            self.first = Learned(fixed, width, max_symbols=0, normalize_rows=False)
        self.trained: Learned | None = None
        self.own: Learned | None = None  # rows of tokens without a name, in training
        self.drawn: Interchangeable | None = None
        if method != "lexinvariant":
            self.trained = Learned(0, width, max_symbols=self.tokens, normalize_rows=False)
        if method == "lexinvariant-names" and whole < 1:
            self.own = Learned(0, width, max_symbols=self.tokens, normalize_rows=False)
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

    def trained_matrix(self) -> Tensor:
        """Return all trained rows that predictions use, (V, width), fixed tokens first."""
        assert self.trained is not None
        rows = Rows(self.trained.matrix(self.tokens))
        return (rows if self.first is None else rows.after(self.first.fixed)).matrix

    @property
    def random(self) -> bool:
        """Return whether predictions depend on random rows."""
        return self.method in ("lexinvariant", "lexinvariant-names")

    def forward(
        self, sequences: int, generator: torch.Generator | None = None, tokens: int | None = None
    ) -> Rows:
        """Return rows for this number of sequences.

        generator: a CPU generator for random rows; torch's global generator if not given.
        tokens: the number of tokens; as in the constructor if not given. If rows are trained,
            LogicgenError is raised for any other number.
        """
        rows = self._rows(sequences, generator, self._count(tokens))
        return rows if self.first is None else rows.after(self.first.fixed)

    def _count(self, tokens: int | None) -> int:
        """Return the number of tokens without the first `fixed` tokens.

        tokens: the number of all tokens. None means the number given to the constructor.

        Raises LogicgenError if rows are trained and `tokens` differs from the constructor's number.
        """
        count = self.tokens if tokens is None else tokens - self.fixed
        if self.trained is not None and count != self.tokens:
            raise LogicgenError(
                f"rows for {tokens} tokens, but the method {self.method} has trained"
                f" {self.tokens + self.fixed}: only lexinvariant models take any number"
            )
        return count

    def _rows(self, sequences: int, generator: torch.Generator | None, count: int) -> Rows:
        """Return the rows of the `count` tokens after the first `fixed` tokens."""
        if self.trained is None:
            return self._random(sequences, generator, count)
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
        # (sequences, tokens)
        chosen = torch.rand(sequences, self.tokens, generator=generator) < self.share
        return Rows(trained, _shuffled(chosen, generator).to(trained.device, non_blocking=True))

    def seeded(self, seeds: Sequence[int], tokens: int | None = None) -> Rows:
        """Return rows for one sequence per seed. The rows of a sequence depend only on its seed."""
        if not self.random:
            return self.forward(len(seeds), None, tokens)
        generators = [_generator(seed) for seed in seeds]
        if self.drawn is None:
            dealt = [self.forward(1, generator, tokens) for generator in generators]
            return Rows(dealt[0].matrix, torch.cat([cast(Tensor, rows.of) for rows in dealt]))
        count = self._count(tokens)
        drawn = [self.drawn.matrix(count, generator) for generator in generators]
        rows = Rows(torch.stack(drawn))
        return rows if self.first is None else rows.after(self.first.fixed)

    def _random(self, sequences: int, generator: torch.Generator | None, tokens: int) -> Rows:
        assert self.drawn is not None
        if self._own(sequences, tokens):
            return Rows(self.drawn.matrix(tokens, generator, sequences))
        matrix = self.drawn.matrix(tokens, generator)
        dealt = torch.rand(sequences, tokens, generator=generator).argsort(dim=1)
        return Rows(matrix, dealt.to(matrix.device, non_blocking=True))

    def _partial(self, trained: Tensor, sequences: int, generator: torch.Generator | None) -> Rows:
        """Return trained rows (V, width), but random rows for randomly chosen tokens.

        Each token is chosen with probability `share`.
        """
        assert self.drawn is not None
        own, device = self._own(sequences, self.tokens), trained.device
        draws = sequences if own else 1
        chosen = torch.rand(draws, self.tokens, generator=generator) < self.share
        if own:
            random = self.drawn.matrix(self.tokens, generator, sequences)
            chosen = chosen.to(device, non_blocking=True)
            return Rows(torch.where(chosen[..., None], random, trained))
        # Find the numbers of the chosen tokens on the CPU, because a GPU would have to wait.
        numbers = chosen[0].nonzero()[:, 0]
        random = self.drawn.matrix(len(numbers), generator)
        matrix = trained.index_copy(0, numbers.to(device, non_blocking=True), random)
        of = torch.arange(self.tokens).repeat(sequences, 1)
        order = torch.rand(sequences, len(numbers), generator=generator).argsort(dim=1)
        of[:, numbers] = numbers[order]
        return Rows(matrix, of.to(device, non_blocking=True))

    def _own(self, sequences: int, tokens: int) -> bool:
        """Return whether random rows are drawn separately for each sequence of the batch."""
        return sequences * tokens * self.width <= _ROWS_OF_THEIR_OWN


class SequenceRows(Embedding):
    """The rows of `TokenRows` as the embedding of an encoder-decoder.

    method, share, whole: see `TokenRows`.
    symbols: the number of symbols with trained rows, for methods with trained rows.
    random_tokens: "all" to apply the method to all tokens, or "symbols". Then fixed tokens have
        trained rows.
    """

    normalize_rows = False

    def __init__(
        self,
        fixed: int,
        width: int,
        *,
        method: str,
        symbols: int,
        random_tokens: str = "all",
        share: float = 0.0,
        whole: float = 1.0,
    ) -> None:
        super().__init__()
        trained = fixed if random_tokens == "symbols" else 0
        self.rows = TokenRows(method, fixed + symbols, width, share, whole, trained)
        self.vocabulary, self.random = fixed, self.rows.random
        self.max_symbols = None if self.rows.trained is None else symbols

    def symbol_rows(self, draws: int, symbols: int, generator: torch.Generator | None) -> Tensor:
        return self.matrix(symbols, generator, draws)[:, self.vocabulary :]

    def matrix(
        self, symbols: int, generator: torch.Generator | None = None, sequences: int | None = None
    ) -> Tensor:
        """Return the rows of all tokens (see `Embedding.matrix`).

        If `sequences` is None, return rows for inference. Otherwise return rows for training.

        Raises LogicgenError for more symbols than trained rows.
        """
        self.rows.train(sequences is not None)
        draws = 1 if sequences is None else sequences
        if sequences is None:
            generator = reseeded(generator)
        tokens = self.vocabulary + max(symbols, self.max_symbols or 0)
        rows: Tensor = self.rows(draws, generator, tokens).each(draws)[
            :, : self.vocabulary + symbols
        ]
        return rows[0] if sequences is None else rows


def _generator(seed: int) -> torch.Generator:
    """Return a random generator seeded with all bits of `seed`.

    `manual_seed` alone uses only the lowest 32 bits. Small seeds are changed, too: weights are
    drawn with a small seed, and random rows must not repeat the weights.
    """
    high, low = divmod(seed, 1 << 32)
    return torch.Generator().manual_seed(
        low ^ int(np.random.SeedSequence(high).generate_state(1)[0])
    )


def _shuffled(chosen: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return a random permutation of V tokens for each of B sequences: int64 (B, V).

    chosen: bool (B, V). A permutation moves only the chosen tokens.
    """
    number = torch.arange(chosen.shape[1]).expand_as(chosen)
    # Sort the chosen places first, once in order and once in a random order. The permutation maps
    # each place of the first list to the place of equal rank in the second list.
    rank = (~chosen).float()
    order = (rank + number / (2 * chosen.shape[1])).argsort(dim=1)
    mixed = (rank + torch.rand(chosen.shape, generator=generator) / 2).argsort(dim=1)
    return torch.where(chosen, torch.empty_like(order).scatter_(1, order, mixed), number)
