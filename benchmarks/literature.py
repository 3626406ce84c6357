"""Test the shipped LTL model on Spot's random formulas, with operator priorities of the literature.

    python benchmarks/literature.py docs/results/commands/literature.json

Only satisfiable formulas count. The solver verifies a greedy answer, and then up to 16 different
answers until it accepts an answer. A control answers the same formulas once. The benchmark takes
three minutes on one thread.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from logicgen.files import commit
from logicgen.report.tables import write_json
from logicgen.study.records import machine, versions

TEXTS = Path(__file__).resolve().parents[1] / "tests" / "data"
CONTROL = "place"  # the best control for one answer on `ltl-35`
COMMAND = "from logicgen.cli.main import main; main()"


def main() -> None:
    found: dict[str, Any] = {}
    for propositions in (5, 10):
        text = TEXTS / f"ltl_speed_{propositions}ap.txt"
        found[str(propositions)] = {
            "satisfiable": _solved(text),
            "greedy": _solved(text, "--model", "ltl", "--draws", "1"),
            "verified, 16": _solved(text, "--model", "ltl", "--draws", "16"),
            f"control: {CONTROL}": _solved(text, "--model", f"control:{CONTROL}", "--draws", "1"),
        }
    about = {"machine": machine("cpu"), "commit": commit(), "versions": versions()}
    write_json(about | {"propositions": found}, Path(sys.argv[1]))


def _solved(text: Path, *options: str) -> int:
    """Return how many formulas of a file `logicgen solve` answers."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "answers.jsonl")
        solve = ["solve", "--task", "ltl", "--in", str(text), "--out", str(out), *options]
        subprocess.run([sys.executable, "-c", COMMAND, *solve], check=True, capture_output=True)
        lines = out.read_text(encoding="utf-8").splitlines()
    return Counter(json.loads(line)["status"] for line in lines)["sat"]


if __name__ == "__main__":
    main()
