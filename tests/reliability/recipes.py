"""TOML files: recipes of data, models and studies, changed from those that ship."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from logicgen import recipes
from logicgen.data.opening import read_data_recipe
from logicgen.model.recipe import read_model_recipe
from logicgen.study.plan import open_study
from tests.reliability.mutation import mutated_toml
from tests.reliability.target import Target, value_or_refusal


def texts(kind: str, largest: int = 4000) -> list[str]:
    """Return the shipped files of a kind."""
    paths = [recipes.find(kind, ".toml", name) for name in recipes.names(kind, ".toml")]
    return [path.read_text(encoding="utf-8") for path in paths if path.stat().st_size <= largest]


def _read(reader: Callable[[str], Any], text: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recipe.toml")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return value_or_refusal(lambda: reader(str(path)))


def check_recipe(reader: Callable[[str], Any], text: str) -> None:
    """A file is refused, or what it says is written as JSON and read back."""
    recipe = _read(reader, text)
    if recipe is not None:
        written = recipe.model_dump_json()
        assert type(recipe).model_validate_json(written).model_dump_json() == written


def check_study(text: str) -> None:
    """A file is refused, or gives a plan whose points have different names."""
    planned = _read(open_study, text)
    assert planned is None or planned.trials or planned.impossible


TARGETS = [
    Target(
        "data-recipes", mutated_toml(texts("datasets")), partial(check_recipe, read_data_recipe)
    ),
    Target(
        "model-recipes", mutated_toml(texts("models")), partial(check_recipe, read_model_recipe)
    ),
    Target("study-recipes", mutated_toml(texts("studies")), check_study),
]
