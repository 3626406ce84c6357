"""Substitution ciphers: rows of text, each with its characters exchanged by a key of its own.

A key is a permutation of all tokens that are characters, or of a `share` of them that is chosen for
each row; `<end>` and `<other>` stay. Token t of the text is written `keys[i, t]` in row i.

The control beside it is not one-to-one: every occurrence of a chosen character is written as one of
the chosen characters, drawn uniformly and independently of all others, perhaps itself. What stood
there cannot be found from the symbol, only guessed from the text around. So a model that does
better where ciphers are one-to-one deciphers them. The plain text is stored instead of keys.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023); of the share and the control:
Fang et al., ICL Ciphers (EMNLP 2025), who do it to words of prompts.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from logicgen.errors import LogicgenError
from logicgen.tasks.corpus_task import TOKENS, CorpusTask, Part, RowSettings, RowSource
from logicgen.tasks.text import TextSettings, TextSource
from logicgen.tokens import Tokens

KEYS, PLAIN = "keys", "plain"

STAYING = 2  # <end> and <other>


class CipherSettings(RowSettings):
    """Keys of `[corpus]` beside those of rows; `text` is a table like that of the task `text`."""

    text: TextSettings
    share: Annotated[float, Field(gt=0, le=1)] = 1.0  # of the characters, that are exchanged
    one_to_one: bool = True  # if not, each occurrence of these is written as any of them

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
        self._share, self._one_to_one = settings.share, settings.one_to_one
        self._text = TextSource(settings.text, seed)
        self.facts, self.files, self.digest = self._text.facts, {}, self._text.digest

    @property
    def tokens(self) -> Tokens:  # type: ignore[override]
        return self._text.tokens

    def numbers_of_row(self) -> int:
        """Return the numbers of a row, and of its key or its plain text."""
        return self._length + (len(self.tokens) if self._one_to_one else self._length)

    def drawn(self, rng: np.random.Generator, rows: int, split: str, number: int) -> Part:
        """Return `tokens`, (rows, length), enciphered, and `keys`, (rows, V), or `plain`.

        Raises LogicgenError where the split has no text, or less than a row takes, or too few
        characters would be exchanged.
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
        chosen = self._chosen(rng, rows)
        keys = np.tile(np.arange(len(self.tokens)), (rows, 1))
        if self._one_to_one:
            np.put_along_axis(keys, chosen, rng.permuted(chosen, axis=1), axis=1)
            return {TOKENS: np.take_along_axis(keys, plain, axis=1), KEYS: keys}
        drawn = rng.integers(chosen.shape[1], size=plain.shape)
        np.put_along_axis(keys, chosen, -1, axis=1)  # what is written as any of them
        written = np.take_along_axis(keys, plain, axis=1)
        any_of_them = np.take_along_axis(chosen, drawn, axis=1)
        return {TOKENS: np.where(written < 0, any_of_them, written), PLAIN: plain}

    def _chosen(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        """Return the characters of each row that are exchanged, in order: (rows, n)."""
        characters = len(self.tokens) - STAYING
        chosen = np.tile(np.arange(STAYING, len(self.tokens)), (rows, 1))
        if self._share == 1:
            return chosen
        number = round(self._share * characters)
        if number < 2:
            raise LogicgenError(
                f"corpus.share: {self._share} of {characters} characters is {number}, and two at"
                " least can be exchanged: raise it"
            )
        return np.sort(rng.permuted(chosen, axis=1)[:, :number], axis=1)


TASK = CorpusTask(
    "cipher",
    "text with its characters exchanged by a key that is stored with it, or at random",
    CipherSettings,
    CipherSource,
)
