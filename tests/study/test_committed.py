"""The results in docs/ are what `logicgen study` makes of their trials, without training."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.test_commands import run

RESULTS = Path(__file__).parents[2] / "docs" / "results"
COMMITTED = sorted(folder.parent.name for folder in RESULTS.glob("*/trials"))


@pytest.mark.parametrize("name", COMMITTED)
def test_tables_follow_from_trials(name, tmp_path):
    out = tmp_path / name
    shutil.copytree(RESULTS / name / "trials", out / "trials")
    result = run("study", name, "-o", out)
    assert result.returncode == 0, result.stderr
    assert not list((out / "runs").glob("*-*")) if (out / "runs").exists() else True
    for file in ("results.md", "results.csv"):
        assert (out / file).read_bytes() == (RESULTS / name / file).read_bytes(), file
    pictures = {path.name for path in (RESULTS / name).glob("*.png")}
    assert pictures == {path.name for path in out.glob("*.png")}
