"""Worker processes: order, limits, deaths, errors."""

from __future__ import annotations

import os
import signal
import time

import pytest

from logicgen.errors import LogicgenError
from logicgen.workers import Failure, Limits, Workers


def work():
    """The function the workers run: what it does depends on the item."""

    def do(item):
        if item == "sleep":
            time.sleep(60)
        if item == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if item == "eat":
            return len(bytearray(8 << 30))
        if item == "complain":
            raise LogicgenError("no such thing")
        if item == "crash":
            raise ZeroDivisionError
        return item * 2

    return do


def broken():
    raise LogicgenError("cannot be set up")


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_results_come_in_order(chunk):
    with Workers(work, count=2) as pool:
        assert list(pool.map(range(300), chunk)) == [2 * i for i in range(300)]
        assert list(pool.map([], chunk)) == []
        assert list(pool.map([1], chunk)) == [2]


def test_the_source_is_read_only_a_little_ahead():
    taken = []

    def source():
        for i in range(10_000):
            taken.append(i)
            yield i

    with Workers(work, count=2) as pool:
        results = pool.map(source(), 10)
        assert next(results) == 0
        assert len(taken) <= 100


def test_limits_and_deaths_cost_one_item_each():
    items = [1, "sleep", 2, "die", 3, "eat", 4]
    limits = Limits(seconds=0.5, memory=2 << 30)
    with Workers(work, count=1, limits=limits) as pool:
        results = list(pool.map(items, 4))
        assert results[::2] == [2, 4, 6, 8]
        assert [type(r) for r in results[1::2]] == [Failure] * 3
        assert results[1].reason == "time limit of 0.5 s"
        assert "died" in results[3].reason
        assert results[5].reason == "out of memory"
        assert list(pool.map([5], 1)) == [10]  # it goes on


def test_errors_reach_the_caller():
    with Workers(work, count=1) as pool, pytest.raises(LogicgenError, match="no such thing"):
        list(pool.map([1, "complain"], 1))
    with Workers(work, count=1) as pool, pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(pool.map(["crash"], 1))
    with Workers(broken, count=1) as pool, pytest.raises(LogicgenError, match="cannot be set up"):
        list(pool.map([1], 1))
