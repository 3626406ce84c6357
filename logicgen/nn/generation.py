"""Generation: a language model goes on from texts, token by token.

A model is given as a reader: a function that reads further tokens of the texts and returns the
log-probabilities of the next one. It remembers what it has read, so the prompt is read once, and
after it each token alone. The probabilities are those of reading the whole text, up to rounding.

    generate      one continuation of each prompt: random, or of the likeliest token each time
    beam_search   the most probable continuations of one prompt

Shapes: B texts, T tokens of each prompt, N further tokens at most, V tokens in all, K beams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from logicgen.nn.samples import Sampling, pick
from logicgen.tokens import NOTHING


class Reader(Protocol):
    """A model that reads texts, and remembers what it has read of each."""

    def __call__(self, tokens: Tensor, of: Tensor | None = None) -> Tensor:
        """Return the log-probabilities (B, V) of the token behind further (B, T) tokens of texts.

        of: (B,), the text that each goes on from, by its number in the call before: a text may fork
            or be dropped. Rows that are drawn for each text have to be the same for all. Text b
            goes on from text b if not given.
        """


class Texts(NamedTuple):
    """Generated texts."""

    tokens: Tensor  # (B, at most N) int64; the end is the last token of a text, `NOTHING` follows
    # (B,) float64, of all of a text's tokens together, in nats. Temperature, top-k and nucleus have
    # chosen them but do not change what they count
    log_probabilities: Tensor


def reading_again(log_probabilities: Callable[[Tensor], Tensor]) -> Reader:
    """Return a reader that reads all tokens again at each step, (B, T) tokens to (B, T, V)."""
    read: Tensor | None = None

    def read_on(tokens: Tensor, of: Tensor | None = None) -> Tensor:
        nonlocal read
        if read is not None:
            tokens = torch.cat([read if of is None else read[of], tokens], dim=1)
        read = tokens
        return log_probabilities(read)[:, -1]

    return read_on


def summed(readers: Sequence[Reader]) -> Reader:
    """Return a reader of the sums of readers' probabilities, which rank tokens as means do."""
    if len(readers) == 1:
        return readers[0]

    def read_on(tokens: Tensor, of: Tensor | None = None) -> Tensor:
        return torch.stack([read(tokens, of) for read in readers]).logsumexp(0)

    return read_on


@torch.no_grad()
def generate(
    read: Reader,
    prompts: Tensor,
    most: int | Tensor,
    sampling: Sampling | None = None,
    *,
    end: int | None = None,
    first: int = 0,
    numbers: Callable[[int], Tensor] | None = None,
    allowed: Tensor | None = None,
    finished: Callable[[list[int]], bool] = lambda written: False,
) -> Texts:
    """Go on from (B, T) prompts by up to `most` tokens each, until `end` has come.

    most: for all texts, or (B,) for each; at least 1, as T is: first tokens are not predicted.
    sampling: how tokens are drawn; the most probable ones are taken if not given.
    end: token that ends a text; none if not given.
    first, numbers: where the random numbers of a sampling come from: text number b has those of
        the sampling's seed and `first` + b, whatever else is written beside it, unless
        `numbers(step)` gives the (B,) float64 numbers in [0, 1) of a step.
    allowed: bool (V,), the tokens that may be written; all if not given.
    finished: whether a text, given its tokens after the prompt, ends though `end` has not come.
    """
    batch, new = len(prompts), prompts
    budgets = torch.as_tensor(most).expand(batch)
    total = torch.zeros(batch, dtype=torch.float64)
    if sampling is not None and numbers is None:
        numbers = _numbers(sampling.seed, range(first, first + batch))
    columns: list[Tensor] = []
    texts: list[list[int]] = [[] for _ in range(batch)]
    under_way = torch.ones(batch, dtype=torch.bool)
    for step in range(int(budgets.max())):
        logs = read(new).cpu()  # (B, V)
        if allowed is not None:
            logs = logs.masked_fill(~allowed, -torch.inf)
        if sampling is None or numbers is None:
            chosen = logs.argmax(-1)
        else:
            chosen = pick(logs, sampling, numbers(step))
        total += logs.gather(1, chosen[:, None])[:, 0].double().masked_fill(~under_way, 0.0)
        columns.append(chosen.masked_fill(~under_way, NOTHING))
        for line in under_way.nonzero()[:, 0].tolist():
            text = texts[line]
            text.append(int(chosen[line]))
            over = text[-1] == end or step + 1 >= int(budgets[line]) or finished(text)
            under_way[line] = not over
        if not under_way.any():
            break
        new = chosen[:, None].to(prompts.device)
    return Texts(torch.stack(columns, dim=1), total)


def _numbers(seed: int, texts: Sequence[int]) -> Callable[[int], Tensor]:
    """Return the random numbers of each step, which follow from seed and number of a text."""
    generators = [np.random.default_rng((seed, text)) for text in texts]
    return lambda step: torch.tensor([each.random() for each in generators], dtype=torch.float64)


@torch.no_grad()
def beam_search(
    read: Reader,
    prompt: Tensor,
    most: int,
    beams: int,
    *,
    end: int | None = None,
    finished: Callable[[list[int]], bool] = lambda written: False,
) -> Texts:
    """Go on from a (T,) prompt by up to `most` tokens; return up to K texts, most probable first.

    Each step keeps the K most probable of all texts that go on from those kept and of those that
    have ended. One beam takes the likeliest token each time; as many beams as there are
    continuations find the best of all. Longer texts are less probable: lengths are not normalised.

    read: a reader of K texts, whose rows are the same. end, finished: as in `generate`.
    """
    new, of = prompt.expand(beams, -1), None
    # Float64, so that rounding of long sums does not make different candidates equal.
    scores = torch.full((beams,), -torch.inf, dtype=torch.float64)
    scores[0] = 0.0  # all begin as the same text
    texts = torch.empty(beams, 0, dtype=torch.int64)
    under_way = torch.ones(beams, dtype=torch.bool)
    for _ in range(most):
        logs = read(new, of).cpu().double().masked_fill(~under_way[:, None], -torch.inf)  # (K, V)
        stay = scores.masked_fill(under_way, -torch.inf)
        candidates = torch.cat([scores[:, None] + logs, stay[:, None]], dim=1)  # (K, V + 1)
        scores, place = (  # stable, so that of equal ones the first is kept, as by `generate`
            each[:beams] for each in candidates.flatten().sort(descending=True, stable=True)
        )
        of, chosen = place // candidates.shape[1], place % candidates.shape[1]
        stayed = chosen == logs.shape[1]
        texts = torch.cat([texts[of], chosen.masked_fill(stayed, NOTHING)[:, None]], dim=1)
        under_way = ~stayed & (scores > -torch.inf)
        for line in under_way.nonzero()[:, 0].tolist():
            under_way[line] = chosen[line] != end and not finished(texts[line].tolist())
        if not under_way.any():
            break
        # What is read of a text that has ended is not used.
        new = chosen.masked_fill(stayed, 0)[:, None].to(prompt.device)
        of = of.to(prompt.device)
    there = scores > -torch.inf
    return Texts(texts[there], scores[there])
