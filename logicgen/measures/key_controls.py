"""What can be found of the keys of ciphers without a model: the controls beside a probe.

    most frequent   every symbol stands for the most frequent one of the language
    frequencies     the symbol that is n-th in frequency so far stands for the n-th of the language
    exact           the most probable one under the exact posterior over keys, where the language is
                    an automaton of few symbols: the best guess at each place

Shapes: B rows, T tokens, V tokens in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from logicgen.automata import Automaton, read_automaton
from logicgen.automata.lexinvariant import MOST_SYMBOLS, symbol_posterior
from logicgen.data.ciphers import Ciphers
from logicgen.data.corpus import Corpus
from logicgen.tasks.automaton_strings import AUTOMATON

COUNTED = 1_000  # training rows, from which the frequencies of the language are


def control_guesses(
    corpus: Corpus,
    ciphers: Ciphers,
    tokens: np.ndarray,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, np.ndarray]:
    """Return what each token of (B, T) rows stands for, (B, T), by the controls' names."""
    order = _by_frequency(corpus, ciphers)
    found = {
        "most frequent": np.full(tokens.shape, order[0]),
        "frequencies": order[_ranks(tokens, len(corpus.tokens), ciphers.staying)],
    }
    if corpus.task_name == "automaton" and len(corpus.tokens) - 1 <= MOST_SYMBOLS:
        automaton = read_automaton(corpus.folder / AUTOMATON)
        rows = []
        for row in tokens:  # up to a second for each, where there are eight symbols
            rows.append(_most_probable(automaton, row))
            progress(len(rows), len(tokens))
        found["exact"] = np.stack(rows)
    return found


def _by_frequency(corpus: Corpus, ciphers: Ciphers) -> np.ndarray:
    """Return the plain symbols, the most frequent of the training rows first; (V - staying,)."""
    train = Ciphers(corpus, "train") if corpus.splits.get("train") else ciphers
    _, plain = train.rows(np.arange(min(COUNTED, len(train))), train.length)
    counts = np.bincount(plain.ravel(), minlength=len(corpus.tokens))[ciphers.staying :]
    return np.argsort(-counts, kind="stable") + ciphers.staying


def _ranks(tokens: np.ndarray, count: int, staying: int) -> np.ndarray:
    """Return the rank, from 0, of each token of (B, T) among the frequencies up to it.

    Of equally frequent symbols the one with the smaller id is first, which is a random one. Ranks
    of tokens that no key exchanges say nothing.
    """
    rows = np.arange(len(tokens))
    so_far = np.zeros((len(tokens), count - staying))
    ranks = np.zeros(tokens.shape, dtype=np.int64)
    for place, column in enumerate(tokens.T):
        there = column >= staying
        so_far[rows[there], column[there] - staying] += 1
        own = np.maximum(column - staying, 0)
        mine = so_far[rows, own][:, None]
        before = (so_far == mine) & (np.arange(count - staying) < own[:, None])
        ranks[:, place] = ((so_far > mine) | before).sum(axis=1)
    return ranks


def _most_probable(automaton: Automaton, row: np.ndarray) -> np.ndarray:
    """Return what each token of a row (T,) most probably stands for, from it and those before."""
    ids = row[: int((row > 0).sum())] - 1  # symbols; a string that has ended has no more
    likely = symbol_posterior(automaton, ids)  # (L + 1, k, k)
    found = np.zeros(len(row), dtype=np.int64)
    found[: len(ids)] = likely[np.arange(1, len(ids) + 1), ids].argmax(axis=1) + 1
    return found
