"""Each script in `examples/` runs and prints what the comment at its end says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))


def promised(script):
    """Return the output that stands in the comment at the end of a script."""
    text = script.read_text().split("# Prints:\n")[1]
    return "".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines(True))


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(script, tmp_path):
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == promised(script)
