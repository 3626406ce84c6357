import itertools

import numpy as np
import pytest
import torch

from logicgen.data.dataset import EncodedSplit, Ragged
from logicgen.model.batches import WINDOW, BatchStream, make_batch
from logicgen.tokens import Vocabulary


def ragged(rows: list[list[int]]) -> Ragged:
    offsets = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64)
    return Ragged(np.array([token for row in rows for token in row], np.int32), offsets)


def split_of(problems: list[list[int]], answers: list[list[int]]) -> EncodedSplit:
    lengths = np.array([len(problem) for problem in problems], np.int32)
    return EncodedSplit(
        Vocabulary([]), ragged(problems), ragged(answers), lengths, lengths, alphabet=50
    )


def numbered(count: int) -> EncodedSplit:
    """Example i: a problem of some length that spells i, answered by itself backwards."""
    rng = np.random.default_rng(0)
    rows = [
        [3 + i % 40, 3 + i // 40 % 40, 3 + i // 1600] + [3] * int(rng.integers(0, 20))
        for i in range(count)
    ]
    return split_of(rows, [row[::-1] for row in rows])


def number(problem: list[int]) -> int:
    return problem[0] - 3 + 40 * (problem[1] - 3) + 1600 * (problem[2] - 3)


def test_markers_and_padding() -> None:
    split = split_of([[3, 4], [], [5]], [[6], [], [7, 8, 9]])
    batch = make_batch(split, np.array([0, 1, 2]))
    assert batch.problems.tolist() == [[3, 4, 2], [2, 0, 0], [5, 2, 0]]
    assert batch.inputs.tolist() == [[1, 6, 0, 0], [1, 0, 0, 0], [1, 7, 8, 9]]
    assert batch.targets.tolist() == [[6, 2, 0, 0], [2, 0, 0, 0], [7, 8, 9, 2]]
    assert batch.places.tolist() == [0, 1, 4, 8, 9, 10, 11]


@pytest.mark.parametrize(("count", "size"), [(1, 8), (7, 8), (64, 8), (1000, 8), (1234, 3)])
def test_every_example_once_per_epoch(count: int, size: int) -> None:
    stream = BatchStream(numbered(count), size, seed=5)
    orders = []
    for epoch in range(2):
        steps = range(epoch * stream.batches_per_epoch, (epoch + 1) * stream.batches_per_epoch)
        seen = [number(row) for step in steps for row in stream.batch(step).problems.tolist()]
        assert sorted(seen) == list(range(count))
        orders.append(seen)
    assert orders[0] != orders[1] or count <= size


def test_the_stream_can_start_anywhere() -> None:
    split = numbered(500)
    whole = list(itertools.islice(BatchStream(split, 2, 1).starting_at(0), 700))
    for start in (1, WINDOW - 1, WINDOW, 249, 250, 251, 600):
        later = itertools.islice(BatchStream(split, 2, 1).starting_at(start), 700 - start)
        for one, other in zip(later, whole[start:], strict=True):
            assert one.step == other.step
            assert all(torch.equal(a, b) for a, b in zip(one[1:5], other[1:5], strict=True))
    different = BatchStream(split, 2, 2).batch(0)
    assert not torch.equal(different.problems, whole[0].problems)


def test_batches_hold_examples_of_similar_length() -> None:
    split = numbered(6400)
    stream = BatchStream(split, 64, 0)
    tokens = padding = 0
    for step in range(stream.batches_per_epoch):
        problems = stream.batch(step).problems
        tokens += int((problems != 0).sum())
        padding += int((problems == 0).sum())
    assert padding < 0.05 * tokens
