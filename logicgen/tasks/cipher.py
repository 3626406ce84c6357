"""Substitution ciphers: rows of text in which a key of the row exchanges the characters.

A key is a permutation of the characters. It exchanges all characters, or a random `share` of the
characters that is chosen for each row. The tokens `<end>` and `<other>` do not change. In row i,
the key replaces token t of the text by token `keys[i, t]`.

The control (`one_to_one = false`) does not use a permutation. It replaces every occurrence of a
chosen character by a random chosen character, independently of all other occurrences. So only the
context gives a hint about the original character. If a model does better on the ciphers than on the
control, it deciphers them. The control stores the plain text instead of keys.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023). The share and the control come
from Fang et al., ICL Ciphers (EMNLP 2025), who replace words of prompts.
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
    """Keys of `[corpus]`, in addition to the keys for rows. `text` has the keys of task `text`."""

    text: TextSettings
    share: Annotated[float, Field(gt=0, le=1)] = 1.0  # share of the characters that are exchanged
    one_to_one: bool = True  # if false, the control is made: every occurrence is replaced at random

    @model_validator(mode="after")
    def _of_characters(self) -> CipherSettings:
        if self.text.tokens == "byte-pairs":
            raise ValueError("text.tokens: a cipher exchanges characters; leave the key out")
        return self


class CipherSource(RowSource):
    """Rows from random places of a split of the text, and random keys.

    The splits are the same as in the task `text`. So a model trained by the task `text` has not
    seen the test rows of this task.
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
        """Return the number of values that are stored for a row: tokens, and key or plain text."""
        return self._length + (len(self.tokens) if self._one_to_one else self._length)

    def drawn(self, rng: np.random.Generator, rows: int, split: str, number: int) -> Part:
        """Return the enciphered `tokens`, of shape (rows, length), with `keys` or `plain`.

        `keys` has the shape (rows, number of tokens). `plain` (the plain text, for the control) has
        the shape (rows, length). Raises LogicgenError if the split has no text or is shorter than a
        row, or if fewer than two characters would be exchanged.
        """
        length, available = self._length, self._text.parts(split)
        if not available:
            raise LogicgenError(f"the text has no {split} part; give more text, or another seed")
        # All rows of this part come from the same part of the text, because the whole text may not
        # fit into memory. The parts of the text are used in turn.
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
        np.put_along_axis(keys, chosen, -1, axis=1)  # -1 marks the characters to replace
        written = np.take_along_axis(keys, plain, axis=1)
        any_of_them = np.take_along_axis(chosen, drawn, axis=1)
        return {TOKENS: np.where(written < 0, any_of_them, written), PLAIN: plain}

    def _chosen(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        """Return the sorted ids of the characters that each row exchanges.

        The shape is (rows, number of exchanged characters).
        """
        characters = len(self.tokens) - STAYING
        chosen = np.tile(np.arange(STAYING, len(self.tokens)), (rows, 1))
        if self._share == 1:
            return chosen
        number = round(self._share * characters)
        if number < 2:
            raise LogicgenError(
                f"corpus.share: {self._share} of {characters} characters is {number}, but at least"
                " two must be exchanged: raise it"
            )
        return np.sort(rng.permuted(chosen, axis=1)[:, :number], axis=1)


TASK = CorpusTask(
    "cipher",
    "text with its characters exchanged by a key that is stored with it, or at random",
    CipherSettings,
    CipherSource,
)
