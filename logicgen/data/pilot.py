"""A check that problems of the wanted difficulty exist, before a data set is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from random import Random

from logicgen.data.plan import CellPlan
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.tasks import Cell
from logicgen.tasks.problems import Drawer

# If no problem of this number of draws has the wanted difficulty, the recipe is refused.
DRAWS = 5_000


def check_difficulty(
    recipe: DataRecipe, name: str, seed: int, stages: Iterable[tuple[str, Sequence[CellPlan]]]
) -> None:
    """Raise LogicgenError if `DRAWS` random problems are all too easy or too hard for a recipe.

    name: the name of the recipe, for the message.
    stages: pairs of a split and the plans of its cells.
    """
    divided = {
        name: part for name, part in recipe.parts.items() if recipe.difficulty or part.columns
    }
    if not divided:
        return
    drawer, cells = Drawer(recipe.rules(), seed), dict[str, list[Cell]]()
    for split, plans in stages:
        here = cells.setdefault("grid" if split == "grid" else "region", [])
        here += [plan.cell for plan in plans if plan.quota]
    for table, part in divided.items():
        some = list(dict.fromkeys(cells.get(table, ())))
        if some and not _exists(drawer, seed, some):
            keys = [f"{table}.{column}" for column in part.columns]
            key = "difficulty" if recipe.difficulty else " and ".join(keys)
            raise LogicgenError(
                f"{name}: {key}: no problem of {DRAWS:,} draws from the {table} meets this"
                f" {'table' if recipe.difficulty else 'key'}: widen a range of difficulty, or"
                f" change [{table}] or the operators"
            )


def _exists(drawer: Drawer, seed: int, cells: Sequence[Cell]) -> bool:
    """Return whether some random problem of the cells is accepted."""
    return any(
        drawer.is_accepted(Random(f"{seed}/pilot/{number}"), cell)
        for number, cell in enumerate(islice(cycle(cells), DRAWS))
    )
