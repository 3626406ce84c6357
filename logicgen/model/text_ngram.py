"""n-grams of a text itself: what is known from what followed what in it, and from nothing else.

Such counts know no language. They are the control beside a lexinvariant model, which is told as
little about its tokens: only where it is better does it say more than that something occurred
before. What follows a context h of n - 1 tokens is counted in the text so far, and either

- `fitted`: mixed with the shorter context's probabilities, p(w | h) =
  (max(c(h w) - a, 0) + (b + a d(h)) p(w | h without its first token)) / (c(h) + b), with d(h) the
  number of different tokens after h, the uniform distribution behind the empty context, and an a
  and a b for each n that fit the training texts best. Source: Chen, Goodman, An Empirical Study of
  Smoothing Techniques for Language Modeling (1998); Teh, A Hierarchical Bayesian Language Model
  Based on Pitman-Yor Processes (2006);
- `ppm`: from the longest context that occurred, each token w with (2 c(h w) - 1) / 2 c(h), what is
  left to the next shorter one, in which tokens of longer ones no longer count: PPM, method D, with
  exclusion. Source: Howard, Vitter, Practical Implementations of Arithmetic Coding (1992).

Renaming tokens renames what is predicted: both are lexinvariant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.data.sequences import TokenBatch
from logicgen.model.language_model import LanguageModel
from logicgen.model.model_recipe import TextNGramTable
from logicgen.nn.generation import Reader, reading_again
from logicgen.tokens import NOTHING

# Tokens of training texts, which two numbers for each n need at most, and of each text.
FITTED_ON, EACH = 2**16, 512
# Numbers in (texts, places, places) that are made at a time.
AT_A_TIME = 2**24
FIT_STEPS = 400
FIT_RATE = 0.1


class TextNGram(nn.Module):
    """Counts of up to `order` tokens in the text that is read; only the smoothing is learnt."""

    strength: Tensor
    discount: Tensor

    def __init__(self, order: int, smoothing: str) -> None:
        super().__init__()
        self.order, self.smoothing = order, smoothing
        # Of n-grams of 1, 2, ... tokens: b and a of the formula above
        self.register_buffer("strength", torch.ones(order))
        self.register_buffer("discount", torch.zeros(order))

    def learn(self, batches: Iterable[Tensor], tokens: int) -> None:
        """Fit the smoothing to the first of (B, T) texts of `tokens` different tokens."""
        if self.smoothing != "fitted":
            return
        seen: list[Tensor] = []
        for texts in batches:
            begun = texts[:, :EACH]
            for some in torch.split(begun, max(1, AT_A_TIME // max(EACH, tokens) ** 2)):
                if sum(map(len, seen)) < FITTED_ON:
                    seen.append(self._of_targets(some, tokens))
        after, followed, different = torch.cat(seen).double().unbind(-1)  # (N, order) each
        raw = torch.zeros(2, self.order, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([raw], FIT_RATE)
        with torch.enable_grad():
            for _ in range(FIT_STEPS):
                strength, discount = raw[0].exp(), raw[1].sigmoid()
                chance = torch.full_like(after[:, 0], 1 / tokens)
                for n in range(self.order):
                    kept = (after[:, n] - discount[n]).clamp(min=0)
                    rest = strength[n] + discount[n] * different[:, n]
                    chance = (kept + rest * chance) / (followed[:, n] + strength[n])
                optimizer.zero_grad()
                torch.autograd.backward(-chance.log().mean())
                optimizer.step()
        self.strength.copy_(raw[0].detach().exp())
        self.discount.copy_(raw[1].detach().sigmoid())

    def _of_targets(self, texts: Tensor, tokens: int) -> Tensor:
        """Return c(h w), c(h) and d(h) for each token w behind another: (N, order, 3)."""
        targets = texts[:, 1:]
        found = []
        for counts in self._counts(texts, tokens):
            before = counts[:, :-1]
            own = before.gather(2, targets.clamp(min=0)[..., None])[..., 0]
            found.append(torch.stack([own, before.sum(-1), (before > 0).sum(-1)], dim=-1))
        return torch.stack(found, dim=2)[targets != NOTHING]

    def _counts(self, texts: Tensor, tokens: int) -> Iterator[Tensor]:
        """Yield, for n = 1, 2, ..., how often each token has followed the last n - 1 in a text.

        texts: (B, T). Each: (B, T, V) float, of what was read up to and with a place.
        """
        once = F.one_hot(texts.clamp(min=0), tokens).float() * (texts != NOTHING)[..., None]
        yield once.cumsum(1)
        following = F.pad(once[:, 1:], (0, 0, 0, 1))  # the token behind each place
        length = texts.shape[1]
        alike = texts[:, :, None] == texts[:, None, :]  # (B, T, T): places with equal tokens
        same = alike & torch.ones(length, length, device=texts.device).tril(-1).bool()
        for shift in range(1, self.order):
            yield same.float() @ following
            # The same place of both contexts, one token further back; before the text is nothing.
            kept = max(0, length - shift)
            back = alike[:, :kept, :kept]
            same = same & F.pad(back, (length - kept, 0, length - kept, 0))

    @torch.no_grad()
    def log_probabilities(self, texts: Tensor, tokens: int) -> Tensor:
        """Return those of the token after each of (B, T), in nats: (B, T, V)."""
        counts = self._counts(texts, tokens)
        if self.smoothing == "ppm":
            return _by_escapes(list(counts)).log()
        found = torch.full((*texts.shape, tokens), 1 / tokens, device=texts.device)
        for each, strength, discount in zip(counts, self.strength, self.discount, strict=True):
            different = (each > 0).sum(-1, keepdim=True)
            kept = (each - discount).clamp(min=0)
            total = each.sum(-1, keepdim=True) + strength
            found = (kept + (strength + discount * different) * found) / total
        return found.log()


def _by_escapes(counts: list[Tensor]) -> Tensor:
    """Return probabilities of PPM, (B, T, V), from counts in contexts of 0, 1, ... tokens."""
    found = torch.zeros_like(counts[0])
    left = torch.ones_like(found[..., :1])
    new = torch.ones_like(found)  # whether no longer context had the token
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
    return found / found.sum(-1, keepdim=True)  # where all tokens occurred, nothing is left over


class TextNGramModel(LanguageModel):
    """Smoothed counts of the text that is read; training learns how to smooth them, at once."""

    noun = "an n-gram"
    network: TextNGram

    def _network(self) -> TextNGram:
        table: TextNGramTable = self.recipe.network  # type: ignore[assignment]
        return TextNGram(table.order, table.smoothing)

    def learn_once(self, pieces: Iterable[np.ndarray]) -> None:
        self.network.learn(map(torch.from_numpy, pieces), len(self.tokens))

    def sequence_loss(self, batch: TokenBatch, generator: torch.Generator) -> Tensor:
        raise TypeError("n-grams are counted, not trained in steps")

    @property
    def any_tokens(self) -> bool:
        return True

    def log_probabilities(
        self, tokens: Tensor, seeds: Sequence[int] | None = None, count: int | None = None
    ) -> Tensor:
        return self.network.log_probabilities(tokens.to(self.device), count or len(self.tokens))

    def reader(self, seeds: Sequence[int], count: int | None = None) -> Reader:
        return reading_again(lambda tokens: self.log_probabilities(tokens, count=count))
