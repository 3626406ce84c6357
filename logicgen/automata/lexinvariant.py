"""The exact lexinvariant model p' of an automaton: the mean of p over all renamings of symbols.

    p'(x) = 1/k! * sum over all permutations s of the k symbols of p(s applied to x)

Here p is the distribution of the automaton over strings. A lexinvariant model sees only which
symbols of a string are equal. Among these models, p' has the least expected cross-entropy. It is a
Bayesian mixture over the permutations, with a uniform prior. The end of a string is not renamed.
Source: Huang, Zelikman, Chen, Wu, Valiant, Liang, Lexinvariant Language Models (NeurIPS 2023).

In shapes of arrays, S is the number of strings, L the length of the longest string, and k the
number of symbols. Functions of an automaton raise LogicgenError if the sum of the weights of all
strings is 0 or infinite. The exact functions also raise LogicgenError for more than 8 symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from logicgen.automata.automaton import Automaton
from logicgen.automata.renaming import log_complete, log_joint, permutations
from logicgen.automata.strings import Readable, Strings, encode
from logicgen.automata.sums import normalise
from logicgen.automata.weights import log_normalised, log_prefix_weights, log_weights
from logicgen.errors import LogicgenError

MOST_SYMBOLS = 8

# The number of renamed strings whose weights are computed at once.
BLOCK = 20_000


def log_probabilities(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return the natural logarithm of the lexinvariant probability p' of each string, (S,).

    The logarithm is -inf if p' is 0.
    """
    model = _small(automaton)
    return log_complete(model, encode(model.symbols, strings))


def log_prefix_probabilities(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return log p' (natural; p' is the lexinvariant probability) of each prefix, (S, L + 1).

    Column i belongs to the prefix of i symbols. Entries after the end of a string are nan.
    """
    model = _small(automaton)
    joint = log_joint(model, encode(model.symbols, strings))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.logaddexp.reduce(joint, axis=-1))


def next_probabilities(automaton: Automaton, strings: Readable) -> np.ndarray:
    """Return the next-symbol distribution of the lexinvariant model after each prefix.

    The shape is (S, L + 1, k + 1) for S strings of up to L symbols, and k different symbols.

    The last column is the probability that the string ends. Entries after the end of a string, and
    after a prefix of probability 0, are nan. Symbols that do not occur in the prefix are equally
    likely.
    """
    model = _small(automaton)
    joint = log_joint(model, encode(model.symbols, strings))
    return np.asarray(np.exp(log_normalised(joint)))


def posterior(automaton: Automaton, string: Sequence[str] | np.ndarray) -> np.ndarray:
    """Return the posterior probability of each permutation after each prefix of a string.

    The shape is (L + 1, k!), with the permutations in the order of `permutations(k)`.
    """
    model = _small(automaton)
    if isinstance(string, np.ndarray):
        batch = encode(model.symbols, Strings(string[None], np.array([len(string)])))
    else:
        batch = encode(model.symbols, [string])
    meaning = permutations(len(model.symbols))
    # Permutations that agree on the symbols of the string give it the same weight, so each such
    # weight is computed once.
    used, place = np.unique(batch.ids[0], return_inverse=True)
    ways, way = np.unique(meaning[:, used], axis=0, return_inverse=True)
    renamed = Strings(ways[:, place], np.repeat(batch.lengths, len(ways)))
    logs = log_prefix_weights(model, renamed)[way.ravel()].T
    return np.asarray(np.exp(log_normalised(logs)))  # (L + 1, k!)


def symbol_posterior(automaton: Automaton, string: Sequence[str] | np.ndarray) -> np.ndarray:
    """Return the posterior probability of each symbol's meaning after each prefix, (L + 1, k, k).

    Entry (t, i, j) is the probability, after t symbols, that symbol i of the string stands for
    symbol j of the automaton.
    """
    likely = posterior(automaton, string)
    k = len(automaton.symbols)
    meaning = permutations(k)
    return np.stack([likely @ (meaning[:, i, None] == np.arange(k)) for i in range(k)], axis=1)


def information_bound(symbols: int) -> float:
    """Return log2 k!, an upper bound of KL(p || p') in bits for strings of any length.

    symbols: k, the number of symbols.

    The bound holds because p' of a string is at least p / k!. It also bounds the expected sum of
    the divergences of the next-symbol distributions over all positions. By the inequalities of
    Pinsker and Jensen, the mean L1 distance over L positions is then at most `sqrt(2 ln(k!) / L)`.
    """
    return float(np.log2(np.arange(1, symbols + 1)).sum())


@dataclass(frozen=True, eq=False)
class RenamingEstimate:
    """An estimate of p' for each of S strings: the mean of p over random permutations."""

    log: np.ndarray  # (S,) natural logarithm of the mean
    # (S,) standard error of the mean, divided by the mean. If it is far below 1, it is also the
    # standard error of `log`.
    relative_error: np.ndarray
    # (S,) effective sample size: the squared sum of p over the permutations, divided by the sum of
    # the squares of p
    effective: np.ndarray


def estimated_log_probabilities(
    automaton: Automaton, strings: Readable, renamings: int, rng: np.random.Generator
) -> RenamingEstimate:
    """Estimate the lexinvariant probability p' of each string from random permutations of symbols.

    p' is the mean, over all permutations, of the probability of the renamed string. The estimate is
    the mean over a random sample of permutations. The number of symbols is not limited.

    renamings: the number of random permutations for each string.

    The estimate is unbiased. For a long string, very few permutations have nearly all of the
    probability. If the sample lacks them, the estimate and its error are too low. Do not use the
    estimate if `RenamingEstimate.effective`, the effective sample size, is below 10. Raises
    LogicgenError if `renamings` is below 2, or if the weights of all strings sum to 0 or infinity.
    """
    if renamings < 2:
        raise LogicgenError(f"lexinvariant: {renamings} renamings have no standard error; take 2")
    model = normalise(automaton)
    batch = encode(model.symbols, strings)
    k = len(model.symbols)
    logs = np.empty((len(batch), renamings))
    together = max(1, BLOCK // renamings)
    for begin in range(0, len(batch), together):
        part = batch.rows(np.arange(begin, min(begin + together, len(batch))))
        meaning = rng.permuted(np.tile(np.arange(k), (len(part), renamings, 1)), axis=2)
        read = np.where(part.inside, part.ids, 0)[:, None]
        renamed = np.take_along_axis(meaning, read, axis=2).reshape(-1, part.ids.shape[1])
        scored = log_weights(model, Strings(renamed, np.repeat(part.lengths, renamings)))
        logs[begin : begin + len(part)] = scored.reshape(len(part), renamings)
    top = logs.max(axis=1)
    shares = np.exp(logs - np.where(np.isfinite(top), top, 0)[:, None])
    mean = shares.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return RenamingEstimate(
            log=top + np.log(mean),
            relative_error=shares.std(axis=1, ddof=1) / np.sqrt(renamings) / mean,
            effective=shares.sum(axis=1) ** 2 / (shares**2).sum(axis=1),
        )


def _small(automaton: Automaton) -> Automaton:
    """Return the normalized automaton. Raises LogicgenError if it has more than 8 symbols."""
    k = len(automaton.symbols)
    if k > MOST_SYMBOLS:
        raise LogicgenError(
            f"lexinvariant: {k} symbols have {factorial(k):,} permutations; the exact model takes"
            f" up to {MOST_SYMBOLS} symbols; use estimated_log_probabilities, which draws"
            " permutations at random"
        )
    return normalise(automaton)
