"""`logicgen audit`: its table, its exit statuses, and what it refuses."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_commands import refused, run

REWARDS = """
import re
def clean(problem, completion):
    return 0
def pays_all(problem, completion):
    return 1
def one(problem):
    return 1
number = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own_rewards.py").write_text(REWARDS)
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "script.py").write_text("raise SystemExit(0)")
    return tmp_path


def test_a_fault_ends_with_status_1_and_a_table(folder):
    arguments = ("audit", "own_rewards.py:pays_all", "--count", 5, "--only", "echo")
    done = run(*arguments, cwd=folder)
    assert done.returncode == 1, done.stderr
    head, echo, raised, right = done.stdout.splitlines()
    assert head.split() == ["class", "tried", "paid", "example"]
    assert "it repeats the problem" in echo
    assert raised.split() == ["raised", raised.split()[1], "0"]
    assert right.startswith("right answers paid: bare ")


def test_a_file_may_have_dataclasses_and_modules_beside_it(folder):
    (folder / "far").mkdir()
    (folder / "far" / "parts.py").write_text("NOTHING = 0\n")
    (folder / "far" / "inspect.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from parts import NOTHING\n"
        "@dataclass\n"
        "class Reward:\n"
        "    value: float\n"
        "def clean(problem, completion):\n"
        "    return Reward(NOTHING).value\n"
    )
    done = run("audit", "far/inspect.py:clean", "--count", 5, "--only", "word", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_module_without_fault_ends_with_status_0(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    done = run("audit", "own_rewards:clean", "--count", 5, "--only", "word", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "warning: no right answer was paid" in done.stdout


def test_json_goes_to_a_file_or_to_standard_output(folder):
    arguments = ("audit", "own_rewards.py:pays_all", "--only", "word", "--dress", "tags", "--json")
    done = run(*arguments, "found.json", cwd=folder)
    found = json.loads((folder / "found.json").read_text())
    assert found["faults"]["word"]["completion"].startswith("<answer>")
    assert "right answers paid: tags" in done.stdout
    assert json.loads(run(*arguments, "-", cwd=folder).stdout) == found


def test_our_own_scorer_is_audited_by_its_mode():
    done = run("audit", "--mode", "strict", "--count", 5, "--only", "contradiction")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give either"),
        (("own_rewards.py:clean", "--mode", "strict"), "give either"),
        (("own_rewards.py",), "write it as"),
        (("no_such_module:reward",), "no_such_module: cannot be imported"),
        (("missing.py:reward",), "missing.py: cannot be imported"),
        (("broken.py:reward",), "ZeroDivisionError"),
        (("script.py:reward",), "SystemExit"),
        (("own_rewards.py:no_such",), "has no function no_such"),
        (("own_rewards.py:number",), "is not a function"),
        (("own_rewards.py:one",), "give a function (problem, completion) -> reward"),
        (("own_rewards.py:clean", "--task", "proposition"), "did you mean propositional"),
        (("own_rewards.py:clean", "--only", "word", "--paid", "nan"), "not a number"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, said, folder):
    line = refused(run("audit", *arguments, cwd=folder), said)
    assert "Usage" in line or line.count("\n") == 1
