"""A finished data set on disk: opened, checked, and read as rows or as token ids."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from os.path import isfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import read_schema

from logicgen.data.folder import DataFolder, confined
from logicgen.data.ranges import Region
from logicgen.data.recipe import DataRecipe
from logicgen.data.schemas import DatasetDescription
from logicgen.data.shards import read_shard
from logicgen.errors import LogicgenError, reason_of
from logicgen.files import sha256
from logicgen.tasks import Task
from logicgen.tokens import MOST_SYMBOLS, Vocabulary

# The number of bytes above which an array is kept in a file instead of memory.
LARGE = 2**26


class GrowingArray:
    """A one-dimensional array that grows at its end. A large array is kept in a temporary file."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind, self._size = np.dtype(kind), 0
        self._pieces: list[np.ndarray] = []
        self._file: IO[bytes] | None = None

    def extend(self, piece: np.ndarray) -> None:
        """Append elements. Raises LogicgenError if the disk is full."""
        self._pieces.append(piece.astype(self._kind, copy=False))
        self._size += len(piece)
        if self._file is not None or self._size * self._kind.itemsize > LARGE:
            self._write()

    def array(self) -> np.ndarray:
        """Return all elements, which must not be changed. Call this method once, at the end."""
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


SOME = 2**20  # number of tokens that are examined at a time


@dataclass(frozen=True)
class Ragged:
    """Sequences of token ids, joined end to end: row `i` is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: np.ndarray  # (tokens of all rows,) int32
    offsets: np.ndarray  # (rows + 1,) int64

    @staticmethod
    def of(sequences: Sequence[Sequence[int]]) -> Ragged:
        """Join sequences of token ids end to end."""
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
        """Return the number of tokens of each chosen sequence, (chosen rows,)."""
        return np.asarray(self.offsets[rows + 1] - self.offsets[rows])

    def different(self) -> list[int]:
        """Return the token ids that occur, in ascending order."""
        some = (self.ids[first : first + SOME] for first in range(0, len(self.ids), SOME))
        found = (np.unique(ids) for ids in some)
        return sorted(set(chain.from_iterable(each.tolist() for each in found)))

    def padded(self, rows: npt.ArrayLike, pad: int) -> np.ndarray:
        """Return chosen rows as an int64 matrix (chosen rows, longest row), padded with `pad`."""
        rows = np.asarray(rows, dtype=np.int64)
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
    """Problems and answers of one split as token ids, without the markers `<start>` and `<end>`.

    A cell is a number of symbols and a range of lengths.
    """

    vocabulary: Vocabulary
    problems: Ragged
    answers: Ragged
    symbols: np.ndarray  # (rows,) int32: number of symbols of each example's cell
    length: np.ndarray  # (rows,) int32: number of tokens of each problem
    # The number of rows for symbols that an embedding matrix needs: 1 + the highest symbol number.
    alphabet: int

    @staticmethod
    def joined(parts: Iterable[EncodedSplit], vocabulary: Vocabulary) -> EncodedSplit:
        """Return the examples of several parts, in order; large arrays are kept in files."""
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


ROWS = 100_000  # number of rows that are converted to token ids at a time
COLUMNS = ("problem", "answer", "symbols", "length")  # the columns for training

Held = Set[str | int]
"""Values of a column that identify problems: texts of `problem`, or numbers of `alpha_class`."""

NONE: Held = frozenset()


class Dataset(DataFolder[DataRecipe]):
    """A finished data set: problems with their answers, in files of rows (shards).

    The checksum of a shard is verified once, when the shard is first read.
    """

    noun, file, counted = "data set", "dataset.json", "examples"
    Description = DatasetDescription

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.region: Region = self.recipe.region
        self._checked: set[str] = set()  # files with a verified checksum
        # Name and rows of the split that `table` read last
        self._last: tuple[str, pa.Table] | None = None

    @staticmethod
    def files(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        for split in description["splits"].values():
            yield from ((shard["file"], shard) for shard in split["shards"])

    @classmethod
    def whole(cls, folder: Path, description: dict[str, Any]) -> bool:
        """Return whether all shards exist with their recorded sizes."""
        shards = [(folder / name, shard["bytes"]) for name, shard in cls.files(description)]
        return all(path.is_file() and path.stat().st_size == size for path, size in shards)

    @cached_property
    def task(self) -> Task:
        """Return the task of the problems."""
        return self.recipe.load_task()

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary of the problems and answers; symbols are not part of it."""
        return self.task.vocabulary

    @classmethod
    def summary(cls, description: dict[str, Any], place: object) -> list[str]:
        """Return lines with the number of examples, and with splits and cells that have too few.

        A cell is the problems of one number of symbols and one range of lengths.
        """
        splits = description["splits"].values()
        short, cells = (sum(split[key] for split in splits) for key in ("cells_short", "cells"))
        lines = [f"{place}: {description['examples']:,} verified examples"]
        lines += [
            f"  {split} is EMPTY: too few such problems exist"
            for split, examples in cls.sizes(description).items()
            if not examples
        ]
        lines += [
            f"  {split}: fewer examples than cells, so {left_out:,} cells with the most symbols or"
            " tokens have none: ask for more"
            for split, held in description["splits"].items()
            if (left_out := held.get("cells_left_out"))
        ]
        if short:
            lines.append(
                f"  {short:,} of {cells:,} cells hold fewer than asked for, because no more exist"
                f" or were found: see {place}/cells.csv"
            )
        return lines

    def table(self, split: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of a split: problem, answer, symbols, length, alpha_class, difficulty.

        The rows of the last split that was read with all columns stay in memory.

        columns: names of the columns to return; None for all columns.

        Raises LogicgenError for an unknown split, or a shard that is missing, truncated or altered.
        """
        if self._last is None or self._last[0] != split:
            shards = self.split(split)["shards"]
            table = pa.concat_tables([self._rows(shard, columns) for shard in shards])
            if columns is not None:
                return table
            self._last = split, table
        return self._last[1].select(list(columns)) if columns else self._last[1]

    def pairs(self, split: str) -> Iterator[tuple[str, str]]:
        """Yield the problems of a split with their answers. Raises as `table` does."""
        table = self.table(split, ["problem", "answer"])
        yield from zip(*(column.to_pylist() for column in table), strict=True)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns; an empty list if the data set has no examples."""
        for _, shard in self.files(self.description):
            return list(read_schema(self._shard(shard)).names)
        return []

    def _rows(self, shard: dict[str, Any], columns: Sequence[str] | None) -> pa.Table:
        """Return the rows of a shard. Raises LogicgenError if a row is missing or added."""
        path = self._shard(shard)
        table = read_shard(path, self.task, columns)
        if table.num_rows != shard["examples"]:
            raise LogicgenError(
                f"{path}: has {table.num_rows:,} rows, but {shard['examples']:,} in {self.file}:"
                " generate the data set again in an empty folder"
            )
        return table

    def _shard(self, shard: dict[str, Any]) -> Path:
        """Return the path of a shard. Raises LogicgenError if the file is missing or damaged."""
        path = confined(self.folder, self.folder / shard["file"])
        if shard["file"] in self._checked:
            return path
        if not isfile(path):
            raise LogicgenError(
                f"{path}: missing; the same logicgen generate command makes it anew"
            )
        if path.stat().st_size != shard["bytes"] or sha256(path) != shard["sha256"]:
            raise LogicgenError(
                f"{path}: altered or truncated (its checksum is not the one in {self.file}); "
                "restore it or generate the data set again in an empty folder"
            )
        self._checked.add(shard["file"])
        return path

    def encoded(self, split: str, key: str = "problem", without: Held = NONE) -> EncodedSplit:
        """Return a split as arrays of token ids. Raises LogicgenError as `table` does.

        without: leave out the rows with these values in the column `key`.
        """
        parts = (encode(rows, self.vocabulary) for rows in self._some(split, key, without))
        return EncodedSplit.joined(parts, self.vocabulary)

    def held_out(self, key: str) -> Held:
        """Return the values of a column in all splits except `train`."""
        splits = (split for split in self.splits if split != "train" and self.splits[split])
        return {value for split in splits for value in self.table(split, [key])[0].to_pylist()}

    def _some(self, split: str, key: str, without: Held) -> Iterator[pa.Table]:
        """Yield the rows of a split in several tables. Skip rows if `without` contains their `key`.

        The texts of a whole split may exceed 2 GiB, the limit of an Arrow array.
        """
        columns = list(dict.fromkeys([*COLUMNS, key]))
        if self._last is None or self._last[0] != split:
            tables = (self._rows(shard, columns) for shard in self.split(split)["shards"])
        else:
            table = self._last[1]
            tables = (table.slice(first, ROWS) for first in range(0, len(table), ROWS))
        for rows in tables:
            if without:
                held = pa.array(list(without), rows[key].type)
                rows = rows.filter(pc.invert(pc.is_in(rows[key], held)))
            yield rows


def encode(table: pa.Table, vocabulary: Vocabulary) -> EncodedSplit:
    """Return rows with columns problem, answer, symbols and length as arrays of token ids.

    Raises LogicgenError for a token that is neither in the vocabulary nor a symbol, and for symbols
    with a number above `MOST_SYMBOLS`.
    """
    problems, answers = (_ragged(table[name], vocabulary) for name in ("problem", "answer"))
    symbols, length = (table[name].to_numpy().astype(np.int32) for name in ("symbols", "length"))
    highest = max(problems.ids.max(initial=0), answers.ids.max(initial=0))
    alphabet = max(int(highest) - len(vocabulary) + 1, int(symbols.max(initial=0)))
    return EncodedSplit(vocabulary, problems, answers, symbols, length, alphabet)


def _ragged(texts: pa.ChunkedArray, vocabulary: Vocabulary) -> Ragged:
    joined = texts.combine_chunks()
    rows = pc.utf8_split_whitespace(joined)
    lengths = pc.list_value_length(rows).to_numpy(zero_copy_only=False)
    empty = pc.equal(joined, "").to_numpy(zero_copy_only=False)  # an empty text has one empty token
    tokens = rows.flatten().dictionary_encode()
    if isinstance(tokens, pa.ChunkedArray):
        tokens = tokens.combine_chunks()
    try:
        ids = [vocabulary.id(token) if token else -1 for token in tokens.dictionary.to_pylist()]
    except KeyError as error:
        token = str(error.args[0])[:40]
        raise LogicgenError(f"token {token!r} is not in the vocabulary {vocabulary}") from None
    if (highest := max(ids, default=0)) >= len(vocabulary) + MOST_SYMBOLS:
        # A model would get an embedding for each symbol up to the highest, and need much memory.
        raise LogicgenError(
            f"symbol {vocabulary.token(highest)} is beyond the {MOST_SYMBOLS:,} that there are:"
            " generate the data set again"
        )
    flat = np.array(ids, dtype=np.int32)[tokens.indices.to_numpy(zero_copy_only=False)]
    if (flat < 0).sum() > empty.sum():
        raise LogicgenError("a text begins or ends with a blank: generate the data set again")
    offsets = np.concatenate([[0], np.cumsum(np.where(empty, 0, lengths))])
    return Ragged(flat[flat >= 0], offsets.astype(np.int64))
