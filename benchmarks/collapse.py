"""Train models with rows for symbols that training never shows, and record how alike these become.

    python benchmarks/collapse.py docs/results/commands/collapse.json

Three seeds of `ltl-learned` with six rows, 1,500 steps each, on `ltl-mini`, which has three
propositions in training and six in the grid. The right answers are those with more symbols than in
training and no greater length, before and after `--reset-rows 0`. A few minutes for each seed.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import logicgen
from logicgen import shipped
from logicgen.evaluate.collapse import collapse, trained_rows
from logicgen.report.tables import write_json
from logicgen.study.provenance import commit, machine, versions

SEEDS = (0, 1, 2)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "ltl-mini")
        logicgen.generate("ltl-mini", data, workers=1)
        found = [_measure(data, Path(folder), seed) for seed in SEEDS]
    content = {"machine": machine("cpu"), "commit": commit(), "versions": versions()}
    write_json({**content, "seeds": found}, Path(sys.argv[1]))


def _measure(data: Path, folder: Path, seed: int) -> dict[str, Any]:
    text = shipped.find("models", ".toml", "ltl-learned").read_text(encoding="utf-8")
    changed = text.replace("max_symbols = 5", "max_symbols = 6")
    changed = changed.replace("steps = 5000", f"steps = 1_500\nseed = {seed}")
    recipe = folder / f"rows-{seed}.toml"
    recipe.write_text(changed, encoding="utf-8")
    run = logicgen.train(recipe, data, folder / f"run-{seed}", device="cpu")
    opened = logicgen.load_dataset(data)
    rows, seen = trained_rows(run, logicgen.load_model(run, "cpu"), opened)
    spreads = {name: asdict(each) for name, each in collapse(rows, seen).items()}
    right = {
        name: logicgen.evaluate(run, data, folder / f"{name}-{seed}", split="grid", **settings)
        for name, settings in {"kept": {}, "redrawn": {"reset_rows": 0}}.items()
    }
    parts = {name: each["beyond_in_symbols_only"] for name, each in right.items()}
    counted = {
        name: {key: part[key] for key in ("examples", "accuracy")} for name, part in parts.items()
    }
    return {"seed": seed, "rows": spreads, "more_symbols": counted}


if __name__ == "__main__":
    main()
