"""Sequences for language models: batches of token ids, from a corpus or from a task's examples.

Batch `t` is a pure function of (data, batch size, context, seed, t), as for other models. Ids of a
batch are int64 (B, T). `NOTHING` follows the end of a sequence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from logicgen.data.corpus import Corpus, checked_ids, corpus_rows
from logicgen.data.dataset import Dataset, EncodedSplit
from logicgen.data.opening import as_corpus, as_dataset
from logicgen.errors import LogicgenError
from logicgen.model.batches import Rank, Share
from logicgen.tasks.string_task import DeterminedTask
from logicgen.tokens import NOTHING, Tokens, Vocabulary, symbol_name


class TokenBatch(NamedTuple):
    """A batch of B sequences of T tokens, and their targets."""

    step: int
    tokens: Tensor  # (sequences, tokens) int64, padded with `NOTHING`
    # int64 (sequences, tokens - 1): the next tokens, or `NOTHING` where the loss ignores them
    targets: Tensor
    share: Share | None = None  # the device's share of a larger batch

    def shared(self, rank: Rank) -> Self:
        """Return the part of the batch for one device."""
        share, filler = Share.of((self.targets != NOTHING).sum(1), rank)
        return self._replace(
            tokens=self.tokens[share.rows],
            targets=self.targets[share.rows].masked_fill(filler[:, None], NOTHING),
            share=share,
        )


Pair = tuple[np.ndarray, np.ndarray]
"""The tokens and targets of sequences, in the format of `TokenBatch`."""


class Sequences(ABC):
    """The sequences of one split."""

    length: int | None = None  # the number of tokens of a sequence, if all have the same number
    longest = 0  # for examples of a task, the number of tokens of the longest example

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of sequences. For a text it is the number of tokens."""

    @abstractmethod
    def random(self, rng: np.random.Generator, count: int, context: int) -> Pair:
        """Return `count` random sequences of up to `context` tokens."""

    @abstractmethod
    def spread(self, count: int, context: int) -> Pair:
        """Return up to `count` sequences that do not overlap, the same at each call."""

    @abstractmethod
    def once(self, count: int, context: int) -> Iterator[np.ndarray]:
        """Yield all tokens once, in arrays of up to `count` sequences of up to `context` tokens."""

    def batches(self, size: int, context: int, seed: int, step: int) -> Iterator[TokenBatch]:
        """Yield training batches from a step on, without end."""
        while True:
            rng = np.random.default_rng((seed, step))
            tokens, targets = map(torch.from_numpy, self.random(rng, size, context))
            yield TokenBatch(step, tokens, targets)
            step += 1

    def fixed(self, count: int, context: int, size: int) -> list[TokenBatch]:
        """Return the sequences of `spread` in batches of `size`."""
        tokens, targets = map(torch.from_numpy, self.spread(count, context))
        return [
            TokenBatch(0, tokens[first : first + size], targets[first : first + size])
            for first in range(0, len(tokens), size)
        ]


class TextSequences(Sequences):
    """Windows of a text, which may contain the end of a document and the beginning of the next."""

    def __init__(self, arrays: list[np.ndarray], tokens: int) -> None:
        # Plain arrays on the same mapped memory: slices of `np.memmap` are slower.
        self._arrays, self._tokens = list(map(np.asarray, arrays)), tokens
        self._ends = np.cumsum([len(array) for array in arrays])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def _window(self, start: int, context: int) -> np.ndarray:
        """Return `context` tokens from index `start` on, possibly from several arrays."""
        part = int(np.searchsorted(self._ends, start, side="right"))
        place = start - (int(self._ends[part - 1]) if part else 0)
        pieces = [self._arrays[part][place : place + context]]
        while left := context - sum(map(len, pieces)):
            part += 1
            pieces.append(self._arrays[part][:left])
        return checked_ids(np.concatenate(pieces).astype(np.int64), self._tokens)

    def random(self, rng: np.random.Generator, count: int, context: int) -> Pair:
        """Return windows that begin at random places."""
        context = min(context, len(self))
        return self._windows(rng.integers(len(self) - context + 1, size=count), context)

    def spread(self, count: int, context: int) -> Pair:
        """Return up to `count` windows that do not overlap, evenly spaced over the text."""
        context = min(context, len(self))
        count = min(count, len(self) // context)
        return self._windows(np.arange(count) * (len(self) // count), context)

    def once(self, count: int, context: int) -> Iterator[np.ndarray]:
        """Yield windows one after another, then the remaining tokens."""
        whole = len(self) // context * context
        starts = np.arange(0, whole, context)
        for first in range(0, len(starts), count):
            yield self._windows(starts[first : first + count], context)[0]
        if whole < len(self):
            yield self._window(whole, len(self) - whole)[None]

    def _windows(self, starts: np.ndarray, context: int) -> Pair:
        tokens = np.stack([self._window(int(start), context) for start in starts])
        return tokens, tokens[:, 1:]


class ListedSequences(Sequences):
    """Sequences that are read from their beginning. Tokens beyond the context are left out."""

    @abstractmethod
    def _rows(self, rows: np.ndarray, context: int) -> Pair:
        """Return the sequences of these numbers."""

    def random(self, rng: np.random.Generator, count: int, context: int) -> Pair:
        """Return random sequences."""
        return self._rows(rng.integers(len(self), size=count), context)

    def spread(self, count: int, context: int) -> Pair:
        """Return the first sequences."""
        return self._rows(np.arange(min(count, len(self))), context)

    def once(self, count: int, context: int) -> Iterator[np.ndarray]:
        """Yield all sequences once, in order."""
        for first in range(0, len(self), count):
            yield self._rows(np.arange(first, min(first + count, len(self))), context)[0]


class RowSequences(ListedSequences):
    """Rows of a corpus; each row is a sequence."""

    def __init__(self, arrays: list[np.ndarray], tokens: int) -> None:
        self._arrays, self._tokens = arrays, tokens
        self.length = arrays[0].shape[1]  # number of tokens of a row

    def __len__(self) -> int:
        return sum(map(len, self._arrays))

    def _rows(self, rows: np.ndarray, context: int) -> Pair:
        tokens = checked_ids(corpus_rows(self._arrays, rows, context), self._tokens)
        ends = tokens == Tokens.end  # keep the first end, and replace all tokens after it
        tokens[np.cumsum(ends, axis=1) - ends > 0] = NOTHING
        return tokens, tokens[:, 1:]


class ExampleSequences(ListedSequences):
    """Problems, each followed by its answer. The targets are the answers, or all tokens.

    The tokens are the tokens of `example_tokens`. If the length of answers is known (a
    `DeterminedTask`), a sequence is `problem answer`. Otherwise it is `problem <end> answer <end>`,
    after up to `shots` solved problems of the same form. The number of solved problems is drawn for
    each batch.

    The `<end>` after the problem shows the marker to models that do not know their tokens, before
    they have to predict the `<end>` of the answer.

    shots: most solved problems before the last problem.
    """

    def __init__(
        self, split: EncodedSplit, everything: bool = False, ends: bool = False, shots: int = 0
    ) -> None:
        self._split, self._everything, self._shots = split, everything, shots
        self._end = [Vocabulary.end] if ends else []
        self._lengths = split.problems.lengths + split.answers.lengths + 2 * len(self._end)
        self.longest = (shots + 1) * int(self._lengths.max(initial=0))

    def __len__(self) -> int:
        return len(self._split)

    def _rows(self, rows: np.ndarray, context: int) -> Pair:
        """Return B sequences. rows: the numbers of their examples, (B,) or (B, examples)."""
        rows = rows.reshape(len(rows), -1)
        longest = int(self._lengths[rows].sum(1).max())
        tokens = np.full((len(rows), longest), NOTHING, dtype=np.int64)
        targets = tokens.copy()
        for line, examples in enumerate(rows):
            place = 0
            for row in examples:
                ids = solved_ids(self._split.problems[row], self._split.answers[row], self._end)
                first = len(self._split.problems[row]) + len(self._end)
                first, after = place + (0 if self._everything else first), place + len(ids)
                tokens[line, place:after] = ids
                targets[line, first:after] = tokens[line, first:after]
                place = after
        return tokens[:, :context], targets[:, 1:context]

    def random(self, rng: np.random.Generator, count: int, context: int) -> Pair:
        """Return random examples of similar lengths."""
        size: tuple[int, ...] = (4 * count,)
        if self._shots:
            size = *size, 1 + int(rng.integers(self._shots + 1))
        rows = rng.integers(len(self), size=size)
        lengths = self._lengths[rows].reshape(len(rows), -1).sum(1)
        rows = rows[np.argsort(lengths, kind="stable")]
        return self._rows(rows.reshape(4, count, -1)[rng.integers(4)], context)

    def spread(self, count: int, context: int) -> Pair:
        """Return sequences of `shots` + 1 examples, one for each of the first `count` examples."""
        first = np.arange(min(count, len(self)))
        return self._rows((first[:, None] + np.arange(self._shots + 1)) % len(self), context)


def solved_ids(problem: np.ndarray, answer: np.ndarray, end: list[int]) -> np.ndarray:
    """Return a solved problem as ids of a language model: problem, `end`, answer, `end`."""
    return example_ids(np.concatenate([problem, end, answer, end]).astype(np.int64))


def example_ids(ids: np.ndarray) -> np.ndarray:
    """Convert ids of a task's vocabulary to ids of a language model.

    The language model has the same tokens in the same order, except `<pad>` and `<start>`.
    """
    return ids - Vocabulary.end


def example_tokens(vocabulary: Vocabulary, symbols: int) -> Tokens:
    """Return the tokens of a language model of examples: `<end>`, fixed tokens, then symbols."""
    names = map(symbol_name, range(symbols))
    return Tokens("names", [*vocabulary.fixed[Vocabulary.end :], *names])


def sequences_of(
    data: Dataset | Corpus, split: str, everything: bool = False, shots: int = 0
) -> Sequences:
    """Return the sequences of a split of a corpus, or of a data set of problems with answers.

    everything: for problems with answers, whether problems are targets, too.
    shots: most solved problems before a problem.

    Raises LogicgenError if solved problems cannot precede the sequences.
    """
    ends = data.holds == "problems" and not isinstance(as_dataset(data).task, DeterminedTask)
    if shots and not ends:
        raise LogicgenError(
            f"training.shots: {data.folder} holds {data.task_name}, whose sequences show their own"
            " examples: leave it out, or give problems such as propositional or ltl"
        )
    if data.holds != "problems":
        return corpus_sequences(as_corpus(data), split)
    return ExampleSequences(as_dataset(data).encoded(split), everything, ends, shots)


def tokens_of(data: Dataset | Corpus) -> Tokens:
    """Return the tokens of the sequences of a corpus, or of a data set of problems with answers.

    In a data set, the number of symbols is the larger of two numbers: the symbols of the training
    split, and the symbols of the training region.
    """
    if data.holds != "problems":
        return as_corpus(data).tokens
    dataset = as_dataset(data)
    alphabet = dataset.encoded("train").alphabet
    return example_tokens(dataset.vocabulary, max(alphabet, dataset.region.symbols[1]))


def corpus_sequences(corpus: Corpus, split: str) -> Sequences:
    """Return the sequences of a split of a corpus."""
    arrays, tokens = corpus.arrays(split), len(corpus.tokens)
    rows = arrays[0].ndim == 2
    return RowSequences(arrays, tokens) if rows else TextSequences(arrays, tokens)
