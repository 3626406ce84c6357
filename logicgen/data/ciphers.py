"""Rows whose symbols are exchanged by keys, for probes: which symbol of a row stands for which."""

from __future__ import annotations

import numpy as np

from logicgen.data.corpus import Corpus, checked_ids, corpus_rows
from logicgen.errors import LogicgenError
from logicgen.tasks.cipher import KEYS, STAYING


class Ciphers:
    """The rows of a split, each of `length` tokens; read as they are asked for.

    A cipher corpus has its keys with it. Strings of an automaton are exchanged as they are read, by
    keys that follow from the number of the row alone.

    Raises LogicgenError for another corpus, and a split that is unknown or has no rows.

    Attributes:
        staying: how many tokens, the first ones, no key exchanges.
    """

    def __init__(self, corpus: Corpus, split: str) -> None:
        if corpus.holds != "ciphers" and corpus.task_name != "automaton":
            raise LogicgenError(
                f"{corpus.folder}: a corpus of {corpus.task_name} has no keys: give one of the"
                " task cipher, such as logicgen generate cipher-letters makes, or of automaton"
            )
        if not (corpus.holds == "ciphers" or corpus.has_automaton):
            raise LogicgenError(
                f"{corpus.folder}: strings of many automata, in each of which a symbol stands for"
                " something else: give those of one (automata = 1)"
            )
        self._tokens = corpus.arrays(split)
        self._keys = corpus.arrays(split, KEYS) if corpus.holds == "ciphers" else None
        self.staying = STAYING if corpus.holds == "ciphers" else 1  # <end> alone
        self.length = int(self._tokens[0].shape[1])
        self._different = len(corpus.tokens)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self._tokens))

    def rows(self, numbers: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the beginning of some rows (B, length), and what each token stands for (B, V).

        A row of text goes on behind `<end>`, where the text's next document begins.
        """
        tokens = checked_ids(corpus_rows(self._tokens, numbers, length), self._different)
        if self._keys is not None:
            return tokens, np.argsort(corpus_rows(self._keys, numbers), axis=1)
        keys = np.stack([self._key(int(number)) for number in numbers])
        return np.take_along_axis(keys, tokens, axis=1), np.argsort(keys, axis=1)

    def _key(self, number: int) -> np.ndarray:
        key = np.arange(self._different)
        np.random.default_rng((number, 0)).shuffle(key[self.staying :])
        return key
