"""Write the HTML page of a data set: a sample of its examples, and heat maps of its cells.

A cell is a number of symbols together with a range of lengths. For each cell, a map shows the
number of examples, the planned number of examples, and the number of possible problems. Cells of
difficulty have a table instead.
"""

from __future__ import annotations

import csv
import json
import math
import re
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from logicgen.callbacks import Progress, no_progress
from logicgen.data.dataset import Dataset
from logicgen.data.generate import CELLS
from logicgen.data.ranges import COLUMNS
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError, reading
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.rows import (
    ANSWER,
    LENGTH,
    MOST,
    OPERATORS,
    PROBLEM,
    RIGHT_ANSWER,
    ROW,
    SYMBOLS,
    ExplainedAnswer,
    cell_map,
    chosen,
    column,
    explanations,
    page_data,
    problem_rows,
    task_facts,
)
from logicgen.tasks import Task
from logicgen.tasks.conditions import CONTROLS

# The most rows of a table.
MOST_ROWS = 200

PlannedCells = dict[tuple[str, int | None, int], dict[str, float]]
"""The rows of `cells.csv`: from (split, number of symbols, least length) to further columns.

The number of symbols is None in a row that counts problems with any number of symbols.
"""


def write_dataset_page(
    dataset: Dataset, path: Path, *, workers: int = 1, progress: Progress = no_progress
) -> Path:
    """Write the page of a data set; return its path."""
    return write_document(dataset_document(dataset, workers=workers, progress=progress), path)


def dataset_document(
    dataset: Dataset,
    *,
    most: int = MOST,
    workers: int = 1,
    progress: Progress = no_progress,
) -> Document:
    """Return the content of the page of a data set.

    most: the largest number of examples on the page. Each split gets an equal share of it.
    """
    task, (planned, divided) = dataset.task, _planned(dataset.folder)
    splits = [split for split, examples in dataset.splits.items() if examples]
    measured = _difficulties(dataset)
    names = ["symbols", "length", "problem", "answer", *measured]
    listed: dict[str, list[Any]] = {name: [] for name in ("split", "row", *names)}
    maps = []
    for number, split in enumerate(splits):
        table = dataset.table(split, names)
        maps.append(_count_map(dataset, split, table, planned))
        share = max(1, (most - len(listed["row"])) // (len(splits) - number))
        here = chosen(np.zeros(len(table), bool), share)
        some = table.take(pa.array(here)).to_pydict()
        for name, values in {"split": [split] * len(here), "row": here.tolist(), **some}.items():
            listed[name] += values
    items = zip(listed["problem"], listed["answer"], repeat("correct"))
    rows = _rows(task, listed, explanations(task, items, workers, progress))
    rows |= {name: _shown(listed[name]) for name in measured}
    description = dataset.description
    return Document(
        title=f"{dataset.name}, seed {description['seed']}",
        lead=dataset.recipe.description or f"Problems of the task {dataset.task_name}.",
        summary=[_splits(dataset), *_divided_tables(dataset.recipe, divided)],
        data=page_data(
            {dataset.task_name: task_facts(task)},
            _columns(rows),
            rows,
            [RIGHT_ANSWER],
            maps=maps,
            total=sum(dataset.splits.values()),
            sampled="a random sample of each split",
        ),
        facts=[recipe_facts(description), version_facts(description), _files(dataset)],
        notes=["Made by logicgen. The solver checked every answer when the data were made."],
    )


def _rows(
    task: Task, listed: dict[str, list[Any]], explained: list[ExplainedAnswer]
) -> dict[str, list[Any]]:
    """Return the columns of the examples: from name to a list with a value for each example."""
    where = zip(listed["split"], listed["row"], strict=True)
    rows: dict[str, list[Any]] = {
        "key": [f"{split}-{row}" for split, row in where],
        **{name: listed[name] for name in ("split", "row", "symbols", "length")},
        **problem_rows(task, listed["problem"]),
        "answer_length": [len(text.split()) for text in listed["answer"]],
        "answer": [text for text, _ in explained],
        "explained": [found for _, found in explained],
    }
    if task.refutation is not None:
        none = task.encode(task.refutation)
        rows["answered"] = ["no" if text == none else "yes" for text in listed["answer"]]
    return rows


def _columns(rows: dict[str, list[Any]]) -> list[Any]:
    """Return the descriptions of the columns for the scripts of the page."""
    split = column("split", "split", "choice", facet=True, shown=True)
    length = column("answer_length", "tokens of the answer", "number", facet=True)
    answered = column("answered", "has an answer", "choice", facet=True)
    columns = [ROW, split, SYMBOLS, LENGTH, PROBLEM, ANSWER, length, answered, OPERATORS]
    columns += [column(name, *shown, facet=True) for name, shown in DIFFICULTIES.items()]
    return [each for each in columns if each["name"] in rows]


DIFFICULTIES = {
    "positions": ("positions that are needed", "number"),
    "depth": ("temporal depth", "number"),
    "satisfying": ("share of satisfying assignments", "number"),
    CONTROLS: ("controls that are right", "choice"),
}
"""The columns of difficulty, with their names on the page and their kinds."""


def _difficulties(dataset: Dataset) -> list[str]:
    """Return the columns of difficulty of a data set. Older data sets have no such columns."""
    known = dataset.columns
    return [name for name in DIFFICULTIES if name in known]


def _shown(values: list[Any]) -> list[Any]:
    """Return the values of a column of difficulty: a text instead of no control."""
    return ["no control" if value == "" else value for value in values]


def _planned(folder: Path) -> tuple[PlannedCells, list[dict[str, str]]]:
    """Return the rows of `cells.csv` in the folder of a data set, and its rows of difficulty.

    Both are empty if this file is missing.
    """
    found: PlannedCells = {}
    divided: list[dict[str, str]] = []
    path = folder / CELLS
    if not path.is_file():
        return found, divided
    try:
        with reading(path), path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if any(row.get(name) for name in COLUMNS):
                    divided.append(row)
                    continue
                symbols = int(row["symbols"]) if row["symbols"] else None
                # The length may be a range such as 5-8.
                first = int(row["length"].partition("-")[0])
                counts = {name: float(row[name]) for name in ("asked", "held", "exist")}
                found[row["split"], symbols, first] = counts
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error):
        raise LogicgenError(
            f"{path}: damaged: remove it, or generate the data set again in an empty folder"
        ) from None
    return found, divided


def _divided_tables(recipe: DataRecipe, divided: list[dict[str, str]]) -> list[FactTable]:
    """Return the tables of cells of difficulty: for each split, its two axes."""
    tables = []
    for split in dict.fromkeys(row["split"] for row in divided):
        here = [row for row in divided if row["split"] == split]
        part = recipe.part(split)
        down, across = sorted(
            part.grouping, key=lambda axis: len({row[axis] for row in here}), reverse=True
        )
        heads = sorted({row[across] for row in here}, key=_first)
        held = {(row[down], row[across]): f"{row['held']} of {row['asked']}" for row in here}
        numbers = sorted({row[down] for row in here}, key=_first)[:MOST_ROWS]
        rows = [[number, *(held.get((number, head), "") for head in heads)] for number in numbers]
        title = f"{split}: examples by {down} and {across}"
        tables.append(FactTable(title, [down, *(f"{across} {head}" for head in heads)], rows))
    return tables


def _first(text: str) -> float:
    """Return the least number of a range such as 0.1-1."""
    found = re.match(r"[\d.]+(e-\d+)?", text)
    return float(found[0]) if found else 0.0


def _count_map(
    dataset: Dataset, split: str, table: pa.Table, planned: PlannedCells
) -> dict[str, Any]:
    """Return a heat map of the number of examples in each cell of a split, for the scripts."""
    recipe = dataset.recipe
    part = recipe.part(split)
    symbols, length = (table[name].to_numpy() for name in ("symbols", "length"))
    length = length - (length - part.length[0]) % part.step
    pairs, counts = np.unique(np.stack([symbols, length]), axis=1, return_counts=True)
    held = {(s, n): c for s, n, c in zip(*pairs.tolist(), counts.tolist(), strict=True)}
    of_split = {(s, n): row for (name, s, n), row in planned.items() if name == split}
    held |= {(s, n): 0 for s, n in of_split if s is not None and (s, n) not in held}
    cells = []
    for (s, n), count in sorted(held.items()):
        says = f"{count:,} example{'' if count == 1 else 's'}"
        if (row := of_split.get((s, n))) is not None:
            says += f", {row['asked']:,.0f} planned; existing: {_many(row['exist'])}"
        elif (row := of_split.get((None, n))) is not None:
            says += f"; with any number of symbols {row['held']:,.0f}, {row['asked']:,.0f} planned"
        cells.append([s, n, count, says])
    return cell_map(f"{split}: examples", "count", cells, part.step, also={"split": split})


def _many(count: float) -> str:
    """Return a number of problems as text: "not counted" for infinity."""
    if math.isinf(count):
        return "not counted"
    return f"{count:,.0f}" if count < 1e15 else f"about 10^{math.log10(count):.0f}"


def _splits(dataset: Dataset) -> FactTable:
    rows = []
    for split, examples in dataset.splits.items():
        said = dataset.description["splits"][split]
        part = dataset.recipe.grid if split == "grid" else dataset.recipe.region
        ranges = ["{} to {}".format(*part.symbols), "{} to {}".format(*part.length)] if part else []
        short = [f"{said[key]:,}" for key in ("cells", "cells_short", "cells_empty")]
        rows.append([split, f"{examples:,}", *ranges, *short])
    heads = ["split", "examples", "symbols", "length", "cells", "with fewer than planned", "empty"]
    return FactTable("Splits", heads, rows)


def recipe_facts(description: dict[str, Any]) -> FactTable:
    """Return the table of a recipe, with a row for each key."""
    rows = [[name, value] for name, value in _flat(description["recipe"])]
    return FactTable("Recipe", ["key", "value"], rows)


def _flat(table: dict[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Return (dotted key, value as JSON) for each value in nested tables.

    above: the dotted key of `table`.
    """
    found = []
    for name, value in table.items():
        if isinstance(value, dict) and value:
            found += _flat(value, f"{above}{name}.")
        elif value is not None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found.append((above + name, text))
    return found


def version_facts(description: dict[str, Any]) -> FactTable:
    """Return the table of the package versions with which data were made."""
    return FactTable("Versions", ["package", "version"], _flat(description["versions"]))


def _files(dataset: Dataset) -> FactTable:
    files = dataset.files(dataset.description)
    rows = [[name, f"{f['examples']:,}", f"{f['bytes']:,}", f["sha256"]] for name, f in files]
    says = "" if len(rows) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(rows):,}."
    return FactTable("Files", ["file", "examples", "bytes", "SHA-256"], rows[:MOST_ROWS], says)
