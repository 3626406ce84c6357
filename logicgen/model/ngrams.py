"""n-gram models: counts of training sequences (`NGram`), or of the text that is read (`TextNGram`).

`NGram` counts the tokens w after each context h of n - 1 tokens in the training sequences, and
smooths the counts after Witten and Bell:

    p(w | h) = (c(h w) + d(h) p(w | h without its first token)) / (c(h) + d(h))

Here c(h w) is the number of times that w followed h, c(h) is the sum of c(h w) over all tokens w,
and d(h) is the number of different tokens after h. For the empty context h, p(w | h without its
first token) is the uniform distribution. (`automata/ngram_automaton.py` has n-grams with additive
smoothing, which are automata.)
Source: Witten, Bell, The Zero-Frequency Problem (1991); in this recursive form Chen, Goodman, An
Empirical Study of Smoothing Techniques for Language Modeling (1998).

`TextNGram` counts only the text that it reads; it knows no language. It is the baseline for
lexinvariant models, which know equally little about their tokens. A lexinvariant model uses more
than repetition only if it is better than this baseline. `TextNGram` counts the tokens after each
context h of n - 1 tokens in the text read so far, and smooths the counts in one of two ways:

- `fitted` mixes the counts with the probabilities after the shorter context:

      p(w | h) = (max(c(h w) - a, 0) + (b + a d(h)) p(w | h without its first token)) / (c(h) + b)

  For each n, the numbers a and b fit the training texts best. For the empty context h, p(w | h
  without its first token) is the uniform distribution. Source: Chen, Goodman, An Empirical Study of
  Smoothing Techniques for Language Modeling (1998); Teh, A Hierarchical Bayesian Language Model
  Based on Pitman-Yor Processes (2006);
- `ppm` is PPM, method D, with exclusion. It visits the contexts h of n - 1, n - 2, ..., 0 tokens in
  turn, and skips contexts that have not occurred before. A token w that followed h gets the share
  (2 c(h w) - 1) / (2 c(h)) of the probability that earlier contexts have left over. These counts
  exclude tokens that followed a context visited earlier. After the last context, which is empty,
  the probability left over is divided equally between the tokens that have not occurred. Source:
  Howard, Vitter, Practical Implementations of Arithmetic Coding (1992).

With both ways of smoothing, `TextNGram` is lexinvariant: if the tokens of a text are renamed, its
predictions are the same up to this renaming.

Shapes: B texts, T tokens of a text, V different tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.model.language_model import LanguageModel
from logicgen.model.sequence_tables import NGramTable, TextNGramTable
from logicgen.nn.generation import Reader, reading_again
from logicgen.tokens import NOTHING

# The largest number of elements of a table of counts. With int32 this is half a gigabyte.
MOST = 2**27


class NGram(nn.Module):
    """Counts of n-grams of up to `order` tokens, for a vocabulary of V tokens."""

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
        """Count the n-grams in B sequences of T tokens, (B, T), padded with `NOTHING`."""
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
        """Number N n-grams, (N, n) to (N,). The tokens of an n-gram are the digits, in base V."""
        number = grams.new_zeros(len(grams))
        for column in grams.T:
            number = number * self.tokens + column
        return number

    @torch.no_grad()
    def log_probabilities(self, tokens: Tensor) -> Tensor:
        """Return the log-probabilities of the token after each of (B, T) tokens, (B, T, V)."""
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
                contexts = known.unfold(1, n - 1, 1)  # (texts, contexts, n - 1 tokens)
                number = self._number(contexts.reshape(-1, n - 1))
                counts = table[number].view(batch, -1, self.tokens)
            lower = found[:, max(0, n - 2) :]
            different = (counts > 0).sum(-1, keepdim=True)
            total = counts.sum(-1, keepdim=True) + different
            mixed = (counts + different * lower) / total.clamp(min=1)
            found[:, max(0, n - 2) :] = torch.where(total > 0, mixed, lower)
        return found.log()

    def reader(self, sequences: int) -> Reader:
        """Return a function that reads texts in parts, and stores the last tokens of each text."""
        known = torch.zeros(sequences, 0, dtype=torch.int64, device=self.counts_1.device)

        def read_on(tokens: Tensor, of: Tensor | None = None) -> Tensor:
            nonlocal known
            known = known if of is None else known[of]
            known = torch.cat([known, tokens], dim=1)[:, -max(1, self.order - 1) :]
            return self.log_probabilities(known)[:, -1]

        return read_on


class NGramModel(LanguageModel):
    """A language model of smoothed n-gram counts, which counts all training sequences once."""

    noun = "an n-gram"
    network: NGram

    def _network(self) -> NGram:
        table: NGramTable = self.recipe.network  # type: ignore[assignment]
        return NGram(table.order, len(self.tokens))

    def learn_once(self, pieces: Iterable[np.ndarray]) -> None:
        for tokens in pieces:
            self.network.count(torch.from_numpy(tokens))

    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader:
        self.check(count or len(self.tokens))
        return self.network.reader(len(seeds))


# Limits on the tokens to which the smoothing is fitted: in all texts, and in each text.
FITTED_ON, EACH = 2**16, 512
# The largest number of elements of an array (texts, places, places).
AT_A_TIME = 2**24
FIT_STEPS = 400
FIT_RATE = 0.1


class TextNGram(nn.Module):
    """Counts of n-grams of up to `order` tokens in the text that the model reads.

    Only the smoothing is learned.
    """

    strength: Tensor
    discount: Tensor

    def __init__(self, order: int, smoothing: str) -> None:
        super().__init__()
        self.order, self.smoothing = order, smoothing
        # The numbers b and a of the module's formula, for n-grams of 1, 2, ... tokens
        self.register_buffer("strength", torch.ones(order))
        self.register_buffer("discount", torch.zeros(order))

    def learn(self, batches: Iterable[Tensor], tokens: int) -> None:
        """Fit the numbers a and b of `fitted` smoothing to the first texts of the batches (B, T).

        tokens: V, the number of different tokens.
        """
        if self.smoothing != "fitted":
            return
        seen: list[Tensor] = []
        for texts in batches:
            for some in torch.split(texts[:, :EACH], max(1, AT_A_TIME // EACH**2)):
                if sum(each.shape[-1] for each in seen) < FITTED_ON:
                    there = some[:, 1:] != NOTHING
                    counts = torch.stack([torch.stack(each) for each in self._of_targets(some)])
                    seen.append(counts[..., 1:][..., there])
        # (order, 3, predicted tokens): for each n, the counts c(h w), c(h) and d(h) of each token w
        counts = torch.cat(seen, dim=-1).double()
        raw = torch.zeros(2, self.order, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([raw], FIT_RATE)
        with torch.enable_grad():
            for _ in range(FIT_STEPS):
                chance = _mixed(counts, raw[0].exp(), raw[1].sigmoid(), tokens)
                optimizer.zero_grad()
                torch.autograd.backward(-chance.log().mean())
                optimizer.step()
        self.strength.copy_(raw[0].detach().exp())
        self.discount.copy_(raw[1].detach().sigmoid())

    @torch.no_grad()
    def chosen(self, texts: Tensor, tokens: int) -> Tensor:
        """Return the log-probability in nats of each token except the first, (B, T - 1).

        This is faster than `log_probabilities`, which computes all V tokens. Values after the end
        of a text have no meaning.
        """
        if self.smoothing == "ppm":
            return self._chosen_by_escapes(texts, tokens)[:, 1:].log()
        counts = (torch.stack(each).double() for each in self._of_targets(texts))
        return _mixed(counts, self.strength.double(), self.discount.double(), tokens)[:, 1:].log()

    def _places(self, texts: Tensor) -> Iterator[Tensor]:
        """Yield for n = 1, 2, ... whether two places of a text follow the same n - 1 tokens.

        texts: (B, T), B texts of T places.

        Each result is bool (B, T, T). Entry [b, p, j] is about places p and j of text b. It is True
        if j is before p and the n - 1 tokens before j are equal to the n - 1 tokens before p.
        """
        length = texts.shape[1]
        before = torch.ones(length, length, dtype=torch.bool, device=texts.device).tril(-1)
        same = before & (texts != NOTHING)[:, None, :]
        alike = _alike(texts)
        for back in range(self.order):
            if back:  # compare one more token; places without this token do not match
                kept = max(0, length - back)
                gone = length - kept
                same = same & F.pad(alike[:, :kept, :kept], (gone, 0, gone, 0))
            yield same

    def _of_targets(self, texts: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield for n = 1, 2, ... the counts c(h w), c(h) and d(h) at each place, (B, T) each.

        Here w is the token at the place, and h the n - 1 tokens before it. Only the text before the
        place is counted.
        """
        alike = _alike(texts)
        for same in self._places(texts):
            own = _count(same & alike)
            # Count different tokens by their first occurrences in this context.
            different = _count(same & (own == 0)[:, None, :])
            yield own, _count(same), different

    def _chosen_by_escapes(self, texts: Tensor, tokens: int) -> Tensor:
        """Return the PPM probability of the token at each place of the texts, (B, T)."""
        alike = _alike(texts)
        found = torch.zeros(texts.shape, dtype=torch.float64, device=texts.device)
        left = torch.ones_like(found)
        # The loop visits the contexts of each place p, longest first. `gone[b, p, j]` is True if
        # the token at an earlier place j followed a context of p that has been visited.
        # `own_gone[b, p]` is the same for the token at p.
        gone, own_gone = torch.zeros_like(alike), torch.zeros_like(texts, dtype=torch.bool)
        for same in reversed(list(self._places(texts))):
            own = _count(same & alike)
            here = same & ~gone
            total = _count(here)
            share = (2 * own - 1) / (2 * total).clamp(min=1)
            found += torch.where((own > 0) & ~own_gone, left * share, 0.0)
            different = _count(here & (own == 0)[:, None, :])
            left = torch.where(total > 0, left * different / (2 * total).clamp(min=1), left)
            gone = gone | _occurring(here, texts, alike, tokens)
            own_gone = own_gone | (own > 0)
        # The last context is empty: every earlier token of the text has followed it.
        new = tokens - _count(same & (own == 0)[:, None, :])
        found += torch.where(own_gone, 0.0, left / new.clamp(min=1))
        return torch.where(new > 0, found, found / (1 - left))

    def _counts(self, texts: Tensor, tokens: int) -> Iterator[Tensor]:
        """Yield for n = 1, 2, ... how often each token has followed the last n - 1 tokens.

        texts: (B, T), B texts of T places. tokens: V, the number of different tokens.

        Each result is float (B, T, V). For each place, it counts the text up to and including it.
        """
        once = F.one_hot(texts.clamp(min=0), tokens).float() * (texts != NOTHING)[..., None]
        yield once.cumsum(1)
        following = F.pad(once[:, 1:], (0, 0, 0, 1))  # the token after each place
        length = texts.shape[1]
        alike = _alike(texts)
        same = alike & torch.ones(length, length, device=texts.device).tril(-1).bool()
        for shift in range(1, self.order):
            yield same.float() @ following
            # Compare one more token of both contexts; places without this token do not match.
            kept = max(0, length - shift)
            back = alike[:, :kept, :kept]
            same = same & F.pad(back, (length - kept, 0, length - kept, 0))

    @torch.no_grad()
    def log_probabilities(self, texts: Tensor, tokens: int) -> Tensor:
        """Return the log-probabilities of the token after each of (B, T) tokens, (B, T, V)."""
        counts = self._counts(texts, tokens)
        if self.smoothing == "ppm":
            return _by_escapes(list(counts)).log()
        of_all = (
            (each, each.sum(-1, keepdim=True), (each > 0).sum(-1, keepdim=True)) for each in counts
        )
        return _mixed(of_all, self.strength, self.discount, tokens).log()


def _alike(texts: Tensor) -> Tensor:
    """Compare all pairs of places of (B, T) texts: bool (B, T, T), True for equal tokens."""
    return texts[:, :, None] == texts[:, None, :]


def _count(places: Tensor) -> Tensor:
    """Count the true values along the last axis, four times as fast as a sum of bool."""
    return places.view(torch.uint8).sum(-1, dtype=torch.int32)


def _occurring(places: Tensor, texts: Tensor, alike: Tensor, tokens: int) -> Tensor:
    """Find the tokens that occur at marked places: bool (B, T, T).

    places: bool (B, T, T). `places[b, p]` marks some places of text b, a different set for each p.

    Entry [b, p, j] of the result is True if the token at place j occurs at a marked place.
    """
    if tokens > texts.shape[1]:
        return (places.float() @ alike.float()) > 0
    ids = texts.clamp(min=0)
    occurs = (places.float() @ F.one_hot(ids, tokens).float()) > 0  # (texts, places, tokens)
    return occurs.gather(2, ids[:, None, :].expand(-1, texts.shape[1], -1))


def _mixed(
    counts: Iterable[Iterable[Tensor]], strength: Tensor, discount: Tensor, tokens: int
) -> Tensor:
    """Return the probabilities of `fitted` smoothing, from c(h w), c(h) and d(h) for each n."""
    chance = torch.full_like(strength[0], 1 / tokens)
    for (own, followed, different), a, b in zip(counts, discount, strength, strict=True):
        chance = ((own - a).clamp(min=0) + (b + a * different) * chance) / (followed + b)
    return chance


def _by_escapes(counts: list[Tensor]) -> Tensor:
    """Return PPM probabilities, (B, T, V), from counts in contexts of 0, 1, ... tokens."""
    found = torch.zeros_like(counts[0])
    left = torch.ones_like(found[..., :1])
    new = torch.ones_like(found)  # 1 for a token that followed no visited context
    for each in reversed(counts):
        here = each * new
        total = here.sum(-1, keepdim=True)
        seen = here > 0
        share = torch.where(seen, (2 * here - 1) / (2 * total).clamp(min=1), 0.0)
        found += left * share
        escaped = seen.sum(-1, keepdim=True) / (2 * total).clamp(min=1)
        left = torch.where(total > 0, left * escaped, left)
        new = new * ~seen
    rest = new.sum(-1, keepdim=True)
    found += torch.where(rest > 0, left * new / rest.clamp(min=1), 0.0)
    return found / found.sum(-1, keepdim=True)  # the sum is below 1 if all tokens occurred


class TextNGramModel(LanguageModel):
    """A language model that counts the text that it reads. Training fits only the smoothing."""

    noun = "an n-gram"
    network: TextNGram

    def _network(self) -> TextNGram:
        table: TextNGramTable = self.recipe.network  # type: ignore[assignment]
        return TextNGram(table.order, table.smoothing)

    def learn_once(self, pieces: Iterable[np.ndarray]) -> None:
        self.network.learn(map(torch.from_numpy, pieces), len(self.tokens))

    @property
    def any_tokens(self) -> bool:
        return True

    def log_probabilities(
        self, tokens: Tensor, seeds: Sequence[int] | None = None, count: int | None = None
    ) -> Tensor:
        return self.network.log_probabilities(tokens.to(self.device), count or len(self.tokens))

    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader:
        return reading_again(lambda tokens: self.log_probabilities(tokens, count=count))
