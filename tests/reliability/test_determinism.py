"""A data set has the same bytes whatever surrounds the process that makes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import logicgen
from tests.reliability.scene import DATA

ROOT = Path(logicgen.__file__).parent.parent
ODD = {"LC_ALL": "C", "LANG": "C", "TZ": "Pacific/Kiritimati", "COLUMNS": "20"}

# Hash seed, workers, further variables, working folder.
SURROUNDINGS = [
    ("0", 1, {}, "."),
    ("1", 2, ODD, "a folder"),
    ("random", 3, {"TZ": "America/Caracas", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0"}, "b"),
]


def contents(folder):
    """Return the bytes of all files."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def made(tmp_path, number, hash_seed, workers, variables, folder):
    """Make the data set in a new process; return its bytes."""
    place, out = tmp_path / folder, tmp_path / f"out-{number}"
    place.mkdir(exist_ok=True)
    (tmp_path / "data.toml").write_text(DATA)
    arguments = ["generate", tmp_path / "data.toml", "-o", out, "--workers", workers, "--seed", 7]
    python_path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "PYTHONPATH": python_path,
        "PYTHONHASHSEED": hash_seed,
        **variables,
    }
    result = subprocess.run(
        [sys.executable, "-m", "logicgen.cli.main", *map(str, arguments)],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert result.returncode == 0, result.stderr
    return contents(out)


def test_the_same_bytes_in_all_surroundings(tmp_path):
    first, *others = (made(tmp_path, number, *each) for number, each in enumerate(SURROUNDINGS))
    assert len(first) > 4
    for other in others:
        assert other == first
