"""The JSON Schema files in docs/schemas are those that files are read by.

`python -m tests.test_schemas` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logicgen import recipes
from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.model.checkpoint import ModelCard

ROOT = Path(__file__).resolve().parent.parent
MODELS = {
    Dataset.file: Dataset.Description,
    Corpus.file: Corpus.Description,
    "model.json": ModelCard,
}


def text_of(file: str) -> str:
    """The schema of a file, as JSON."""
    schema = MODELS[file].model_json_schema()
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps({"$schema": dialect, **schema}, indent=2) + "\n"


@pytest.mark.parametrize("file", MODELS)
def test_what_is_published_is_what_is_read(file):
    published = (ROOT / "docs" / "schemas" / file).read_text(encoding="utf-8")
    assert json.loads(published) == json.loads(text_of(file)), "run python -m tests.test_schemas"
    page = "models.md" if file == "model.json" else "data-sets.md"
    assert f"(schemas/{file})" in (ROOT / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("file", MODELS)
def test_unknown_keys_are_refused_in_every_table(file):
    """But those that each task has for itself."""
    schema = json.loads(text_of(file))
    for table in [schema, *schema["$defs"].values()]:
        if "properties" in table:
            assert table["additionalProperties"] is False


@pytest.mark.parametrize("name", recipes.trained())
def test_shipped_models(name):
    path = recipes.folder("models") / "weights" / name / "model.json"
    ModelCard.model_validate(json.loads(path.read_text()))


if __name__ == "__main__":
    for name in MODELS:
        (ROOT / "docs" / "schemas" / name).write_text(text_of(name), encoding="utf-8")
