"""Each script in `examples/` that says at its end what it prints runs and prints that.

What the others do is tested in `integrations/test_grpo_example.py`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))
EXAMPLES = [path for path in SCRIPTS if "# Prints:\n" in path.read_text()]
NEEDED = {
    "answer_with_a_model": ["torch"],
    "audit_reasoning_gym": ["reasoning_gym"],
    "cut_a_rule": ["torch"],
    "exact_lexinvariant": ["scipy"],
    "make_a_data_set": ["pandas"],
}
"""The optional packages of the examples that need some."""

SLOW = {"answer_with_a_model", "operators_in_context"}


def _case(script):
    """Return a script as a case of a test, with its markers."""
    needed = NEEDED.get(script.stem, [])
    marks = [pytest.mark.trainer] if "reasoning_gym" in needed else []
    marks += [pytest.mark.slow] if script.stem in SLOW else []
    return pytest.param(script, id=script.stem, marks=[pytest.mark.needs(*needed), *marks])


def promised(script):
    """Return the output that stands in the comment at the end of a script."""
    text = script.read_text().split("# Prints:\n")[1]
    return "".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines(True))


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
    others = {"bring_your_own_model", "grpo", "serve"}
    assert {path.stem for path in SCRIPTS} - {path.stem for path in EXAMPLES} == others


@pytest.mark.parametrize("script", [_case(script) for script in EXAMPLES])
def test_an_example_prints_what_it_says(script, tmp_path):
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == promised(script)


@pytest.mark.slow
@pytest.mark.needs("torch", "matplotlib")
def test_a_model_of_plain_pytorch_is_judged(tmp_path):
    script = next(path for path in SCRIPTS if path.stem == "bring_your_own_model")
    done = subprocess.run(
        [sys.executable, script, "2", "1000"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^(\w+): [\d.]+% right of [1-9]\d*$", done.stdout, re.M)
    assert lines == ["inside_training_region", "beyond_in_symbols_only", "beyond_in_length_only"]
    assert (tmp_path / "replies" / "heatmap.png").is_file()
    assert (tmp_path / "replies" / "report.html").is_file()
