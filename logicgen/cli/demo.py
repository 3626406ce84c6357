"""`logicgen demo`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logicgen.cli.options import out_option
from logicgen.cli.terminal import put, say, stage_bars

if TYPE_CHECKING:
    from logicgen.data.recipe import DataRecipe


@dataclass(frozen=True)
class Part:
    """One data set, and a model that is trained on it or ships with logicgen.

    Attributes:
        model: a recipe, or the name of a shipped model.
        steps: of training, instead of the recipe's number; None for a shipped model.
        limit: examples to evaluate, over all cells.
        per_cell: examples of a cell in the grid on which a shipped model is tested.
        says: what to see in the picture.
    """

    data: str
    model: str
    says: str = ""
    steps: int | None = None
    limit: int | None = None
    per_cell: int | None = None


QUICK_SIZE, QUICK_STEPS, QUICK_LIMIT, VERIFIED = 500, 20, 60, 16
# The training data of shipped models were made with seed 0.
TRAINED_SEED, FRESH_SEED = 0, 1
PARTS = [
    Part(
        "copying-20",
        "copying-interchangeable",
        "Trained here, in minutes, on strings of at most 20 letters over 20 symbols (the blue box),"
        " it copies strings three times as long over eight times as many symbols.",
        steps=1500,
        limit=9_440,
    ),
    Part(
        "propositional-35",
        "propositional",
        per_cell=3,
    ),
    Part(
        "ltl-35",
        "ltl",
        "The shipped models answer formulas over twice as many symbols as they were trained on;"
        " the map beside each counts the first of up to 16 answers that the solver accepts.",
        per_cell=3,
    ),
]
TRAINED = [
    Part("propositional-mini", "propositional-interchangeable", steps=1500),
    Part("ltl-mini", "ltl-interchangeable", steps=1500),
]


@click.command("demo")
@out_option("[runs/demo, or runs/demo-quick]")
@click.option("--quick", is_flag=True, help="Tiny sizes: shows that it runs, not what it can do.")
@click.option("--train", is_flag=True, help="Train models of logic, too, on smaller formulas.")
def command(out: Path | None, quick: bool, train: bool) -> None:
    """Run the main job: recipe, verified data set, model, solver-verified heat map.

    Trains a model that copies, and tests it and the shipped models of logic on grids that it makes;
    six minutes on two cores. Interrupted, the same command goes on.
    """
    from logicgen.cli.evaluate import print_scores
    from logicgen.data.recipe import DataRecipe
    from logicgen.extras import need
    from logicgen.library import make_data, score_answers
    from logicgen.library import train as train_model

    need("train")
    out = out or Path("runs") / ("demo-quick" if quick else "demo")
    results: dict[str, Any] = {}
    parts = PARTS + (TRAINED if train else [])
    for part in parts:
        click.secho(f"\n{part.data}", bold=True, err=True)
        recipe = DataRecipe.read(part.data)
        if quick:
            recipe = _tiny(recipe.resized(QUICK_SIZE))
        if part.per_cell is not None:
            recipe = _grid_alone(recipe, 1 if quick else part.per_cell)
        data, run = _folders(out, part)
        seed = FRESH_SEED if part.steps is None else TRAINED_SEED
        make_data(recipe, data, name=part.data, seed=seed, bars=stage_bars, say=say)
        if part.steps is not None and not (run / "model.json").exists():
            steps, resume = QUICK_STEPS if quick else part.steps, (run / "run.json").exists()
            train_model(part.model, data, run, steps=steps, resume=resume, quiet=False)
        folder, results[part.data] = score_answers(
            run if part.steps is not None else Path(part.model),
            data,
            run / "grid",
            search={},
            limit=QUICK_LIMIT if quick else part.limit,
            verified=VERIFIED if part.steps is None else None,
            bars=stage_bars,
            say=say,
        )
        print_scores(results[part.data], folder)
    _write_results(out, parts, results)
    put(_last_lines(out, parts))


def _grid_alone(recipe: DataRecipe, per_cell: int) -> DataRecipe:
    """Return the recipe without its other splits, and so many examples in each cell."""
    assert recipe.grid is not None
    none = recipe.sizes.model_copy(update=dict.fromkeys(("train", "validation", "test"), 0))
    grid = recipe.grid.model_copy(update={"per_cell": per_cell})
    return recipe.model_copy(update={"sizes": none, "grid": grid})


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
    return out / part.data / "data", out / part.data / part.model


def _heat_map(out: Path, part: Part) -> Path:
    return _folders(out, part)[1] / "grid" / "heatmap.png"


def _report(out: Path, part: Part) -> Path:
    return _folders(out, part)[1] / "grid" / "report.html"


def _write_results(out: Path, parts: list[Part], results: dict[str, Any]) -> None:
    """Write `results.json` and `results.md`, a table with the pictures below it."""
    from logicgen.files import write_text
    from logicgen.measures.comparison import COLUMNS
    from logicgen.report.tables import markdown_table, percent

    write_text(out / "results.json", json.dumps(results, indent=1) + "\n")
    shown = COLUMNS | {"inside_training_region": "inside the training region"}
    rows = []
    for name, summary in results.items():
        of = {"": "accuracy", ", verified": "verified_accuracy"}
        for called, measure in of.items():
            if measure in summary["overall"]:
                shares = [percent(summary[k], measure) if k in summary else "-" for k in shown]
                rows.append([name + called, *shares])
    table = markdown_table(["right answers", *shown.values()], rows)
    pictures = "\n\n".join(
        f"![{part.data}]({_heat_map(out, part).relative_to(out).as_posix()})" for part in parts
    )
    text = f"""# What the demo found

{_sentences(parts)} Right is what the solver accepts.

{table}

{pictures}
"""
    write_text(out / "results.md", text)
    put("\n" + table)


def _sentences(parts: list[Part]) -> str:
    return " ".join(part.says for part in parts if part.says)


def _last_lines(out: Path, parts: list[Part]) -> str:
    pictures = "\n".join(f"  {_heat_map(out, part)}" for part in parts)
    data, run = _folders(out, parts[0])
    return f"""
{_sentences(parts)}
Open the heat maps (also as .svg beside them), or {out / "results.md"} with all of them:
{pictures}
Which formulas it gets wrong, and why: open in a browser
  {_report(out, parts[-1])}
Try next:
  logicgen solve --task propositional "a & !b | c"
  logicgen solve --task ltl --model ltl "G(request -> F grant) & GF request"
  logicgen evaluate {run} --data {data} --limit 2000 --embedding-seeds 3 -o runs/three-seeds
  logicgen train copying-learned --data {data} -o runs/copying-learned
  logicgen list"""
