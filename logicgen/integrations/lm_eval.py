"""Read an export for lm-evaluation-harness, and judge the completions.

    logicgen export data/ltl-mini prompts --for lm-eval
    lm_eval run --include_path prompts --tasks logicgen ...

The exported folder has a YAML task file for each split except train. The task files call the
functions below.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from logicgen.errors import LogicgenError, at, reading
from logicgen.extras import extras_named
from logicgen.integrations.scorers import shared_scorer
from logicgen.integrations.versions import at_least
from logicgen.scoring.completions import Mode

at_least("lm_eval", "0.4.13")


def load(*, split: str, config_source: str, **_: Any) -> dict[str, Any]:
    """Return a dict with one entry, from the name of a split to its rows (a `datasets.Dataset`).

    split: the name of the split.
    config_source: the path of the task file, which the harness passes. The rows are in the file
        *split*.jsonl next to it.

    Raises LogicgenError if *split*.jsonl is missing, or if `logicgen export` did not write it.
    """
    with extras_named():
        from datasets import Dataset

    path = Path(config_source).parent / f"{split}.jsonl"
    with reading(path), path.open(encoding="utf-8") as lines:
        try:
            rows = [json.loads(line) for line in lines]
        except ValueError:
            raise LogicgenError(f"{path}: not JSON lines: export it again") from None
    for row in rows:
        with at(path):
            _column(row, "prompt")
    return {split: Dataset.from_list(rows)}


def strict(doc: dict[str, Any], results: Sequence[object]) -> dict[str, float]:
    """Return the metrics of a completion. Its answer must be between <answer> and </answer>.

    The metrics `correct`, `invalid` and `unknown` are 1.0 or 0.0. If the verdict is unknown, the
    result has only `unknown`, so that the means of the other metrics count known verdicts only.

    doc: the row of the problem.
    results: a list with one completion.

    Raises LogicgenError if the row has no problem or no task, or if the problem does not parse. No
    completion raises an error.
    """
    return _judged(doc, results, "strict")


def tolerant(doc: dict[str, Any], results: Sequence[object]) -> dict[str, float]:
    """Return the metrics as `strict` does. The answer may be anywhere in the completion."""
    return _judged(doc, results, "tolerant")


def _judged(doc: dict[str, Any], results: Sequence[object], mode: Mode) -> dict[str, float]:
    scorer = shared_scorer(_column(doc, "task"), mode)
    judgement = scorer.score(_column(doc, "problem"), results[0])
    if judgement.reward is None:
        return {"unknown": 1.0}
    invalid = float(judgement.verdict == "invalid")
    return {"correct": judgement.reward, "invalid": invalid, "unknown": 0.0}


def _column(row: Any, name: str) -> Any:
    """Return a column of a row. Raises LogicgenError if the column is missing."""
    if not isinstance(row, dict) or name not in row:
        raise LogicgenError(
            f"a row has no column {name!r}: take rows that `logicgen export DATA DIR --for lm-eval`"
            " wrote"
        )
    return row[name]
