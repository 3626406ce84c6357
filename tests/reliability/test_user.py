"""Commands run by a user who is not root, with no home and no right to write but to one folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import logicgen
from tests.reliability.scene import DATA

NOBODY = 65534
ROOT = Path(logicgen.__file__).parent.parent


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
