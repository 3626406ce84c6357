"""A finished data set on disk: opened, checked, and read as rows or as token ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logicgen.data.data_recipe import DataRecipe, Region
from logicgen.data.encoded import EncodedSplit, Ragged
from logicgen.data.generate import DESCRIPTION
from logicgen.data.shard import read_shard, sha256
from logicgen.declaration import validate
from logicgen.errors import LogicgenError, nearest
from logicgen.tasks import Task
from logicgen.tasks.determined import Determined
from logicgen.tokens import Tokens
from logicgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.sequences import Sequences

CORPUS = "corpus.json"  # what a folder of another kind holds instead (`data/corpus.py`)


class Dataset:
    """One data set.

    Attributes:
        folder: where it is.
        description: the contents of `dataset.json`.
        recipe: what it was made from.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / DESCRIPTION
        if (folder / CORPUS).is_file():
            raise LogicgenError(
                f"{folder}: a corpus, which has no problems and answers; train and evaluate a"
                " language model on it, or give a data set of another task"
            )
        if not path.is_file():
            raise LogicgenError(
                f"{folder}: not a data set (no {DESCRIPTION}); make one with logicgen generate"
            )
        try:
            self.description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            complete = self.description["complete"]
            values = self.description["recipe"]
            if complete:
                for split in self.description["splits"].values():
                    for shard in split["shards"]:
                        _ = shard["file"], shard["bytes"], shard["sha256"]
            _ = self.description["name"]
        except (ValueError, KeyError, TypeError) as error:
            raise LogicgenError(f"{path}: damaged; make the data set again") from error
        self.recipe: DataRecipe = validate(DataRecipe, values, str(path), "recipe")
        if not complete:
            raise LogicgenError(
                f"{folder}: not finished; run the same logicgen generate command again"
            )

    @property
    def name(self) -> str:
        """Name of the recipe it was made from."""
        return self.description["name"]

    @cached_property
    def task(self) -> Task:
        """The task whose problems it holds."""
        return self.recipe.load_task()

    @property
    def task_name(self) -> str:
        """Return the name of the task."""
        return self.task.name

    @property
    def region(self) -> Region:
        """Return where its training problems come from."""
        return self.recipe.region

    holds = "problems"

    def with_problems(self) -> Dataset:
        """Return the data set: it holds problems and answers."""
        return self

    def with_sequences(self) -> Corpus:
        """Raise LogicgenError: a data set is no corpus."""
        raise LogicgenError(f"{self.folder}: not a corpus (no {CORPUS})")

    def sequences(self, split: str, everything: bool = False) -> Sequences:
        """Return a split's problems, each followed by its answer, as sequences of tokens.

        everything: whether all tokens are learnt, not the answers' alone.
        Raises LogicgenError for a task whose examples are not read as sequences.
        """
        from logicgen.data.sequences import ExampleSequences

        self._check_determined()
        return ExampleSequences(self.encoded(split), everything)

    @property
    def sequence_tokens(self) -> Tokens:
        """Return the tokens of these sequences: those of the training part and its region."""
        from logicgen.data.sequences import example_tokens

        alphabet = self.encoded("train").alphabet
        return example_tokens(self.vocabulary, max(alphabet, self.region.symbols[1]))

    def _check_determined(self) -> None:
        if not isinstance(self.task, Determined):
            raise LogicgenError(
                f"{self.folder}: holds problems of {self.task.name}; language models are trained on"
                " a corpus, or on problems of lookup or permutation"
            )

    @property
    def vocabulary(self) -> Vocabulary:
        """The fixed tokens of its problems and answers."""
        return self.task.vocabulary

    @property
    def splits(self) -> dict[str, int]:
        """Number of examples of each split."""
        splits = self.description["splits"]
        return {split: splits[split]["examples"] for split in splits}

    @property
    def fingerprint(self) -> str:
        """Changes when any byte of any example does."""
        import hashlib

        sums = [
            shard["sha256"] for s in self.description["splits"].values() for shard in s["shards"]
        ]
        return hashlib.sha256("".join(sums).encode()).hexdigest()[:16]

    def table(self, split: str, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a split: problem, answer, symbols, length, alpha_class.

        Raises LogicgenError for an unknown split, or a shard that is missing, truncated or altered.
        """
        if split not in self.splits:
            raise LogicgenError(
                f"{self.folder}: no split is called {split!r}: {nearest(split, list(self.splits))}"
            )
        tables = []
        for shard in self.description["splits"][split]["shards"]:
            path = self.folder / shard["file"]
            if not path.is_file():
                raise LogicgenError(
                    f"{path}: missing; the same logicgen generate command makes it anew"
                )
            if path.stat().st_size != shard["bytes"] or sha256(path) != shard["sha256"]:
                raise LogicgenError(
                    f"{path}: altered or truncated (its checksum is not the one in {DESCRIPTION}); "
                    "restore it or generate the data set again in an empty folder"
                )
            tables.append(read_shard(path, columns))
        if not tables:
            raise LogicgenError(f"{self.folder}: split {split!r} is empty")
        return pa.concat_tables(tables)

    def encoded(self, split: str) -> EncodedSplit:
        """A split as arrays of token ids."""
        return encode(self.table(split), self.vocabulary)


def encode(table: pa.Table, vocabulary: Vocabulary) -> EncodedSplit:
    """Rows with columns problem, answer, symbols and length as arrays of token ids.

    Raises LogicgenError for a token that is neither in the vocabulary nor a symbol.
    """
    problems = _ragged(table["problem"], vocabulary)
    answers = _ragged(table["answer"], vocabulary)
    highest = max(problems.ids.max(initial=0), answers.ids.max(initial=0))
    symbols = table["symbols"].to_numpy().astype(np.int32)
    length = table["length"].to_numpy().astype(np.int32)
    alphabet = max(int(highest) - len(vocabulary) + 1, int(symbols.max(initial=0)))
    return EncodedSplit(vocabulary, problems, answers, symbols, length, alphabet)


def _ragged(texts: pa.ChunkedArray, vocabulary: Vocabulary) -> Ragged:
    rows = pc.utf8_split_whitespace(texts.combine_chunks())
    lengths = pc.list_value_length(rows).to_numpy(zero_copy_only=False)
    # An empty text splits into one empty token.
    empty = pc.equal(texts.combine_chunks(), "").to_numpy(zero_copy_only=False)
    tokens = rows.flatten().dictionary_encode()
    if isinstance(tokens, pa.ChunkedArray):
        tokens = tokens.combine_chunks()
    try:
        ids = [vocabulary.id(token) if token else -1 for token in tokens.dictionary.to_pylist()]
    except KeyError as error:
        raise LogicgenError(f"token {error} is not in the vocabulary {vocabulary}") from None
    flat = np.array(ids, dtype=np.int32)[tokens.indices.to_numpy(zero_copy_only=False)]
    offsets = np.concatenate([[0], np.cumsum(np.where(empty, 0, lengths))])
    return Ragged(flat[flat >= 0], offsets.astype(np.int64))


def load_dataset(folder: str | Path) -> Dataset:
    """The data set in a folder. Raises LogicgenError where there is none or it is not finished."""
    return Dataset(Path(folder))
