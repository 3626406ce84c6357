"""Substitution ciphers: rows of text, each with its characters exchanged by a key of its own.

A key is a permutation of all tokens that are characters; `<end>` and `<other>` stay. Token t of the
text is written `keys[i, t]` in row i.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023).
"""

from __future__ import annotations

import numpy as np
from pydantic import model_validator

from logicgen.errors import LogicgenError
from logicgen.tasks.corpus_task import TOKENS, CorpusTask, Part, RowSettings, RowSource
from logicgen.tasks.text import TextSettings, TextSource
from logicgen.tokens import Tokens

KEYS = "keys"

STAYING = 2  # <end> and <other>


class CipherSettings(RowSettings):
    """Keys of `[corpus]` beside those of rows; `text` is a table like that of the task `text`."""

    text: TextSettings

    @model_validator(mode="after")
    def _of_characters(self) -> CipherSettings:
        if self.text.tokens == "byte-pairs":
            raise ValueError("text.tokens: a cipher exchanges characters; leave the key out")
        return self


class CipherSource(RowSource):
    """Rows from random places of a split of the text, and random keys.

    The splits are those of the task `text`, so that its models have seen no test row.
    """

    def __init__(self, settings: CipherSettings, seed: int) -> None:
        super().__init__(settings, settings.length, seed)
        self._text = TextSource(settings.text, seed)
        self.facts, self.files, self.digest = self._text.facts, {}, self._text.digest

    @property
    def tokens(self) -> Tokens:  # type: ignore[override]
        return self._text.tokens

    def numbers_of_row(self) -> int:
        """Return the numbers of a row and of its key."""
        return self._length + len(self.tokens)

    def drawn(self, rng: np.random.Generator, rows: int, split: str, number: int) -> Part:
        """Return `tokens`, (rows, length), enciphered, and `keys`, (rows, V).

        Raises LogicgenError where the split has no text, or less than a row takes.
        """
        length, available = self._length, self._text.parts(split)
        if not available:
            raise LogicgenError(f"the text has no {split} part; give more text, or another seed")
        # Rows of one part come from one part of the text, in turn: a corpus does not fit into
        # memory.
        text = self._text.part(split, number % available)[TOKENS]
        if len(text) < length:
            raise LogicgenError(
                f"the {split} part of the text has {len(text)} characters, and a row {length}: give"
                " more text, or shorter rows"
            )
        starts = rng.integers(len(text) - length + 1, size=rows)
        plain = text[starts[:, None] + np.arange(length)]
        count = len(self.tokens)
        keys = np.tile(np.arange(count), (rows, 1))
        keys[:, STAYING:] = rng.permuted(keys[:, STAYING:], axis=1)
        return {TOKENS: np.take_along_axis(keys, plain, axis=1), KEYS: keys}


TASK = CorpusTask(
    "cipher",
    "text with its characters exchanged by a key that is stored with it",
    CipherSettings,
    CipherSource,
)
