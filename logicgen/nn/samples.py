"""Random answers: one answer to each problem, or several different answers.

Different answers are drawn without replacement, in a single search that keeps N prefixes. Each
answer has a random number: its log-probability plus Gumbel noise. The N answers with the largest
numbers are the sample. The number of a prefix is the largest number of its continuations. The
number of the prefix is drawn first, then the numbers of its continuations given this maximum.
Source: Kool, van Hoof and Welling, "Stochastic Beams and Where to Find Them" (ICML 2019).

Shapes: B problems, K unfinished answers for each problem, N answers to return, V logits,
T = max_length + 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.tokens import Vocabulary

# The largest number of prefixes to continue for each problem. Memory grows with this number.
MOST_PREFIXES = 1000


@dataclass(frozen=True)
class Sampling:
    """Sampling of one random answer, or of several different answers without replacement."""

    temperature: float = 1.0  # divides log-probabilities; near 0 sampling becomes greedy
    top_k: int | None = None  # draw only from the k most probable tokens.
    # Draw only from the nucleus: the smallest set of tokens with at least this total probability,
    # after temperature and top_k (Holtzman et al., ICLR 2020).
    top_p: float | None = None
    # Seed and problem determine the answer. Other problems of the batch have no influence, except
    # that rounding depends on the shape of the batch.
    seed: int = 0
    answers: int = 1

    def __post_init__(self) -> None:
        finite = 0 < self.temperature < math.inf
        require(finite, "temperature", self.temperature, "above 0 and finite")
        require(self.top_k is None or self.top_k >= 1, "top-k", self.top_k, "at least 1")
        share = self.top_p
        require(share is None or 0 < share <= 1, "top-p", share, "above 0, at most 1")
        require(
            1 <= self.answers <= MOST_PREFIXES, "answers", self.answers, f"1 to {MOST_PREFIXES:,}"
        )


def require(holds: bool, what: str, value: object, allowed: str) -> None:
    """Raise LogicgenError if an option's value is not allowed."""
    if not holds:
        raise LogicgenError(f"{what}: {value}, but it has to be {allowed}")


class Draws:
    """The sampling of one answer to each problem."""

    def __init__(
        self, sampling: Sampling, problems: Tensor, vocabulary: Vocabulary, max_length: int
    ) -> None:
        self.sampling = sampling
        self.pad, self.end = vocabulary.pad, vocabulary.end
        # One random number for each token. Each answer has its own generator.
        each = [
            np.random.default_rng((sampling.seed, *ids)).random(max_length + 1, dtype=np.float32)
            for ids in ([i for i in row if i != self.pad] for row in problems.tolist())
        ]
        numbers = np.array(each, dtype=np.float32).reshape(len(problems), max_length + 1)
        # (problems, tokens), from 0 to below 1
        self.numbers = torch.from_numpy(numbers).to(problems.device).double()
        self.scores = self.numbers.new_zeros(len(problems), 1)
        self.answers = problems.new_full((len(problems), 1, max_length + 1), self.pad)
        self.done = torch.zeros(len(problems), dtype=torch.bool, device=problems.device)  # (B,)
        self.length = 0

    def choose(self, log_probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Return the number of each problem's prefix, which is 0, and its next token, (B, 1) each.

        log_probabilities: (B, 1, V).
        """
        scores, number = log_probabilities[:, 0], self.numbers[:, self.length]
        tokens = pick(scores, self.sampling, number)[:, None]  # (problems, 1)
        log_p = scores.gather(1, tokens)
        self.scores = self.scores + log_p.masked_fill(self.done[:, None], 0.0)
        tokens = tokens.masked_fill(self.done[:, None], self.pad)
        self.answers[:, 0, self.length] = tokens[:, 0]
        self.done = self.done | (tokens[:, 0] == self.end)
        self.length += 1
        return torch.zeros_like(tokens), tokens

    def keep(self, problems: Tensor) -> None:
        """Continue only with the problems of these numbers."""
        self.numbers, self.scores = self.numbers[problems], self.scores[problems]
        self.answers, self.done = self.answers[problems], self.done[problems]

    def found(self) -> tuple[Tensor, Tensor]:
        """Return the answers and their scores. The score of an unfinished answer is -inf."""
        return self.answers, self.scores.masked_fill(~self.done[:, None], -math.inf)


class DifferentDraws:
    """The sampling of different answers to each problem, in their order of drawing."""

    def __init__(
        self, sampling: Sampling, problems: Tensor, vocabulary: Vocabulary, max_length: int
    ) -> None:
        self.sampling = sampling
        self.pad, self.end = vocabulary.pad, vocabulary.end
        self.room = max_length + 1
        self.generators = [
            np.random.default_rng((sampling.seed, *(i for i in row if i != self.pad)))
            for row in problems.tolist()
        ]
        batch, device = len(problems), problems.device
        self.tokens = problems.new_empty(batch, 1, 0)  # (problems, prefixes, tokens drawn), padded
        # Each prefix has a log-probability with temperature (`tempered`), one without (`scores`),
        # and a random number. Prefixes are sorted by random number, largest first. The number of a
        # missing prefix is -inf. Shapes: (problems, prefixes).
        self.tempered = torch.zeros(batch, 1, dtype=torch.float64, device=device)
        self.scores = self.tempered.clone()
        self.numbers = self.tempered.clone()
        self.ended = torch.zeros(batch, 1, dtype=torch.bool, device=device)
        self.done = torch.zeros(batch, dtype=torch.bool, device=device)  # (problems,)

    def choose(self, log_probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Return the numbers of the prefixes to continue and their next tokens, (B, K) each.

        log_probabilities: (B, K, V), of each next token of each prefix.
        """
        rows = log_probabilities.shape[-1]
        going_on = (~self.ended & (self.numbers > -math.inf))[..., None]  # (problems, prefixes, 1)
        tempered = truncated(log_probabilities, self.sampling) + self.tempered[..., None]
        tempered = tempered.masked_fill(~going_on, -math.inf)  # (problems, prefixes, tokens)
        noise = self._noise(rows)[:, : tempered.shape[1]]
        numbers = given_largest(tempered + noise, self.numbers[..., None])
        # An answer that has ended stays as it is: column V is its only candidate.
        stay = self.numbers.masked_fill(~self.ended, -math.inf)[..., None]
        # (problems, prefixes * (tokens + 1))
        candidates = torch.cat([numbers, stay], dim=-1).flatten(1)
        self.numbers, place = candidates.topk(min(self.sampling.answers, candidates.shape[1]))
        parents, tokens = place // (rows + 1), place % (rows + 1)
        stayed = tokens == rows
        tokens = tokens.masked_fill(stayed | (self.numbers == -math.inf), self.pad)
        self.tokens = torch.cat([rows_of(self.tokens, parents), tokens[..., None]], dim=2)
        self.ended = stayed | (tokens == self.end)

        def chosen(before: Tensor, after: Tensor) -> Tensor:  # (B, K) and (B, K, V) to (B, K)
            return torch.where(
                stayed, before.gather(1, parents), F.pad(after, (0, 1)).flatten(1).gather(1, place)
            )

        self.tempered = chosen(self.tempered, tempered)
        self.scores = chosen(self.scores, log_probabilities + self.scores[..., None])
        self.done = ~(~self.ended & (self.numbers > -math.inf)).any(1)
        return parents, tokens

    def _noise(self, rows: int) -> Tensor:
        """Draw Gumbel noise for each next token of up to N prefixes, (B, N, V)."""
        size = self.sampling.answers, rows
        drawn = np.stack([each.random(size) for each in self.generators])  # in [0, 1)
        exponential = np.maximum(-np.log1p(-drawn), np.finfo(drawn.dtype).tiny)
        return torch.from_numpy(-np.log(exponential)).to(self.numbers.device)

    def keep(self, problems: Tensor) -> None:
        """Continue only with the problems of these numbers."""
        self.generators = [self.generators[row] for row in problems.tolist()]
        for name in ("tokens", "tempered", "scores", "numbers", "ended", "done"):
            setattr(self, name, getattr(self, name)[problems])

    def found(self) -> tuple[Tensor, Tensor]:
        """Return the padded answers (B, N, T) and their scores (B, N)."""
        wanted = self.sampling.answers
        missing = wanted - self.tokens.shape[1], self.room - self.tokens.shape[2]
        there = self.numbers > -math.inf
        answers = self.tokens.masked_fill(~there[..., None], self.pad)
        answers = F.pad(answers, (0, missing[1], 0, missing[0]), value=self.pad)
        scores = self.scores.masked_fill(~(there & self.ended), -math.inf)
        return answers, F.pad(scores, (0, missing[0]), value=-math.inf)


def truncated(log_probabilities: Tensor, sampling: Sampling) -> Tensor:
    """Apply temperature, top-k and top-p to log-probabilities (..., V); return float64."""
    mass, order = _kept(log_probabilities, sampling)
    share = (mass / mass.sum(-1, keepdim=True)).nan_to_num(0.0)  # NaN: no token is allowed
    return torch.empty_like(share).scatter_(-1, order, share.log())


def _kept(log_probabilities: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Apply temperature, top-k and top-p to log-probabilities (..., V).

    Returns unnormalized probabilities in descending order, 0 for excluded tokens, and the tokens in
    this order.
    """
    ranked, order = log_probabilities.sort(dim=-1, descending=True, stable=True)
    below = (ranked - ranked[..., :1]).double()  # at most 0, so that the division cannot overflow
    mass = F.softmax(below / sampling.temperature, dim=-1)
    if sampling.top_k is not None:
        mass[..., sampling.top_k :] = 0.0
    if sampling.top_p is not None:
        whole = mass.cumsum(dim=-1)
        before = F.pad(whole[..., :-1], (1, 0))
        mass = mass.masked_fill(before >= sampling.top_p * whole[..., -1:], 0.0)
    return mass, order


def given_largest(numbers: Tensor, largest: Tensor) -> Tensor:
    """Transform Gumbel numbers (..., V) so that their largest becomes `largest` (..., 1).

    The result has the distribution of Gumbel numbers given this maximum. -inf stays -inf. The
    numerically stable formula is from appendix B.3 of Kool et al.
    """
    there = numbers > -math.inf
    top = numbers.amax(-1, keepdim=True)
    numbers = torch.where(there, numbers, 0.0)
    top = torch.where(top > -math.inf, top, 0.0)
    largest = torch.where(largest > -math.inf, largest, 0.0)
    gap = numbers - top  # at most 0, except where a number was -inf
    v = largest - numbers + torch.log(-torch.expm1(gap.clamp(max=0.0)))
    moved = largest - v.clamp(min=0.0) - torch.log1p(torch.exp(-v.abs()))
    return torch.where(there, moved, -math.inf)


def pick(log_probabilities: Tensor, sampling: Sampling, numbers: Tensor) -> Tensor:
    """Draw tokens (B,) from log-probabilities (B, V).

    numbers: (B,), float64 random numbers in [0, 1), which determine the tokens.
    """
    mass, order = _kept(log_probabilities, sampling)
    mass = mass.cumsum(dim=-1)
    drawn = torch.searchsorted(mass, numbers[:, None] * mass[:, -1:], right=True)  # (problems, 1)
    return order.gather(1, drawn)[:, 0]


def rows_of(tensor: Tensor, rows: Tensor) -> Tensor:
    """Select K rows for each of B problems: (B, N, T) and (B, K) to (B, K, T).

    Row k of problem b in the result is `tensor[b, rows[b, k]]`.
    """
    return tensor.gather(1, rows[..., None].expand(-1, -1, tensor.shape[2]))
