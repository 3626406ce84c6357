"""Small data sets, and completions of each kind, for the tests of harnesses."""

from __future__ import annotations

from logicgen.data.folder import DataFolder
from logicgen.data.opening import load_dataset
from logicgen.scoring.prompts import answer_text
from tests.data.data_sets import make

SIZES = {
    "region": {"symbols": [1, 3], "length": [3, 7], "balance": "symbols-and-length"},
    "sizes": {"train": 40, "validation": 0, "test": 8},
    "grid": {"symbols": [4, 4], "length": [7, 9], "per_cell": 2},
}


def small(folder, seed: int = 0) -> DataFolder:
    """Make a data set of a few propositional problems."""
    make(folder, SIZES, seed=seed)
    return load_dataset(folder)


def right(answer: str) -> str:
    """Write a completion that ends with this answer."""
    return f"<think>Perhaps <answer>0</answer>.</think>So: {answer_text(answer)}"


WRONG = answer_text("unsat")
"""An answer that is wrong for every problem of the data set, since each can be satisfied."""

INVALID = "I do not know."
