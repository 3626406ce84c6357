"""A service of worker processes: results, limits, deaths, threads, coroutines, forks."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from logicgen.errors import LogicgenError
from logicgen.processes.service import Failure, Service
from tests.processes.test_workers import broken, work


def results(service, items, seconds=None):
    return service.submit(items, seconds).result(60)


@pytest.fixture
def service():
    with_one = Service(work)
    yield with_one
    with_one.close()


@pytest.mark.parametrize("count", [1, 3])
def test_results_are_those_of_their_items(count):
    service = Service(work, count=count)
    assert results(service, range(1000)) == [2 * item for item in range(1000)]
    assert results(service, []) == []
    service.close()


@pytest.mark.usefixtures("new_helpers")
def test_a_limit_or_a_death_costs_its_item_alone(service):
    found = results(service, [1, "sleep", 2, "die", 3, "sleep", 4], 1.0)
    assert found[::2] == [2, 4, 6, 8]
    assert all(isinstance(each, Failure) for each in found[1::2])
    assert found[1].reason == "time limit of 1 s"
    assert "died" in found[3].reason


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker is started anew")
def test_a_limit_starts_no_new_process(service):
    """A copy of the worker goes on, so that many limits in a row cost little."""
    assert results(service, [1]) == [2]
    before = {server.worker.process.pid for server in service._servers}
    found = results(service, ["sleep"] * 12 + [3], 0.05)
    assert [each.reason for each in found[:12]] == ["time limit of 0.05 s"] * 12
    assert found[12] == 6
    assert {server.worker.process.pid for server in service._servers} >= before


def test_memory_is_limited():
    service = Service(work, memory=1 << 30)
    found = results(service, ["eat", 1])
    assert found == [Failure("out of memory"), 2]
    service.close()


def test_errors_of_the_function_reach_who_waits_and_the_service_goes_on(service):
    with pytest.raises(LogicgenError, match="no such thing"):
        results(service, [1, "complain", 2])
    assert results(service, [1]) == [2]


def test_an_error_is_of_its_own_request_alone(service):
    """Items of several requests are sent to a worker together."""
    results(service, range(500))  # so that many are
    requests = [service.submit([n, "complain" if n == 7 else n]) for n in range(40)]
    for number, request in enumerate(requests):
        if number == 7:
            with pytest.raises(LogicgenError, match="no such thing"):
                request.result(60)
        else:
            assert request.result(60) == [2 * number] * 2


def test_an_item_that_no_worker_could_hold_is_not_sent():
    service = Service(work, memory=1 << 29)
    assert results(service, [b"x" * (1 << 28)]) == [Failure("out of memory")]
    assert results(service, ["a", b"x" * (1 << 28), "b"]) == ["aa", Failure("out of memory"), "bb"]
    service.close()


def test_a_setup_that_fails_is_an_error_each_time():
    service = Service(broken)
    for _ in range(2):
        with pytest.raises(LogicgenError, match="cannot be set up"):
            results(service, [1])
    service.close()


def dying():
    os._exit(3)


def test_workers_that_die_at_the_start_are_an_error_each_time():
    service = Service(dying)
    for _ in range(2):
        with pytest.raises(LogicgenError, match="before it began"):
            results(service, [1])
    service.close()


def test_many_threads_and_coroutines_at_once(service):
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda n: results(service, [n, n + 1]), range(200)))
    assert found == [[2 * n, 2 * n + 2] for n in range(200)]

    async def one(n):
        return (await asyncio.wrap_future(service.submit([n])))[0]

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
    service = Service(slow)
    assert results(service, range(60), 0.5) == list(range(60))
    service.close()


def test_what_is_cancelled_before_it_begins_is_never_done(service):
    results(service, [0])
    first, second, third = (service.submit(items, 0.3) for items in (["sleep"], [1, 2], [3]))
    assert second.cancel()
    assert isinstance(first.result(60)[0], Failure)
    assert third.result(60) == [6]
    with pytest.raises(CancelledError):
        second.result(60)


def test_close_ends_what_waits_and_what_runs():
    service = Service(work)
    results(service, [0])
    futures = [service.submit(["sleep", 1]), service.submit([2])]
    time.sleep(0.1)
    service.close()
    for future in futures:
        with pytest.raises((CancelledError, LogicgenError)):
            future.result(0)
    with pytest.raises(RuntimeError):
        service.submit([1])
    service.close()


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_forked_process_starts_its_own_workers(service):
    assert results(service, [1]) == [2]
    child = os.fork()
    if child == 0:
        right = False
        try:
            right = results(service, [2, 3]) == [4, 6]
            service.close()
        finally:
            os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert results(service, [4]) == [8]


def test_nothing_is_left_when_the_program_ends(tmp_path):
    """A script that submits and ends, also while an item is under way."""
    script = tmp_path / "script.py"
    script.write_text(
        "from logicgen.processes.service import Service\n"
        "from tests.processes.test_workers import work\n"
        "service = Service(work)\n"
        "print(*service.submit([1]).result(60), flush=True)\n"
        "service.submit(['sleep'])\n"
        "import time; time.sleep(0.2)\n"
        "print(*(s.worker.process.pid for s in service._servers), flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr
    doubled, pids = done.stdout.splitlines()
    assert doubled == "2"
    for pid in map(int, pids.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.usefixtures("new_helpers")
def test_threads_that_end_do_not_end_the_workers(service):
    thread = threading.Thread(target=lambda: results(service, [1]))
    thread.start()
    thread.join()
    pids = {server.worker.process.pid for server in service._servers}
    assert results(service, range(100)) == [2 * n for n in range(100)]
    assert pids <= {server.worker.process.pid for server in service._servers}
