"""Solvers of other packages, which may do whatever they like: it costs one problem, or one line."""

from __future__ import annotations

import json
import re

import pytest

import logicgen
from logicgen.data.opening import load_dataset
from logicgen.errors import LogicgenError
from logicgen.solvers import Status, Verdict, load_solver, registry, solver_facts, solver_plugins
from logicgen.solvers.registry import foreign_facts
from tests.cli.test_commands import run

MODULE = """
import os, sys, time
from logicgen.solvers import UNSAT, Solution, Status, Verdict, load_solver

class Plugin:
    logic = "propositional"
    about = "a plugin"
    @classmethod
    def missing(cls): return None
    def solve(self, problem): return load_solver("pysat", "propositional").solve(problem)
    def check(self, problem, answer):
        return load_solver("pysat", "propositional").check(problem, answer)

class Right(Plugin): name = "right"
class Nothing(Plugin):
    def solve(self, problem): return None
    def check(self, problem, answer): return None
class Text(Plugin):
    def solve(self, problem): return "sat"
    def check(self, problem, answer): return "right"
class Wrong(Plugin):
    def solve(self, problem):
        from logicgen.syntax.answers import Assignment
        return Solution.sat(Assignment((("a", False),)))
class Foreign(Plugin):
    def solve(self, problem): return Solution.sat(lambda: 1)
class Loud(Plugin):
    def solve(self, problem):
        print("{ hello }"); os.write(1, b"hello\\n"); return super().solve(problem)
class Quits(Plugin):
    def solve(self, problem): os._exit(7)
    def check(self, problem, answer): os._exit(7)
class Leaves(Plugin):
    def solve(self, problem): sys.exit(3)
class Crashes(Plugin):
    def solve(self, problem): os.kill(os.getpid(), 11)
class Raises(Plugin):
    def solve(self, problem): raise ValueError("no\\nidea")
    def check(self, problem, answer): raise ValueError("no idea")
class Deep(Plugin):
    def solve(self, problem): return self.solve(problem)
class Sometimes(Plugin):
    def solve(self, problem):
        if len(problem.symbols) == 2: os._exit(1)
        return super().solve(problem)
class Slow(Plugin):
    def solve(self, problem):
        if len(problem.symbols) == 2: time.sleep(10**6)
        return super().solve(problem)
class Alien(Plugin):
    def solve(self, problem):
        from logicgen.syntax.answers import Assignment
        return Solution.sat(Assignment((("a", True), ("zzz", True))))
class Tuple(Plugin):
    def solve(self, problem):
        from logicgen.syntax.answers import Assignment
        return Solution.sat(Assignment(((1, 2, 3),)))
class Silent(Plugin):
    def solve(self, problem):
        class Odd(Exception):
            def __str__(self): raise ValueError
        raise Odd
class Interrupts(Plugin):
    def solve(self, problem): raise KeyboardInterrupt
class Closes(Plugin):
    def solve(self, problem):
        for fd in range(64):
            try: os.close(fd)
            except OSError: pass
        return super().solve(problem)
class Never(Plugin):
    def __init__(self): raise RuntimeError("cannot be")
class Unsure(Plugin):
    @classmethod
    def missing(cls): raise OSError("no licence")
class Missing(Plugin):
    @classmethod
    def missing(cls): return "buy it"
class Typed(Plugin):
    logic = 3
"""
CLASSES = re.findall(r"class (\w+)\(Plugin\)", MODULE)
BROKEN = {
    "no-module": "nowhere:Plugin",
    "no-class": "others:Nowhere",
    "exits": "exits:Plugin",
    "typed": "others:Typed",
    "unsure": "others:Unsure",
}


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A folder in which a package of solvers is installed."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "others.py").write_text(MODULE)
    (folder / "exits.py").write_text("import os; os._exit(5)")
    points = {name.lower(): f"others:{name}" for name in CLASSES}
    lines = [f"{name} = {value}" for name, value in {**points, **BROKEN}.items()]
    lines.append("pysat = others:Wrong")  # the name of ours
    info = folder / "others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[logicgen.solvers]\n" + "\n".join(lines) + "\n")
    return folder


@pytest.fixture
def installed(others, monkeypatch):
    """The same package, seen from this process and from those that it starts."""
    caches = solver_plugins, solver_facts, load_solver, foreign_facts
    monkeypatch.syspath_prepend(str(others))
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


@pytest.mark.parametrize("command", [["list", "solvers"], ["list", "environment"]])
def test_a_broken_plugin_is_named_and_the_others_are_listed(installed, command):
    result = run(*command)
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    for name in BROKEN:
        assert f"{name} broken" in text or f"{name}: broken" in text, text
    assert "buy it" in text
    assert "MiniSat" in text or "pysat: available" in text  # nobody takes its name
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", [*BROKEN, "missing", "nobody"])
def test_a_broken_plugin_is_refused_in_one_line(installed, name):
    with pytest.raises(LogicgenError, match=name) as caught:
        logicgen.solve("propositional", "a & b", solver=name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nothing", "NoneType"),
        ("text", "str"),
        ("wrong", "does not satisfy"),
        ("foreign", "not a Assignment"),
        ("quits", "died (7)"),
        ("leaves", "SystemExit: 3"),
        ("crashes", "died (-11)"),
        ("raises", "ValueError: no"),
        ("alien", "zzz is not a symbol of the problem"),
        ("tuple", "ValueError"),
        ("silent", "Odd: which says nothing"),
        ("interrupts", "KeyboardInterrupt"),
        ("closes", ""),
        ("deep", "RecursionError"),
        ("never", "cannot be made: RuntimeError: cannot be"),
    ],
)
def test_what_a_plugin_does_wrong_costs_one_unknown(installed, name, reason):
    if name == "never":
        with pytest.raises(LogicgenError, match=reason):
            logicgen.solve("propositional", "a | b", solver=name)
        return
    found = logicgen.solve("propositional", "a | b", solver=name)
    assert found.status is Status.UNKNOWN
    assert found.reason.startswith(f"solver {name}: ")
    assert reason in found.reason
    assert "\n" not in found.reason


def test_what_a_plugin_prints_is_no_output(installed):
    result = run(
        "solve", "--task", "propositional", "--solver", "loud", "--in", "-", stdin="a\nb\n"
    )
    assert [json.loads(line)["status"] for line in result.stdout.splitlines()] == ["sat", "sat"]
    result = run("solve", "--task", "propositional", "--solver", "loud", "a")
    assert result.stdout.startswith("a=1")


@pytest.mark.slow
def test_a_crash_costs_one_line_of_many(installed):
    lines = ["a", "a & b", "a | b | c", "a ^ b", "c"]
    command = ["solve", "--task", "propositional", "--solver", "sometimes", "--in", "-"]
    result = run(*command, stdin="\n".join(lines))
    found = [json.loads(line)["status"] for line in result.stdout.splitlines()]
    assert found == ["sat", "unknown", "sat", "unknown", "sat"]


@pytest.mark.parametrize("name", ["nothing", "text", "quits", "raises"])
def test_a_verdict_that_is_none_is_unknown(installed, name):
    assert logicgen.verify("propositional", "a", "a=1", solver=name) is Verdict.UNKNOWN


@pytest.mark.slow
def test_data_are_made_with_a_plugin_and_without_one_that_crashes(installed, tmp_path):
    recipe = tmp_path / "tiny.toml"
    text = """task = "propositional"
solver = "{}"
[region]
symbols = [1, 2]
length = [1, 3]
[sizes]
train = 5
"""
    made = {}
    for name in ("right", "pysat"):
        recipe.write_text(text.format(name))
        result = run("generate", recipe, "-o", tmp_path / name, "--workers", 1)
        assert result.returncode == 0, result.stderr
        made[name] = (tmp_path / name / "train" / "00000.parquet").read_bytes()
    assert made["right"] == made["pysat"]
    for name, limit in (("sometimes", ""), ("slow", "timeout = 0.3\n")):
        recipe.write_text(limit + text.format(name).replace("length = [1, 3]", "length = [2, 3]"))
        result = run("generate", recipe, "-o", tmp_path / name, "--workers", 1)
        assert result.returncode == 0, result.stderr
        description = json.loads((tmp_path / name / "dataset.json").read_text())
        assert description["splits"]["train"]["given_up"] > 0
        table = load_dataset(tmp_path / name).table("train")
        assert set(table["symbols"].to_pylist()) == {1}


def test_a_package_that_never_answers_is_broken(tmp_path, monkeypatch):
    (tmp_path / "slow.py").write_text("import time; time.sleep(10**6)")
    info = tmp_path / "slow-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[logicgen.solvers]\nhangs = slow:Plugin\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "PATIENCE", 1.0)
    caches = solver_plugins, solver_facts, foreign_facts
    for each in caches:
        each.cache_clear()
    try:
        assert solver_facts("hangs").broken == "time limit of 1 s"
    finally:
        for each in caches:
            each.cache_clear()
