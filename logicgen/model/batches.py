"""Padded batches of problems of similar length: an endless stream that can start at any step.

Batch `t` is a pure function of (split, batch size, seed, t), so that a resumed training is exact.
Each epoch shows every example once. It shuffles all examples, and cuts them into windows of 100
batches. Within a window of 100 batches, examples are sorted by the length of the problem, to reduce
padding. Then the window is cut into batches, and the batches are shuffled. Sorting by the length of
the answer, too, would put similar answers into each batch (for example only empty answers), which
trains badly.

All devices have the same batches and draw the same random numbers for them. Each device learns from
its share of the sequences. So the number of devices changes a training only by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from logicgen.data.dataset import EncodedSplit, Ragged
from logicgen.errors import LogicgenError
from logicgen.model import capacity
from logicgen.nn.transformer import Transformer, mode
from logicgen.tokens import Vocabulary

AnyBatch = TypeVar("AnyBatch")


class Rank(NamedTuple):
    """The number of a device, from 0, and `devices`, the number of devices that train a model."""

    number: int
    devices: int


class Share(NamedTuple):
    """The sequences of a batch from which a device learns, and their weight.

    rows: int64 (R,), the numbers of the R sequences in the whole batch; R is the same on every
        device.
    whole: number of sequences of the whole batch.
    weight: the weight of the share's mean loss. With these weights, the mean over all devices
        equals the loss of the whole batch.
    """

    rows: Tensor
    whole: int
    weight: float

    @classmethod
    def of(cls, counts: Tensor, rank: Rank) -> tuple[Self, Tensor]:
        """Return the share of a device, and a mask of its fillers, bool (R,).

        Fillers are sequences without targets, which give all devices the same number of sequences.

        counts: int64 (B,), the number of loss targets in each of the B sequences of the batch.
        """
        whole = len(counts)
        size = -(-whole // rank.devices)
        rows = torch.arange(rank.number * size, (rank.number + 1) * size)
        filler = rows >= whole  # numbers after the last sequence, which make all shares equal
        rows = rows.masked_fill(filler, 0)
        own = int(counts[rows].masked_fill(filler, 0).sum())
        return cls(rows, whole, rank.devices * own / max(int(counts.sum()), 1)), filler


WINDOW = 100  # number of batches in a window of examples that are sorted together


class Batch(NamedTuple):
    """A batch of B problems with R answers: int64 ids, padded with `<pad>`.

    R is B, or K for each problem; the answers to a problem are consecutive. S and T are the lengths
    of the longest problem and answer, with markers.
    """

    step: int  # the number t of the batch in the stream
    problems: Tensor  # (problems, tokens), each problem, then <end>
    inputs: Tensor  # (answers, tokens), the decoder's inputs: <start>, then the answer
    targets: Tensor  # (answers, tokens), the decoder's targets: the answer, then <end>
    places: Tensor  # (N,), indices of the N tokens in the flattened inputs, and in the targets
    share: Share | None = None  # the device's share of a larger batch

    @property
    def answers(self) -> int:
        """Return the number K of answers to each problem."""
        return len(self.inputs) // len(self.problems)

    def with_answers(
        self, written: Callable[[list[int]], list[int]], vocabulary: Vocabulary
    ) -> Self:
        """Return the batch with other answers. `written` translates the ids of an answer."""
        rows = [row[: row.index(vocabulary.end)] for row in self.targets.tolist()]
        answers = Ragged.of([written(row) for row in rows])
        found = padded_batch(Ragged.of([[] for _ in rows]), answers, vocabulary)
        found = moved(found, self.targets.device)
        return self._replace(inputs=found.inputs, targets=found.targets, places=found.places)

    def shared(self, rank: Rank, pad: int) -> Self:
        """Return the part of the batch for one device. pad: id of `<pad>`."""
        share, filler = Share.of((self.targets != pad).sum(1), rank)
        inputs = self.inputs[share.rows]
        return self._replace(
            problems=self.problems[share.rows],
            inputs=inputs,
            targets=self.targets[share.rows].masked_fill(filler[:, None], pad),
            places=(inputs != pad).flatten().nonzero()[:, 0],
            share=share,
        )

    def read_in_pieces(
        self,
        network: Transformer,
        matrix: Tensor,
        pad: int,
        pieces: Sequence[Tensor],
        recompute: bool,
    ) -> Tensor:
        """Return a network's logits (R, T, V) for a batch that it reads in pieces.

        matrix: token rows for the whole batch (V, width), or for each problem (B, V, width).
        pad: id of `<pad>`.
        pieces: the problems of each piece.
        recompute: whether the backward pass computes the features of a piece again. Then they are
            not kept, and need no memory.
        """
        parts = []
        training = network.training
        lengths, written = self._lengths(pad)
        answers = torch.unflatten(self.inputs, 0, (-1, self.answers))  # (problems, answers, tokens)

        def read(*whole: Tensor) -> Tensor:
            """Return the logits of a piece, always in the mode of the first reading."""
            capacity.return_memory(matrix.device)
            network.recompute = len(whole[1]) == 1  # a problem that may be too large for the memory
            try:
                with mode(network, training):
                    logits: Tensor = network(*whole)
            finally:
                network.recompute = False
            return logits

        for rows in pieces:
            problems = self.problems[rows, : int(lengths[rows].max())]
            inputs = answers[rows, :, : int(written[rows].max())].flatten(0, 1)
            own = matrix[rows] if matrix.dim() == 3 else matrix
            places = (inputs != pad).flatten().nonzero()[:, 0]
            piece = own, problems, inputs, places
            if recompute:
                logits = checkpoint(read, *piece, use_reentrant=False)
            else:
                logits = network(*piece)
            missing = self.inputs.shape[1] - inputs.shape[1]
            logits = functional.pad(logits, (0, 0, 0, missing))
            parts.append(torch.unflatten(logits, 0, (-1, self.answers)))
        return torch.cat(parts)[torch.cat(list(pieces)).argsort()].flatten(0, 1)

    def pieces(self, pad: int, most: int) -> list[Tensor]:
        """Return the rows of pieces with at most `most` padded tokens, longest sequences first."""
        longest = torch.maximum(*self._lengths(pad)).sort(descending=True, stable=True)
        return cut(longest.indices, longest.values.tolist(), most)

    def _lengths(self, pad: int) -> tuple[Tensor, Tensor]:
        """Return the number of tokens of each problem, and of the longest answer to it (B,).

        Markers are included.
        """
        answers = torch.unflatten((self.inputs != pad).sum(1), 0, (-1, self.answers))
        return (self.problems != pad).sum(1), answers.amax(1)


def cut(order: Tensor, sizes: Sequence[int], most: int) -> list[Tensor]:
    """Divide the rows of a batch into pieces of at most `most` tokens, with padding.

    A row with more tokens is a piece of its own.

    order: the rows, largest first. sizes: the numbers of their tokens, to which a piece is padded.
    """
    pieces, start = [], 0
    while start < len(sizes):
        end = start + max(most // sizes[start], 1)
        pieces.append(order[start:end])
        start = end
    return pieces


def make_batch(split: EncodedSplit, rows: np.ndarray, step: int = 0) -> Batch:
    """Return the examples of a split with the numbers `rows` as one batch, in this order."""
    return padded_batch(split.problems, split.answers, split.vocabulary, step, rows)


def padded_batch(
    problems: Ragged,
    answers: Ragged,
    vocabulary: Vocabulary,
    step: int = 0,
    rows: np.ndarray | None = None,
) -> Batch:
    """Return problems and answers as one batch.

    rows: the rows to use; all if not given.
    """
    padded, targets = (
        ended(each, np.arange(len(each)) if rows is None else rows, vocabulary)
        for each in (problems, answers)
    )
    inputs = np.roll(targets, 1, axis=1)
    inputs[inputs == vocabulary.end] = vocabulary.pad  # the decoder does not read `<end>`
    inputs[:, 0] = vocabulary.start
    places = np.flatnonzero(inputs != vocabulary.pad)
    tensors = map(torch.from_numpy, (padded, inputs, targets, places))
    return Batch._make([step, *tensors, None])


def ended(sequences: Ragged, rows: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """Return the given rows as a padded matrix, with `<end>` after the last token of each row."""
    pad = vocabulary.pad
    padded = np.pad(sequences.padded(rows, pad), ((0, 0), (0, 1)), constant_values=pad)
    padded[np.arange(len(rows)), sequences.lengths_of(rows)] = vocabulary.end
    return padded


def padded_problems(
    problems: Sequence[Sequence[int]], vocabulary: Vocabulary, symbols: int
) -> Tensor:
    """Return problems as an encoder reads them, with `<end>` and padding, (B, S).

    Raises LogicgenError if they have more than `symbols` symbols.
    """
    ids = ended(Ragged.of(problems), np.arange(len(problems)), vocabulary)
    needed = int(ids.max()) - len(vocabulary) + 1
    if needed > symbols:
        raise LogicgenError(
            f"the problems need {needed} symbol rows, but only {symbols} were asked for"
        )
    return torch.from_numpy(ids)


class BatchStream:
    """The endless batches of one split."""

    def __init__(self, split: EncodedSplit, batch_size: int, seed: int) -> None:
        if len(split) == 0:
            raise ValueError("a split without examples has no batches")
        self.split, self.batch_size, self.seed = split, batch_size, seed
        self.batches_per_epoch = -(-len(split) // batch_size)
        self._epoch: tuple[int, np.ndarray] = (-1, np.empty(0, np.int64))
        self._window: tuple[tuple[int, int], list[np.ndarray]] = ((-1, -1), [])

    def batch(self, step: int) -> Batch:
        """Return batch `step`."""
        epoch, place = divmod(step, self.batches_per_epoch)
        window, place = divmod(place, WINDOW)
        return make_batch(self.split, self._batches_of(epoch, window)[place], step)

    def starting_at(self, step: int) -> Iterator[Batch]:
        """Yield batches from `step` on, without end."""
        while True:
            yield self.batch(step)
            step += 1

    def _batches_of(self, epoch: int, window: int) -> list[np.ndarray]:
        """Return the numbers of the examples of each batch of a window.

        The latest window is cached.
        """
        if self._window[0] != (epoch, window):
            if self._epoch[0] != epoch:
                shuffle = np.random.default_rng((self.seed, epoch))
                self._epoch = (epoch, shuffle.permutation(len(self.split)))
            size = WINDOW * self.batch_size
            rows = self._epoch[1][window * size : (window + 1) * size]
            rows = rows[np.argsort(self.split.problems.lengths_of(rows), kind="stable")]
            batches = np.split(rows, range(self.batch_size, len(rows), self.batch_size))
            order = np.random.default_rng((self.seed, epoch, window)).permutation(len(batches))
            self._window = ((epoch, window), [batches[number] for number in order])
        return self._window[1]


def moved(batch: AnyBatch, device: torch.device) -> AnyBatch:
    """Return a batch on a device."""
    found: AnyBatch = with_tensors(batch, lambda tensor: tensor.to(device, non_blocking=True))
    return found


def with_tensors(batch: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Apply a function to all tensors of a batch: a tensor, or nested tuples and lists."""
    if isinstance(batch, Tensor):
        return change(batch)
    if isinstance(batch, (tuple, list)):
        parts = [with_tensors(part, change) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch
