"""Corpora on disk: made from a recipe, and opened as memory-mapped arrays.

A split consists of numbered parts. Each part has its own files, so that an interrupted command can
continue with the next part.

FOLDER/corpus.json                 recipe, seed, versions, tokens, files with checksums
FOLDER/train/00000.tokens.npy      an array of part 0, a file that NumPy can open
FOLDER/validation/ FOLDER/test/    the same for these splits
FOLDER/README.md                   a card for people
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.callbacks import StageProgress, no_progress
from logicgen.data.cards import corpus_card
from logicgen.data.estimate import of_corpus
from logicgen.data.folder import DataFolder, confined, head, write_json
from logicgen.data.recipe import CorpusRecipe
from logicgen.data.schemas import CorpusDescription, PartFiles
from logicgen.errors import LogicgenError
from logicgen.files import read_json, sha256, write_atomically, write_text
from logicgen.recipes import validate
from logicgen.tasks.cipher import KEYS, PLAIN, STAYING
from logicgen.tasks.corpus_task import CORPUS_SPLITS, TOKENS, CorpusSource
from logicgen.tokens import Tokens


class Corpus(DataFolder[CorpusRecipe]):
    """A finished corpus: arrays of token ids in files. `tokens` is its vocabulary."""

    noun, file, counted = "corpus", "corpus.json", "tokens"
    Description = CorpusDescription

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tokens = Tokens(**self.description["tokens"])

    @staticmethod
    def files(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        for split, content in description["splits"].items():
            for number, part in enumerate(content["parts"]):
                for what, array in part.items():
                    yield _name(split, number, what), array

    @property
    def has_automaton(self) -> bool:
        """Return whether the sequences come from one automaton, which is in the folder."""
        if self.recipe.task == "automaton":
            return bool(self.recipe.corpus.get("automata", 1) == 1)
        return self.recipe.task == "production"

    @classmethod
    def summary(cls, description: dict[str, Any], place: object) -> list[str]:
        """Return lines with the size of the vocabulary, the tokens and the empty splits."""
        sizes = cls.sizes(description)
        shown = ", ".join(f"{split} {size:,}" for split, size in sizes.items())
        different = len(Tokens(**description["tokens"]))
        held_out = description["recipe"]["task"] == "text"  # in shares, which are above 0
        return [f"{place}: {different:,} different tokens; {shown}"] + [
            f"  {split} is EMPTY: give more text, or another seed"
            for split, size in sizes.items()
            if held_out and not size
        ]

    def arrays(self, split: str, what: str = TOKENS) -> list[np.ndarray]:
        """Return the memory-mapped arrays of a split, one array for each part.

        what: the content of the arrays: tokens, keys, or plain text.
        Raises LogicgenError for an unknown or empty split, and for missing or damaged arrays.
        """
        found: list[np.ndarray] = []
        for number, part in enumerate(self.split(split)["parts"]):
            path = confined(self.folder, self.folder / _name(split, number, what))
            if what not in part:
                raise LogicgenError(f"{self.folder}: a corpus of {self.task_name} has no {what}")
            array = _mapped(path)
            if array is None or list(array.shape) != part[what]["shape"]:
                raise LogicgenError(
                    f"{path}: missing, altered or truncated; make the corpus again in an empty"
                    " folder"
                )
            found.append(array)
        return found


def _mapped(path: Path) -> np.ndarray | None:
    """Return the array in a NumPy file, memory-mapped; None if it cannot be read as token ids."""
    with suppress(Exception):  # a damaged header can raise any error of Python
        array = np.lib.format.open_memmap(path, mode="r")
        return array if array.dtype.kind == "u" else None
    return None


def corpus_rows(
    arrays: list[np.ndarray], numbers: np.ndarray, length: int | None = None
) -> np.ndarray:
    """Return the first `length` tokens of chosen rows, with the shape (chosen rows, length).

    arrays: arrays of the shape (rows, tokens). Row numbers continue from one array to the next.
    numbers: numbers of the chosen rows.
    length: number of tokens; all tokens of the rows if not given.
    """
    ends = np.cumsum([len(array) for array in arrays])
    parts = np.searchsorted(ends, numbers, side="right")
    places = numbers - np.concatenate([[0], ends])[parts]
    chosen = zip(parts, places, strict=True)
    found = [np.asarray(arrays[part][place, :length]) for part, place in chosen]
    return np.stack(found).astype(np.int64)


def checked_ids(ids: np.ndarray, tokens: int) -> np.ndarray:
    """Return token ids unchanged. Raises LogicgenError if an id is not in the vocabulary.

    tokens: the size of the vocabulary.
    """
    # Ids are checked when they are read: checking a whole corpus first takes too long.
    if ids.max(initial=0) >= tokens:
        raise LogicgenError(
            f"the corpus is damaged: it has token {ids.max()} of {tokens}; make it again in an"
            " empty folder"
        )
    return ids


def make_corpus(
    recipe: CorpusRecipe,
    folder: Path,
    *,
    name: str,
    seed: int = 0,
    workers: int = 1,
    progress: StageProgress = no_progress,
) -> dict[str, Any]:
    """Make the corpus in `folder`, or its missing parts; return its description.

    Memory does not grow with the corpus. One process makes the corpus; `workers` has no effect.
    Raises LogicgenError if the folder has other content, or if the recipe's files have no text.
    """
    begin = head(recipe, name, seed)
    before = Corpus.begun(folder, begin)
    if before is not None and before["complete"]:
        _remove_listings(folder, before)  # a process that was killed at the end left these files
        return before
    source = recipe.load_task().source(recipe.settings(name), seed)
    versions = {"logicgen": version("logicgen"), "numpy": np.__version__, **source.facts}
    made_from = {"tokens": source.tokens.as_dict(), "sources": source.digest}
    if before is not None:
        Corpus.check_same(folder, before, {"versions": versions})
        if any(before.get(key) != made_from[key] for key in made_from):
            raise LogicgenError(
                f"{folder}: begun with other files than there are now; choose another folder with"
                " -o, or delete it"
            )
    begin |= {"versions": versions, **made_from}
    of_corpus(source).check(folder, name)
    with Corpus.making(folder, begin) as known:
        if known is not None:  # another process has made the corpus meanwhile
            return known
        splits = _make_parts(source, folder, progress)
        for file, text in source.files.items():
            write_text(folder / file, text)
        description = {**begin, "complete": True, "splits": splits}
        Corpus.finish(folder, description, corpus_card(recipe, description))
        _remove_listings(folder, description)
    return description


def _remove_listings(folder: Path, description: dict[str, Any]) -> None:
    """Remove the JSON files of all parts. The description contains the same entries."""
    for split, content in description["splits"].items():
        for number in range(len(content["parts"])):
            _listing(folder, split, number).unlink(missing_ok=True)


def _make_parts(source: CorpusSource, folder: Path, progress: StageProgress) -> dict[str, Any]:
    """Make the missing parts of all splits; return the description of the splits."""
    # The smallest integer type that can hold every token id.
    kind = np.min_scalar_type(len(source.tokens) - 1)
    splits: dict[str, Any] = {}
    for split in CORPUS_SPLITS:
        parts = source.parts(split)
        splits[split] = {"tokens": 0, "parts": []}
        for number in range(parts):
            progress(split, number, parts)
            made = _made(folder, split, number)
            if made is None:
                made = {}
                for what, array in source.part(split, number).items():
                    path = folder / _name(split, number, what)
                    write_atomically(path, partial(_save, array.astype(kind)))
                    made[what] = {"shape": list(array.shape), "sha256": sha256(path)}
                # A part is complete if the list of its files exists.
                write_json(_listing(folder, split, number), made)
            splits[split]["parts"].append(made)
            splits[split]["tokens"] += int(np.prod(made[TOKENS]["shape"]))
        progress(split, parts, parts)
    return splits


def _save(array: np.ndarray, path: Path) -> None:
    with open(path, "wb") as file:
        np.save(file, array, allow_pickle=False)


def _name(split: str, number: int, what: str) -> str:
    return f"{split}/{number:05d}.{what}.npy"


def _listing(folder: Path, split: str, number: int) -> Path:
    return folder / split / f"{number:05d}.json"


def _made(folder: Path, split: str, number: int) -> dict[str, Any] | None:
    """Return the entries of a part's files; None if the part must be made (again)."""
    if not _listing(folder, split, number).is_file():
        return None
    with suppress(LogicgenError):
        made = read_json(_listing(folder, split, number), "")
        validate(PartFiles, made, "")
        if all((folder / _name(split, number, what)).is_file() for what in made):
            return made
    return None


class Ciphers:
    """The rows of a split as cipher texts with their plain texts, read on demand.

    The key of a row replaces each token of the plain text by another token. A corpus of ciphers
    stores the keys. A corpus with ciphers that are not one-to-one stores the plain texts instead.
    The strings of an automaton are stored as plain text. When a row is read, its tokens are
    permuted by a key that depends only on the number of the row.

    Raises LogicgenError for another corpus, and for a split that is unknown or has no rows.

    Attributes:
        staying: no key changes a token id below this number. These ids are `<end>` and, in texts,
            `<other>`.
        length: number of tokens of each row.
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
        self.staying = STAYING if corpus.holds == "ciphers" else 1  # only <end>
        self.length = int(self._tokens[0].shape[1])
        self._different = len(corpus.tokens)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self._tokens))

    def rows(self, numbers: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first `length` tokens of some rows: the cipher text and the plain text.

        Both arrays contain token ids and have the shape (rows, length).

        numbers: numbers of the rows.
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
