"""One split of a data set as flat arrays of token ids: what training and evaluation read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO

import numpy as np

from logicgen.errors import LogicgenError, reason_of
from logicgen.tokens import Vocabulary

# Bytes from which an array lies in a file.
LARGE = 2**26


class GrowingArray:
    """An array (N,) that grows at its end; a large one is mapped from a file without a name."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind, self._size = np.dtype(kind), 0
        self._pieces: list[np.ndarray] = []
        self._file: IO[bytes] | None = None

    def extend(self, piece: np.ndarray) -> None:
        """Add some elements. Raises LogicgenError where they are too many for the disk."""
        self._pieces.append(piece.astype(self._kind, copy=False))
        self._size += len(piece)
        if self._file is not None or self._size * self._kind.itemsize > LARGE:
            self._write()

    def array(self) -> np.ndarray:
        """Return the elements, which are not to be changed. Call it once, at the end."""
        if self._file is None:
            return np.concatenate([np.empty(0, self._kind), *self._pieces])
        with self._file:
            return np.asarray(np.memmap(self._file, self._kind, "r", shape=(self._size,)))

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="logicgen-")  # noqa: SIM115
            for piece in self._pieces:
                self._file.write(piece.tobytes())
            self._file.flush()
        except OSError as error:
            raise LogicgenError(
                f"{tempfile.gettempdir()}: cannot be written: {reason_of(error)}: data are kept"
                " there as token ids: make room, or set TMPDIR to a folder elsewhere"
            ) from None
        self._pieces.clear()


SOME = 2**20  # tokens looked at together


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

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of tokens of each sequence, (rows,)."""
        return np.diff(self.offsets)

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of tokens of the chosen sequences, (len(rows),)."""
        return np.asarray(self.offsets[rows + 1] - self.offsets[rows])

    def different(self) -> list[int]:
        """Return the tokens that occur, in order."""
        some = (self.ids[first : first + SOME] for first in range(0, len(self.ids), SOME))
        found = (np.unique(ids) for ids in some)
        return sorted(set(chain.from_iterable(each.tolist() for each in found)))

    def padded(self, rows: np.ndarray, pad: int) -> np.ndarray:
        """Return the chosen rows as one int64 matrix (len(rows), longest), filled up with `pad`."""
        starts, lengths = self.offsets[rows], self.lengths_of(rows)
        width = int(lengths.max(initial=0))
        places = starts[:, None] + np.arange(width)
        inside = np.arange(width) < lengths[:, None]
        picked = self.ids[np.minimum(places, max(len(self.ids) - 1, 0))] if len(self.ids) else 0
        return np.where(inside, picked, pad).astype(np.int64)


class _GrowingRagged:
    def __init__(self) -> None:
        self._ids, self._offsets, self._end = GrowingArray(np.int32), GrowingArray(np.int64), 0
        self._offsets.extend(np.zeros(1, np.int64))

    def extend(self, part: Ragged) -> None:
        self._ids.extend(part.ids)
        self._offsets.extend(part.offsets[1:] + self._end)
        self._end += len(part.ids)

    def ragged(self) -> Ragged:
        return Ragged(self._ids.array(), self._offsets.array())


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
    def joined(parts: Iterable[EncodedSplit], vocabulary: Vocabulary) -> EncodedSplit:
        """Return the examples of several parts, in order; of many, their arrays lie in files."""
        problems, answers = _GrowingRagged(), _GrowingRagged()
        symbols, length, alphabet = GrowingArray(np.int32), GrowingArray(np.int32), 0
        for part in parts:
            problems.extend(part.problems)
            answers.extend(part.answers)
            symbols.extend(part.symbols)
            length.extend(part.length)
            alphabet = max(alphabet, part.alphabet)
        texts = problems.ragged(), answers.ragged()
        return EncodedSplit(vocabulary, *texts, symbols.array(), length.array(), alphabet)

    def __len__(self) -> int:
        return len(self.problems)
