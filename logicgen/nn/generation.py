"""Generation: let a language model continue texts, token by token.

A model is given as a reader: a function that reads further tokens of the texts and returns the
log-probabilities of the next token. A reader remembers its input, so each token is read only once.
Up to rounding, the probabilities are the same as after reading the whole text at once.

    generate      one continuation of each prompt: random, or greedy
    beam_search   the most probable continuations of one prompt

Shapes: B texts, T tokens of each prompt, at most N generated tokens, V tokens of the vocabulary,
K beams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from logicgen.nn.samples import Sampling, pick
from logicgen.tokens import NOTHING


class Reader(Protocol):
    """A model that reads texts in parts, and remembers the parts that it has read."""

    def __call__(self, tokens: Tensor, of: Tensor | None = None) -> Tensor:
        """Read further tokens (B, T); return the log-probabilities (B, V) of the next token.

        of: (B,), for each new text the number of the text in the previous call that it continues.
            So a text may fork or be dropped. This requires that all texts have the same token rows.
            If `of` is not given, text b continues text b.
        """


class Texts(NamedTuple):
    """Generated texts."""

    # (B, at most N) int64. `NOTHING` follows the last token of a text, which may be the end token
    tokens: Tensor
    # (B,) float64, the log-probability of each generated text in nats, without temperature, top-k
    # and nucleus sampling
    log_probabilities: Tensor


def reading_again(log_probabilities: Callable[[Tensor], Tensor]) -> Reader:
    """Return a reader that reads all tokens again at each step.

    log_probabilities: maps (B, T) tokens to the log-probabilities of the next tokens, (B, T, V).
    """
    read: Tensor | None = None

    def read_on(tokens: Tensor, of: Tensor | None = None) -> Tensor:
        nonlocal read
        if read is not None:
            tokens = torch.cat([read if of is None else read[of], tokens], dim=1)
        read = tokens
        return log_probabilities(read)[:, -1]

    return read_on


@dataclass
class ReaderMemory:
    """The state of a `ReaderNetwork`: a reader, and the texts that it continues next."""

    read: Reader
    of: Tensor | None = None  # numbers of the texts in the previous call; None: all texts, in order

    def select(self, rows: Tensor) -> None:
        """Keep the texts with the numbers in `rows` (B', K'); see `decoding.DecoderMemory`."""
        chosen = rows.flatten()
        self.of = chosen if self.of is None else self.of[chosen]


class ReaderNetwork:
    """A language model as the network of `decoding.decode`.

    Ids of `decode` are ids of the language model plus `shift`. Ids below `shift` are unknown to the
    language model. A problem ends with the token before its answer, and has no padding.
    """

    def __init__(self, shift: int) -> None:
        self.shift = shift

    def encode(self, matrix: Any, problems: Tensor) -> ReaderMemory:
        """Read all of (B, S) ids except the last token.

        matrix: a reader of B texts, in the place of an embedding matrix.
        """
        if problems.shape[1] > 1:
            matrix(problems[:, :-1] - self.shift)
        return ReaderMemory(matrix)

    def step(self, matrix: Any, tokens: Tensor, memory: ReaderMemory) -> Tensor:
        """Return the log-probabilities (R, V) of the next tokens of R texts.

        tokens: (R, 1), the last token of each text. `<start>` is read as the last token of the
            problem.
        """
        logs = memory.read((tokens - self.shift).clamp(min=0), memory.of)
        memory.of = None
        return F.pad(logs, (self.shift, 0), value=-torch.inf)


def summed(readers: Sequence[Reader]) -> Reader:
    """Return a reader that sums the probabilities of several readers.

    The sums are not normalized, but they rank tokens as mean probabilities do.
    """
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
    """Continue (B, T) prompts by up to `most` tokens each, until the token `end`.

    prompts: B prompts of T tokens. T is at least 1, because first tokens are not predicted.
    most: a number for all texts, or (B,) numbers; at least 1.
    sampling: how to draw tokens; greedy if not given. end: the token that ends a text; optional.
    first: text b uses the random numbers of the sampling's seed and `first` + b. So a text does not
        depend on the other texts of its batch.
    numbers: if given, `numbers(step)` returns the (B,) float64 random numbers in [0, 1) of a step.
    allowed: bool (V,), the tokens that may be written; all if not given.
    finished: a function of the tokens after the prompt; if it returns True, the text ends.
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
        logs = read(new).cpu()  # (texts, tokens)
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
    """Return a function that takes a step and returns one random number for each text."""
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
    """Continue a (T,) prompt by up to `most` tokens; return up to K texts, most probable first.

    Each step keeps the K most probable texts among all continuations and all ended texts. With one
    beam this is greedy decoding. Log-probabilities are not normalized by length, so longer texts
    are less probable.

    read: a reader of K texts that have the same token rows.
    end, finished: see `generate`.
    """
    new, of = prompt.expand(beams, -1), None
    # Float64, so that rounding of long sums does not make different candidates equal.
    scores = torch.full((beams,), -torch.inf, dtype=torch.float64)
    scores[0] = 0.0  # the other beams would be copies of the same prompt
    texts = torch.empty(beams, 0, dtype=torch.int64)
    under_way = torch.ones(beams, dtype=torch.bool)
    for _ in range(most):
        # (beams, tokens)
        logs = read(new, of).cpu().double().masked_fill(~under_way[:, None], -torch.inf)
        stay = scores.masked_fill(under_way, -torch.inf)
        # (beams, tokens + 1); the last column continues nothing: an ended text stays
        candidates = torch.cat([scores[:, None] + logs, stay[:, None]], dim=1)
        scores, place = (  # a stable sort keeps the first of equal texts, as `generate` does
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
        # Ended texts read token 0, and its predictions are not used.
        new = chosen.masked_fill(stayed, 0)[:, None].to(prompt.device)
        of = of.to(prompt.device)
    there = scores > -torch.inf
    return Texts(texts[there], scores[there])
