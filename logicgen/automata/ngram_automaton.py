"""n-gram models with smoothed counts, and their conversion to automata.

In shapes of arrays, k is the number of symbols.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from logicgen.automata.automaton import Automaton
from logicgen.automata.strings import Readable, Strings, encode
from logicgen.errors import LogicgenError

MOST_CONTEXTS = 1_000_000


@dataclass(frozen=True, eq=False)
class NGramCounts:
    """An n-gram model: the next symbol depends on up to `order - 1` preceding symbols.

    A context is the string of the preceding `order - 1` symbols, or of all preceding symbols if
    there are fewer. Contexts are sorted by length and then by symbols. The empty context, number 0,
    is the context at the beginning of a string.
    """

    symbols: tuple[str, ...]  # k names
    order: int  # the n of "n-gram", at least 1
    # (contexts, k + 1): how often each symbol follows each context. The last column counts how
    # often the string ends after the context.
    counts: np.ndarray
    # (contexts, k + 1): each context's smoothed counts, divided by their sum; zeros if it is 0
    probabilities: np.ndarray


def ngram(
    symbols: Iterable[str], strings: Readable, order: int, smoothing: float = 0.0
) -> NGramCounts:
    """Count the n-grams of some strings, and return the n-gram model.

    order: 1 for unigrams, 2 for bigrams, and so on.
    smoothing: a number that is added to every count (Lidstone smoothing). 1 is Laplace's rule, and
    0 gives relative frequencies.

    Raises LogicgenError if an argument is out of range, or if there are too many contexts.
    """
    symbols = tuple(symbols)
    k = len(symbols)
    if order < 1:
        raise LogicgenError(f"n-gram: order {order} is below 1; 1 is the unigram model")
    if not (np.isfinite(smoothing) and smoothing >= 0):
        raise LogicgenError(f"n-gram: smoothing {smoothing} is not a number from 0 up")
    contexts = sum(k**length for length in range(order))
    if contexts > MOST_CONTEXTS:
        raise LogicgenError(
            f"n-gram: order {order} over {k} symbols has {contexts} contexts, more than"
            f" {MOST_CONTEXTS}; take a smaller order"
        )
    batch = encode(symbols, strings)
    context, outcome, inside = _events(batch, k, order)
    counts = np.zeros((contexts, k + 1))
    np.add.at(counts, (context[inside], outcome[inside]), 1.0)
    smoothed = counts + smoothing
    total = smoothed.sum(axis=1, keepdims=True)
    return NGramCounts(symbols, order, counts, smoothed / np.where(total > 0, total, 1))


def ngram_log_probabilities(model: NGramCounts, strings: Readable) -> np.ndarray:
    """Return the natural logarithm of the probability of each of S strings, (S,)."""
    batch = encode(model.symbols, strings)
    context, outcome, inside = _events(batch, len(model.symbols), model.order)
    with np.errstate(divide="ignore"):
        terms = np.log(model.probabilities[context, outcome])
    return np.asarray(np.where(inside, terms, 0.0).sum(axis=1))


def ngram_automaton(model: NGramCounts) -> Automaton:
    """Convert an n-gram model to a deterministic automaton with a state for each context.

    The name of the state for the context "a b" is "^ a b".
    """
    k, n = len(model.symbols), len(model.probabilities)
    states = np.arange(n)
    names = (
        " ".join(["^", *word])
        for length in range(model.order)
        for word in product(model.symbols, repeat=length)
    )
    transitions = tuple(
        csr_array((shares, (states, _next(states, symbol, k, model.order))), shape=(n, n))
        for symbol, shares in enumerate(model.probabilities.T[:k])
    )
    final = model.probabilities[:, k]
    return Automaton(model.symbols, tuple(names), states == 0, final, transitions)


def _next(context: np.ndarray, symbol: np.ndarray | int, k: int, order: int) -> np.ndarray:
    """Return the number of the context after one more symbol; k is the number of symbols.

    Contexts are numbered like the nodes of a k-ary heap: context c extended by symbol i has the
    number c * k + 1 + i. If the extended context is too long, its first symbol is dropped. Then the
    place of the context among the contexts of order - 1 symbols is a remainder modulo their number.
    """
    longest = k ** (order - 1)  # number of contexts of order - 1 symbols
    first = sum(k**length for length in range(order - 1))  # number of the first of these contexts
    extended = context * k + 1 + symbol
    beyond = first + longest  # number of the first context that is too long
    return np.where(extended < beyond, extended, first + (extended - beyond) % longest)


def _events(strings: Strings, k: int, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three (S, L + 1) arrays about each position of S strings of up to L symbols.

    They contain the number of the context before the position, the number of the next symbol (k for
    the end of the string), and whether the string has this position.
    """
    count, longest = strings.ids.shape
    places = np.arange(longest + 1)
    inside = places <= strings.lengths[:, None]
    outcome = np.full((count, longest + 1), k)
    outcome[:, :longest][strings.inside] = strings.ids[strings.inside]
    context = np.zeros((count, longest + 1), dtype=np.int64)
    for t in range(longest):
        # The contexts after the end of a string do not matter, since `inside` is false for them.
        context[:, t + 1] = _next(context[:, t], outcome[:, t] % k, k, order)
    return context, outcome, inside
