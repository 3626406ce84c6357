"""Ray as an engine: the same bytes from two nodes, also where workers and nodes are lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from functools import partial
from operator import add
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from logicgen.cli.group import group
from logicgen.data.opening import make as fill
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.processes import engines, ray_pool
from logicgen.processes.engines import engine, open_pool
from logicgen.processes.pool import Failure
from logicgen.processes.ray_pool import RayCluster
from logicgen.processes.worker import packed
from tests.cli.test_commands import appeared
from tests.data.data_sets import RECIPE, contents, make
from tests.study.conftest import AXES, TINY
from tests.study.made_results import read_lines
from tests.training.test_devices import helpers_of

pytest.importorskip("ray")

pytestmark = pytest.mark.cluster

LARGER = {"sizes": {"train": 6000, "validation": 500, "test": 500}}
LARGER["region"] = {"symbols": [2, 4], "length": [9, 20], "balance": "symbols-and-length"}
LARGER["grid"] = None


@pytest.fixture
def head():
    """A cluster of one node on the loopback address, with one CPU."""
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    yield started
    started.shutdown()


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two nodes, each a Ray instance of its own; after the tests that harm theirs."""
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    started.add_node(num_cpus=1)
    yield started
    started.shutdown()


def square(offset):
    return lambda item: item * item + offset


def picky(_):
    def checked(item):
        if item == 7:
            raise LogicgenError("not seven")
        if item == 8:
            raise ValueError("not eight")
        return item

    return checked


def deadly(_):
    """Kills its process, every time."""
    return lambda item: os.kill(os.getpid(), signal.SIGKILL) if item == 2 else item


def sleepy(_):
    return lambda item: time.sleep(60 * (item == 1)) or item


def pid(folder):
    """Leaves the numbers of the processes that work."""

    def worked(item):
        (folder / str(os.getpid())).touch()
        time.sleep(0.05)
        return item

    return worked


def test_two_nodes_lose_a_worker_and_a_node(head, tmp_path):
    """What local processes make with 1, 2 and 3 workers, Ray makes with whatever it has left."""
    for workers in (1, 2, 3):
        make(tmp_path / f"local-{workers}", LARGER, workers=workers)
    whole = contents(tmp_path / "local-1")
    assert whole == contents(tmp_path / "local-2") == contents(tmp_path / "local-3")
    lost = []

    def disturb(split, done, total):
        if split == "train" and done and not lost:
            import psutil

            # Not the agents of Ray, without which a node ends.
            mine = [
                process
                for process in psutil.process_iter(["cmdline"])
                if {"ray::_run", "ray::IDLE"} & {*(process.info["cmdline"] or ())}
            ]
            assert mine
            mine[0].kill()
            lost.append("worker")
        elif split == "train" and done > 2000 and len(lost) == 1:
            head.remove_node(second, allow_graceful=False)
            lost.append("node")

    # This process is part of the first node, so it comes before there is a second one.
    with engine("ray", head.address):
        second = head.add_node(num_cpus=1)
        make(tmp_path / "ray", LARGER, progress=disturb)
    assert lost == ["worker", "node"]
    assert contents(tmp_path / "ray") == whole


def test_results_come_in_order_with_their_failures(cluster, tmp_path):
    with engine("ray", cluster.address):
        with open_pool(square, (3,)) as some:
            assert list(some.map(range(50), chunk=4)) == [i * i + 3 for i in range(50)]
            assert list(some.map([])) == []
        with open_pool(picky, (0,)) as some:
            with pytest.raises(LogicgenError, match=r"^not seven$"):
                list(some.map([5, 7]))
            with pytest.raises(RuntimeError, match="not eight"):
                list(some.map([5, 8]))
        with open_pool(pid, (tmp_path,)) as some:
            while len(list(tmp_path.iterdir())) < 2:  # both nodes come to work
                assert list(some.map(range(40))) == list(range(40))
        with open_pool(sleepy, (0,)) as some:
            found = list(some.map([0, 1, 2], 1.0))
        assert (found[0], found[2]) == (0, 2)
        assert found[1] == Failure("time limit of 1 s")
        with open_pool(deadly, (0,)) as some:
            found = list(some.map([1, 2, 3], 1.0, 3))
        assert (found[0], found[2]) == (1, 3)
        assert "its process died" in found[1].reason
        # Without a process of its own for limits the Ray worker itself dies, time and again.
        with open_pool(deadly, (0,)) as some:
            found = list(some.map([1, 2, 3]))
        assert (found[0], found[2]) == (1, 3)
        assert "gave it up after 5 retries" in found[1].reason


def test_a_folder_that_nodes_do_not_see_and_other_versions(cluster, tmp_path, monkeypatch):
    elsewhere = nullcontext(SimpleNamespace(name="/nowhere/else"))
    monkeypatch.setattr(ray_pool, "NamedTemporaryFile", lambda **_: elsewhere)
    with (
        engine("ray", cluster.address),
        pytest.raises(LogicgenError, match="does not see this"),
    ):
        make(tmp_path / "d")
    monkeypatch.undo()
    monkeypatch.setattr(ray_pool.platform, "python_version", lambda: "2.7")
    with pytest.raises(LogicgenError, match=r"has Python 3.*; this machine has Python 2\.7"):
        RayCluster(cluster.address).__enter__()
    monkeypatch.undo()
    ray_utils = pytest.importorskip("ray._private.utils")
    monkeypatch.setattr(ray_utils, "compute_version_info", lambda: ("1.0", "3.9.1"))
    with pytest.raises(LogicgenError, match=r"with: Ray: 1\.0 Python: 3\.9\.1.*install the same"):
        RayCluster(cluster.address)


def test_a_url_is_filled_by_ray(cluster, tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.setenv("LOGICGEN_CACHE", str(tmp_path / "cache"))  # which all nodes have to see
    make(tmp_path / "local")
    url = f"file://{tmp_path}/remote"
    with engine("ray", cluster.address):
        fill(DataRecipe.model_validate(RECIPE), url, name="some")
    assert contents(tmp_path / "remote") == contents(tmp_path / "local")
    elsewhere = nullcontext(SimpleNamespace(name="/nowhere/else"))
    monkeypatch.setattr(ray_pool, "NamedTemporaryFile", lambda **_: elsewhere)
    with (
        engine("ray", cluster.address),
        pytest.raises(LogicgenError, match=r"-2: .*LOGICGEN_CACHE\): .*does not see this"),
    ):
        fill(DataRecipe.model_validate(RECIPE), f"{url}-2", name="some")


def test_sigterm_ends_a_run_on_ray_that_is_finished_later(cluster, tmp_path):
    """As schedulers of clusters do; what is drawn is kept, and one process finishes it."""
    out = tmp_path / "d"
    arguments = ["propositional-35", "--size", "30000", "-o", str(out)]
    command = [sys.executable, "-m", "logicgen.cli.main", "generate", *arguments]
    process = subprocess.Popen(
        [*command, "--engine", "ray", "--address", cluster.address],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not appeared(out, "*.arrow"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    # Under load Ray may crash while tasks are cancelled. The run is finished all the same.
    crashed = "You have likely discovered a bug in Ray" in said
    if not crashed:
        assert process.returncode == 143, said
        assert "run the same command to continue" in said
    assert "Traceback" not in said
    subprocess.run([*command, "--workers", "1"], check=True, capture_output=True)
    whole = tmp_path / "whole"
    arguments[-1] = str(whole)
    subprocess.run([*command[:4], *arguments, "--workers", "2"], check=True, capture_output=True)
    assert contents(out) == contents(whole)


def test_the_commands_run_on_ray(cluster, tmp_path):
    problems = tmp_path / "problems.txt"
    problems.write_text("a & !b\na & !a\nnonsense(\n")
    common = ["--task", "propositional", "--in", str(problems)]
    local = CliRunner().invoke(group, ["solve", *common])
    on_ray = CliRunner().invoke(
        group, ["solve", *common, "--engine", "ray", "--address", cluster.address]
    )
    assert local.stdout == on_ray.stdout
    assert local.stdout.count("\n") == 3
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        '{"problem": "& a ! b", "answer": "a 1 b 0"}\n{"problem": "& a b", "answer": "a 1 b 0"}\n'
    )
    common = ["verify", "--task", "propositional", "--in", str(answers)]
    local = CliRunner().invoke(group, common)
    on_ray = CliRunner().invoke(group, [*common, "--engine", "ray", "--address", cluster.address])
    assert local.stdout == on_ray.stdout
    assert '"correct"' in local.stdout
    assert '"incorrect"' in local.stdout
    make(tmp_path / "data")
    replies = tmp_path / "replies.jsonl"
    rows = [{"row": row, "completion": "Answer: a 1"} for row in range(10)]
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = []
    for where, options in (("local", []), ("ray", ["--engine", "ray"])):
        out = tmp_path / where
        common = ["evaluate", str(replies), "--data", str(tmp_path / "data"), "--split", "test"]
        address = ["--address", cluster.address] if options else []
        result = CliRunner().invoke(group, [*common, "-o", str(out), *options, *address])
        assert result.exit_code == 0, result.output
        found.append(json.loads((out / "summary.json").read_text())["overall"])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "no Ray cluster answers there .*Connection refused.*ray start --head"),
        ("nonsense", "no address of a Ray cluster: give HOST:PORT, or auto"),
        ("127.0.0.1:port", "no address of a Ray cluster"),
    ],
)
def test_addresses_that_answer_nothing(address, said):
    with pytest.raises(LogicgenError, match=said):
        RayCluster(address)


def test_what_answers_is_not_ray():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def close_all():
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=close_all, daemon=True).start()
        with pytest.raises(LogicgenError, match=rf"{port}: no Ray .* \(something"):
            RayCluster(f"127.0.0.1:{port}")


def test_ray_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("logicgen.extras.find_spec", lambda package: None)
    with pytest.raises(LogicgenError, match=r"this needs ray, .* pip install 'logicgen\[ray\]'"):
        RayCluster()


def test_options_that_contradict_each_other(tmp_path):
    for options, said in (
        (["--address", "127.0.0.1:1"], "the local engine has no address; give --engine ray"),
        (["--engine", "ray", "--workers", "2"], "--workers: a Ray cluster uses all its CPUs"),
    ):
        out = ["-o", str(tmp_path / "d")]
        result = CliRunner().invoke(group, ["generate", "propositional-mini", *out, *options])
        assert isinstance(result.exception, LogicgenError)
        assert said in str(result.exception)
    with pytest.raises(LogicgenError, match="no engine is called 'slurm'"), engine("slurm"):
        pass


def test_a_study_on_ray_has_the_same_records(cluster, tmp_path, monkeypatch):
    """Two points at once, by a relative path; records are the same but for time and machine."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TINY + AXES, encoding="utf-8")
    found = []
    for out, options in (
        ("local", ["--workers", "1"]),
        ("ray", ["--engine", "ray", "--address", cluster.address]),
    ):
        result = CliRunner().invoke(group, ["study", "tiny.toml", "-o", out, *options])
        assert result.exit_code == 0, result.output
        records = read_lines(tmp_path / out)
        for record in records.values():
            training = record["found"]["training"]
            training.pop("seconds", None)
            training.pop("minutes", None)
        found.append({name: record["found"] for name, record in records.items()})
    assert found[0] == found[1]
    assert len(found[0]) == 2


def test_a_worker_keeps_the_processes_of_its_last_task_only():
    """Three tasks with limits of time take turns in one worker."""
    found = []
    for number in range(3):
        function = packed((adder, (number,), None))
        assert ray_pool._function(function, 60.0)([1, 2]) == [1 + number, 2 + number]
        found.append(len(descendants(os.getpid())))
    assert found == found[:1] * 3


def descendants(process):
    helpers = helpers_of(process)
    return helpers + [each for helper in helpers for each in descendants(helper)]


def adder(number):
    return partial(add, number)


def test_a_call_that_is_stopped(cluster, tmp_path):
    with engine("ray", cluster.address):
        call = engines.cluster().call(until_stopped, tmp_path, gpu=False)
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        call.stop()
        assert isinstance(call.result(), Failure)
        assert (tmp_path / "saved").exists()


def until_stopped(folder):
    """Does what a training does: saves something when it is stopped."""
    (folder / "begun").touch()
    try:
        while True:
            time.sleep(0.05)
    except KeyboardInterrupt:
        (folder / "saved").touch()
        raise
