"""Batches made ahead: the same ones, in order, and nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice

import pytest
import torch

from logicgen.model.batches import BatchStream
from logicgen.training.ahead import AHEAD, made_ahead
from tests.training.conftest import copying


def makers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "batches"]


def test_the_same_batches_in_order():
    stream = BatchStream(copying(50, 5, 6, 0), 8, 0)
    ahead = made_ahead(stream.starting_at(3))
    for other in islice(stream.starting_at(3), 40):
        one = next(ahead)
        assert one.step == other.step
        assert all(torch.equal(a, b) for a, b in zip(one[1:5], other[1:5], strict=True))
        assert makers()
    ahead.close()
    assert not makers()


def test_no_more_than_a_few_are_made_and_the_thread_ends():
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(10**6):
            made.append(number)
            yield number

    batches = made_ahead(numbers())
    assert [next(batches) for _ in range(5)] == [0, 1, 2, 3, 4]
    batches.close()
    assert not makers()
    assert 5 <= len(made) <= 5 + AHEAD + 2


def test_the_end_and_an_error_come_in_their_place():
    def numbers() -> Iterator[int]:
        yield from (1, 2)
        raise ZeroDivisionError("three")

    batches = made_ahead(numbers())
    assert next(batches) == 1
    assert next(batches) == 2
    with pytest.raises(ZeroDivisionError, match="three"):
        next(batches)
    assert list(made_ahead(iter("ab"))) == ["a", "b"]
    assert list(made_ahead(iter(()))) == []
    assert not makers()
