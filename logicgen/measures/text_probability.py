"""The probability of a text: the sum over all its tokenizations.

A model of byte-pair tokens gives probabilities to sequences of tokens, and many sequences write the
same text. The tokenizer produces one such sequence, called canonical. Perplexity counts the
canonical sequence only. The probability of the text is the sum over all sequences. Source: Cao,
Rimell, "You should evaluate your language model on marginal likelihood over tokenisations" (EMNLP
2021).

If the sum has many terms, all terms except the canonical sequence are estimated by importance
sampling. A sequence with probability p under the model is drawn with probability q. The mean of p /
q over the draws estimates the sum. A token is drawn in proportion to its probability times a guess
at the probability of the remaining text. The guess treats tokens as independent, with their mean
probabilities along the canonical sequence. Without the guess, most draws begin with a frequent
letter, and an improbable text follows.

Draws exclude the canonical sequence, because otherwise nearly all draws would be canonical. While a
draw agrees with the canonical sequence, the weight of the next canonical token is multiplied by the
probability that the draw departs from the canonical sequence later.

Shapes: B sequences in a batch, T tokens in each, V tokens in the vocabulary.

A lattice contains all ways to cut a text into tokens (`logicgen.tokens.Lattice`). A place of a
lattice is an index of a byte or a character of the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count, islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.model.language_model import LanguageModel
from logicgen.nn.samples import require
from logicgen.tokens import NOTHING, Lattice

# The most tokenizations that are summed without samples, and the number of sequences in a batch.
MOST, AT_A_TIME = 10_000, 64


class TextProbability(NamedTuple):
    """The probability of a text, as binary logarithms."""

    tokenizations: int  # number of sequences of tokens that write the text
    canonical: float  # log2 of the canonical sequence's probability
    marginal: float  # log2 of the probability of all sequences together
    standard_error: float  # standard error of `marginal`, in bits; 0 if the sum is complete

    @property
    def lines(self) -> list[str]:
        """Return the numbers as printed lines."""
        error = f" (standard error {self.standard_error:.4f})" if self.standard_error else ""
        # Avoid -inf - -inf: both numbers are -inf if the text has probability 0.
        above = 0.0 if self.marginal == self.canonical else self.marginal - self.canonical
        return [
            f"tokenizations  {magnitude(self.tokenizations)}",
            f"canonical      {self.canonical:.4f}",
            f"marginal       {self.marginal:.4f}{error}",
            f"difference     {above:.4f}",
        ]


def text_probability(
    model: LanguageModel,
    text: str,
    *,
    after: str = "",
    whole: bool = False,
    samples: int | None = None,
    seed: int = 0,
) -> TextProbability:
    """Return the probability that `text` comes next, and that a token ends at the end of `text`.

    after: the preceding text; if it is empty, the text begins a document.
    whole: whether the document must end after the text.
    samples: at least 2. A sum of more terms is estimated from this number of samples. By default,
        up to 10,000 terms are summed without samples.
    seed: determines the samples, and the random embedding rows. All sequences have the same rows.
    Raises LogicgenError if the sum has too many terms, or if the text is empty or cannot be read.
    It is also raised if `after` is empty but the model does not predict how texts begin.
    """
    require(samples is None or samples >= 2, "samples", samples, "at least 2")
    before, path, lattice = _ways_to_write(model, text, after, whole)
    ways = _ways(lattice)
    if samples is None and ways[0] > MOST:
        raise LogicgenError(
            f"the text has {magnitude(ways[0])} tokenizations, and up to {MOST:,} are summed: give"
            " --samples 1000 for an estimate, or a shorter text"
        )
    start, rows = torch.from_numpy(before).to(model.device), seed << 32
    tokens = torch.tensor(path, device=model.device)
    logs = model.log_probabilities(torch.cat([start, tokens[:-1]])[None], [rows])
    logs = logs[0, len(start) - 1 :].double()  # (T, V) along the canonical sequence
    own = marginal = float(logs.gather(1, tokens[:, None]).sum()) / math.log(2)
    error = 0.0
    if 1 < ways[0] <= (samples or MOST):
        marginal = _summed(model, start, _paths(lattice, ways), rows) / math.log(2)
    elif ways[0] > 1:
        assert samples is not None
        draws = _TokenDraws(lattice, path, logs.cpu().numpy())
        weights = draws.weights(model, start, samples, seed) / math.log(2)
        others = np.logaddexp2.reduce(weights) - math.log2(samples)
        marginal = float(np.logaddexp2(own, others))
        spread = float(np.exp2(weights - marginal).std(ddof=1))
        error = spread / math.sqrt(samples) / math.log(2)
    return TextProbability(ways[0], own, marginal, error)


def _ways_to_write(
    model: LanguageModel, text: str, after: str, whole: bool
) -> tuple[np.ndarray, list[int], Lattice]:
    """Return the preceding token ids, and the canonical sequence and the lattice of a text.

    For the arguments, see `text_probability`.
    """
    before, canonical = _ids(model, after, "the text before"), _ids(model, text, "the text")
    lattice = model.tokens.lattice(text)
    if model.tokens.kind == "letters":  # a blank at the beginning counts only after letters
        canonical = _ids(model, after + text, "the text")[len(before) :]
        lattice = [{int(number): place + 1} for place, number in enumerate(canonical)]
    if not len(canonical):
        raise LogicgenError("the text is empty: give at least one token")
    if not len(before):
        before = _beginning(model)
    path = canonical.tolist()
    if whole:
        path.append(model.tokens.end)
        lattice = [*lattice, {model.tokens.end: len(lattice) + 1}]
    return before, path, lattice


def _beginning(model: LanguageModel) -> np.ndarray:
    """Return the token before the beginning of a document: `<end>` of the preceding document."""
    if model.tokens.kind == "names":
        raise LogicgenError(
            f"--after: a model of {model.task_name} does not predict how texts begin: give the"
            " first token"
        )
    return np.array([model.tokens.end])


def magnitude(number: int) -> str:
    """Return a number as text. A number of over 15 digits is shown as a power of ten."""
    return f"{number:,}" if number < 10**15 else f"about 10^{math.log10(number):.0f}"


def _ids(model: LanguageModel, text: str, what: str) -> np.ndarray:
    try:
        return model.tokens.encode(text)
    except UnicodeEncodeError:  # a command line may have bytes that are not UTF-8
        raise LogicgenError(f"{what} is not UTF-8: convert it") from None


def _ways(lattice: Lattice) -> list[int]:
    """Return the number of paths from each place of a lattice to its end."""
    ways = [0] * len(lattice) + [1]
    for place in reversed(range(len(lattice))):
        ways[place] = sum(ways[to] for to in lattice[place].values())
    return ways


def _paths(lattice: Lattice, ways: list[int]) -> Iterator[list[int]]:
    """Yield all sequences of tokens from the beginning of a lattice to its end."""
    under_way: list[tuple[int, list[int]]] = [(0, [])]
    while under_way:
        place, path = under_way.pop()
        if place == len(lattice):
            yield path
        else:
            steps = lattice[place].items()
            under_way += [(to, [*path, token]) for token, to in steps if ways[to]]


def _summed(model: LanguageModel, before: Tensor, paths: Iterator[list[int]], rows: int) -> float:
    """Return the natural logarithm of the total probability of sequences of tokens.

    before: ids of the preceding tokens.
    paths: the sequences.
    rows: seed of the random embedding rows.
    """
    found: list[Tensor] = []
    while some := list(islice(paths, AT_A_TIME)):
        following = torch.full((len(some), max(map(len, some))), NOTHING, device=before.device)
        for line, path in zip(following, some, strict=True):
            line[: len(path)] = torch.tensor(path)
        read = torch.cat([before.expand(len(some), -1), following[:, :-1].clamp(min=0)], dim=1)
        logs = model.log_probabilities(read, [rows] * len(some))[:, len(before) - 1 :]  # (B, T, V)
        own = logs.gather(2, following.clamp(min=0)[..., None])[..., 0].double()
        found.append(own.masked_fill(following == NOTHING, 0.0).sum(1).cpu())
    return float(torch.cat(found).logsumexp(0))


class _TokenDraws:
    """Random draws of paths through a lattice, except the canonical path."""

    def __init__(self, lattice: Lattice, canonical: list[int], logs: np.ndarray) -> None:
        """Compute the guesses at the probability of the remaining text at each place.

        logs: the model's log-probabilities along the canonical sequence, (T, V).
        """
        self.lattice, self.canonical = lattice, canonical
        mean = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
        # At each place, a guess at the log-probability of the remaining text; -inf if no token
        # leads from this place to the end of the text.
        self.guesses = [0.0] * (len(lattice) + 1)
        for place in reversed(range(len(lattice))):
            each = [mean[token] + self.guesses[to] for token, to in lattice[place].items()]
            self.guesses[place] = float(np.logaddexp.reduce(each))
        # If the first n tokens of a draw agree with the canonical path, `leaving[n]` is the
        # log-probability that the draw departs from this path later.
        self.leaving = [-math.inf]
        places = [0]
        for token in canonical:
            places.append(lattice[places[-1]][token])
        for step in reversed(range(len(canonical))):
            tokens, scores = self._scores(places[step], logs[step])
            total = np.logaddexp.reduce(scores)
            scores[tokens.index(canonical[step])] += self.leaving[0]
            self.leaving.insert(0, float(np.logaddexp.reduce(scores) - total))

    def _scores(self, place: int, logs: np.ndarray) -> tuple[list[int], np.ndarray]:
        """Return the tokens that may follow at a place, and logarithms of their weights."""
        steps = self.lattice[place]
        rest = [self.guesses[to] for to in steps.values()]
        return list(steps), logs[list(steps)] + np.array(rest)

    @torch.no_grad()
    def weights(self, model: LanguageModel, before: Tensor, samples: int, seed: int) -> np.ndarray:
        """Draw random sequences; return log(p / q) of each, (samples,).

        p is the probability of a sequence under the model, and q the probability of drawing it.
        `seed` and n determine sequence n.
        """
        found = np.zeros(samples)
        for first in range(0, samples, AT_A_TIME):
            numbers = range(first, min(first + AT_A_TIME, samples))
            read = model.reader([seed << 32] * len(numbers))
            generators = [np.random.default_rng((seed, number)) for number in numbers]
            places, canonical = [0] * len(numbers), [True] * len(numbers)
            new = before.expand(len(numbers), -1)
            for step in count():
                logs = read(new).double().cpu().numpy()  # (B, V)
                new = torch.zeros(len(numbers), 1, dtype=torch.int64)
                for line, number in enumerate(numbers):
                    if places[line] == len(self.lattice):
                        continue
                    tokens, scores = self._scores(places[line], logs[line])
                    if canonical[line]:
                        scores[tokens.index(self.canonical[step])] += self.leaving[step + 1]
                    share = np.exp(scores - np.logaddexp.reduce(scores))
                    drawn = int(generators[line].choice(len(tokens), p=share))
                    token = tokens[drawn]
                    found[number] += logs[line, token] - np.log(share[drawn])
                    places[line] = self.lattice[places[line]][token]
                    canonical[line] = canonical[line] and token == self.canonical[step]
                    new[line] = token
                if min(places) == len(self.lattice):
                    break
                new = new.to(before.device)
        return found
