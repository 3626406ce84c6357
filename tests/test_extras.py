"""The core needs none of the packages that extras bring; who misses one is told which extra."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

import logicgen
from logicgen.errors import LogicgenError
from logicgen.extras import EXTRAS, MissingExtraError, extras_named, missing_extra, need
from tests.test_layers import MODULES, ROOT_MODULES, package

ROOT = Path(logicgen.__file__).parent.parent
CORE = ROOT_MODULES | {
    "",
    "processes",
    "syntax",
    "solvers",
    "tasks",
    "scoring",
    "data",
    "library",
    "cli",
}
CORE |= {"integrations"}
# The two tasks whose sequences come from automata, and adapters that derive from foreign classes.
OUTSIDE = {
    "logicgen.tasks.automaton_strings",
    "logicgen.tasks.grammar_sentences",
    "logicgen.integrations.inspect_ai",
    "logicgen.integrations.reasoning_gym",
    "logicgen.integrations.verifiers",
}
CORE_MODULES = sorted(name for name in MODULES if package(name) in CORE and name not in OUTSIDE)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# Whoever imports one of these packages is told that it is not there.
BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def without_extras(
    code: str, cwd: Path, packages: Iterable[str] = EXTRAS
) -> subprocess.CompletedProcess[str]:
    """Run Python code where no extra is installed, or not those that bring some packages."""
    code = f"PACKAGES = {sorted(packages)}" + BLOCKED + code
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd)


def run(arguments: list[str], cwd: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command where no extra is installed."""
    code = f"sys.argv[1:] = {arguments!r}\nfrom logicgen.cli.main import main\nmain()"
    return without_extras(before + code, cwd)


def said(package: str) -> str:
    return (
        f"this needs {package}, which is not installed: pip install 'logicgen[{EXTRAS[package]}]'"
    )


def imported(node: ast.AST) -> set[str]:
    """The top-level packages that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return {(node.module or "").partition(".")[0]} if isinstance(node, ast.ImportFrom) else set()


def test_the_core_imports_without_any_extra(tmp_path):
    done = without_extras("\n".join(f"import {name}" for name in CORE_MODULES), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_every_package_that_is_imported_is_of_the_core_or_of_an_extra():
    names = {re.match(r"[a-z_-]+", line)[0] for line in PROJECT["dependencies"]}
    known = {{"python-sat": "pysat"}.get(name, name) for name in names} | {"pysolvers", "logicgen"}
    plugins = {"spot", "stormpy"}
    for path in MODULES.values():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = set().union(*map(imported, ast.walk(tree))) - sys.stdlib_module_names
        assert found <= known | plugins | set(EXTRAS), path


def test_an_extra_brings_what_it_is_said_to():
    for name, extra in EXTRAS.items():
        named = name.replace("_", "-")
        assert any(line.startswith(named) for line in PROJECT["optional-dependencies"][extra])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "package"),
    [
        (["complete", "run", "text"], "torch"),
        (["study", "ablation"], "safetensors"),
        (["generate", "automaton-5", "-o", "out"], "scipy"),
        (["generate", "python-byte-pairs", "-o", "out"], "tokenizers"),
    ],
)
def test_a_command_says_which_extra_is_missing(arguments, package, tmp_path):
    done = run(arguments, tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1] == f"logicgen: {said(package)}"
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_demo_shows_what_works_without_extras(tmp_path):
    code = "import importlib.util\nimportlib.util.find_spec = lambda name: None\n"
    done = run(["demo", "--quick"], tmp_path, before=code)
    assert done.returncode == 0, done.stderr
    assert "(a -> b) & !b: a=0, b=0\n" in done.stdout
    assert "a & !a: unsatisfiable\n" in done.stdout
    assert done.stderr.strip().endswith(said("safetensors"))


@pytest.mark.parametrize(
    ("statement", "package"),
    [
        ("logicgen.load_model('run')", "torch"),
        *(
            (f"import logicgen.integrations.{name}", name)
            for name in ("inspect_ai", "reasoning_gym", "verifiers")
        ),
    ],
)
def test_a_function_or_adapter_says_which_extra_is_missing(statement, package, tmp_path):
    code = f"import logicgen\nfrom logicgen.errors import LogicgenError\ntry:\n  {statement}\n"
    code += "except LogicgenError as error:\n  print(error)"
    assert without_extras(code, tmp_path).stdout.strip() == said(package)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["list"], said("scipy")[:20]),  # and goes on
        (["list", "environment"], "cpu         "),
        (["solve", "--task", "ltl", "a U b"], "{b}"),
        (["verify", "--task", "propositional", "a | b", "a=1"], "correct"),
    ],
)
def test_commands_of_the_core_need_no_extra(arguments, output, tmp_path):
    done = run(arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    assert output in done.stdout


def test_other_modules_that_are_missing_are_not_explained():
    with pytest.raises(ModuleNotFoundError) as raised, extras_named():
        import no_such_module  # noqa: F401
    assert not isinstance(raised.value, LogicgenError)
    assert missing_extra(ModuleNotFoundError("no name")) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("import no_such_dependency", "No module named 'no_such_dependency'"),
        ("raise OSError('libtorch_cpu.so: cannot open')", "libtorch_cpu.so: cannot open"),
        ("raise ImportError('undefined symbol: x')", "undefined symbol: x"),
        ("", "cannot import name 'Tensor' from 'torch'"),
    ],
)
def test_an_extra_that_is_installed_in_part_is_named(content, reason, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(content)
    command = [sys.executable, "-m", "logicgen.cli.main", "complete", "run", "text"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(f"logicgen: torch is installed only in part ({reason}")
    assert line.endswith("pip install --force-reinstall 'logicgen[train]'")


def test_what_is_installed_is_not_missed(monkeypatch):
    need("train")
    monkeypatch.setattr("logicgen.extras.find_spec", lambda package: None)
    with pytest.raises(MissingExtraError, match=r"logicgen\[train\]"):
        need("train")
