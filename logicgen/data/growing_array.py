"""Arrays that are made piece by piece and may be larger than memory."""

from __future__ import annotations

import tempfile
from typing import IO

import numpy as np

from logicgen.errors import LogicgenError, reason_of

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
