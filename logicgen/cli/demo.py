"""`logicgen demo`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logicgen.cli.options import out_option
from logicgen.cli.terminal import put

if TYPE_CHECKING:
    from logicgen.data.data_recipe import DataRecipe


@dataclass(frozen=True)
class Part:
    """One data set and the model that is trained on it."""

    data: str
    model: str
    minutes: float  # training stops then, however slow the machine
    steps: int | None = None  # instead of the recipe's number
    limit: int | None = None  # examples to evaluate: one for each of its cells


QUICK_SIZE, QUICK_STEPS, QUICK_LIMIT = 500, 20, 60
PARTS = [
    Part("copying-mini", "copying-interchangeable", 2, steps=1500),
    Part("copying-20", "copying-interchangeable", 4.25, limit=9_440),
    Part("propositional-mini", "propositional-interchangeable", 3, steps=2800),
    Part("ltl-mini", "ltl-interchangeable", 2.5, steps=1700),
]


@click.command("demo")
@out_option("[runs/demo, or runs/demo-quick]")
@click.option("--quick", is_flag=True, help="Tiny sizes: shows that it runs, not what it can do.")
def command(out: Path | None, quick: bool) -> None:
    """Run the main job four times: recipe, verified data set, model, solver-verified heat map.

    Within fifteen minutes on two cores. Interrupted, the same command goes on.
    """
    from logicgen.cli.evaluate import evaluate_with_bars
    from logicgen.cli.generate import generate_with_bars
    from logicgen.cli.train import train
    from logicgen.data.data_recipe import DataRecipe
    from logicgen.data.dataset import load_dataset

    out = out or Path("runs") / ("demo-quick" if quick else "demo")
    results: dict[str, Any] = {}
    for part in PARTS:
        click.secho(f"\n{part.data}", bold=True, err=True)
        recipe = DataRecipe.read(part.data)
        if quick:
            recipe = _tiny(recipe.resized(QUICK_SIZE))
        data, run = _folders(out, part)
        generate_with_bars(recipe, data, name=part.data, seed=0, workers=os.cpu_count() or 1)
        if not (run / "model.json").exists():
            steps, resume = QUICK_STEPS if quick else part.steps, (run / "run.json").exists()
            train(part.model, data, run, steps=steps, max_minutes=part.minutes, resume=resume)
        limit = QUICK_LIMIT if quick else part.limit
        results[part.data] = evaluate_with_bars(run, load_dataset(data), split="grid", limit=limit)
    _write_results(out, results)
    put(_last_lines(out))


def _tiny(recipe: DataRecipe) -> DataRecipe:
    """Return the recipe with a grid that ends 3 beyond its training region."""
    region, grid = recipe.region, recipe.grid
    assert grid is not None
    symbols = grid.symbols[0], min(grid.symbols[1], region.symbols[1] + 3)
    length = grid.length[0], min(grid.length[1], region.length[1] + 3)
    smaller = grid.model_copy(update={"symbols": symbols, "length": length})
    return recipe.model_copy(update={"grid": smaller})


def _folders(out: Path, part: Part) -> tuple[Path, Path]:
    """Return the folders of a part's data set and of its run."""
    return out / part.data / "data", out / part.data / "interchangeable"


def _heat_map(out: Path, part: Part) -> Path:
    return _folders(out, part)[1] / "grid" / "heatmap.png"


def _write_results(out: Path, results: dict[str, Any]) -> None:
    """Write `results.json` and `results.md`, a table with the pictures below it."""
    from logicgen.atomic import write_text
    from logicgen.report.comparison import COLUMNS
    from logicgen.report.tables import markdown_table, percent

    write_text(out / "results.json", json.dumps(results, indent=1) + "\n")
    shown = COLUMNS | {"inside_training_region": "inside the training region"}
    rows = [
        [name, *(percent(summary[key]) if key in summary else "-" for key in shown)]
        for name, summary in results.items()
    ]
    table = markdown_table(["right answers", *shown.values()], rows)
    pictures = "\n\n".join(
        f"![{part.data}]({_heat_map(out, part).relative_to(out).as_posix()})" for part in PARTS
    )
    text = f"""# What the demo found

Trained on the box in each picture, tested on all of it; judged by the solver.

{table}

{pictures}
"""
    write_text(out / "results.md", text)
    put("\n" + table)


def _last_lines(out: Path) -> str:
    pictures = "\n".join(f"  {_heat_map(out, part)}" for part in PARTS)
    data, run = _folders(out, PARTS[1])
    return f"""
Open the heat maps (also as .svg beside them), or {out / "results.md"} with all of them:
{pictures}
Try next:
  logicgen solve --task propositional "a & !b | c"
  logicgen solve --task ltl "G(request -> F grant) & GF request"
  logicgen evaluate {run} --data {data} --limit 2000 --embedding-seeds 3 -o runs/three-seeds
  logicgen train copying-learned --data {data} -o runs/copying-learned
  logicgen list"""
