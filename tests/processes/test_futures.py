"""Futures of a pool: results, limits, deaths, threads, coroutines, cancellation, forks."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from logicgen.errors import LogicgenError
from logicgen.processes.pool import Failure, Pool
from tests.processes.test_pool import python, work
from tests.processes.test_pool import submitted as results


@pytest.fixture
def pool():
    with_one = Pool(work)
    yield with_one
    with_one.close()


@pytest.mark.parametrize("count", [1, 3])
def test_results_are_those_of_their_items(count):
    pool = Pool(work, count=count)
    assert results(pool, range(1000)) == [2 * item for item in range(1000)]
    assert results(pool, []) == []
    pool.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker is started anew")
def test_a_limit_starts_no_new_process(pool):
    """A copy of the worker goes on, so that many limits in a row cost little."""
    assert results(pool, [1]) == [2]
    before = {worker.process.pid for worker in pool._workers}
    found = results(pool, ["sleep"] * 12 + [3], 0.05)
    assert [each.reason for each in found[:12]] == ["time limit of 0.05 s"] * 12
    assert found[12] == 6
    assert {worker.process.pid for worker in pool._workers} >= before


def test_an_error_is_of_its_own_batch_alone(pool):
    """Items of several batches are sent to a worker together."""
    results(pool, range(500))  # so that many are
    batches = [pool.submit_all([n, "complain" if n == 7 else n]) for n in range(40)]
    for number, batch in enumerate(batches):
        if number == 7:
            with pytest.raises(LogicgenError, match="no such thing"):
                batch.result(60)
        else:
            assert batch.result(60) == [2 * number] * 2


def test_many_threads_and_coroutines_at_once(pool):
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda n: results(pool, [n, n + 1]), range(200)))
    assert found == [[2 * n, 2 * n + 2] for n in range(200)]

    async def one(n):
        return await asyncio.wrap_future(pool.submit(n))

    async def all_of_them():
        return await asyncio.gather(*map(one, range(1000)))

    for _ in range(2):  # each in an event loop of its own
        assert asyncio.run(all_of_them()) == [2 * n for n in range(1000)]


def slow():
    def do(item):
        time.sleep(0.02)
        return item

    return do


def test_waiting_in_line_is_not_working():
    """Many items of a small part of the limit each: all are done, though the last waits longer."""
    pool = Pool(slow)
    assert results(pool, range(60), 0.5) == list(range(60))
    pool.close()


def waits(folder):
    """A function that appends its items to a file, and then waits until a file `go` exists."""

    def do(item):
        with open(folder / "items", "a", encoding="utf-8") as file:
            file.write(f"{item} ")
        while not (folder / "go").exists():
            time.sleep(0.01)
        return item

    return do


def test_what_is_cancelled_before_it_begins_is_never_done(tmp_path):
    with Pool(waits, (tmp_path,)) as pool:
        first = pool.submit(0)
        while not (tmp_path / "items").exists():  # so that the worker has the first item alone
            time.sleep(0.01)
        second, third = pool.submit_all([1, 2]), pool.submit(3)
        assert second.cancel()
        (tmp_path / "go").touch()
        assert (first.result(60), third.result(60)) == (0, 3)
        with pytest.raises(CancelledError):
            second.result(60)
    assert (tmp_path / "items").read_text() == "0 3 "


def test_close_ends_what_waits_and_what_runs():
    pool = Pool(work)
    results(pool, [0])
    futures = [pool.submit_all(["sleep", 1]), pool.submit(2)]
    time.sleep(0.1)
    pool.close()
    for future in futures:
        with pytest.raises((CancelledError, LogicgenError)):
            future.result(0)
    with pytest.raises(RuntimeError):
        pool.submit(1)
    pool.close()


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_forked_process_starts_its_own_workers(pool):
    assert results(pool, [1]) == [2]
    child = os.fork()
    if child == 0:
        right = False
        try:
            right = results(pool, [2, 3]) == [4, 6]
            pool.close()
        finally:
            os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert results(pool, [4]) == [8]


def test_nothing_is_left_when_the_program_ends(tmp_path):
    """A script that submits and ends, also while an item is under way."""
    script = tmp_path / "script.py"
    script.write_text(
        "from logicgen.processes.pool import Pool\n"
        "from tests.processes.test_pool import work\n"
        "pool = Pool(work)\n"
        "print(pool.submit(1).result(60), flush=True)\n"
        "pool.submit('sleep')\n"
        "import time; time.sleep(0.2)\n"
        "print(*(w.process.pid for w in pool._workers), flush=True)\n"
    )
    done = python(script, timeout=60)
    assert done.returncode == 0, done.stderr
    doubled, pids = done.stdout.splitlines()
    assert doubled == "2"
    for pid in map(int, pids.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.usefixtures("new_helpers")
def test_threads_that_end_do_not_end_the_workers(pool):
    thread = threading.Thread(target=lambda: results(pool, [1]))
    thread.start()
    thread.join()
    pids = {worker.process.pid for worker in pool._workers}
    assert results(pool, range(100)) == [2 * n for n in range(100)]
    assert pids <= {worker.process.pid for worker in pool._workers}


def tells(folder):
    """A function that appends its items to a file, and dies over a text."""

    def do(item):
        with open(folder / "items", "a", encoding="utf-8") as file:
            file.write(f"{item} ")
        if item == "die":
            os._exit(3)
        return item

    return do


@pytest.mark.usefixtures("new_helpers")
def test_an_item_over_which_a_worker_dies_is_tried_once_more(tmp_path):
    with Pool(tells, (tmp_path,)) as pool:
        assert list(pool.map([1, "die", 2])) == [1, Failure("its process died (3)"), 2]
    assert (tmp_path / "items").read_text().split().count("die") == 2


def test_work_that_nobody_waits_for_is_ended(pool):
    """A consumer that leaves `map`, and a caller that is interrupted, leave no work behind."""
    found = pool.map([1, "sleep", 2])
    assert next(found) == 2
    found.close()
    assert pool.submit(3).result(20) == 6
