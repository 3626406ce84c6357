"""A data set has the same bytes whatever surrounds its process, and is made without rights."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import logicgen
from tests.data.data_sets import contents
from tests.reliability.scene import DATA

ROOT = Path(logicgen.__file__).parent.parent
ODD = {"LC_ALL": "C", "LANG": "C", "TZ": "Pacific/Kiritimati", "COLUMNS": "20"}

# Hash seed, workers, further variables, working folder.
SURROUNDINGS = [
    ("0", 1, {}, "."),
    ("1", 2, ODD, "a folder"),
    ("random", 3, {"TZ": "America/Caracas", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0"}, "b"),
]


def made(tmp_path, number, hash_seed, workers, variables, folder):
    """Make the data set in a new process; return its bytes."""
    place, out = tmp_path / folder, tmp_path / f"out-{number}"
    place.mkdir(exist_ok=True)
    (tmp_path / "data.toml").write_text(DATA)
    arguments = ["generate", tmp_path / "data.toml", "-o", out, "--workers", workers, "--seed", 7]
    python_path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    given = {"PYTHONPATH": python_path, "PYTHONHASHSEED": hash_seed, **variables}
    result = subprocess.run(
        [sys.executable, "-m", "logicgen.cli.main", *map(str, arguments)],
        cwd=place,
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert result.returncode == 0, result.stderr
    return contents(out)


@pytest.mark.slow
def test_the_same_bytes_in_all_surroundings(tmp_path):
    first, *others = (made(tmp_path, number, *each) for number, each in enumerate(SURROUNDINGS))
    assert len(first) > 4
    for other in others:
        assert other == first


NOBODY = 65534


def as_nobody(folder, *arguments):
    """Run Python as a user without rights; as this user where that is not root."""
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    environment = {"PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "PATH": os.defpath}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        **user,
    )


def test_a_data_set_is_made_without_rights():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "data.toml").write_text(DATA)
        try:
            able = as_nobody(folder, "-c", "import logicgen, pyarrow, pysat").returncode == 0
        except PermissionError:
            able = False
        if not able:
            pytest.skip("another user cannot read this installation")
        command = ["-m", "logicgen.cli.main", "generate", "data.toml", "-o", "made"]
        result = as_nobody(folder, *command, "--workers", "2")
        assert result.returncode == 0, result.stderr
        assert (folder / "made" / "dataset.json").is_file()
