"""A built wheel, installed into a fresh virtual environment, has everything it needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from logicgen import recipes
from logicgen.extras import EXTRAS

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy, since building leaves files behind.
    source = folder / "source"
    for part in ("logicgen", "grammars", "datasets", "models", "studies", "suites"):
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / part, source)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, source],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_declarations_are_inside(wheel):
    inside = zipfile.ZipFile(wheel).namelist()
    kinds = {"grammars": ".lark", "datasets": ".toml", "models": ".toml", "studies": ".toml"}
    kinds["suites"] = ".toml"
    for kind, suffix in kinds.items():
        for name in recipes.names(kind, suffix):
            path = recipes.find(kind, suffix, name).relative_to(recipes.folder(kind))
            assert f"logicgen/declarations/{kind}/{path.as_posix()}" in inside
    for name in recipes.trained():
        for file in ("model.json", "model.safetensors", "README.md"):
            assert f"logicgen/declarations/models/weights/{name}/{file}" in inside
    top = {name.split("/")[0] for name in inside if ".dist-info" not in name}
    assert top == {"logicgen"}


def run(cwd: Path, *arguments: object, code: int = 0) -> str:
    """Run a command in a folder; return its output and errors."""
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("version", "works"), [("3, 10", False), ("3, 13", True), ("3, 14", False)]
)
def test_make_names_the_versions_of_python(version, works, tmp_path):
    folder = tmp_path / "with blanks"
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    python = folder / "python"
    faked = f"import sys; sys.version_info = ({version}, 0); exec(sys.argv[1])"
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exec "{sys.executable}" -c "{faked}" "$2"\n:\n')
    python.chmod(0o755)
    command = ["make", "--no-print-directory", "PYTHON=./python", ".venv/bin/python"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if works:
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "logicgen needs Python 3.11 to 3.13: make PYTHON=python3.12" in line


def test_pip_is_told_the_versions_of_python(wheel):
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        assert "\nRequires-Python: <3.14,>=3.11\n" in archive.read(name).decode()


@pytest.mark.needs("matplotlib")
def test_it_runs_in_a_fresh_environment(wheel, tmp_path):
    environment = tmp_path / "a fresh environment"
    run(tmp_path, sys.executable, "-m", "venv", environment)
    python, logicgen = environment / "bin" / "python", environment / "bin" / "logicgen"
    run(tmp_path, python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    # The dependencies of this environment as a plain path, which does not bring the source tree.
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(tmp_path, python, "-c", where).strip())
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    found = run(tmp_path, python, "-c", "import logicgen; print(logicgen.__file__)")
    assert found.startswith(str(environment))
    listed = run(tmp_path, logicgen, "list")
    for name in ("copying-20", "propositional-interchangeable", "ltl-baselines", "truth-table"):
        assert name in listed
    run(tmp_path, logicgen, "generate", "propositional-mini", "--size", "100", "-o", "made")
    assert (tmp_path / "made" / "dataset.json").is_file()
    run(tmp_path, logicgen, "report", "made")
    assert "</html>" in (tmp_path / "made" / "report.html").read_text()


def test_the_core_alone_makes_solves_and_verifies(wheel, tmp_path):
    """Install the wheel with what it depends on, and no extra, and run the commands of the core."""
    environment = tmp_path / "core"
    run(tmp_path, sys.executable, "-m", "venv", environment)
    pip = [environment / "bin" / "python", "-m", "pip"]
    run(tmp_path, *pip, "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
    installed = run(tmp_path, *pip, "list").lower()
    assert not [package for package in EXTRAS if f"\n{package} " in installed]
    logicgen = environment / "bin" / "logicgen"
    assert run(tmp_path, logicgen, "solve", "--task", "propositional", "a & !b") == "a=1, b=0\n"
    assert run(tmp_path, logicgen, "verify", "--task", "ltl", "G F a", "{a}") == "correct\n"
    run(tmp_path, logicgen, "generate", "ltl-mini", "--size", "100", "-o", "made")
    run(tmp_path, logicgen, "generate", "python-characters", "-o", "text")
    run(tmp_path, logicgen, "convert", "--task", "ltl", "made", "train.txt")
    assert "logicgen[train]" in run(tmp_path, logicgen, "list", "environment")
    assert "logicgen[corpora]" in run(tmp_path, logicgen, "list")
    assert run(tmp_path, logicgen, "complete", "RUN", "text", code=2) == (
        "logicgen: this needs torch, which is not installed: pip install 'logicgen[train]'\n"
    )
