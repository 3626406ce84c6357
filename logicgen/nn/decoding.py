"""Decoding: write answers token by token, from a network's logits, optionally in a grammar.

    BeamSearch(beams=1)       greedy: the most probable token after each prefix
    BeamSearch(beams=3)       the most probable answers, by length-normalized log-probability
    Sampling(temperature=1)   a random answer, a pure function of seed and problem
    Sampling(answers=15)      different random answers (`samples.py`)

`decode` is the loop for all methods. It steps the network, excludes the tokens that the grammar or
the length budget forbids, and drops problems that are done. A decoding method only chooses the
next tokens. With several embedding matrices (draws of random rows), every step averages the
probabilities that the network computes with each matrix.

Shapes: B problems, S tokens of a problem, K hypotheses (unfinished answers) for each problem,
N answers to return for each problem, V logits, F fixed tokens (all tokens except symbols),
T = max_length + 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.nn.samples import (
    MOST_PREFIXES,
    DifferentDraws,
    Draws,
    Sampling,
    require,
    rows_of,
)
from logicgen.tokens import Vocabulary

_ASK_EVERY = 8  # steps between two checks for problems that are done; a check makes a GPU wait


class DecoderMemory(Protocol):
    """The state that a network keeps for its problems and hypotheses, one row per hypothesis."""

    def select(self, rows: Tensor) -> None:
        """Keep the hypotheses with the numbers in `rows`, and drop all other hypotheses.

        rows: int64 (B', K'), the K' hypotheses to keep of each of B' problems, in the order of the
            problems. All other problems are dropped.
        """


MemoryT = TypeVar("MemoryT", bound=DecoderMemory)


class Network(Protocol[MemoryT]):
    """The methods that decoding calls on a network."""

    def encode(self, matrix: Tensor, problems: Tensor) -> MemoryT:
        """Read padded problems (B, S) and return a memory with one empty hypothesis for each."""

    def step(self, matrix: Tensor, tokens: Tensor, memory: MemoryT) -> Tensor:
        """Return the logits (B K, V) of the next token of each hypothesis.

        tokens: (B K, 1), the last token of each hypothesis.
        """


@dataclass(frozen=True)
class GrammarMask:
    """A finite automaton that accepts the allowed answers; state 0 is the start."""

    # int64 (states, F + 1), the next state for each fixed token, then one column for all symbols;
    # -1 where the token is not allowed
    transition: Tensor
    # int64 (states,), the least number of further tokens before the answer may end. It is larger
    # than any budget if no answer can be completed from the state
    distance: Tensor
    # whether each symbol may occur only once. Then the automaton must accept an answer wherever it
    # allows a symbol, because no symbol may be left
    once: bool = False
    # whether an answer has exactly the symbols of the problem: wherever the automaton allows a
    # symbol, it may end only after all of them. Needs `once`
    complete: bool = False


@dataclass(frozen=True)
class BeamSearch:
    """Beam search that returns its `answers` best answers; with one beam, greedy decoding.

    The score of an answer of n tokens, `<end>` counted, is its log-probability divided by
    ((5 + n) / 6) ** length_normalization. Source: Wu et al., "Google's Neural Machine Translation
    System" (2016). Hahn et al. (ICLR 2021) use 3 beams and length normalization 1.0.

    Each step keeps the `beams` most probable prefixes. A finished answer is kept only if its
    `<end>` is among the `beams` most probable continuations. A problem is done when `beams` answers
    are kept, or when no prefix can lead to a better answer.
    """

    beams: int = 1
    length_normalization: float = 1.0
    answers: int = 1

    def __post_init__(self) -> None:
        require(1 <= self.beams <= MOST_PREFIXES, "beams", self.beams, f"1 to {MOST_PREFIXES:,}")
        exponent = self.length_normalization
        require(0 <= exponent < math.inf, "length normalization", exponent, "at least 0 and finite")
        require(1 <= self.answers <= self.beams, "answers", self.answers, "from 1 to the beams")

    def penalty(self, length: int) -> float:
        """Return the divisor of the log-probability of `length` tokens, `<end>` counted."""
        return float(((5 + length) / 6) ** self.length_normalization)


Decoding = BeamSearch | Sampling


GREEDY = BeamSearch()


class DecodedAnswers(NamedTuple):
    """The answers to a batch of problems, and their scores."""

    # (B, N, T), N answers for each problem, with `<end>`, then padding. A beam search sorts them
    # best first; samples are in the order of drawing
    ids: Tensor
    # (B, N), length-normalized log-probabilities for a beam search, log-probabilities for samples.
    # -inf if the answer is missing (padding only) or did not end within the budget
    scores: Tensor


@torch.inference_mode()
def decode(
    network: Network[MemoryT],
    matrices: Sequence[Any],
    problems: Tensor,
    vocabulary: Vocabulary,
    max_length: int,
    grammar: GrammarMask | None = None,
    decoding: Decoding = GREEDY,
    scale: float | Tensor = 1.0,
    never: Sequence[int] = (),
) -> DecodedAnswers:
    """Return answers to padded problems (B, S).

    With a grammar, every answer is a word of the grammar with at most `max_length` tokens before
    `<end>`. Without a grammar, all tokens except `<pad>` and `<start>` are allowed. An answer that
    does not end within the budget then has `max_length + 1` tokens and no `<end>`.

    Forbidden tokens get probability 0. A beam search does not renormalize the probabilities of the
    other tokens, so answers are ranked by the probability that the network gives them.

    matrices: embedding matrices; readers for a `ReaderNetwork`. The probabilities of all matrices
        are averaged at every step.
    scale: factor of the logits before the softmax (AdaCos is trained with such a scale).
    never: ids that the softmax excludes, as in training.

    Raises LogicgenError if the grammar has no answer of `max_length` tokens or fewer.
    """
    prefixes = _BeamPrefixes(
        network, matrices, problems, vocabulary, max_length, grammar, scale, never
    )
    method = _method(decoding, problems, vocabulary, max_length)
    found = DecodedAnswers(*(empty.clone() for empty in method.found()))
    place = torch.arange(len(problems), device=problems.device)  # rows of problems not yet done
    ask_every = 1 if problems.device.type == "cpu" else _ASK_EVERY
    for step in range(max_length + 1):
        parents, tokens = method.choose(prefixes.log_probabilities())
        if step == max_length:
            break
        if (step + 1) % ask_every == 0:
            going_on = (~method.done).nonzero()[:, 0]
            if len(going_on) == 0:
                break
            if len(going_on) <= len(place) * 3 // 4:
                found.ids[place], found.scores[place] = method.found()
                prefixes.keep(going_on)
                method.keep(going_on)
                parents, tokens, place = parents[going_on], tokens[going_on], place[going_on]
        prefixes.extend(parents, tokens)
    found.ids[place], found.scores[place] = method.found()
    return found


def _method(
    decoding: Decoding, problems: Tensor, vocabulary: Vocabulary, max_length: int
) -> _Beams | Draws | DifferentDraws:
    """Return the object that chooses the next tokens for a decoding method."""
    if isinstance(decoding, BeamSearch):
        return _Beams(decoding, problems, vocabulary, max_length)
    kind = Draws if decoding.answers == 1 else DifferentDraws
    return kind(decoding, problems, vocabulary, max_length)


class _BeamPrefixes(Generic[MemoryT]):
    """All hypotheses of a batch, each with the network's memory and a state of the grammar."""

    def __init__(
        self,
        network: Network[MemoryT],
        matrices: Sequence[Any],
        problems: Tensor,
        vocabulary: Vocabulary,
        max_length: int,
        grammar: GrammarMask | None,
        scale: float | Tensor,
        never: Sequence[int],
    ) -> None:
        grammar = grammar or _anything(vocabulary)
        shortest = int(grammar.distance[0])
        if shortest > max_length:
            raise LogicgenError(
                f"the shortest answer has {shortest} tokens, but only {max_length} are allowed:"
                " raise the length budget"
            )
        self.network = network
        self.memories = [(matrix, network.encode(matrix, problems)) for matrix in matrices]
        self.scale, self.never = scale, list(never)
        self.fixed, self.end = len(vocabulary), vocabulary.end
        self.transition = grammar.transition.to(problems.device)  # (states, fixed tokens + 1)
        self.distance = grammar.distance.to(problems.device)  # (states,)
        self.left = max_length  # number of tokens that can still be added to an answer
        # (problems, hypotheses), the last token of each hypothesis
        self.token = torch.full_like(problems[:, :1], vocabulary.start)
        self.state = torch.zeros_like(self.token)  # (problems, hypotheses)
        self.once = grammar.once
        # bool (problems, hypotheses, symbols), the symbols of each hypothesis, if each symbol may
        # occur only once; None before the first token
        self.written: Tensor | None = None
        self.complete = grammar.complete
        self.problems = problems

    def _of(self, logits: Tensor) -> Tensor:
        for token in self.never:
            logits[:, token] = -math.inf
        return F.log_softmax(logits, dim=-1)

    def log_probabilities(self) -> Tensor:
        """Return the log-probabilities of each next token, (B, K, V); -inf if it is forbidden."""
        tokens = self.token.reshape(-1, 1)  # (problems * hypotheses, 1)
        each = [
            self._of(self.scale * self.network.step(matrix, tokens, memory))
            for matrix, memory in self.memories
        ]
        mean = each[0] if len(each) == 1 else torch.stack(each).logsumexp(0) - math.log(len(each))
        following = self.transition[self.state]  # (problems, hypotheses, fixed tokens + 1)
        allowed = (following >= 0) & (self.distance[following.clamp(min=0)] < self.left)
        allowed[..., self.end] = self.distance[self.state] <= 0
        symbols = allowed[..., self.fixed :].expand(-1, -1, mean.shape[-1] - self.fixed)
        if self.once:
            if self.written is None:
                self.written = torch.zeros_like(symbols)
            symbols = symbols & ~self.written
        if self.complete:
            symbols = symbols & self._asked(symbols.shape[-1])
            allowed[..., self.end] &= ~symbols.any(-1)
        # (problems, hypotheses, tokens)
        allowed = torch.cat([allowed[..., : self.fixed], symbols], dim=-1)
        return mean.view_as(allowed).masked_fill(~allowed, -math.inf)

    def extend(self, parents: Tensor, tokens: Tensor) -> None:
        """Append one token to each of K hypotheses of each problem.

        parents: (B, K), the numbers of the hypotheses to continue. tokens: (B, K), the new tokens.
        """
        if parents.shape[1] > 1 or self.state.shape[1] > 1:
            self._select(parents + self._first())
        following = self.transition[self.state, tokens.clamp(max=self.fixed)]
        # An ended answer keeps its state.
        self.state = torch.where(following < 0, self.state, following)
        if self.written is not None:
            symbols = torch.arange(self.written.shape[-1], device=tokens.device) + self.fixed
            self.written = self.written | (tokens[..., None] == symbols)
        self.token = tokens
        self.left -= 1

    def _asked(self, symbols: int) -> Tensor:
        """Return whether each of `symbols` symbols occurs in each problem, bool (B, 1, symbols)."""
        asked = self.problems.new_zeros(len(self.problems), self.fixed + symbols)
        return asked.scatter(1, self.problems, 1)[:, None, self.fixed :].bool()

    def keep(self, problems: Tensor) -> None:
        width = self.state.shape[1]
        self.problems = self.problems[problems]
        self._select(self._first()[problems] + torch.arange(width, device=problems.device))

    def _first(self) -> Tensor:
        batch, width = self.state.shape
        return torch.arange(0, batch * width, width, device=self.state.device)[:, None]

    def _select(self, rows: Tensor) -> None:
        for _, memory in self.memories:
            memory.select(rows)
        self.state = self.state.flatten()[rows]
        if self.written is not None:
            self.written = self.written.flatten(0, 1)[rows]


def _anything(vocabulary: Vocabulary) -> GrammarMask:
    """Return a mask with a single state, which allows every answer.

    The state's distance is -1, so that answers beyond the budget are allowed, too.
    """
    transition = torch.zeros(1, len(vocabulary) + 1, dtype=torch.int64)
    transition[:, [vocabulary.pad, vocabulary.start, vocabulary.end]] = -1
    return GrammarMask(transition, torch.tensor([-1]))


class _Beams:
    """The prefixes that a beam search keeps and the best answers that it has found."""

    def __init__(
        self, search: BeamSearch, problems: Tensor, vocabulary: Vocabulary, max_length: int
    ) -> None:
        self.search = search
        self.pad, self.end = vocabulary.pad, vocabulary.end
        self.room = max_length + 1
        batch, device = len(problems), problems.device
        # Log-probabilities of unfinished prefixes, (problems, hypotheses). They are float64, so
        # that rounding of long sums does not make different candidates equal.
        self.alive = torch.zeros(batch, 1, dtype=torch.float64, device=device)
        self.tokens = problems.new_empty(batch, 1, 0)  # (problems, hypotheses, tokens written)
        self.scores = self.alive.new_full((batch, search.beams), -math.inf)  # best first
        self.answers = problems.new_full((batch, search.beams, self.room), self.pad)
        self.done = torch.zeros(batch, dtype=torch.bool, device=device)  # (problems,)

    def choose(self, log_probabilities: Tensor) -> tuple[Tensor, Tensor]:
        """Return the numbers of the prefixes to continue and their next tokens, (B, K) each.

        log_probabilities: (B, K, V), of each next token of each prefix.
        """
        beams, rows = self.search.beams, log_probabilities.shape[-1]
        # (problems, hypotheses * tokens)
        candidates = (self.alive[..., None] + log_probabilities).flatten(1)
        # Only one continuation of each prefix is `<end>`, so at least half of the candidates can be
        # continued.
        scores, place = candidates.topk(min(2 * beams, candidates.shape[1]))
        parents, tokens = place // rows, place % rows
        prefixes = torch.cat([rows_of(self.tokens, parents), tokens[..., None]], dim=2)
        ended = tokens == self.end
        self._find(scores[:, :beams], prefixes[:, :beams], ended[:, :beams])
        on = min(beams, scores.shape[1])
        self.alive, chosen = scores.masked_fill(ended, -math.inf).topk(on)  # (problems, hypotheses)
        self.tokens = rows_of(prefixes, chosen)
        best_possible = self.alive[:, 0] / self.search.penalty(self.room)
        self.done |= self.scores[:, -1] > -math.inf
        self.done |= best_possible <= self.scores[:, self.search.answers - 1]
        return parents.gather(1, chosen), tokens.gather(1, chosen)

    def _find(self, scores: Tensor, prefixes: Tensor, ended: Tensor) -> None:
        length = prefixes.shape[2]
        new = (scores / self.search.penalty(length)).masked_fill(
            ~ended | self.done[:, None], -math.inf
        )
        answers = F.pad(prefixes, (0, self.room - length), value=self.pad)
        self.scores, best = torch.cat([self.scores, new], dim=1).topk(self.search.beams)
        self.answers = rows_of(torch.cat([self.answers, answers], dim=1), best)

    def keep(self, problems: Tensor) -> None:
        self.alive, self.tokens = self.alive[problems], self.tokens[problems]
        self.scores, self.answers = self.scores[problems], self.answers[problems]
        self.done = self.done[problems]

    def found(self) -> DecodedAnswers:
        """Return the best answers found, then prefixes that did not end within the budget."""
        wanted = self.search.answers
        scores = self.scores[:, :wanted]
        empty = scores == -math.inf
        answers = self.answers[:, :wanted].masked_fill(empty[..., None], self.pad)
        if self.tokens.shape[2] == self.room:
            ended = (~empty).sum(dim=1, keepdim=True)  # (problems, 1)
            # (problems, answers): the number of the prefix that fills each place after the ended
            # answers.
            number = torch.arange(wanted, device=ended.device) - ended
            alive = F.pad(self.alive, (0, wanted), value=-math.inf)
            there = (number >= 0) & (alive.gather(1, number.clamp(min=0)) > -math.inf)
            unended = rows_of(F.pad(self.tokens, (0, 0, 0, wanted)), number.clamp(min=0))
            answers = torch.where(there[..., None], unended, answers)
        return DecodedAnswers(answers, scores)
