"""The card of a data set: a README.md that people read, and Hugging Face `datasets` as well."""

from __future__ import annotations

from typing import Any

from logicgen.data.data_recipe import DataRecipe
from logicgen.data.markdown import markdown_table, plain, yaml_text


def card(recipe: DataRecipe, description: dict[str, Any]) -> str:
    """Return the text of a data set's card."""
    name, splits, task = description["name"], description["splits"], recipe.load_task()
    files, rows, short = [], [], []
    for split, content in splits.items():
        part = recipe.grid if split == "grid" else recipe.region
        assert part is not None
        symbols, length = ("{} to {}".format(*bounds) for bounds in (part.symbols, part.length))
        rows.append([split, f"{content['examples']:,}", symbols, length])
        if content["examples"]:
            files.append(f"  - split: {split}\n    path: {split}/*.parquet")
        if content["cells_short"]:
            short.append(
                f"- {split}: {content['cells_short']} of {content['cells']} cells hold fewer "
                f"examples than asked for, {content['cells_empty']} of them none, because no more "
                "such problems with an answer exist or were found; `cells.csv` lists them."
            )
        if given_up := content.get("given_up"):
            short.append(
                f"- {split}: {given_up} problems were given up by a solver after its `effort` or"
                " `timeout`; where that is a time, a slower machine makes other data."
            )
    verified = (
        f"by the solver `{recipe.verifier or task.solver}`" if task.solver else "by comparison"
    )
    alpha = (
        " up to renaming their symbols" if description["distinct"]["up to"] == "renaming" else ""
    )
    sizes = markdown_table(["split", "examples", "symbols", "length"], rows)
    held = "\n\n".join([sizes, "\n".join(short)] if short else [sizes])
    paths = "\n".join(files)
    return f"""---
pretty_name: {yaml_text(name)}
language: []
tags:
- logic
- synthetic
- {recipe.task}
configs:
- config_name: default
  data_files:
{paths}
---

# {plain(name)}

{plain(recipe.description)}

Made by logicgen {description["versions"]["logicgen"]} from the recipe in `dataset.json` with seed
{description["seed"]}; the same recipe, seed and versions give the same bytes. Every answer was
verified {verified}. No two problems, within or across splits, are equal{alpha}.

{held}

| column | what it is |
| --- | --- |
| `problem` | the problem in prefix notation, tokens separated by blanks |
| `answer` | a right answer in prefix notation |
| `symbols` | {task.symbols_meaning} |
| `length` | number of tokens of the problem |
| `alpha_class` | equal for problems that are equal up to renaming, also across data sets |

```python
import logicgen
data = logicgen.load_dataset("path/to/this/folder")   # checks every shard's checksum

import datasets
data = datasets.load_dataset("path/to/this/folder")
```
"""
