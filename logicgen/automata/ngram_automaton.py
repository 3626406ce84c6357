"""n-gram models: counted with smoothing, used directly or converted to automata."""

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

    Contexts are all strings of up to `order - 1` symbols, sorted by length and then by symbols. The
    empty context, number 0, is the beginning.
    """

    symbols: tuple[str, ...]  # k names
    order: int  # n, at least 1
    # (contexts, k + 1) counts of each symbol and, last, of the end after each context
    counts: np.ndarray
    probabilities: np.ndarray  # (contexts, k + 1); zeros for contexts without counts and smoothing


def ngram(
    symbols: Iterable[str], strings: Readable, order: int, smoothing: float = 0.0
) -> NGramCounts:
    """Return the n-gram model of some strings: order 1 for unigrams, 2 for bigrams, ...

    smoothing: added to every count (Lidstone; 1 is Laplace's rule); 0 for relative frequencies.
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
    """Return the natural logarithm of the probability of each string, (S,), from its n-grams."""
    batch = encode(model.symbols, strings)
    context, outcome, inside = _events(batch, len(model.symbols), model.order)
    with np.errstate(divide="ignore"):
        terms = np.log(model.probabilities[context, outcome])
    return np.asarray(np.where(inside, terms, 0.0).sum(axis=1))


def ngram_automaton(model: NGramCounts) -> Automaton:
    """Return the deterministic automaton of the model; its states are contexts, as `^ a b`."""
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
    """Return the context after one more symbol.

    Context c and symbol i give context c * k + 1 + i, as in a heap. If that context is too long, it
    loses its first symbol: a remainder among the contexts of one length.
    """
    longest = k ** (order - 1)  # contexts of full length
    first = sum(k**length for length in range(order - 1))  # the number of the first such context
    extended = context * k + 1 + symbol
    beyond = first + longest  # the number of the first context that is too long
    return np.where(extended < beyond, extended, first + (extended - beyond) % longest)


def _events(strings: Strings, k: int, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return context, next symbol (k: the end) and whether the position exists, (S, L + 1)."""
    count, longest = strings.ids.shape
    places = np.arange(longest + 1)
    inside = places <= strings.lengths[:, None]
    outcome = np.full((count, longest + 1), k)
    outcome[:, :longest][strings.inside] = strings.ids[strings.inside]
    context = np.zeros((count, longest + 1), dtype=np.int64)
    for t in range(longest):
        # Values beyond the end do not matter: these positions are not inside.
        context[:, t + 1] = _next(context[:, t], outcome[:, t] % k, k, order)
    return context, outcome, inside
