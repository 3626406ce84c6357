"""Write the gallery: an HTML page with examples of every shipped data-set recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from logicgen import recipes
from logicgen.callbacks import Progress
from logicgen.data.opening import read_data_recipe
from logicgen.data.plan import Unit
from logicgen.data.recipe import DataRecipe
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.rows import (
    ANSWER,
    LENGTH,
    OPERATORS,
    PROBLEM,
    RIGHT_ANSWER,
    SYMBOLS,
    column,
    explanations,
    page_data,
    problem_rows,
    task_facts,
)
from logicgen.tasks import Task, load_task, task_names
from logicgen.tasks.problems import Drawer, Example

# The number of examples of each recipe. Their lengths are spread over the recipe's training region.
EXAMPLES = 6

# The largest number of tokens of a problem. The drawing of a longer problem would be too large.
LONGEST = 120

Rows = dict[str, list[Any]]
"""From the name of a column to a list with a value for each example."""

# The columns in order. A task without a column gets the value given here.
ROWS = dict.fromkeys(("key", "recipe", "task", "symbols", "length", "problem", "prefix"), "") | {
    "operators": "",
    "right": "",
    "deciding": (),
    "answer": "",
    "explained": "",
}


def write_gallery(path: Path, progress: Progress) -> None:
    """Write the gallery of shipped tasks and recipes."""
    read = {name: read_data_recipe(name) for name in recipes.names("datasets", ".toml")}
    with_problems = {n: r for n, r in read.items() if isinstance(r, DataRecipe)}
    found: dict[str, list[Example]] = {}
    for name, recipe in with_problems.items():
        found[name] = _examples(recipe)
        progress(len(found), len(with_problems))
    rows: Rows = {name: [] for name in ROWS}
    for task in dict.fromkeys(recipe.task for recipe in with_problems.values()):
        of_task = {n: each for n, each in found.items() if with_problems[n].task == task}
        _add_examples(rows, load_task(task), of_task)
    columns = [
        column("recipe", "recipe", "choice", facet=True, shown=True),
        column("task", "task", "choice", facet=True, shown=True),
        SYMBOLS,
        LENGTH,
        PROBLEM,
        ANSWER,
        OPERATORS,
    ]
    tasks = {name: load_task(name) for name in task_names()}
    abouts = [[name, task.about] for name, task in tasks.items()]
    described = [[name, recipe.task, recipe.description] for name, recipe in read.items()]
    says = "Recipes of tasks without problems make corpora: sequences for language models."
    document = Document(
        title="What ships with logicgen",
        lead="Examples of every task and recipe, as logicgen generate makes them.",
        summary=[],
        data=page_data(
            {name: task_facts(task) for name, task in tasks.items()},
            columns,
            rows,
            [RIGHT_ANSWER],
            total=len(rows["key"]),
        ),
        facts=[
            FactTable("Tasks", ["task", "problem and answer"], abouts),
            FactTable("Recipes", ["recipe", "task", "description"], described, says),
        ],
        notes=["logicgen generate RECIPE makes the data of a recipe."],
    )
    write_document(document, path)


def _add_examples(rows: Rows, task: Task, found: Mapping[str, Sequence[Example]]) -> None:
    """Append the examples of all recipes of a task to the columns `rows`.

    found: the examples of each recipe, from the shortest to the longest.
    """
    named = [(name, number) for name, examples in found.items() for number in range(len(examples))]
    examples = [each for some in found.values() for each in some]
    if not examples:
        return
    answers = [(each.problem, each.answer, "correct") for each in examples]
    explained = explanations(task, answers)
    shown: Rows = {
        "key": [f"{name}-{number}" for name, number in named],
        "recipe": [name for name, _ in named],
        "task": [task.name] * len(named),
        "symbols": [each.symbols for each in examples],
        "length": [each.length for each in examples],
        **problem_rows(task, [each.problem for each in examples]),
        "answer": [text for text, _ in explained],
        "explained": [explanation for _, explanation in explained],
    }
    for column_name, empty in ROWS.items():
        rows[column_name] += shown.get(column_name, [empty] * len(named))


def _examples(recipe: DataRecipe) -> list[Example]:
    cells = [cell for cell in recipe.region.sizes([None]) if cell.length <= LONGEST]
    last = len(cells) - 1
    places = sorted({round(i * last / (EXAMPLES - 1)) for i in range(EXAMPLES)}) if cells else []
    unit = Unit(
        split="gallery",
        number=0,
        round=0,
        first=0,
        cells=tuple(cells[place] for place in places),
        reserved=frozenset(),
    )
    found = Drawer(recipe.rules(), 0).unit(unit.slots()).examples
    return [example for example in found if example is not None]
