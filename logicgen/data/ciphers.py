"""Rows of ciphers with what they stand for, for probes: the plain token at every place."""

from __future__ import annotations

import numpy as np

from logicgen.data.corpus import Corpus, checked_ids, corpus_rows
from logicgen.errors import LogicgenError
from logicgen.tasks.cipher import KEYS, PLAIN, STAYING


class Ciphers:
    """The rows of a split, each of `length` tokens; read as they are asked for.

    A cipher corpus has its keys with it, or the plain text if it is not one-to-one. Strings of an
    automaton are exchanged as they are read, by keys that follow from the number of the row alone.

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
        stored = corpus.split(split)["parts"][0]
        self._keys = corpus.arrays(split, KEYS) if KEYS in stored else None
        self._plain = corpus.arrays(split, PLAIN) if PLAIN in stored else None
        self.staying = STAYING if corpus.holds == "ciphers" else 1  # <end> alone
        self.length = int(self._tokens[0].shape[1])
        self._different = len(corpus.tokens)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self._tokens))

    def rows(self, numbers: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the beginning of some rows, and what stands behind it: (B, length) each.

        A row of text goes on behind `<end>`, where the text's next document begins.
        """
        tokens = self._read(self._tokens, numbers, length)
        if self._plain is not None:
            return tokens, self._read(self._plain, numbers, length)
        if self._keys is not None:
            meant = np.argsort(corpus_rows(self._keys, numbers), axis=1)
            return tokens, np.take_along_axis(meant, tokens, axis=1)
        keys = np.stack([self._key(int(number)) for number in numbers])
        return np.take_along_axis(keys, tokens, axis=1), tokens

    def _read(self, arrays: list[np.ndarray], numbers: np.ndarray, length: int) -> np.ndarray:
        return checked_ids(corpus_rows(arrays, numbers, length), self._different)

    def _key(self, number: int) -> np.ndarray:
        key = np.arange(self._different)
        np.random.default_rng((number, 0)).shuffle(key[self.staying :])
        return key
