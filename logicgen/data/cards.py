"""Cards of data sets and corpora: a README.md for people and for Hugging Face `datasets`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from logicgen.data.croissant import columns_of
from logicgen.data.recipe import CorpusRecipe, DataRecipe


def card(recipe: DataRecipe, description: dict[str, Any]) -> str:
    """Return the text of a data set's card, its README.md."""
    name, task = description["name"], recipe.load_task()
    paths, held = _splits(recipe, description["splits"])
    verified = (
        f"by the solver `{recipe.verifier or task.solver}`" if task.solver else "by comparison"
    )
    alpha = (
        " up to renaming their symbols" if description["distinct"]["up to"] == "renaming" else ""
    )
    meanings = {name: meaning for name, (_, meaning) in columns_of(task).items()}
    meanings["symbols"] = task.symbols_meaning
    rows = ((f"`{name}`", meaning) for name, meaning in meanings.items())
    columns = markdown_table(["column", "meaning"], rows)
    return f"""{_header(recipe, description, paths)}
# {plain(name)}

{plain(recipe.description)}

Made by logicgen {description["versions"]["logicgen"]} from the recipe in `dataset.json` with seed
{description["seed"]}; the same recipe, seed and versions give the same bytes. Every answer was
verified {verified}. No two problems, within or across splits, are equal{alpha}.

{held}

{columns}

```python
import logicgen
data = logicgen.load_dataset("path/to/this/folder")   # checks every shard's checksum

import datasets
data = datasets.load_dataset("path/to/this/folder")
```

`croissant.json` describes the data set for search engines and loaders. A program made the data,
so they are dedicated to the public domain (CC0 1.0). To publish them under another license, change
this file and `croissant.json`. To cite them, give the name, the seed, the version of logicgen and
the fingerprint, which `logicgen.load_dataset(...).fingerprint` returns.
"""


def _header(recipe: DataRecipe, description: dict[str, Any], paths: str) -> str:
    """Return the YAML at the beginning of a card, and a blank line."""
    return f"""---
pretty_name: {yaml_text(description["name"])}
license: cc0-1.0
size_categories:
- {_size_category(description["splits"])}
tags:
- logic
- synthetic
- {recipe.task}
configs:
- config_name: default
  data_files:
{paths}
---
"""


def _size_category(splits: dict[str, Any]) -> str:
    """Return the Hugging Face size category, such as `1K<n<10K`, of all splits together."""
    examples = sum(content["examples"] for content in splits.values())
    bounds = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M"}
    bounds |= {10**7: "1M<n<10M", 10**8: "10M<n<100M", 10**9: "100M<n<1B"}
    return next((name for bound, name in bounds.items() if examples < bound), "n>1B")


def _splits(recipe: DataRecipe, splits: dict[str, Any]) -> tuple[str, str]:
    """Return the paths of the splits as YAML, and a Markdown table of the sizes of the splits.

    If some cells have too few examples, the text after the table reports these cells.
    """
    files, rows, short = [], [], []
    for split, content in splits.items():
        part = recipe.part(split)
        symbols, length = ("{} to {}".format(*bounds) for bounds in (part.symbols, part.length))
        rows.append([split, f"{content['examples']:,}", symbols, length])
        if content["examples"]:
            files.append(f"  - split: {split}\n    path: {split}/*.parquet")
        if content["cells_short"]:
            short.append(
                f"- {split}: {content['cells_short']} of {content['cells']} cells hold fewer "
                f"examples than asked for, and {content['cells_empty']} of these cells are empty. "
                "No more such problems with an answer exist or were found; see `cells.csv`."
            )
        if left_out := content.get("cells_left_out"):
            short.append(
                f"- {split}: there are fewer examples than cells, so {left_out} cells with the most"
                " symbols or tokens have none."
            )
        if given_up := content.get("given_up"):
            short.append(
                f"- {split}: a solver gave up {given_up} problems after its `effort` or `timeout`."
                " If the limit was a time, a slower machine may make other data."
            )
    sizes = markdown_table(["split", "examples", "symbols", "length"], rows)
    held = "\n\n".join([sizes, "\n".join(short)] if short else [sizes])
    return "\n".join(files), held


def corpus_card(recipe: CorpusRecipe, description: dict[str, Any]) -> str:
    """Return the text of a corpus's card, its README.md."""
    rows = [
        [split, f"{content['tokens']:,}", str(len(content["parts"]))]
        for split, content in description["splits"].items()
    ]
    sizes = markdown_table(["split", "tokens", "parts"], rows)
    versions = ", ".join(f"{name} {number}" for name, number in description["versions"].items())
    return f"""# {plain(description["name"])}

{plain(recipe.description)}

A corpus of the task `{recipe.task}`, made by logicgen from the recipe in `corpus.json` with seed
{description["seed"]}; the same recipe, seed and versions ({versions}) give the same bytes. Its
{len(description["tokens"]["texts"]):,} tokens are in `corpus.json` as well.

{sizes}

```python
import numpy
tokens = numpy.load("train/00000.tokens.npy", mmap_mode="r")
```
"""


# Words that YAML reads as a Boolean value or as null, not as a text.
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table without a line break at its end; `|` in a cell is escaped."""
    return "\n".join(map(_line, [heads, ["---"] * len(heads), *rows]))


def one_line(text: str) -> str:
    """Return a text on one line; characters such as line breaks become blanks."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def plain(text: str) -> str:
    """Return a text escaped for a Markdown paragraph or heading: no HTML, links, or blocks."""
    # A `<` is escaped only if a tag may begin there: formulas contain `<->`.
    text = re.sub(r"[\\\[\]]|<(?=[A-Za-z/!?])", r"\\\g<0>", one_line(text))
    # At the beginning of a line, these characters make headings, rules, lists, quotes and code.
    return re.sub(r"^(?=[#=+*>`~_|-])|^(\d{1,9})(?=[.)](?: |$))", r"\1\\", text)


def yaml_text(text: str) -> str:
    """Return a text on one line as YAML, quoted if YAML might not read it as a text."""
    line = one_line(text)
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", line) and line.lower() not in _WORDS:
        return line
    return json.dumps(line, ensure_ascii=False)


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
