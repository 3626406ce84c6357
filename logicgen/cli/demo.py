"""The command `logicgen demo`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logicgen.cli.options import out_option
from logicgen.cli.terminal import put, say

if TYPE_CHECKING:
    from logicgen.data.recipe import DataRecipe
    from logicgen.errors import LogicgenError


HEATMAP, DIFFICULTY = "heatmap.png", "difficulty.png"


@dataclass(frozen=True)
class Part:
    """A part of the demo: a data set, and a model that is trained on it or ships with logicgen.

    A cell of a grid is the problems of one number of symbols and one length, or a short range of
    lengths.

    Attributes:
        data: the name of a data-set recipe.
        model: the name of a model recipe, or of a shipped model.
        says: a description of the heat map of the scores; empty for no description.
        steps: the number of training steps; None for a shipped model.
        limit: the number of examples to evaluate, over all cells; None means all examples.
        per_cell: the number of examples in each cell of the grid, or of each length if the split is
            `test`. If it is given, all other splits are empty. None means that the recipe
            determines the sizes of all splits.
        split: the split for evaluation, `grid` or `test`.
        picture: the heat map that is shown: by symbols and length, or by difficulty and length.
    """

    data: str
    model: str
    says: str = ""
    steps: int | None = None
    limit: int | None = None
    per_cell: int | None = None
    split: str = "grid"
    picture: str = HEATMAP


QUICK_SIZE, QUICK_STEPS, QUICK_LIMIT, VERIFIED = 500, 20, 60, 16
# Data for shipped models are made with seed 1, since these models were trained on data of seed 0.
TRAINED_SEED, FRESH_SEED = 0, 1
PARTS = [
    Part(
        "propositional-35",
        "propositional",
        "The blue box shows the symbols and lengths of the training problems, for `ltl` of those"
        " with a stored answer: it also learned from its own answers to larger problems. The map"
        " `verified` counts the first of up to 16 answers that the solver accepts.",
        per_cell=2,
    ),
    Part("ltl-35", "ltl", per_cell=2),
    Part(
        "propositional-rare",
        "propositional",
        "Formulas of the literature (`-35`) are easy: programs that learn nothing do as well. The"
        " other formulas have few right assignments, or need traces of several positions. The last"
        " two data sets (`-100-hard`) have up to 100 tokens.",
        per_cell=1,
        picture=DIFFICULTY,
    ),
    Part("ltl-temporal", "ltl", per_cell=1, picture=DIFFICULTY),
    Part("propositional-100-hard", "propositional", per_cell=1, split="test", picture=DIFFICULTY),
    Part("ltl-100-hard", "ltl", per_cell=1, split="test", picture=DIFFICULTY),
    Part(
        "copying-20",
        "copying-interchangeable",
        "The copying model was trained on strings of up to 20 letters over 20 symbols. It copies"
        " strings of up to 60 letters over 160 symbols.",
        steps=800,
        limit=2_360,
    ),
]
TRAINED = [
    Part("propositional-mini", "propositional-interchangeable", steps=1500),
    Part("ltl-mini", "ltl-interchangeable", steps=1500),
]
PLAN = """\
Two shipped models answer new formulas, easy and hard: two minutes.
A new model learns to copy strings: two minutes on two cores.
Everything is written to {out}."""


@click.command("demo")
@out_option("[runs/demo, or runs/demo-quick]")
@click.option("--quick", is_flag=True, help="Run with tiny sizes; the scores mean nothing.")
@click.option("--train", is_flag=True, help="Also train two models of logic, on short formulas.")
def command(out: Path | None, quick: bool, train: bool) -> None:
    """Test two shipped models, then train and test a third: data, verdicts, heat maps.

    The demo takes five minutes on two cores. After an interruption the same command continues.
    Without the extra `train` it makes a data set and solves a few problems.
    """
    from logicgen.extras import MissingExtraError, need

    out = out or Path("runs") / ("demo-quick" if quick else "demo")
    try:
        need("train")
    except MissingExtraError as error:
        _show_core(out, error)
        return
    put(PLAN.format(out=out))
    results: dict[str, Any] = {}
    parts = PARTS + (TRAINED if train else [])
    for part in parts:
        results[part.data] = _run(part, out, quick)
        put(f"\n{_score(part, results[part.data])}\n  {_scores(out, part) / part.picture}")
    _write_results(out, parts, results)
    put(_last_lines(out, parts))


def _run(part: Part, out: Path, quick: bool) -> dict[str, Any]:
    """Make the data of a part, train its model unless it is a shipped model, and score it.

    quick: make small data, and train for a few steps.

    Returns the scores of the evaluation.
    """
    from logicgen.data.recipe import DataRecipe
    from logicgen.library import make_data, score_answers
    from logicgen.library import train as train_model

    recipe = DataRecipe.read(part.data)
    if quick:
        recipe = _tiny(recipe.resized(QUICK_SIZE))
    if part.per_cell is not None:
        recipe = _split_alone(recipe, part.split, 1 if quick else part.per_cell)
    data, run = _folders(out, part)
    seed = FRESH_SEED if part.steps is None else TRAINED_SEED
    make_data(recipe, data, name=part.data, seed=seed)
    if part.steps is not None and not (run / "model.json").exists():
        steps, resume = QUICK_STEPS if quick else part.steps, (run / "run.json").exists()
        train_model(part.model, data, run, steps=steps, resume=resume, quiet=False)
    _, summary = score_answers(
        run if part.steps is not None else Path(part.model),
        data,
        _scores(out, part),
        split=part.split,
        search={},
        limit=QUICK_LIMIT if quick else part.limit,
        verified=VERIFIED if part.steps is None else None,
    )
    return summary


def _score(part: Part, summary: dict[str, Any]) -> str:
    """Return a line with the share of right answers on a data set."""
    scores = summary["overall"]
    share, asked = scores["accuracy"], scores["examples"]
    line = f"{part.data}: {round(share * asked):,} of {asked:,} answers are right ({share:.1%})"
    if "verified_accuracy" in scores:
        line += f", {scores['verified_accuracy']:.1%} with up to {VERIFIED} tries"
    if "best_control" not in scores:
        return line
    control, reached = scores["best_control"], scores["best_control_accuracy"]
    return f"{line}; the best control ({control}): {reached:.1%}"


def _show_core(out: Path, error: LogicgenError) -> None:
    """Show the part of the demo that needs no PyTorch: make problems and solve them.

    error: the message that names the missing extra; it is printed last.
    """
    from logicgen.data.opening import as_dataset
    from logicgen.library import load_dataset, make_data, shown_answers

    data = out / "propositional-mini"
    make_data("propositional-mini", data, size=QUICK_SIZE)
    rows = as_dataset(load_dataset(data))
    put(f"{data}: {sum(rows.splits.values()):,} formulas, each with an answer that was verified")
    problems = ["(a -> b) & !b", "a ^ b ^ c", "a & !a"]
    for problem, (answer, _) in zip(
        problems, shown_answers("propositional", problems), strict=True
    ):
        put(f"{problem}: {answer}")
    say(f"The demo of models: {error}")


def _split_alone(recipe: DataRecipe, split: str, per_cell: int) -> DataRecipe:
    """Return a recipe with examples in one split: `per_cell` in each cell, or of each length."""
    sizes = dict.fromkeys(("train", "validation", "test"), 0)
    grid, region = recipe.grid, recipe.region
    if split == "test":
        sizes["test"] = per_cell * (region.length[1] - region.length[0] + 1)
        grid, region = None, region.model_copy(update={"balance": "length"})
    elif grid is not None:
        grid = grid.model_copy(update={"per_cell": per_cell})
    held = recipe.sizes.model_copy(update=sizes)
    return recipe.model_copy(update={"sizes": held, "grid": grid, "region": region})


def _tiny(recipe: DataRecipe) -> DataRecipe:
    """Return the recipe with a smaller grid, or, if it has no grid, with fewer lengths.

    The numbers of symbols and the lengths of the grid exceed the training ranges by at most 3.
    """
    region, grid = recipe.region, recipe.grid
    if grid is None:
        length = region.length[0], min(region.length[1], region.length[0] + 3)
        return recipe.model_copy(update={"region": region.model_copy(update={"length": length})})
    symbols = grid.symbols[0], min(grid.symbols[1], region.symbols[1] + 3)
    length = grid.length[0], min(grid.length[1], region.length[1] + 3)
    smaller = grid.model_copy(update={"symbols": symbols, "length": length})
    return recipe.model_copy(update={"grid": smaller})


def _folders(out: Path, part: Part) -> tuple[Path, Path]:
    """Return the folder of the data set of a part, and the folder of its model."""
    return out / part.data / "data", out / part.data / part.model


def _scores(out: Path, part: Part) -> Path:
    """Return the folder of the evaluation of a part."""
    return _folders(out, part)[1] / part.split


def _write_results(out: Path, parts: list[Part], results: dict[str, Any]) -> None:
    """Write all scores to `results.json`, and a table with heat maps to `results.md`."""
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
        for before in ("", "verified_"):
            if f"{before}best_control" in summary["overall"]:
                rows.append(_control_row(name, summary, shown, before))
    table = markdown_table(["right answers", *shown.values()], rows)
    pictures = "\n\n".join(
        f"![{part.data}]({(_scores(out, part) / part.picture).relative_to(out).as_posix()})"
        for part in parts
    )
    text = f"""# Results of the demo

{_sentences(parts)} An answer is right if the solver accepts it.
A control is a program that learns nothing.

{table}

{pictures}
"""
    write_text(out / "results.md", text)


def _control_row(
    name: str, summary: dict[str, Any], shown: Iterable[str], before: str
) -> list[str]:
    """Return the row of the best control: its share of right answers to each part.

    before: `verified_` for scores with several verified answers; empty for one answer.
    """
    control = summary["overall"][f"{before}best_control"]
    key = f"{before}control_{control}"
    shares = [f"{summary[k][key]:.1%}" if k in summary else "-" for k in shown]
    return [f"{name}{', verified' if before else ''}, best control ({control})", *shares]


def _sentences(parts: list[Part]) -> str:
    """Return the descriptions of the heat maps as one text."""
    return " ".join(part.says for part in parts if part.says)


def _last_lines(out: Path, parts: list[Part]) -> str:
    """Return the last lines of the demo: the paths of its results, and commands to try next."""
    report = (_scores(out, parts[1]) / "report.html").resolve().as_uri()
    return f"""
{_sentences(parts)}
All scores and heat maps: {out / "results.md"}
Every answer, and why it is wrong: {report}
Try next:
  logicgen solve --task ltl --model ltl "G(request -> F grant) & GF request"
  logicgen list"""
