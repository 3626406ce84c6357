"""Rows of enciphered text with what stands behind them."""

from __future__ import annotations

import numpy as np

from logicgen.data.corpus import Corpus, corpus_rows
from logicgen.errors import LogicgenError
from logicgen.tasks.cipher import KEYS


class Ciphers:
    """The rows of a split of a cipher corpus. Nothing is read before it is asked for.

    Attributes:
        length: tokens of a row.

    Raises LogicgenError for another corpus, and a split that is unknown or has no rows.
    """

    def __init__(self, corpus: Corpus, split: str) -> None:
        if corpus.holds != "ciphers":
            raise LogicgenError(
                f"{corpus.folder}: a corpus of {corpus.task_name} has no keys: give one of the"
                " task cipher, such as logicgen generate cipher-python makes"
            )
        self._tokens, self._keys = corpus.arrays(split), corpus.arrays(split, KEYS)
        self.length = int(self._tokens[0].shape[1])

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self._tokens))

    def rows(self, numbers: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the beginning of some rows (B, length), and what each token stands for (B, V).

        A row goes on behind `<end>`, where the text's next document begins.
        """
        keys = corpus_rows(self._keys, numbers)
        return corpus_rows(self._tokens, numbers, length), np.argsort(keys, axis=1)
