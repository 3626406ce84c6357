"""The card of a data set: a README.md that people read, and Hugging Face `datasets` as well."""

from __future__ import annotations

from typing import Any

from logicgen.data.data_recipe import DataRecipe
from logicgen.markdown import markdown_table


def card(recipe: DataRecipe, description: dict[str, Any]) -> str:
    """Return the text of a data set's card."""
    name, splits = description["name"], description["splits"]
    files = "\n".join(
        f"  - split: {split}\n    path: {split}/*.parquet"
        for split in splits
        if _held(splits, split)
    )
    sizes = markdown_table(
        ["split", "examples", "symbols", "length"],
        [
            [
                split,
                f"{_held(splits, split):,}",
                *(_range(recipe, split, each) for each in ("symbols", "length")),
            ]
            for split in splits
        ],
    )
    verified = (
        f"by the solver `{recipe.verifier or recipe.load_task().solver}`"
        if recipe.load_task().solver
        else "by comparison"
    )
    alpha = (
        " up to renaming their symbols" if description["distinct"]["up to"] == "renaming" else ""
    )
    return f"""---
pretty_name: {name}
language: []
tags:
- logic
- synthetic
- {recipe.task}
configs:
- config_name: default
  data_files:
{files}
---

# {name}

{recipe.description}

Made by logicgen {description["versions"]["logicgen"]} from the recipe in `dataset.json` with seed
{description["seed"]}; the same recipe, seed and versions give the same bytes. Every answer was
verified {verified}. No two problems, within or across splits, are equal{alpha}.

{sizes}
{_shortfall(splits)}
| column | what it is |
| --- | --- |
| `problem` | the problem in prefix notation, tokens separated by blanks |
| `answer` | a right answer in prefix notation |
| `symbols` | {recipe.load_task().symbols_meaning} |
| `length` | number of tokens of the problem |
| `alpha_class` | equal for problems that are equal up to renaming, also across data sets |

```python
import logicgen
data = logicgen.load_dataset("path/to/this/folder")   # checks every shard's checksum

import datasets
data = datasets.load_dataset("path/to/this/folder")
```
"""


def _held(splits: dict[str, Any], split: str) -> int:
    return int(splits[split]["examples"])


def _range(recipe: DataRecipe, split: str, coordinate: str) -> str:
    low, high = getattr(recipe.grid if split == "grid" else recipe.region, coordinate)
    return f"{low} to {high}"


def _shortfall(splits: dict[str, Any]) -> str:
    """Return a sentence for each split with cells that hold fewer examples than were asked for."""
    lines = []
    for split, content in splits.items():
        if content["cells_short"]:
            lines.append(
                f"- {split}: {content['cells_short']} of {content['cells']} cells hold fewer "
                f"examples than asked for, {content['cells_empty']} of them none, because no more "
                "such problems with an answer exist or were found; `cells.csv` lists them."
            )
    return "\n" + "\n".join(lines) + "\n" if lines else ""
