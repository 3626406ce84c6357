"""The documentation is right: its links lead somewhere, and its files exist."""

from __future__ import annotations

import ast
import importlib.util
import json
import pkgutil
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

import logicgen
from logicgen.data.recipe import DataRecipe
from logicgen.recipes import Table
from logicgen.tasks import CORPORA, load_corpus_task
from tests.study.made_results import RESULTS, read_sums

ROOT = Path(__file__).resolve().parent.parent
# Files that are made from records when the site is built.
MADE = {RESULTS / name for name in read_sums()}
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        path = page.parent / target
        assert path.exists() or path in MADE, target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_files_that_are_named_exist(page):
    names = re.findall(
        r"`((?:tests|docs|grammars|datasets|models|studies|examples|benchmarks|logicgen)/[\w./-]+)`",
        page.read_text(),
    )
    example = {
        "studies/my-widths.toml",
        "logicgen/declarations/",
    }
    for name in set(names) - example:
        assert (ROOT / name).exists() or ROOT / name in MADE, name


@pytest.mark.needs("torch")
def test_the_api_documents_objects_that_exist():
    for page in (ROOT / "docs" / "api").glob("*.md"):
        for name in re.findall(r"^::: (logicgen[\w.]*)$", page.read_text(), re.M):
            assert pkgutil.resolve_name(name), name


@pytest.mark.needs("torch", "datasets", "trl")
def test_what_pages_import_exists():
    for page in PAGES:
        for module, names in re.findall(
            r"^(?:>>> )?from (logicgen[\w.]*) import ([\w, ]+)$", page.read_text(), re.M
        ):
            for name in names.split(", "):
                assert pkgutil.resolve_name(f"{module}:{name}"), f"{page.name}: {module}, {name}"


@pytest.mark.needs("torch", "datasets", "trl")
def test_what_scripts_import_exists():
    scripts = [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "examples").glob("*.py")]
    assert len(scripts) > 10
    for script in scripts:
        for node in ast.walk(ast.parse(script.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("logicgen"):
                module = importlib.import_module(node.module)
                for each in node.names:
                    inner = f"{node.module}.{each.name}"
                    there = hasattr(module, each.name) or importlib.util.find_spec(inner)
                    assert there, f"{script.name}: {inner}"


def _keys(table: type[Table]) -> list[str]:
    """Return the keys of a table of a recipe; those of the tables in it are `table.key`."""
    keys = []
    for name, field in table.model_fields.items():
        inner = next(
            (
                kind
                for kind in (field.annotation, *get_args(field.annotation))
                if isinstance(kind, type) and issubclass(kind, Table)
            ),
            None,
        )
        keys += [f"{name}.{key}" for key in inner.model_fields] if inner else [name]
    return keys


def test_the_page_on_data_sets_has_each_key_of_a_recipe_once():
    page = (ROOT / "docs" / "data-sets.md").read_text()
    table = page.partition("## Recipe keys")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", table, re.M)
    assert sorted(re.findall(r"`([^`]+)`", " ".join(cells))) == sorted(_keys(DataRecipe))


def test_the_page_on_corpora_has_every_key():
    page = (ROOT / "docs" / "tasks" / "corpora.md").read_text()
    for name in CORPORA:
        for key in load_corpus_task(name).Settings.model_fields:
            assert f"`{key}`" in page, (name, key)


def test_the_files_for_citation_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == logicgen.__version__
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    zenodo, codemeta = (
        json.loads((ROOT / name).read_text()) for name in (".zenodo.json", "codemeta.json")
    )
    assert f"version: {project['version']}" in lines
    assert f"license: {project['license']}" in lines
    assert f'abstract: "{project["description"]}"' in lines
    assert codemeta["license"].endswith(f"/{project['license']}")
    assert zenodo["license"] == project["license"]
    assert codemeta["codeRepository"] == project["urls"]["Source"]
    assert codemeta["issueTracker"] == project["urls"]["Issues"]
    assert [each["name"] for each in codemeta["author"]] == ["The logicgen authors"]
    assert zenodo["creators"] == [{"name": "The logicgen authors"}]
    for record, title in ((zenodo, "title"), (codemeta, "name")):
        assert record["version"] == project["version"]
        assert record[title] == project["name"]
        assert record["description"] == project["description"]
        assert all(f'  - "{keyword}"' in lines for keyword in record["keywords"])


def test_every_change_is_linted_as_continuous_integration_does():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    for tool in ("ruff check", "ruff format --check"):
        assert f"$(BIN)/python -m {tool} ." in (ROOT / "Makefile").read_text()
        assert f"entry: .venv/bin/python -m {tool} " in hooks
    assert "\ncheck: lint test-all\n" in (ROOT / "Makefile").read_text()


@pytest.mark.slow
def test_the_page_on_data_sets_names_the_fingerprint_of_its_recipe(tmp_path):
    page = (ROOT / "docs" / "data-sets.md").read_text(encoding="utf-8")
    recipe = re.search(r'```toml title="formulas.toml"\n(.*?)```', page, re.DOTALL).group(1)
    (tmp_path / "formulas.toml").write_text(recipe, encoding="utf-8")
    data = logicgen.generate(tmp_path / "formulas.toml", tmp_path / "formulas", workers=1)
    assert f"fingerprint  # '{data.fingerprint}'" in page
