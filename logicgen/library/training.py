"""Train models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from logicgen.callbacks import Say, no_progress
from logicgen.errors import LogicgenError
from logicgen.extras import extras_named
from logicgen.library.data import load_dataset

if TYPE_CHECKING:
    from logicgen.model.recipe import ModelRecipe

OWN = ("reward.", "training.right_answers")
"""Beginnings of the keys that a recipe has only with one value of `training.learn`."""


def train(
    recipe: str | Path,
    data: str | Path | Sequence[str | Path],
    run: str | Path,
    *,
    changes: Sequence[str] = (),
    learn: str | None = None,
    held_out: Sequence[str | Path] = (),
    say: Say = no_progress,
    **settings: Any,
) -> Path:
    """Train the model of a recipe on data, write it into the folder `run`, and return `run`.

    recipe: the name of a shipped recipe, or the path of a TOML file.
    data: the folder or URL of a data set or corpus, or several data sets of one task. The model
        learns the training examples of all data sets, except problems that another data set holds
        out. The first data set gives validation examples. New problems of `learn="accepted"` come
        from each data set in turn.
    changes: texts `KEY=VALUE` that replace values of the recipe.
    learn: a value that replaces `training.learn` of the recipe.
    held_out: data sets; `learn="accepted"` excludes their held-out splits from training.
    settings: `steps`, `max_minutes`, `device`, `devices`, `resume`, `workers` and `start`, as in
        `logicgen train` (`start` is its `--from`). With `quiet=False`, show a progress bar.

    Raises LogicgenError if the data do not fit the recipe, or if the folder holds other files.
    Raises KeyboardInterrupt after Ctrl-C, as soon as a checkpoint is saved.
    """
    from logicgen.data.opening import as_dataset

    chosen = _recipe(str(recipe), changes, learn)
    folders = [data] if isinstance(data, str | Path) else list(data)
    opened = [load_dataset(each) for each in folders]
    if not opened:
        raise LogicgenError("data: no folder, so there is nothing to train on: give at least one")
    if held_out and chosen.learns != "accepted":
        raise LogicgenError(
            "--held-out: only --learn accepted draws problems that may be held out; leave it out"
        )
    settings = {"quiet": True, **settings}
    settings["held_out"] = [as_dataset(load_dataset(each)) for each in held_out]
    with extras_named():
        from logicgen.training.devices import launched
        from logicgen.training.fit import fit, training_data
    if settings.get("resume") and launched().first and not any(Path(run).glob("*")):
        say(f"{run}: no training to resume, so a new one begins")
    path = fit(chosen, training_data(chosen, *opened), Path(run), **settings)
    if chosen.reward is not None and chosen.reward.grow:
        from logicgen.training.attempts import last_round

        last = last_round(path)
        if last is not None and last.frontier is not None:
            say(f"{path}: {last.frontier.report(last.sizes())}")
    if launched().first:
        say(f"{path}: try logicgen evaluate {quote(str(path))} --data {quote(str(folders[0]))}")
    return path


def _recipe(name: str, changes: Sequence[str], learn: str | None) -> ModelRecipe:
    """Return a recipe with changed values, and with another `training.learn` if it is given."""
    from logicgen.model.recipe import read_model_recipe
    from logicgen.recipes import parse_changes

    values = parse_changes(changes)
    own = {key: values.pop(key) for key in list(values) if learn and key.startswith(OWN)}
    chosen = read_model_recipe(name, values)
    return chosen if learn is None else chosen.learning(learn, own)
