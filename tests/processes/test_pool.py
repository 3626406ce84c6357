"""The pool: order, limits, deaths, errors, and processes that end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from logicgen.errors import LogicgenError
from logicgen.processes.pool import Failure, Pool

pytestmark = pytest.mark.usefixtures("new_helpers")


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


def fragile(folder):
    """A function whose worker dies once behind an item, and a setup that dies twice."""
    if len(list(Path(folder).glob("start*"))) < 2:
        Path(folder, f"start{os.getpid()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)

    def do(item):
        if item == 5 and not Path(folder, "died").exists():
            Path(folder, "died").touch()
            # Behind this item: after its result has been sent, before the next one.
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return item

    return do


def hopeless(folder):
    """A function whose workers die at the start but for the first of them."""
    if Path(folder, "first").exists():
        os._exit(3)
    Path(folder, "first").touch()

    def do(item):
        if item == 3:
            os._exit(4)
        return item

    return do


def broken():
    raise LogicgenError("cannot be set up")


def mapped(pool, items, seconds=None):
    return list(pool.map(items, seconds, 4))


def submitted(pool, items, seconds=None):
    return pool.submit_all(items, seconds).result(60)


both_ways = pytest.mark.parametrize("results", [mapped, submitted])


def python(*arguments, **settings):
    """Run Python, where it can import what this process can."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, **settings)


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_results_come_in_order(chunk):
    with Pool(work, count=2) as pool:
        assert list(pool.map(range(300), chunk=chunk)) == [2 * i for i in range(300)]
        assert list(pool.map([], chunk=chunk)) == []
        assert list(pool.map([1], chunk=chunk)) == [2]


def test_the_source_is_read_only_a_little_ahead():
    taken = []

    def source():
        for i in range(10_000):
            taken.append(i)
            yield i

    with Pool(work, count=2) as pool:
        results = pool.map(source(), chunk=10)
        assert next(results) == 0
        assert len(taken) <= 100


@both_ways
def test_limits_and_deaths_cost_one_item_each(results):
    items = [1, "sleep", 2, "die", 3, "eat", 4, "sleep", 5]
    with Pool(work, memory=2 << 30) as pool:
        found = results(pool, items, 0.5)
        assert found[::2] == [2, 4, 6, 8, 10]
        assert found[1] == found[7] == Failure("time limit of 0.5 s")
        assert isinstance(found[3], Failure)
        assert "died" in found[3].reason
        assert found[5] == Failure("out of memory")
        assert results(pool, [5]) == [10]  # it goes on


@both_ways
def test_errors_reach_the_caller_each_time(results):
    with Pool(work) as pool:
        with pytest.raises(LogicgenError, match="no such thing"):
            results(pool, [1, "complain", 2])
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            results(pool, ["crash"])
        assert results(pool, [1]) == [2]
    with Pool(broken) as pool:
        for _ in range(2):
            with pytest.raises(LogicgenError, match="cannot be set up"):
                results(pool, [1])


def test_a_worker_that_dies_between_items_or_at_the_start_costs_nothing(tmp_path):
    def slowly():
        yield from range(6)
        while not (tmp_path / "died").exists():
            time.sleep(0.01)
        time.sleep(0.5)  # the worker is idle when it dies
        yield from range(6, 12)

    with Pool(fragile, (str(tmp_path),)) as pool:
        assert list(pool.map(slowly(), chunk=1)) == list(range(12))
    assert (tmp_path / "died").exists()


def test_where_workers_cannot_be_started_again_what_is_done_is_kept(tmp_path):
    with Pool(hopeless, (str(tmp_path),)) as pool:
        found = list(pool.map(range(6), chunk=2))
    assert found[:3] == [0, 1, 2]
    assert all(isinstance(each, Failure) for each in found[3:])
    assert "(3)" in found[3].reason  # no worker was left to try the item once more
    assert "no worker process is left" in found[5].reason


@both_ways
def test_where_no_worker_ever_starts_it_is_an_error_each_time(results, tmp_path):
    (tmp_path / "first").touch()
    with Pool(hopeless, (str(tmp_path),), count=2) as pool:
        for _ in range(2):
            with pytest.raises(LogicgenError, match=r"before it began to work.*\(3\)"):
                results(pool, range(6))


@pytest.mark.slow
def test_long_items_take_no_more_memory_than_one_of_them():
    long = "x" * (3 << 20)
    with Pool(work, memory=3 << 28) as pool:
        assert [len(each) for each in pool.map([long] * 120, chunk=120)] == [2 * len(long)] * 120


@both_ways
def test_an_item_that_no_worker_could_hold_is_not_sent(results):
    long, failure = b"x" * (1 << 28), Failure("out of memory")
    with Pool(work, memory=1 << 29) as pool:
        assert results(pool, [long]) == [failure]
        assert results(pool, ["a", long, "b"]) == ["aa", failure, "bb"]


def test_slow_items_are_shared_and_come_one_by_one():
    with Pool(work) as pool:
        results = pool.map([1, "sleep", 2, "sleep", 3], 0.3, 256)
        assert next(results) == 2  # before the others are done
        assert [type(each) for each in results] == [Failure, int, Failure, int]


SCRIPT = """
import logicgen
from logicgen.data.recipe import DataRecipe
from logicgen.data.opening import make
from logicgen.tasks.lines import solve_lines
from logicgen.processes.pool import Limits
print(*[row["status"] for row in solve_lines("ltl", ["F a", "a & !a"], None, 2, Limits(9))])
print(logicgen.solve("propositional", "a", timeout=9).status)
recipe = DataRecipe.read("propositional-mini").resized(20)
made = make(recipe, FOLDER, name="tiny", workers=2)
print(made["splits"]["train"]["examples"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["a file", "standard input", "-c"])
def test_scripts_without_a_guard_are_not_run_again(tmp_path, how):
    folder = f"FOLDER = __import__('pathlib').Path({str(tmp_path / 'data')!r})\n"
    script = tmp_path / "plain.py"
    script.write_text(folder + SCRIPT)
    arguments = {"a file": [script], "standard input": [], "-c": ["-c", script.read_text()]}[how]
    result = python(*arguments, input=script.read_text())
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["sat", "unsat", "sat", "20"]


def test_a_file_of_the_working_folder_is_not_taken_for_a_module(tmp_path):
    (tmp_path / "pickle.py").write_text("open('imported', 'w')")
    code = "import logicgen; print(logicgen.solve('ltl', 'a', timeout=9).status)"
    result = python("-P", "-c", code, cwd=tmp_path)
    assert result.stdout.strip() == "sat", result.stderr
    assert not (tmp_path / "imported").exists()


def test_workers_end_with_a_killed_parent_also_inside_an_item(tmp_path):
    code = (
        "from logicgen.processes.pool import Pool\n"
        "from tests.processes.test_pool import busy\n"
        f"with Pool(busy, ({str(tmp_path)!r},)) as pool: list(pool.map([1]))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    while not (found := list(tmp_path.glob("pid-*"))):
        assert parent.poll() is None
        time.sleep(0.01)
    worker = int(found[0].name.removeprefix("pid-"))
    parent.kill()
    parent.wait()
    while Path(f"/proc/{worker}").exists() and "Z" not in state(worker):
        time.sleep(0.01)  # it ends, or this test does not


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def busy(folder):
    """A function that never ends, in native code that lets no signal handler run."""

    def do(item):
        Path(folder, f"pid-{os.getpid()}").touch()
        return pow(3, 10**12)

    return do
