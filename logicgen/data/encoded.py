"""One split of a data set as flat arrays of token ids: what training and evaluation read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from logicgen.vocabulary import Vocabulary


@dataclass(frozen=True)
class Ragged:
    """Sequences of different lengths end to end: row `i` is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: np.ndarray  # (total,) int32
    offsets: np.ndarray  # (rows + 1,) int64

    @staticmethod
    def of(sequences: Sequence[Sequence[int]]) -> Ragged:
        """Return some sequences end to end."""
        ids = np.fromiter(chain.from_iterable(sequences), np.int32)
        return Ragged(ids, np.cumsum([0, *map(len, sequences)]))

    @staticmethod
    def joined(parts: Sequence[Ragged]) -> Ragged:
        """Return the sequences of several parts, in order."""
        ids = np.concatenate([part.ids for part in parts])
        lengths = [part.lengths for part in parts]
        return Ragged(ids, np.concatenate([[0], np.cumsum(np.concatenate(lengths))]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each sequence, (rows,)."""
        return np.diff(self.offsets)

    def padded(self, rows: np.ndarray, pad: int) -> np.ndarray:
        """Return the chosen rows as one int64 matrix (len(rows), longest), filled up with `pad`."""
        starts, lengths = self.offsets[rows], self.lengths[rows]
        width = int(lengths.max(initial=0))
        places = starts[:, None] + np.arange(width)
        inside = np.arange(width) < lengths[:, None]
        picked = self.ids[np.minimum(places, max(len(self.ids) - 1, 0))] if len(self.ids) else 0
        return np.where(inside, picked, pad).astype(np.int64)


@dataclass(frozen=True)
class EncodedSplit:
    """Problems and answers of one split, without markers (`<start>`, `<end>`), and their cells."""

    vocabulary: Vocabulary
    problems: Ragged
    answers: Ragged
    symbols: np.ndarray  # (rows,) int32: the symbols coordinate of each example's cell
    length: np.ndarray  # (rows,) int32: tokens of the problem
    alphabet: int  # symbol rows an embedding needs for these examples: highest symbol number + 1

    @staticmethod
    def joined(parts: Sequence[EncodedSplit]) -> EncodedSplit:
        """Return the examples of several parts, at least one, in order."""
        return EncodedSplit(
            parts[0].vocabulary,
            Ragged.joined([part.problems for part in parts]),
            Ragged.joined([part.answers for part in parts]),
            np.concatenate([part.symbols for part in parts]),
            np.concatenate([part.length for part in parts]),
            max(part.alphabet for part in parts),
        )

    def __len__(self) -> int:
        return len(self.problems)
