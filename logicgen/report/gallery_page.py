"""The gallery: every task and data-set recipe that ships, with examples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from logicgen import recipes
from logicgen.data.opening import read_data_recipe
from logicgen.data.plan import Unit
from logicgen.data.recipe import CorpusRecipe, DataRecipe
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.rows import (
    Progress,
    column,
    explanations,
    problem_rows,
    task_facts,
)
from logicgen.tasks import load_task, task_names
from logicgen.tasks.problems import Drawer, Example

# Examples of each recipe, of lengths from the shortest to the longest of its training region.
EXAMPLES = 6

# Problems of more tokens make no picture that says anything.
LONGEST = 120


def write_gallery(path: Path, *, workers: int = 1, progress: Progress = lambda *_: None) -> Path:
    """Write the gallery; return its path."""
    write_document(gallery_document(workers=workers, progress=progress), path)
    return path


def gallery_document(*, workers: int = 1, progress: Progress = lambda *_: None) -> Document:
    """Return the gallery of what ships."""
    read = {name: read_data_recipe(name) for name in recipes.names("datasets", ".toml")}
    with_problems = {n: r for n, r in read.items() if isinstance(r, DataRecipe)}
    drawn = {
        name: list(_examples(recipe, name, done, len(with_problems), progress))
        for done, (name, recipe) in enumerate(with_problems.items(), 1)
    }
    rows: dict[str, list[Any]] = {
        "key": [f"{name}-{i}" for name, found in drawn.items() for i in range(len(found))],
        "recipe": [name for name, found in drawn.items() for _ in found],
        "task": [with_problems[name].task for name, found in drawn.items() for _ in found],
        "symbols": [example.symbols for example in chain(*drawn.values())],
        "length": [example.length for example in chain(*drawn.values())],
    }
    # Not all tasks have the same rows: what one lacks is empty.
    parts = [(load_task(with_problems[name].task), found) for name, found in drawn.items() if found]
    shown = [problem_rows(task, [each.problem for each in found]) for task, found in parts]
    empty = {"operators": "", "right": "", "deciding": ()}
    for name in ("problem", "prefix", *empty):
        rows[name] = [
            value
            for part, (_, found) in zip(shown, parts, strict=True)
            for value in part.get(name, [empty.get(name)] * len(found))
        ]
    explained = [
        each
        for task, found in parts
        for each in explanations(
            task, [(e.problem, e.answer, "correct") for e in found], workers=workers
        )
    ]
    rows["answer"] = [text for text, _ in explained]
    rows["explained"] = [found for _, found in explained]
    columns = [
        column("recipe", "recipe", "choice", facet=True, shown=True),
        column("task", "task", "choice", facet=True, shown=True),
        column("symbols", "symbols", "number", facet=True, shown=True),
        column("length", "length", "number", facet=True, shown=True),
        column("problem", "problem", "text", shown=True),
        column("answer", "answer", "text", shown=True),
        column("operators", "operators", "choices", facet=True),
    ]
    return Document(
        title="What ships with logicgen",
        lead="Examples of every task and recipe, as logicgen generate makes them.",
        summary=[],
        data={
            "tasks": {name: task_facts(load_task(name)) for name in task_names()},
            "maps": [],
            "columns": columns,
            "rows": rows,
            "answers": [
                {"label": "answer", "text": "answer", "explanation": "explained", "drawn": True}
            ],
            "problem": "problem",
            "total": len(explained),
            "sampled": "",
        },
        facts=[_tasks(), _recipes(read)],
        notes=["logicgen generate RECIPE makes the data of a recipe."],
    )


def _examples(
    recipe: DataRecipe, name: str, done: int, of: int, progress: Progress
) -> Iterator[Example]:
    """Yield some examples of a recipe, from short ones to long ones."""
    cells = [cell for cell in recipe.region.cells([None]) if cell.length <= LONGEST]
    last = len(cells) - 1
    places = sorted({round(i * last / (EXAMPLES - 1)) for i in range(EXAMPLES)}) if cells else []
    unit = Unit(
        split="gallery",
        number=0,
        round=0,
        first=0,
        cells=tuple(cells[place] for place in places),
        rationed=frozenset(),
    )
    found = Drawer(recipe.rules(), 0).unit(unit.slots()).examples
    progress(done, of)
    yield from (example for example in found if example is not None)


def _tasks() -> FactTable:
    rows = [[name, load_task(name).about] for name in task_names()]
    return FactTable("Tasks", ["task", "problem and answer"], rows)


def _recipes(recipes: dict[str, DataRecipe | CorpusRecipe]) -> FactTable:
    rows = [[name, recipe.task, recipe.description] for name, recipe in recipes.items()]
    says = "Those whose tasks have no problems make corpora: sequences for language models."
    return FactTable("Recipes", ["recipe", "task", "description"], rows, says)
